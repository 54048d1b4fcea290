package onto_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

func TestCompareEqual(t *testing.T) {
	for _, s := range []onto.Schema{customer(), subscription()} {
		if d := onto.DiffSchemas(s, s); !d.Empty() {
			t.Errorf("%s against itself: got %s", s.Name, d)
		}
	}
}

func TestCompareFields(t *testing.T) {
	stored, given := customer(), customer()
	given.Fields = []onto.Field{
		{Name: "active", Type: onto.Bool, Default: json.RawMessage("false")},
		{Name: "age", Type: onto.Float},
		{Name: "email", Type: onto.String},
		{Name: "events", Type: onto.List, Optional: true},
		{Name: "id", Type: onto.String},
		{Name: "name", Type: onto.String, Optional: true, Index: true, Search: true},
		{Name: "profile", Type: onto.Object, Optional: true},
		{Name: "score", Type: onto.Float},
		{Name: "since", Type: onto.Time, Optional: true},
		{Name: "tier", Type: onto.String},
	}
	d := onto.DiffSchemas(stored, given)
	want := onto.Difference{
		Kind: onto.KindEntity, Type: "Customer",
		Added: []string{"email"}, Removed: []string{"extra"},
		Changed: []string{
			"active: bool default true → bool default false",
			"age: int optional → float",
			"name: string search → string optional index search",
			"score: float default 0.5 → float",
		},
		Flags: []string{"tier: string index → string"},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
	if d.Empty() {
		t.Error("Empty: got true, want false")
	}
	line := "Customer: + email, - extra, ~ active: bool default true → bool default false, ~ age: int optional → float, " +
		"~ name: string search → string optional index search, ~ score: float default 0.5 → float, * tier: string index → string"
	if got := d.String(); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
}

func TestFlagsAreNoNewVersion(t *testing.T) {
	stored, given := customer(), customer()
	for i := range given.Fields {
		given.Fields[i].Index = !given.Fields[i].Index
		given.Fields[i].Search = false
	}
	d := onto.DiffSchemas(stored, given)
	if !d.Empty() || len(d.Flags) != len(stored.Fields) {
		t.Errorf("flags alone: got %+v, want them listed and nothing else", d)
	}
	if back := given.WithFlags(stored); !reflect.DeepEqual(back, stored) {
		t.Errorf("with the stored flags: got %+v, want %+v", back, stored)
	}
	if given.Fields[0].Index == stored.Fields[0].Index {
		t.Error("WithFlags has changed the schema it was called on")
	}
}

func TestCompareShape(t *testing.T) {
	stored, given := subscription(), subscription()
	given.Left, given.Right, given.InstanceKey = "Account", "Plan", ""
	want := []string{"left: Customer → Account", "right: Product → Plan", "instance key: stint_id → none"}
	if got := onto.DiffSchemas(stored, given).Changed; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	entity := onto.Schema{Kind: onto.KindEntity, Name: "Subscription", Key: "seats", Fields: stored.Fields}
	want = []string{
		"kind: relation → entity", "key: none → seats", "left: Customer → none",
		"right: Product → none", "instance key: stint_id → none",
	}
	if got := onto.DiffSchemas(stored, entity).Changed; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"type", "optional", "default", "index", "search"}
	for _, c := range []struct{ name, want string }{
		{"optinal", "optional"},
		{"Optional", "optional"},
		{"INDX", "index"},
		{"typ", "type"},
		{"tpye", "type"},
		{"serach", "search"},
		{"defualt", "default"},
		{"index", "index"},
		{"", ""},
		{"x", ""},
		{"primary_key", ""},
		{"zzzzzzzzzzzz", ""},
	} {
		if got := suggest.Name(c.name, words); got != c.want {
			t.Errorf("Suggest(%q): got %q, want %q", c.name, got, c.want)
		}
	}
	if got := suggest.Name("anything", nil); got != "" {
		t.Errorf("without candidates: got %q", got)
	}
	if got := suggest.Name("bat", []string{"bar", "baz"}); got != "bar" {
		t.Errorf("the first of equals: got %q, want bar", got)
	}
}

// What a newer version may change so that programs with the older one continue.
func TestCompatible(t *testing.T) {
	edit := func(change func(*onto.Schema)) onto.Schema {
		s := customer()
		s.Fields = append([]onto.Field{}, s.Fields...)
		change(&s)
		s.SortFields()
		return s
	}
	field := func(name string, change func(*onto.Field)) onto.Schema {
		return edit(func(s *onto.Schema) {
			for i := range s.Fields {
				if s.Fields[i].Name == name {
					change(&s.Fields[i])
				}
			}
		})
	}
	add := func(f onto.Field) onto.Schema {
		return edit(func(s *onto.Schema) { s.Fields = append(s.Fields, f) })
	}
	link := subscription()
	link.Right = "Customer"
	for _, c := range []struct {
		name         string
		older, newer onto.Schema
		want         bool
	}{
		{"the same", customer(), customer(), true},
		{"an optional field", customer(), add(onto.Field{Name: "zip", Type: onto.String, Optional: true}), true},
		{"a default", customer(), add(onto.Field{Name: "zip", Type: onto.Int, Default: json.RawMessage("1")}), true},
		{"a required field", customer(), add(onto.Field{Name: "zip", Type: onto.Int}), false},
		{"a field less", add(onto.Field{Name: "zip", Type: onto.Int, Optional: true}), customer(), false},
		{"a required field is optional", customer(), field("name", func(f *onto.Field) { f.Optional = true }), true},
		{"an optional field is required", customer(), field("age", func(f *onto.Field) { f.Optional = false }), false},
		{"another default", customer(), field("score", func(f *onto.Field) { f.Default = json.RawMessage("0") }), false},
		{"int to float", customer(), field("age", func(f *onto.Field) { f.Type = onto.Float }), true},
		{"string to any", customer(), field("name", func(f *onto.Field) { f.Type, f.Search = onto.Any, false }), true},
		{"float to int", customer(), field("score", func(f *onto.Field) { f.Type = onto.Int }), false},
		{"the key to any", customer(), field("id", func(f *onto.Field) { f.Type = onto.Any }), false},
		{"flags", customer(), field("name", func(f *onto.Field) { f.Index = !f.Index }), true},
		{"another key", customer(), edit(func(s *onto.Schema) { s.Key = "name" }), false},
		{"another name", customer(), edit(func(s *onto.Schema) { s.Name = "Client" }), false},
		{"another endpoint", subscription(), link, false},
	} {
		if got := onto.Compatible(c.older, c.newer); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
