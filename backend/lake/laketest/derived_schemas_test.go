package laketest

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/typelist"
)

// The objects about types tell which types exist, their fields, and which have ended.
func TestSchemaObjects(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	types := readJSON[map[string]any](t, b, "meta/schema/types.json")
	if types["entities"].([]any)[0] != "Thing" || types["relations"].([]any)[0] != "Likes" || types["updated_at"] == "" {
		t.Errorf("got types %v, want Thing and Likes", types)
	}
	registry := readJSON[map[string]map[string]map[string]any](t, b, "meta/schema/registry.json")
	if registry["entity"]["Thing"]["key"] != "id" || registry["relation"]["Likes"]["left"] != "Thing" {
		t.Errorf("got the registry %v, want the schemas of Thing and Likes", registry)
	}
	if dropped := readJSON[[]any](t, b, "meta/schema/dropped.json"); len(dropped) > 0 {
		t.Errorf("got dropped types %v, want none", dropped)
	}
	versions := readJSON[[]map[string]any](t, b, "meta/schema/versions/entity/Thing.json")
	if len(versions) != 1 || versions[0]["schema_version_id"] != 1.0 || versions[0]["schema_hash"] == "" || versions[0]["schema"] == nil {
		t.Errorf("got versions %v, want the first", versions)
	}
	before := b.writes["meta/schema/types.json"]
	if err := l.put(t.Context(), "z"); err != nil {
		t.Fatal(err)
	}
	l.rest(t)
	if n := b.writes["meta/schema/types.json"]; n != before {
		t.Errorf("a commit has written types.json %d times, want never", n-before)
	}
}

// A purged type is listed as dropped, and its index is empty.
func TestSchemaObjectsOfPurgedType(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	all, err := l.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.AppendStream(t.Context(), &backend.Draft{Evolve: &backend.Evolution{
		Base: typelist.Hash(all), End: []backend.EndedType{{Kind: onto.KindRelation, Type: "Likes", Purge: true}},
	}}, noWrites())
	if err != nil {
		t.Fatal(err)
	}
	l.derived(nil, true)
	l.rest(t)
	dropped := readJSON[[]map[string]any](t, b, "meta/schema/dropped.json")
	if len(dropped) != 1 || dropped[0]["type_name"] != "Likes" || dropped[0]["type_kind"] != "relation" || dropped[0]["purged"] != true ||
		dropped[0]["renamed_to"] != nil || dropped[0]["dropped_at"] == "" || dropped[0]["schema_version_id"] != 1.0 {
		t.Errorf("got %v, want Likes", dropped)
	}
	if x := readJSON[indexDocument](t, b, likesIndex); len(x.Entries) > 0 {
		t.Errorf("the index has %v, want nothing", x.Entries)
	}
	if types := readJSON[map[string]any](t, b, "meta/schema/types.json"); len(types["relations"].([]any)) > 0 {
		t.Errorf("got types %v, want no relation", types)
	}
	wantSound(t, b)
}

// A lake without types has no objects about them, and that is no finding.
func TestSchemaObjectsOfNothing(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	if _, err := l.newest(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.derived(nil, true)
	l.rest(t)
	if len(b.writes) > 0 {
		t.Errorf("wrote %v, want nothing", b.writes)
	}
	wantSound(t, b)
}
