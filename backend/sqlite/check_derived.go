package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/audit"
)

// damaged reports a line of SQLite's own check. What is derived can be made
// anew, history cannot.
func (c *checker) damaged(line string) error {
	c.tangled = c.tangled || strings.Contains(line, "2nd reference to page")
	switch {
	case strings.Contains(line, "onto_search_"):
		return c.stale(audit.SearchDamaged, "%s", line)
	case strings.Contains(line, "index onto_field_"), strings.Contains(line, "index "+rightIndex):
		return c.stale(audit.DerivedDamaged, "%s", line)
	}
	return c.report(audit.FileDamaged, "%s", line)
}

// derived compares what is derived with what the flags of the types ask for.
// A file of format 1 that was opened for reading has nothing derived.
func (c *checker) derived() error {
	if has, err := hasDerived(c.r.Conn); err != nil {
		return err
	} else if !has {
		return c.derivedUnlisted()
	}
	all, err := readSchemas(c.r.Conn)
	if err != nil {
		return err
	}
	listed, err := readDerived(c.r.Conn)
	if err != nil {
		return err
	}
	objects, err := derivedObjects(c.r.Conn)
	if err != nil {
		return err
	}
	var want []derived
	for _, v := range backend.Newest(all) {
		want = append(want, wanted(&v.Schema)...)
	}
	if err := c.derivedMissing(want, listed); err != nil {
		return err
	}
	for _, d := range listed {
		if err := c.derivedOne(d, slices.ContainsFunc(want, d.same), objects); err != nil {
			return err
		}
	}
	return c.leftovers(listed, objects)
}

// derivedUnlisted is for a file without the list.
func (c *checker) derivedUnlisted() error {
	format, err := c.r.queryInt(`SELECT format FROM onto_meta`)
	if err != nil || format < Format {
		return err
	}
	return c.stale(audit.DerivedMissing, "the table onto_derived is missing")
}

// derivedMissing finds what flags ask for and nobody has made.
func (c *checker) derivedMissing(want, listed []derived) error {
	for _, d := range want {
		if !slices.ContainsFunc(listed, d.same) {
			if err := c.stale(audit.DerivedMissing, "%s is missing", d); err != nil {
				return err
			}
		}
	}
	return nil
}

// derivedOne looks at one thing that is listed.
func (c *checker) derivedOne(d derived, wanted bool, objects []object) error {
	if !wanted {
		return c.stale(audit.DerivedExtra, "%s serves nothing", d)
	}
	i := slices.IndexFunc(objects, func(o object) bool { return o.name == d.name() })
	switch {
	case i < 0:
		return c.stale(audit.DerivedMissing, "%s is missing", d)
	case objects[i].sql != d.create():
		return c.stale(audit.DerivedDiffers, "%s is %s", d, objects[i].sql)
	case d.purpose == forSearch && c.r.foreign.covers():
		return c.words(newWordTable(d))
	}
	return nil
}

// leftovers finds indexes and tables that are not listed. Those that SQLite
// keeps a search table in go with it.
func (c *checker) leftovers(listed []derived, objects []object) error {
	for _, o := range objects {
		belongs := slices.ContainsFunc(listed, func(d derived) bool {
			return o.name == d.name() || d.purpose == forSearch && strings.HasPrefix(o.name, d.name()+"_")
		})
		if !belongs {
			if err := c.stale(audit.DerivedExtra, "%s %s serves nothing", o.typ, o.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// words walks the words that the projection has and a search table side by
// side, both in the order of docids.
func (c *checker) words(t *wordTable) error {
	names := newNames(t.kind)
	want, err := c.r.Query(c.ctx, fmt.Sprintf(`SELECT %s AS docid, %s, %s
		FROM %s c WHERE c.%s = ? AND c.op = 'put' ORDER BY docid`,
		names.firstID("c"), soundFields, names.list("c"), names.current, names.columns[0]), t.typ)
	if err != nil {
		return err
	}
	defer want.Close()
	got, err := c.r.Query(c.ctx, `SELECT docid, words FROM `+t.name()+` ORDER BY docid`)
	if err != nil {
		return c.unreadable(t, err)
	}
	defer got.Close()
	compare := func() int { return cmp.Compare(want.Int(0), got.Int(0)) }
	err = walkBoth(want, got, compare, func(order int) error {
		switch {
		case order > 0:
			return c.stale(audit.SearchExtra, "%s has a row %d that belongs to nothing", t.derived, got.Int(0))
		case order == 0 && got.Text(1) != t.words(want.Bytes(1)):
			return c.stale(audit.SearchDiffers, "the search table has other words for %s", names.identity(want, 2))
		case order < 0 && t.words(want.Bytes(1)) != "":
			return c.stale(audit.SearchMissing, "the search table lacks %s", names.identity(want, 2))
		}
		return nil
	})
	if err = cmp.Or(err, want.Err); err == nil && got.Err != nil {
		return c.unreadable(t, got.Err)
	}
	return err
}

// unreadable reports a search table that SQLite cannot read.
func (c *checker) unreadable(t *wordTable, err error) error {
	if c.ctx.Err() != nil {
		return err
	}
	return c.stale(audit.SearchDamaged, "%s cannot be read: %v", t.derived, err)
}
