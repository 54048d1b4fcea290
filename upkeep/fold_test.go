package upkeep_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/upkeep"
)

// A fold that is behind is reported, until its record says that it has caught up.
func TestFoldsThatAreBehind(t *testing.T) {
	b := memory.New(nil).Open()
	defer b.Close()
	types := onto.Schema{Kind: onto.KindEntity, Name: "onto_folds", Key: "id", Fields: []onto.Field{
		{Name: "behind", Type: onto.Int, Optional: true}, {Name: "id", Type: onto.String}, {Name: "mark", Type: onto.String, Optional: true},
	}}
	if _, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{types}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fields string
		want   string
	}{
		{`{"behind":1,"id":"Notice/inbox","mark":"a"}`, "the fold inbox of Notice has all facts up to commit 1, and the head is 1"},
		{`{"id":"Notice/inbox","mark":"b"}`, ""},
	} {
		d := &backend.Draft{Writes: []backend.Write{
			{Identity: onto.EntityID("onto_folds", "Notice"), Op: onto.Put, Fields: []byte(`{"id":"Notice"}`), SchemaVersion: 1},
			{Identity: onto.EntityID("onto_folds", "Notice/inbox"), Op: onto.Put, Fields: []byte(c.fields), SchemaVersion: 1},
		}}
		if _, err := b.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		got := ""
		for f, err := range upkeep.Examine(t.Context(), b, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Code == "fold_behind" {
				got += f.Message
			}
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
