package onto_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

// odd is a type with names and a key that only the original program allows.
func odd() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "Größe 1", Key: "a-b", Fields: []onto.Field{
		{Name: "2nd", Type: onto.Int}, {Name: "a-b", Type: onto.Float},
	}}
}

// Names and keys that a store has may stay; others are refused as ever.
func TestSchemaCheckTakesWhatIsStored(t *testing.T) {
	stored := []onto.Schema{odd(), customer()}
	with := func(change func(*onto.Schema)) onto.Schema {
		s := odd()
		s.Fields = slices.Clone(s.Fields)
		change(&s)
		return s
	}
	relation := onto.Schema{Kind: onto.KindRelation, Name: "Has", Left: "Größe 1", Right: "Customer"}
	for _, c := range []struct {
		name   string
		schema onto.Schema
		want   string
	}{
		{"as stored", odd(), ""},
		{"another field", with(func(s *onto.Schema) {
			s.Fields = append(s.Fields, onto.Field{Name: "c", Type: onto.Bool, Optional: true})
		}), ""},
		{"another odd field", with(func(s *onto.Schema) { s.Fields = append(s.Fields, onto.Field{Name: "c d", Type: onto.Bool}) }), `Größe 1: field name "c d" is not allowed`},
		{"another odd key", with(func(s *onto.Schema) { s.Fields[1].Type = onto.Bool }), "Größe 1.a-b: a key is a string or an int, not bool"},
		{"another name", with(func(s *onto.Schema) { s.Name = "Größe 2" }), `type name "Größe 2" is not allowed`},
		{"another kind", onto.Schema{Kind: onto.KindRelation, Name: "Größe 1", Left: "Customer", Right: "Customer"}, `type name "Größe 1" is not allowed`},
		{"the field of another type", onto.Schema{Kind: onto.KindEntity, Name: "Plain", Key: "id", Fields: []onto.Field{{Name: "2nd", Type: onto.Int}, {Name: "id", Type: onto.Int}}}, `Plain: field name "2nd" is not allowed`},
		{"an endpoint", relation, ""},
		{"an endpoint that is not there", onto.Schema{Kind: onto.KindRelation, Name: "Has", Left: "Größe 3", Right: "Customer"}, `Has: left type name "Größe 3" is not allowed`},
	} {
		if got := message(c.schema.Check(stored...)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if _, err := onto.Untyped(c.schema, stored...).Schema(); message(err) != c.want {
			t.Errorf("%s: untyped: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := odd().Check(); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("without a store: got %v, want a refusal", err)
	}
}

// An instance key that only the declaration repeats among the fields is no difference.
func TestInstanceKeyInTheIdentityOnly(t *testing.T) {
	stored := subscription() // stint_id is no field
	repeating := func(f onto.Field) onto.Schema {
		s := subscription()
		s.Fields = append(slices.Clone(s.Fields), f)
		return s
	}
	given := repeating(onto.Field{Name: "stint_id", Type: onto.String})
	if d := onto.DiffSchemas(stored, given); !d.Empty() {
		t.Errorf("got %s, want no difference", d)
	}
	if !onto.Compatible(given, stored) {
		t.Error("the stored type does not serve the declaration")
	}
	if got := given.LikeStored(stored); string(got.JSON()) != string(stored.JSON()) {
		t.Errorf("got %s, want %s", got.JSON(), stored.JSON())
	}
	if got := given.LikeStored(given); string(got.JSON()) != string(given.JSON()) {
		t.Errorf("stored as a field: got %s, want it to stay", got.JSON())
	}
	if d := onto.DiffSchemas(given, stored); len(d.Removed) != 1 {
		t.Errorf("stored as a field: got %s, want it removed", d)
	}
	for _, other := range []onto.Field{
		{Name: "stint_id", Type: onto.Int},
		{Name: "stint_id", Type: onto.String, Optional: true},
		{Name: "stint_id", Type: onto.String, Default: json.RawMessage(`"x"`)},
	} {
		if d := onto.DiffSchemas(stored, repeating(other)); len(d.Added) != 1 {
			t.Errorf("%+v: got %s, want it added", other, d)
		}
	}
	renamed := given
	renamed.InstanceKey = "other"
	if d := onto.DiffSchemas(stored, renamed); len(d.Added) != 1 || len(d.Changed) != 1 {
		t.Errorf("another instance key: got %s", d)
	}
}
