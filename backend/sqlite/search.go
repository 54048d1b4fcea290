package sqlite

import (
	"bytes"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/decide"
)

// searchTable returns the table with the words of the fields that a schema marks for
// search. It reports false if there is none, or if it holds the words of other fields:
// then versions are read and their words split.
func (r *reading) searchTable(s *onto.Schema) (name string, ok bool, err error) {
	row, ok, err := r.QueryRow(`SELECT id, field FROM onto_derived WHERE type_kind = ? AND type_name = ? AND purpose = 'search'`,
		string(s.Kind), s.Name)
	if err != nil || !ok || row.Text(1) != layout.SearchFields(s) {
		return "", false, err
	}
	return layout.SearchName(row.Int(0)), true, nil
}

// noteWords notes the words that a version changes; the version will be in the given
// row of those to be written.
func (g *round) noteWords(v *decide.Version, row int) {
	t := g.wr.types.search[v.TypeName()]
	if t == nil {
		return
	}
	var before, after [][]byte
	if v.Before != nil && v.Before.Live() {
		before = t.Texts(v.Before.Fields)
	}
	if v.Live() {
		after = t.Texts(v.Fields)
	}
	c := g.words[v.Identity]
	if c == nil {
		if slices.EqualFunc(before, after, bytes.Equal) {
			return
		}
		if g.words == nil {
			g.words = make(map[onto.Identity]*layout.WordChange)
		}
		c = &layout.WordChange{Table: t, Row: -1, Before: layout.JoinWords(before)}
		if v.Before == nil {
			c.Row = row
		}
		g.words[v.Identity] = c
	}
	c.After = layout.JoinWords(after)
}

// writeWords updates the search tables.
func (g *round) writeWords(first firstRows) error {
	var list []*layout.WordChange
	for id, c := range g.words {
		if c.Before == c.After {
			continue
		}
		if c.DocID = first[layout.Place(id.Kind)] + int64(c.Row); c.Row < 0 {
			var err error
			if c.DocID, err = g.w.QueryInt(g.wr.table(id.Kind).FirstRow, layout.IdentityArgs(nil, &id)...); err != nil {
				return err
			}
		}
		list = append(list, c)
	}
	clear(g.words)
	if err := g.wr.reached("words"); err != nil {
		return err
	}
	return layout.WriteWords(g.w, list)
}
