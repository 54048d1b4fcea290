package object_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

// A later program adds text search and an index to a set that has objects, and an earlier one goes on
// beside it.
func TestSearchIsAddedToASet(t *testing.T) {
	for _, l := range []layout{{"sqlite", 2}, {"lake", 2}} {
		t.Run(l.String(), func(t *testing.T) {
			config := object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}}
			first := open(t, config)
			if err := first.Init(t.Context(), "chat", "acme"); err != nil {
				t.Fatal(err)
			}
			plain := object.NewSet[Message](first, "chat").Ready().Tenant("acme")
			var all []Message
			for i := range 10 {
				all = append(all, message(i))
			}
			if err := plain.Insert(t.Context(), all...); err != nil {
				t.Fatal(err)
			}
			_, err := plain.Count(t.Context(), object.Where().Search("word1"))
			wantCode(t, err, onto.Invalid)

			searched := messagesOf(open(t, config)).Tenant("acme")
			if n, err := searched.Count(t.Context(), object.Where().Search("word1")); n != 2 || err != nil {
				t.Errorf("found %d, %v, want 2", n, err)
			}
			m := message(11)
			if err := plain.Insert(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			m.Sender = "mallory"
			if err := plain.Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if n, err := searched.Count(t.Context(), object.Where().Search("mallory word1")); n != 1 || err != nil {
				t.Errorf("found %d, %v, want 1", n, err)
			}
			again := object.NewSet[Message](open(t, config), "chat").Ready().Tenant("acme")
			if n, err := again.Count(t.Context(), nil); n != 11 || err != nil {
				t.Errorf("a later program without search counts %d, %v", n, err)
			}
		})
	}
}
