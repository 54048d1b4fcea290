package typelist_test

import (
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/typelist"
)

// tagged is a type whose only field besides the key has the given flags.
func tagged(name string, index, search bool) onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "text", Type: onto.String, Index: index, Search: search},
	}}
}

// Flags make no type missing or outdated; they are compared separately.
func TestMissingAndRetuned(t *testing.T) {
	optional := tagged("O", false, false)
	optional.Fields[1].Optional = true
	all := []onto.SchemaVersion{
		{Schema: tagged("A", true, false), Version: 3}, {Schema: tagged("B", false, false), Version: 1}, {Schema: optional, Version: 1},
	}
	longer := tagged("A", false, false)
	longer.Fields = append(longer.Fields, onto.Field{Name: "zip", Type: onto.String, Optional: true})
	smaller := tagged("O", false, true)
	smaller.Fields = smaller.Fields[:1]
	for _, c := range []struct {
		name             string
		given            []onto.Schema
		missing, retuned []string
		code             onto.Code
	}{
		{"as stored", []onto.Schema{tagged("A", true, false), tagged("B", false, false)}, nil, nil, ""},
		{"other flags", []onto.Schema{tagged("A", false, true), tagged("B", false, false)}, nil, []string{"A"}, ""},
		{"new", []onto.Schema{tagged("C", true, true), tagged("B", true, false)}, []string{"C"}, []string{"B"}, ""},
		{"new, then with other flags", []onto.Schema{tagged("C", true, true), tagged("C", false, true)}, []string{"C"}, []string{"C"}, ""},
		{"twice, the last as stored", []onto.Schema{tagged("B", true, false), tagged("B", false, false)}, nil, []string{"B", "B"}, ""},
		{"a part, with other flags", []onto.Schema{smaller}, nil, nil, ""},
		{"more than flags", []onto.Schema{longer, tagged("B", true, false)}, nil, []string{"B"}, onto.SchemaOutdated},
		{"another kind", []onto.Schema{{Kind: onto.KindRelation, Name: "A", Left: "B", Right: "B"}}, nil, nil, onto.Conflict},
	} {
		missing, err := typelist.Missing(all, c.given)
		if onto.CodeOf(err) != c.code || !slices.Equal(names(missing), c.missing) {
			t.Errorf("%s: got missing %v, error %v; want %v, %q", c.name, names(missing), err, c.missing, c.code)
		}
		if got := names(typelist.Retuned(all, c.given)); !slices.Equal(got, c.retuned) {
			t.Errorf("%s: got retuned %v, want %v", c.name, got, c.retuned)
		}
	}
}

func names(schemas []onto.Schema) (list []string) {
	for _, s := range schemas {
		list = append(list, s.Name)
	}
	return list
}
