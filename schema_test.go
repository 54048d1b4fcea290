package onto_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

// customer is the entity of the documentation, with one field of each type.
func customer() onto.Schema {
	return onto.Schema{
		Kind: onto.KindEntity, Name: "Customer", Key: "id",
		Fields: []onto.Field{
			{Name: "active", Type: onto.Bool, Default: json.RawMessage("true")},
			{Name: "age", Type: onto.Int, Optional: true},
			{Name: "events", Type: onto.List, Optional: true},
			{Name: "extra", Type: onto.Any, Optional: true},
			{Name: "id", Type: onto.String},
			{Name: "name", Type: onto.String, Search: true},
			{Name: "profile", Type: onto.Object, Optional: true},
			{Name: "score", Type: onto.Float, Default: json.RawMessage("0.5")},
			{Name: "since", Type: onto.Time, Optional: true},
			{Name: "tier", Type: onto.String, Index: true},
		},
	}
}

func subscription() onto.Schema {
	return onto.Schema{
		Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product", InstanceKey: "stint_id",
		Fields: []onto.Field{{Name: "seats", Type: onto.Int, Default: json.RawMessage("1")}},
	}
}

func TestSchemaJSON(t *testing.T) {
	for _, c := range []struct {
		schema     onto.Schema
		json, hash string
	}{
		{
			customer(),
			`{"fields":{"active":{"default":true,"type":"bool"},"age":{"optional":true,"type":"int"},` +
				`"events":{"optional":true,"type":"list"},"extra":{"optional":true,"type":"any"},` +
				`"id":{"type":"string"},"name":{"search":true,"type":"string"},` +
				`"profile":{"optional":true,"type":"object"},"score":{"default":0.5,"type":"float"},` +
				`"since":{"optional":true,"type":"time"},"tier":{"index":true,"type":"string"}},` +
				`"key":"id","kind":"entity","name":"Customer"}`,
			"a0d003ce8df49f57fcbbe6029f7aa81934c3b50393ad1d7d429157940bcf6b94",
		},
		{
			subscription(),
			`{"fields":{"seats":{"default":1,"type":"int"}},"instance_key":"stint_id","kind":"relation",` +
				`"left":"Customer","name":"Subscription","right":"Product"}`,
			"ca495f155281ae49f836d298203752261f8707e819ec0b5a0a443c07d84a4bc2",
		},
		{
			onto.Schema{Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person"},
			`{"fields":{},"kind":"relation","left":"Person","name":"Knows","right":"Person"}`,
			"5d378f19615af53143a546316e988cbaae0a2a205b4fe38fca8fc1ad8959e6b0",
		},
	} {
		t.Run(c.schema.Name, func(t *testing.T) {
			if err := c.schema.Check(); err != nil {
				t.Fatalf("Check: %v", err)
			}
			if got := string(c.schema.JSON()); got != c.json {
				t.Errorf("JSON:\ngot  %s\nwant %s", got, c.json)
			}
			if got := c.schema.Hash(); got != c.hash {
				t.Errorf("Hash: got %s, want %s", got, c.hash)
			}
			back, err := onto.ParseSchema(c.schema.JSON())
			if err != nil || !reflect.DeepEqual(back, c.schema) {
				t.Errorf("ParseSchema: got %+v, %v, want %+v", back, err, c.schema)
			}
		})
	}
}

func TestSchemaJSONKeepsTextAsItIs(t *testing.T) {
	s := subscription()
	s.Fields = []onto.Field{{Name: "note", Type: onto.String, Default: json.RawMessage("\"<b>&\u2028é\"")}}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if want := "\"<b>&\u2028é\""; !strings.Contains(string(s.JSON()), want) {
		t.Errorf("got %s, want %s in it", s.JSON(), want)
	}
}

func TestParseSchemaReadsOtherForms(t *testing.T) {
	s, err := onto.ParseSchema([]byte(`{"name": "T", "kind": "entity", "key": "id",
		"fields": {"n": {"type": "any", "default": {"b": 1.0, "a": []}}, "id": {"type": "int"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"fields":{"id":{"type":"int"},"n":{"default":{"a":[],"b":1},"type":"any"}},"key":"id","kind":"entity","name":"T"}`
	if got := string(s.JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"not JSON":     {`{`, "schema is not JSON"},
		"a list":       {`[]`, "schema cannot be read"},
		"a member":     {`{"kind":"entity","name":"T","key":"id","fields":{"id":{"type":"string","later":1}}}`, `schema cannot be read: json: unknown field "later"`},
		"nothing":      {`{}`, "type name is empty"},
		"bad default":  {`{"kind":"entity","name":"T","key":"id","fields":{"id":{"type":"string"},"n":{"type":"int","default":"x"}}}`, `T.n: default "x": expected int, found string`},
		"null default": {`{"kind":"entity","name":"T","key":"id","fields":{"id":{"type":"string"},"n":{"type":"any","default":null}}}`, "T.n: default null: expected any, found null"},
	} {
		_, err := onto.ParseSchema([]byte(c.src))
		if !strings.Contains(message(err), c.want) || onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestSchemaField(t *testing.T) {
	s := customer()
	for _, name := range s.FieldNames() {
		if f, ok := s.Field(name); !ok || f.Name != name {
			t.Errorf("Field(%s): got %+v, %v", name, f, ok)
		}
	}
	for _, name := range []string{"", "aaa", "zzz", "ID"} {
		if f, ok := s.Field(name); ok {
			t.Errorf("Field(%q): got %+v, want none", name, f)
		}
	}
}

func TestSortFields(t *testing.T) {
	s := customer()
	slices.Reverse(s.Fields)
	if err := s.Check(); err == nil {
		t.Error("Check of unsorted fields: got no error")
	}
	s.SortFields()
	if !reflect.DeepEqual(s, customer()) {
		t.Errorf("got %+v, want %+v", s, customer())
	}
}

func TestFieldTypesAreAllAccepted(t *testing.T) {
	for _, ft := range onto.FieldTypes() {
		s := subscription()
		s.Fields = []onto.Field{{Name: "x", Type: ft, Optional: true, Index: true}}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", ft, err)
		}
	}
}

func TestSchemaCheck(t *testing.T) {
	entity := func(change func(*onto.Schema)) onto.Schema {
		s := customer()
		change(&s)
		return s
	}
	relation := func(change func(*onto.Schema)) onto.Schema {
		s := subscription()
		change(&s)
		return s
	}
	field := func(f onto.Field) onto.Schema {
		return relation(func(s *onto.Schema) { s.Fields = []onto.Field{f} })
	}
	long := strings.Repeat("x", onto.MaxName+1)
	for _, c := range []struct {
		name   string
		schema onto.Schema
		want   string
	}{
		{"no name", entity(func(s *onto.Schema) { s.Name = "" }), "type name is empty"},
		{"bad name", entity(func(s *onto.Schema) { s.Name = "My Type" }), `type name "My Type" is not allowed`},
		{"long name", entity(func(s *onto.Schema) { s.Name = long }), "type name is 65 bytes long, the limit is 64"},
		{"no kind", entity(func(s *onto.Schema) { s.Kind = "" }), `Customer: kind "" is unknown`},
		{"unknown kind", entity(func(s *onto.Schema) { s.Kind = "thing" }), `Customer: kind "thing" is unknown`},
		{"no key", entity(func(s *onto.Schema) { s.Key = "" }), "Customer: no field is the key"},
		{"key is no field", entity(func(s *onto.Schema) { s.Key = "uid" }), "Customer: the key uid is not among the fields"},
		{"key of a wrong type", entity(func(s *onto.Schema) { s.Key = "tier"; s.Fields[9].Type = onto.Bool }), "Customer.tier: a key is a string or an int, not bool"},
		{"optional key", entity(func(s *onto.Schema) { s.Key = "age" }), "Customer.age: the key can be neither optional nor have a default"},
		{"key with default", entity(func(s *onto.Schema) { s.Fields[4].Default = json.RawMessage(`"x"`) }), "Customer.id: the key can be neither optional nor have a default"},
		{"entity with endpoint", entity(func(s *onto.Schema) { s.Left = "X" }), "Customer: an entity has no endpoints and no instance key"},
		{"entity with instance key", entity(func(s *onto.Schema) { s.InstanceKey = "x" }), "Customer: an entity has no endpoints and no instance key"},
		{"relation with key", relation(func(s *onto.Schema) { s.Key = "seats" }), "Subscription: a relation has no key field"},
		{"no left", relation(func(s *onto.Schema) { s.Left = "" }), "Subscription: left type name is empty"},
		{"no right", relation(func(s *onto.Schema) { s.Right = "" }), "Subscription: right type name is empty"},
		{"bad instance key", relation(func(s *onto.Schema) { s.InstanceKey = "a-b" }), `Subscription: instance key name "a-b" is not allowed`},
		{"instance key of a wrong type", relation(func(s *onto.Schema) { s.InstanceKey = "seats" }), "Subscription.seats: the instance key is a string, neither optional nor with a default"},
		{"bad field name", field(onto.Field{Name: "1st", Type: onto.Int}), `Subscription: field name "1st" is not allowed`},
		{"long field name", field(onto.Field{Name: long, Type: onto.Int}), "Subscription: field name is 65 bytes long, the limit is 64"},
		{"no field type", field(onto.Field{Name: "x"}), `Subscription.x: type "" is unknown`},
		{"unknown field type", field(onto.Field{Name: "x", Type: "text"}), `Subscription.x: type "text" is unknown`},
		{"search in a number", field(onto.Field{Name: "x", Type: onto.Int, Search: true}), "Subscription.x: only strings can be searched, this is int"},
		{"optional with default", field(onto.Field{Name: "x", Type: onto.Int, Optional: true, Default: json.RawMessage("1")}), "Subscription.x: a field with a default is never absent, so it cannot be optional"},
		{"default that is not JSON", field(onto.Field{Name: "x", Type: onto.Any, Default: json.RawMessage("{")}), "Subscription.x: default { is not JSON"},
		{"empty default", field(onto.Field{Name: "x", Type: onto.Any, Default: json.RawMessage{}}), "Subscription.x: default  is not JSON"},
		{"default that does not fit", field(onto.Field{Name: "x", Type: onto.Int, Default: json.RawMessage("1.5")}), "Subscription.x: default 1.5: expected int, found float"},
		{"field twice", relation(func(s *onto.Schema) { s.Fields = append(s.Fields, s.Fields[0]) }), "Subscription: field seats is given twice or out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.schema.Check()
			if message(err) != c.want || onto.CodeOf(err) != onto.Invalid {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, typeErr := onto.Untyped(c.schema).Schema(); message(typeErr) != c.want {
				t.Errorf("Untyped: got %v, want %s", typeErr, c.want)
			}
		})
	}
}

func TestDefaultMustBeCanonical(t *testing.T) {
	s := subscription()
	s.Fields = []onto.Field{{Name: "x", Type: onto.Any, Default: json.RawMessage(`{"b":1.0,"a":2}`)}}
	want := `Subscription.x: default {"b":1.0,"a":2} is not canonical, write {"a":2,"b":1}`
	if err := s.Check(); message(err) != want {
		t.Errorf("Check: got %v, want %s", err, want)
	}
	fixed, err := onto.Untyped(s).Schema()
	if err != nil || string(fixed.Fields[0].Default) != `{"a":2,"b":1}` {
		t.Errorf("Untyped: got %s, %v, want the canonical form", fixed.Fields[0].Default, err)
	}
	if string(s.Fields[0].Default) != `{"b":1.0,"a":2}` {
		t.Errorf("Untyped changed its argument to %s", s.Fields[0].Default)
	}
}

// message is the text of an error, "" if there is none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
