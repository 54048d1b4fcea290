package sqlite

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
)

// The original program reads back what is written of its types only if each field is
// there, and compares it with that. So versions of these get a null for each optional
// field that is absent. That is not canonical: they count as foreign rows, and the
// projection has them without.

// withNulls is a version that has got nulls, and its canonical fields.
type withNulls struct {
	version   *decide.Version
	canonical json.RawMessage
}

// addNulls gives versions of the original's types the nulls that it wants.
func (g *round) addNulls(versions []decide.Version) []withNulls {
	var list []withNulls
	for i := range versions {
		v := &versions[i]
		if v.Op != onto.Put {
			continue
		}
		fields := layout.WithNulls(v.Fields, g.wr.types.original[layout.TypeVersion{TypeName: v.TypeName(), Version: v.SchemaVersion}])
		if len(fields) > len(v.Fields) {
			list = append(list, withNulls{v, v.Fields})
			v.Fields = fields
		}
	}
	return list
}

// removeNulls makes the versions canonical again, and their rows in the projection.
func (g *round) removeNulls(list []withNulls) error {
	for _, n := range list {
		n.version.Fields = n.canonical
		if err := layout.ProjectOne(g.w, g.wr.table(n.version.Kind), &n.version.Version); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return layout.HoldsForeign(g.w, list[len(list)-1].version.Commit)
}
