package check

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/typelist"
)

// derivedIndex matches what SQLite says about an index of the projection.
var derivedIndex = regexp.MustCompile(`index (onto_field_[0-9]+|onto_(relation|fact)_current_[a-z]+)\b`)

// damaged reports a line of SQLite's own check. What is derived can be made
// anew, history cannot.
func (c *checker) damaged(line string) error {
	c.tangled = c.tangled || strings.Contains(line, "2nd reference to page")
	switch {
	case strings.Contains(line, "onto_search_"):
		return c.report(audit.SearchDamaged, "%s", line)
	case derivedIndex.MatchString(line):
		return c.report(audit.DerivedDamaged, "%s", line)
	}
	return c.report(audit.FileDamaged, "%s", line)
}

// derived compares what is derived with what the flags of the types ask for.
func (c *checker) derived() error {
	if has, err := layout.HasDerived(c.r.Conn); err != nil {
		return err
	} else if !has {
		return c.report(audit.DerivedMissing, "the table onto_derived is missing")
	}
	all, err := layout.ReadSchemas(c.r.Conn)
	if err != nil {
		return err
	}
	listed, err := layout.ReadDerived(c.r.Conn)
	if err != nil {
		return err
	}
	objects, err := layout.DerivedObjects(c.r.Conn)
	if err != nil {
		return err
	}
	var want []layout.Derived
	for _, v := range typelist.Newest(all) {
		want = append(want, layout.Wanted(&v.Schema)...)
	}
	if err := c.derivedMissing(want, listed); err != nil {
		return err
	}
	for _, d := range listed {
		if err := c.derivedOne(d, slices.ContainsFunc(want, d.Same), objects); err != nil {
			return err
		}
	}
	return c.leftovers(listed, objects)
}

// derivedMissing finds what flags ask for and is not there.
func (c *checker) derivedMissing(want, listed []layout.Derived) error {
	for _, d := range want {
		if !slices.ContainsFunc(listed, d.Same) {
			if err := c.report(audit.DerivedMissing, "%s is missing", d); err != nil {
				return err
			}
		}
	}
	return nil
}

// derivedOne checks one listed index or search table.
func (c *checker) derivedOne(d layout.Derived, wanted bool, objects []layout.SchemaObject) error {
	if !wanted {
		return c.report(audit.DerivedExtra, "%s serves nothing", d)
	}
	i := slices.IndexFunc(objects, func(o layout.SchemaObject) bool { return o.Name == d.Name() })
	switch {
	case i < 0:
		return c.report(audit.DerivedMissing, "%s is missing", d)
	case objects[i].SQL != d.Create():
		return c.report(audit.DerivedDiffers, "%s is %s", d, objects[i].SQL)
	case d.Purpose == layout.ForSearch && !c.slipped:
		return c.words(layout.NewWordTable(d))
	}
	return nil
}

// leftovers finds indexes and tables that are not listed. The tables in which SQLite
// keeps a search table go with it.
func (c *checker) leftovers(listed []layout.Derived, objects []layout.SchemaObject) error {
	for _, o := range objects {
		belongs := slices.ContainsFunc(listed, func(d layout.Derived) bool {
			return o.Name == d.Name() || d.Purpose == layout.ForSearch && strings.HasPrefix(o.Name, d.Name()+"_")
		})
		if !belongs {
			if err := c.report(audit.DerivedExtra, "%s %s serves nothing", o.Type, o.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// words walks the words that the projection has and a search table side by
// side, both in the order of docids.
func (c *checker) words(t *layout.WordTable) error {
	names := layout.Names(t.Kind)
	want, err := c.r.Query(c.ctx, fmt.Sprintf(`SELECT %s AS docid, %s, %s
		FROM %s c WHERE c.%s = ? AND c.op = 'put' ORDER BY docid`,
		names.FirstID("c"), layout.SoundFields, names.List("c"), names.Current, names.Columns[0]), t.Type)
	if err != nil {
		return err
	}
	defer want.Close()
	got, err := c.r.Query(c.ctx, `SELECT docid, words FROM `+t.Name()+` ORDER BY docid`)
	if err != nil {
		return c.brokenWords(t, err)
	}
	defer got.Close()
	compare := func() int { return cmp.Compare(want.Int(0), got.Int(0)) }
	err = walkBoth(want, got, compare, func(order int) error {
		switch {
		case order > 0:
			return c.report(audit.SearchExtra, "%s has a row %d that belongs to nothing", t.Derived, got.Int(0))
		case order == 0 && got.Text(1) != t.Words(want.Bytes(1)):
			return c.report(audit.SearchDiffers, "the search table has other words for %s", names.Identity(want, 2))
		case order < 0 && t.Words(want.Bytes(1)) != "":
			return c.report(audit.SearchMissing, "the search table lacks %s", names.Identity(want, 2))
		}
		return nil
	})
	if err = cmp.Or(err, want.Err); err == nil && got.Err != nil {
		return c.brokenWords(t, got.Err)
	}
	return err
}

// brokenWords reports a search table that SQLite cannot read.
func (c *checker) brokenWords(t *layout.WordTable, err error) error {
	if c.ctx.Err() != nil {
		return err
	}
	return c.report(audit.SearchDamaged, "%s cannot be read: %v", t.Derived, err)
}

// checksum compares the stored checksum with history as of its commit, and then with
// the projection, if that is of the same commit. A rebuild cannot repair history, so
// the projection is not reported while history differs.
func (c *checker) checksum() error {
	kept, commit, err := c.r.Checksum()
	if err != nil || kept == "" {
		return err
	}
	was, err := layout.RowsSum(c.ctx, c.r.Conn, &c.of.Tables, (*layout.Table).StateSQL, commit, commit)
	if err != nil {
		return err
	}
	if was != kept {
		return c.report(audit.HistoryChanged, "history up to commit %d has the checksum %.12s…, and had %.12s… when that was kept", commit, was, kept)
	}
	if commit != c.r.Head {
		return nil
	}
	is, err := layout.RowsSum(c.ctx, c.r.Conn, &c.of.Tables, (*layout.Table).ProjectedSQL)
	if err != nil || is == kept {
		return err
	}
	return c.report(audit.ProjectionChecksum, "the projection has the checksum %.12s…, and had %.12s… when that was kept at commit %d", is, kept, commit)
}

// lastPossible stands for the newest commit in [layout.Table.StateSQL].
const lastPossible int64 = math.MaxInt64

// past compares the tables of the past with history.
func (c *checker) past() error {
	if c.slipped {
		return nil
	}
	for _, t := range c.of.Tables {
		n, err := c.r.QueryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?`, t.Past)
		if err == nil && n == 0 {
			err = c.report(audit.PastMissing, "the table %s is missing", t.Past)
		}
		if err != nil || n == 0 {
			return err
		}
		for _, side := range []struct {
			code      audit.Fault
			what, sql string
		}{
			{audit.PastMissing, "lacks", t.Supersessions() + ` EXCEPT SELECT * FROM ` + t.Past},
			{audit.PastExtra, "has a row for", `SELECT * FROM ` + t.Past + ` EXCEPT ` + t.Supersessions()},
		} {
			err := c.r.Each(side.sql, nil, func(rows *driver.Rows) error {
				return c.report(side.code, "%s %s the version of %s in row %d of %s, superseded by commit %d",
					t.Past, side.what, rows.Text(0), rows.Int(3), t.History, rows.Int(1))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
