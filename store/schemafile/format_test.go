package schemafile_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

func TestFormat(t *testing.T) {
	list := parse(t, example)
	list = append(list, onto.Schema{
		Kind: onto.KindEntity, Name: "Null", Key: "no",
		Fields: []onto.Field{
			{Name: "a", Type: onto.Any, Default: json.RawMessage(`{"list":[1,"two",null],"on":true}`)},
			{Name: "no", Type: onto.Int},
			{Name: "text", Type: onto.String, Default: json.RawMessage("\"true\u2028\x7f\\n\""), Index: true, Search: true},
		},
	}, onto.Schema{
		Kind: onto.KindRelation, Name: "Knows", Left: "Customer", Right: "Null", InstanceKey: "z",
		Fields: []onto.Field{{Name: "b", Type: onto.Bool, Optional: true}, {Name: "z", Type: onto.String}},
	}, onto.Schema{Kind: onto.KindRelation, Name: "Bare", Left: "Customer", Right: "Customer"})
	const want = `entities:
  Customer:
    key: id
    fields:
      id:      {type: string}
      age:     {type: int, optional: true}
      events:  {type: list, optional: true}
      name:    {type: string, search: true}
      profile: {type: object, optional: true}
      tier:    {type: string, index: true}
  "Null":
    key: "no"
    fields:
      "no": {type: int}
      a:    {type: any, default: {"list": [1, "two", null], "on": true}}
      text: {type: string, default: "true\u2028\u007f\n", index: true, search: true}
relations:
  Bare:
    left: Customer
    right: Customer
  Knows:
    left: Customer
    right: "Null"
    instance_key: z
    fields:
      z: {type: string}
      b: {type: bool, optional: true}
  Subscription:
    left: Customer
    right: Product
    instance_key: stint_id
    fields:
      seats: {type: int, default: 1}
`
	got, err := schemafile.Format(list)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if list[0].Name != "Customer" || list[2].Name != "Null" {
		t.Errorf("Format changed the order of its argument")
	}
}

func TestFormatNothing(t *testing.T) {
	got, err := schemafile.Format(nil)
	if err != nil || string(got) != "entities: {}\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFormatLongNames(t *testing.T) {
	long := strings.Repeat("é", 3000)
	want := []onto.Schema{{
		Kind: onto.KindRelation, Name: "R", Left: "A", Right: "B",
		Fields: []onto.Field{{Name: "x", Type: onto.Any, Default: json.RawMessage(`{"a":[{"` + long + `":"` + long + `"}],"` + long + `":{}}`)}},
	}}
	file, err := schemafile.Format(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := parse(t, string(file)); !reflect.DeepEqual(got, want) {
		t.Errorf("long names do not come back")
	}
}

func TestFormatRefuses(t *testing.T) {
	bare := onto.Schema{Kind: onto.KindRelation, Name: "R", Left: "A", Right: "B"}
	entity := onto.Schema{Kind: onto.KindEntity, Name: "R", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.Int}}}
	huge := bare
	huge.Fields = []onto.Field{{Name: "x", Type: onto.String, Default: json.RawMessage(`"` + strings.Repeat("x", schemafile.MaxSize) + `"`)}}
	for name, c := range map[string]struct {
		list []onto.Schema
		code onto.Code
	}{
		"a broken schema": {[]onto.Schema{{Kind: onto.KindEntity, Name: "E"}}, onto.Invalid},
		"a type twice":    {[]onto.Schema{bare, bare}, onto.Conflict},
		"a name twice":    {[]onto.Schema{bare, entity}, onto.Conflict},
		"too large":       {[]onto.Schema{huge}, onto.TooLarge},
	} {
		if got, err := schemafile.Format(c.list); onto.CodeOf(err) != c.code {
			t.Errorf("%s: got %d bytes, %v, want %s", name, len(got), err, c.code)
		}
	}
}
