package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
)

// stamp is the version of a type that rows refer to.
type stamp struct {
	onto.TypeName
	version int
}

func (s stamp) compare(other stamp) int {
	return cmp.Or(s.TypeName.Compare(other.TypeName), cmp.Compare(s.version, other.version))
}

// fields checks every version by itself, and then when there were rows of each version
// of a type.
func (c *checker) fields() error {
	stamps := map[stamp]*audit.Rows{}
	for _, t := range c.of.Tables {
		sql := fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s FROM %s h`, t.List("h"), t.Sum("h"), t.History)
		err := c.r.Each(sql, nil, func(rows *driver.Rows) error {
			v := layout.Version(rows, len(t.Columns), t.Identity(rows, 0))
			noteStamp(stamps, &v)
			sound, err := c.log.Version(&v)
			switch sum := len(t.Columns) + 4; {
			case sound && rows.Null(sum):
				err = c.report(audit.VersionDamaged, "%s at commit %d has no checksum", v.Identity, v.Commit)
			case sound && !layout.Intact(rows, sum, &v):
				err = c.report(audit.VersionDamaged, "%s at commit %d: its checksum is another than when it was written", v.Identity, v.Commit)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.stamps(stamps)
}

func noteStamp(stamps map[stamp]*audit.Rows, v *onto.Version) {
	key := stamp{v.TypeName(), v.SchemaVersion}
	r := stamps[key]
	if r == nil {
		r = &audit.Rows{TypeName: key.TypeName, Version: key.version, First: v.Commit}
		stamps[key] = r
	}
	r.First, r.Last = min(r.First, v.Commit), max(r.Last, v.Commit)
	if v.Op == onto.Put {
		r.LastPut = max(r.LastPut, v.Commit)
	}
}

// stamps checks rows against the types. A type without any schema is reported as that.
func (c *checker) stamps(stamps map[stamp]*audit.Rows) error {
	all, err := layout.ReadSchemas(c.r.Conn)
	if err != nil {
		return err
	}
	for _, s := range slices.SortedFunc(maps.Keys(stamps), stamp.compare) {
		if !slices.ContainsFunc(all, func(v onto.SchemaVersion) bool { return v.Schema.TypeName() == s.TypeName }) {
			continue
		}
		if err := c.log.Rows(stamps[s]); err != nil {
			return err
		}
	}
	return nil
}
