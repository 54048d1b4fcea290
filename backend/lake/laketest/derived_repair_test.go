package laketest

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/upkeep"
)

// plantedFault is something that is done to a derived object of a lake with three
// commits of things.
type plantedFault struct {
	name string
	key  string
	body string               // that takes its place, if edit is nil; "" for none
	edit func(*indexDocument) // of an index
	code string               // that is found
}

func plantedFaults() []plantedFault {
	thing := thingIndex
	edited := func(name, code string, edit func(*indexDocument)) plantedFault {
		return plantedFault{name: name, key: thing, edit: edit, code: code}
	}
	return []plantedFault{
		{name: "missing", key: thing, code: "index_object_missing"},
		{name: "not JSON", key: thing, body: "{", code: "index_damaged"},
		{name: "empty object", key: thing, body: "{}", code: "index_damaged"},
		{name: "another type's", key: thing, body: `{"type_name":"Other","max_indexed_commit":4,"entries":[]}`, code: "index_damaged"},
		edited("of a relation", "index_damaged", func(x *indexDocument) { x.Kind = onto.KindRelation }),
		edited("another store's", "index_damaged", func(x *indexDocument) { x.StoreID = "another" }),
		edited("of the future", "index_damaged", func(x *indexDocument) { x.Max = 99 }),
		edited("of a later head", "index_damaged", func(x *indexDocument) { x.Sequence = 99 }),
		edited("behind", "index_lag", func(x *indexDocument) { x.Max, x.Entries = 2, x.Entries[:2] }),
		edited("without the latest entry", "index_entry_missing", func(x *indexDocument) { x.Entries = x.Entries[:2] }),
		edited("without an earlier entry", "index_entry_missing", func(x *indexDocument) { x.Entries = x.Entries[1:] }),
		edited("another path", "index_path_mismatch", func(x *indexDocument) { x.Entries[2].Path = "commits/4-x/entities/Thing.parquet" }),
		edited("an old snapshot", "index_path_mismatch", func(x *indexDocument) {
			x.Entries = []indexedFile{{First: 1, Last: 4, Path: "snapshots/entities/Thing-1-4-x.parquet"}}
		}),
		edited("overlapping", "index_damaged", func(x *indexDocument) { x.Entries[1].First = 1 }),
		edited("out of order", "index_damaged", func(x *indexDocument) { slices.Reverse(x.Entries) }),
		edited("upside down", "index_damaged", func(x *indexDocument) { x.Entries[2].First = 5 }),
		edited("another size", "index_damaged", func(x *indexDocument) { x.Entries[0].Bytes++ }),
		edited("another hash", "index_damaged", func(x *indexDocument) { x.Entries[0].SHA256 = "0" }),
		edited("an entry too many", "index_damaged", func(x *indexDocument) {
			x.Entries = slices.Insert(x.Entries, 2, indexedFile{First: 3, Last: 3, Path: "commits/3-x/entities/Thing.parquet"})
		}),
		{name: "types missing", key: "meta/schema/types.json", code: "schema_object_stale"},
		{name: "types not JSON", key: "meta/schema/types.json", body: "[", code: "schema_object_stale"},
		{name: "registry stale", key: "meta/schema/registry.json", body: `{"entity":{}}`, code: "schema_object_stale"},
		{name: "dropped stale", key: "meta/schema/dropped.json", body: `[{}]`, code: "schema_object_stale"},
		{name: "versions missing", key: "meta/schema/versions/relation/Likes.json", code: "schema_object_stale"},
	}
}

// Every fault is found, planned for without a change, and repaired.
func TestIndexRepair(t *testing.T) {
	for _, f := range plantedFaults() {
		t.Run(f.name, func(t *testing.T) {
			b := newDerivedBucket()
			l := openDeriving(t, b)
			l.fill(t)
			switch {
			case f.edit != nil:
				replaceJSON(t, b, f.key, f.edit)
			case f.body != "":
				replaceBody(t, b, f.key, []byte(f.body))
			default:
				replaceBody(t, b, f.key, nil)
			}
			findings, err := l.VerifyIndex(t.Context())
			if err != nil || len(findings) != 1 {
				t.Fatalf("got findings %v, error %v; want one", findings, err)
			}
			if g := findings[0]; g.Code != f.code || g.Severity != onto.SeverityWarning || !strings.Contains(g.Message, f.key) || upkeep.Explain(g).Remedy.Command == nil {
				t.Errorf("got %+v, want a warning %s about %s with a command", g, f.code, f.key)
			}
			before, _ := b.Get(t.Context(), f.key, bucket.Range{}, "")
			plan, err := l.PlanIndexRepair(t.Context())
			if err != nil || len(plan.Items) != 1 || plan.Items[0].Key != f.key || plan.Items[0].Applied || plan.Items[0].Reason == "" {
				t.Errorf("got the plan %+v, error %v; want %s", plan, err, f.key)
			}
			if after, _ := b.Get(t.Context(), f.key, bucket.Range{}, ""); string(after.Data) != string(before.Data) {
				t.Error("the plan has changed the object")
			}
			written, err := l.RepairIndex(t.Context(), plan)
			if err != nil || written != 1 || !plan.Items[0].Applied {
				t.Errorf("got %d, %+v, error %v; want it to be written", written, plan, err)
			}
			wantSound(t, b)
			if plan, err := l.PlanIndexRepair(t.Context()); err != nil || len(plan.Items) > 0 {
				t.Errorf("once more: got %+v, error %v; want nothing to do", plan, err)
			}
		})
	}
}

// An index as another program writes it, without the members that were added, is
// no finding.
func TestIndexOfAnotherProgram(t *testing.T) {
	b := newDerivedBucket()
	openDeriving(t, b).fill(t)
	replaceJSON(t, b, thingIndex, func(x *indexDocument) {
		x.Kind, x.StoreID, x.Sequence = "", "", 0
		for i := range x.Entries {
			e := &x.Entries[i]
			e.Rows, e.Bytes, e.SHA256 = 0, 0, ""
		}
	})
	wantSound(t, b)
}

// A compaction changes the files of a type and no commit. The index is stale
// until it is written again.
func TestIndexAfterCompaction(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	merged := []protocol.DataFile{{Kind: onto.KindEntity, Type: "Thing", Rows: 3, Version: 1, Body: []byte("x")}}
	snapshots, replaced, err := l.publisher.Replace(t.Context(), l.shelf.Files[thingType()], merged, l.shelf)
	if err != nil || !replaced {
		t.Fatal(replaced, err)
	}
	findings, err := l.VerifyIndex(t.Context())
	if err != nil || len(findings) != 1 || findings[0].Code != "index_path_mismatch" {
		t.Errorf("got findings %v, error %v; want index_path_mismatch", findings, err)
	}
	l.derived([]onto.TypeName{thingType()}, false)
	l.rest(t)
	x := readJSON[indexDocument](t, b, thingIndex)
	if len(x.Entries) != 1 || x.Entries[0].Path != snapshots[0].Path || x.Max != 4 {
		t.Errorf("got %+v, want the snapshot alone", x)
	}
	wantSound(t, b)
}
