package schemafile_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

// example is the schema file of the documentation.
const example = `entities:
  Customer:
    key: id
    fields:
      id:      {type: string}
      name:    {type: string, search: true}
      tier:    {type: string, index: true}
      age:     {type: int, optional: true}
      profile: {type: object, optional: true}
      events:  {type: list, optional: true}
relations:
  Subscription:
    left: Customer
    right: Product
    instance_key: stint_id      # leave out for an unkeyed relation; need not be among the fields
    fields:
      seats: {type: int, default: 1}
`

// parse returns the schemas of a file, or fails the test.
func parse(t *testing.T, file string) []onto.Schema {
	t.Helper()
	types, err := schemafile.Parse([]byte(file))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return schemas(t, types)
}

// fataler is a testing.T or a rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func schemas(t fataler, types []onto.Type) []onto.Schema {
	t.Helper()
	var list []onto.Schema
	for _, typ := range types {
		s, err := typ.Schema()
		if err != nil {
			t.Fatalf("Schema: %v", err)
		}
		list = append(list, s)
	}
	return list
}

func TestParseExample(t *testing.T) {
	want := []onto.Schema{
		{
			Kind: onto.KindEntity, Name: "Customer", Key: "id",
			Fields: []onto.Field{
				{Name: "age", Type: onto.Int, Optional: true},
				{Name: "events", Type: onto.List, Optional: true},
				{Name: "id", Type: onto.String},
				{Name: "name", Type: onto.String, Search: true},
				{Name: "profile", Type: onto.Object, Optional: true},
				{Name: "tier", Type: onto.String, Index: true},
			},
		},
		{
			Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product", InstanceKey: "stint_id",
			Fields: []onto.Field{{Name: "seats", Type: onto.Int, Default: json.RawMessage("1")}},
		},
	}
	if got := parse(t, example); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseOrder(t *testing.T) {
	got := parse(t, `
relations:
  B: {left: X, right: Y}
  A: {right: X, left: Y}
entities:
  D: {fields: {id: {type: int}}, key: id}
  C: {key: id, fields: {id: {type: string}}}
`)
	var names []string
	for _, s := range got {
		names = append(names, string(s.Kind)+" "+s.Name)
	}
	want := []string{"entity C", "entity D", "relation A", "relation B"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func TestParseJSONIsTheSame(t *testing.T) {
	asJSON := `{
	"relations": {"Subscription": {"left": "Customer", "right": "Product", "instance_key": "stint_id",
		"fields": {"seats": {"type": "int", "default": 1}}}},
	"entities": {"Customer": {"key": "id", "fields": {
		"id": {"type": "string"}, "name": {"type": "string", "search": true},
		"tier": {"type": "string", "index": true}, "age": {"type": "int", "optional": true},
		"profile": {"type": "object", "optional": true}, "events": {"type": "list", "optional": true}}}}
}`
	want := parse(t, example)
	for name, file := range map[string]string{
		"JSON":                      asJSON,
		"JSON on one line":          strings.Join(strings.Fields(asJSON), ""),
		"JSON after a mark":         "\uFEFF" + asJSON,
		"JSON in YAML":              "--- # types\n" + asJSON + "\n...\n",
		"YAML with Windows lines":   strings.ReplaceAll(example, "\n", "\r\n"),
		"YAML with quotes":          strings.ReplaceAll(example, "{type: string", `{"type": 'string'`),
		"YAML with more whitespace": "\n\n---\n" + strings.ReplaceAll(example, "  ", "      "),
	} {
		if got := parse(t, file); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestParseNothing(t *testing.T) {
	for _, file := range []string{"entities:", "entities: {}\nrelations:\n", "{}", `{"relations": null}`, "---\nentities:\n...\n"} {
		if got := parse(t, file); len(got) != 0 {
			t.Errorf("%q: got %v, want no types", file, got)
		}
	}
}

func TestParseUnusualNames(t *testing.T) {
	got := parse(t, `
entities:
  true:
    key: "null"
    fields:
      null: {type: string}
      on: {type: bool, optional: true}
      y: {type: any, optional: true}
`)
	if s := got[0]; s.Name != "true" || s.Key != "null" || !reflect.DeepEqual(s.FieldNames(), []string{"null", "on", "y"}) {
		t.Errorf("got %+v", s)
	}
}

func TestParseDefaults(t *testing.T) {
	for _, c := range []struct{ typ, text, want string }{
		{"string", "Silver", `"Silver"`},
		{"string", `"Sil\u0076er"`, `"Silver"`},
		{"string", "'1'", `"1"`},
		{"string", "yes", `"yes"`},
		{"string", "2026-01-02", `"2026-01-02"`},
		{"string", `"true"`, `"true"`},
		{"string", `""`, `""`},
		{"string", `"\x85\L\t"`, "\"\u0085\u2028\\t\""},
		{"int", "-7", "-7"},
		{"int", "1.0", "1"},
		{"int", "9223372036854775807", "9223372036854775807"},
		{"float", "1", "1"},
		{"float", "0.50", "0.5"},
		{"float", "1e-7", "1e-7"},
		{"float", "1E+30", "1e30"},
		{"bool", "true", "true"},
		{"bool", "False", "false"},
		{"time", "2026-01-02T03:04:05Z", `"2026-01-02T03:04:05.000000+00:00"`},
		{"time", "'2026-01-02T03:04:05.123456789+02:00'", `"2026-01-02T01:04:05.123456+00:00"`},
		{"object", "{b: 1.0, a: {d: ~, c: [x]}}", `{"a":{"c":["x"],"d":null},"b":1}`},
		{"object", "{}", "{}"},
		{"object", `{1: a, "": b}`, `{"":"b","1":"a"}`},
		{"list", "[1, two, [3.50], {four: null}]", `[1,"two",[3.5],{"four":null}]`},
		{"any", "0", "0"},
		{"any", "false", "false"},
		{"any", "text with spaces", `"text with spaces"`},
	} {
		s := parse(t, "relations: {R: {left: A, right: B, fields: {x: {type: "+c.typ+", default: "+c.text+"}}}}")
		if got := string(s[0].Fields[0].Default); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.text, got, c.want)
		}
	}
}

func TestParseBlockDefaults(t *testing.T) {
	s := parse(t, `
relations:
  R:
    left: A
    right: B
    fields:
      note:
        type: string
        default: |
          two
          lines
      limits:
        default:
          - daily: 5
            hourly: 1
          - none
        type: list
`)
	for name, want := range map[string]string{"note": `"two\nlines\n"`, "limits": `[{"daily":5,"hourly":1},"none"]`} {
		if f, _ := s[0].Field(name); string(f.Default) != want {
			t.Errorf("%s: got %s, want %s", name, f.Default, want)
		}
	}
}

func TestParseJSONDefaults(t *testing.T) {
	long := strings.Repeat("k", 5000)
	for _, c := range []struct{ typ, text, want string }{
		{"string", `"\ud83d\ude00"`, `"😀"`},
		{"string", "\"a\u2028b\u0085c\x7f\"", "\"a\u2028b\u0085c\x7f\""},
		{"string", `"a\/b"`, `"a/b"`},
		{"object", `{"` + long + `": 1, "<<": 2}`, `{"<<":2,"` + long + `":1}`},
		{"any", "1E3", "1000"},
	} {
		s := parse(t, `{"relations":{"R":{"left":"A","right":"B","fields":{"x":{"type":"`+c.typ+`","default":`+c.text+`}}}}}`)
		if got := string(s[0].Fields[0].Default); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.text, got, c.want)
		}
	}
}

func TestRead(t *testing.T) {
	types, err := schemafile.Read(iotest.OneByteReader(strings.NewReader(example)))
	if err != nil || !reflect.DeepEqual(schemas(t, types), parse(t, example)) {
		t.Errorf("got %v, %v, want what Parse gives", types, err)
	}
	if _, err := schemafile.Read(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}
