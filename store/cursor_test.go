package store

import (
	"errors"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// FuzzCursor feeds cursors from outside: each is refused as Invalid, or is one
// that could have been given out.
func FuzzCursor(f *testing.F) {
	q := &backend.Query{Kind: onto.KindEntity, Type: "Product"}
	good := cursor{7, onto.EntityID("Product", "p\x01\"é")}
	for _, s := range []string{"", "e30", "bnVsbA", good.String(), good.String()[:9], cursor{1, onto.RelationID("R", "a", "b")}.String()} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s, q)
		if err != nil {
			if !errors.Is(err, onto.Invalid) {
				t.Errorf("%q: got %v, want Invalid", s, err)
			}
			return
		}
		if again, err := parseCursor(c.String(), q); err != nil || again != c {
			t.Errorf("%q: got %+v, error %v; want %+v", s, again, err, c)
		}
	})
}
