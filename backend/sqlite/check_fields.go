package sqlite

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ontologia/onto"
)

// stamp is a version of a type that rows say they are of.
type stamp struct {
	onto.TypeName
	version int
}

// stamped counts rows, and tells the first commit that holds one and whether
// one of them is ours.
type stamped struct {
	rows, first int64
	ours        bool
}

// fields looks at the op, the JSON and the schema version of every version. Our
// JSON is canonical.
func (c *checker) fields() error {
	stamps := map[stamp]*stamped{}
	for _, t := range c.b.tables {
		rows, err := c.r.query(c.ctx, fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s FROM %s h`,
			t.list("h"), t.sum("h"), t.history))
		if err != nil {
			return err
		}
		err = each(rows, func() error {
			v := version(rows, len(t.columns), t.identity(rows, 0))
			ours := v.Commit > c.r.foreign.until && v.Commit <= c.r.foreign.covered
			countStamp(stamps, &v, ours)
			return c.fieldsOf(&v, ours, rows.intact(len(t.columns)+4, &v))
		})
		if err != nil {
			return err
		}
	}
	return c.stamps(stamps)
}

// fieldsOf looks at one version.
func (c *checker) fieldsOf(v *onto.Version, ours, intact bool) error {
	fields, err := canonicalFields(v.Fields)
	switch {
	case err != nil && !ours:
		return c.report(onto.SeverityWarning, "fields_unreadable", "put it again to replace it", "%s at commit %d: %v", v.Identity, v.Commit, err)
	case err != nil || ours && !bytes.Equal(fields, v.Fields):
		return c.report(onto.SeverityError, "fields_not_canonical", restoreRemedy, "%s at commit %d: its JSON is not as it was written", v.Identity, v.Commit)
	case v.Op != onto.Put && v.Op != onto.Delete:
		return c.report(onto.SeverityError, "op_unknown", restoreRemedy, "%s at commit %d: op %q is unknown", v.Identity, v.Commit, v.Op)
	case !intact:
		return c.report(onto.SeverityError, "version_damaged", restoreRemedy, "%s at commit %d: its checksum is another than when it was written", v.Identity, v.Commit)
	}
	return nil
}

func countStamp(stamps map[stamp]*stamped, v *onto.Version, ours bool) {
	key := stamp{v.TypeName(), v.SchemaVersion}
	s := stamps[key]
	if s == nil {
		s = &stamped{first: v.Commit}
		stamps[key] = s
	}
	s.rows++
	s.first = min(s.first, v.Commit)
	s.ours = s.ours || ours
}

// stamps finds rows of a schema version that does not exist. A type that has no
// schema at all is reported as that.
func (c *checker) stamps(stamps map[stamp]*stamped) error {
	all, err := readSchemas(c.r.conn)
	if err != nil {
		return err
	}
	types, known := map[onto.TypeName]bool{}, map[stamp]bool{}
	for _, v := range all {
		name := v.Schema.TypeName()
		types[name], known[stamp{name, v.Version}] = true, true
	}
	order := func(a, b stamp) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.version, b.version))
	}
	for _, s := range slices.SortedFunc(maps.Keys(stamps), order) {
		if known[s] || !types[s.TypeName] {
			continue
		}
		severity := onto.SeverityWarning // not ours to answer for
		if stamps[s].ours {
			severity = onto.SeverityError
		}
		err := c.report(severity, "schema_unknown", restoreRemedy, "%s %s: rows of schema version %d, which does not exist; there are %d, the first in commit %d",
			s.Kind, s.Name, s.version, stamps[s].rows, stamps[s].first)
		if err != nil {
			return err
		}
	}
	return nil
}
