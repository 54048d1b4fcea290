package lineage

import (
	"reflect"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// A Person is dropped at commit 5 and begins anew at commit 7. At 10 it gets a
// field with a default, at 20 it becomes a Client, and at 30 that gets a field that
// may be missing.
func life() []onto.SchemaVersion {
	id := onto.Field{Name: "id", Type: onto.String}
	tier := onto.Field{Name: "tier", Type: onto.String, Default: []byte(`"Gold"`)}
	note := onto.Field{Name: "note", Type: onto.String, Optional: true}
	version := func(name string, version int, since int64, fields ...onto.Field) onto.SchemaVersion {
		s := onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: fields}
		s.SortFields()
		return onto.SchemaVersion{Schema: s, Version: version, Since: since}
	}
	all := []onto.SchemaVersion{
		version("Client", 1, 20, id, tier),
		version("Client", 2, 30, id, tier, note),
		version("Person", 1, 1, id),
		version("Person", 2, 7, id),
		version("Person", 3, 10, id, tier),
	}
	all[0].Upgrader = &onto.StoredUpgrader{RenamedFrom: "Person", FromVersion: 3}
	all[1].Upgrader = &onto.StoredUpgrader{}
	all[2].End = &onto.End{Commit: 5}
	all[4].Upgrader = &onto.StoredUpgrader{}
	all[4].End = &onto.End{Commit: 20, RenamedTo: "Client"}
	return all
}

func noFunctions(string, int) Func { return nil }

func TestChain(t *testing.T) {
	all := life()
	c := New(all, all[1], noFunctions)
	if len(c.Stages) != 4 || c.Start != 7 || c.Plain() {
		t.Fatalf("%d stages from commit %d on, want 4 from 7 on", len(c.Stages), c.Start)
	}
	for _, at := range []struct {
		commit       int64
		begun, ready bool
		stage        int
		name         string
		began        bool
	}{
		{6, false, false, 0, "Person", false},
		{7, true, false, 0, "Person", true},
		{19, true, false, 1, "Person", false},
		{20, true, true, 2, "Client", true},
		{29, true, true, 2, "Client", false},
		{30, true, true, 3, "Client", true},
		{backend.Head, true, true, 3, "Client", false},
	} {
		got := []any{c.Begun(at.commit), c.Ready(at.commit), c.At(at.commit), c.Source(at.commit), c.Began(at.commit)}
		if want := []any{at.begun, at.ready, at.stage, at.name, at.began}; !reflect.DeepEqual(got, want) {
			t.Errorf("commit %d: begun, ready, stage, name, began: got %v, want %v", at.commit, got, want)
		}
		if q := (&backend.Query{At: at.commit}); c.Native(q) != (at.begun && at.ready) {
			t.Errorf("commit %d: native is %v", at.commit, c.Native(q))
		}
	}
	want := []Span{{"Person", 7, 19}, {"Client", 20, backend.Head}}
	if got := c.Spans(); !reflect.DeepEqual(got, want) {
		t.Errorf("spans: got %v, want %v", got, want)
	}
	if former := New(all, all[2], noFunctions); !former.Plain() {
		t.Errorf("the type that was dropped has %d stages", len(former.Stages))
	}
}

func TestUpgrade(t *testing.T) {
	all := life()
	c := New(all, all[1], noFunctions)
	v := onto.Version{Identity: onto.EntityID("Person", "p1"), Op: onto.Put, Commit: 8, SchemaVersion: 2, Fields: []byte(`{"id":"p1"}`)}
	was := v
	if err := c.Upgrade(t.Context(), &v, 9, 0); err != nil {
		t.Fatal(err)
	}
	if v.Identity != onto.EntityID("Client", "p1") || v.SchemaVersion != 2 || string(v.Fields) != `{"id":"p1","tier":"Gold"}` {
		t.Errorf("got %s version %d with %s", v.Identity, v.SchemaVersion, v.Fields)
	}
	if string(was.Fields) != `{"id":"p1"}` {
		t.Errorf("what was read became %s", was.Fields)
	}

	all[0].Upgrader.Func = true // each program has to give it
	v = was
	if err := New(all, all[1], noFunctions).Upgrade(t.Context(), &v, 9, 0); onto.CodeOf(err) != onto.UpgraderMissing {
		t.Errorf("a function that is not given: got %v, want %s", err, onto.UpgraderMissing)
	}
}
