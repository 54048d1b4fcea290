package onto_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

type machine struct {
	ID    string         `json:"id" onto:"key"`
	Load  *float64       `json:"load"`
	Limit int64          `json:"limit"`
	Extra any            `json:"extra"`
	Tags  map[string]any `json:"tags"`
	Raw   json.RawMessage
	local int
}

type wire struct {
	onto.Link[machine, machine]
	Port  string `json:"-" onto:"instance=port"`
	Speed int    `json:"speed"`
}

func TestVersionDecode(t *testing.T) {
	v := onto.Version{
		Identity: onto.EntityID("machine", "m1"), Op: onto.Put, Commit: 3,
		Fields: json.RawMessage(`{"Raw":[1,9007199254740993],"extra":[9007199254740993,1.5,{"n":-2}],"id":"m1","limit":9007199254740993,"tags":{"a":9007199254740993,"b":null}}`),
	}
	const big = int64(9007199254740993) // not a float64
	got := machine{local: 7}
	if err := v.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := machine{
		ID: "m1", Limit: big, Extra: []any{big, 1.5, map[string]any{"n": int64(-2)}},
		Tags: map[string]any{"a": big, "b": nil}, Raw: json.RawMessage("[1,9007199254740993]"), local: 7,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var whole any
	var fields map[string]any
	if err := v.Decode(&whole); err != nil {
		t.Error(err)
	}
	if err := v.Decode(&fields); err != nil {
		t.Error(err)
	}
	if m, err := v.Map(); err != nil || !reflect.DeepEqual(whole, any(m)) || !reflect.DeepEqual(fields, m) {
		t.Errorf("got %v and %v, want %v, %v", whole, fields, m, err)
	}
}

func TestVersionDecodeRelation(t *testing.T) {
	v := onto.Version{Identity: onto.RelationID("wire", "m1", "m2").WithInstance("eth0"), Op: onto.Put, Fields: json.RawMessage(`{"speed":10}`)}
	var got wire
	if err := v.Decode(&got); err != nil || got.Left != "m1" || got.Right != "m2" || got.Port != "eth0" || got.Speed != 10 {
		t.Errorf("got %+v, %v", got, err)
	}
	var plain struct{ Speed int }
	if err := v.Decode(&plain); err != nil || plain.Speed != 10 {
		t.Errorf("without a link: got %+v, %v", plain, err)
	}
}

func TestVersionDecodeRefuses(t *testing.T) {
	v := onto.Version{Identity: onto.EntityID("machine", "m1"), Op: onto.Put, Commit: 3, Fields: json.RawMessage(`{"id":"m1","limit":"much"}`)}
	gone := onto.Version{Identity: v.Identity, Op: onto.Delete, Commit: 4, Fields: json.RawMessage(`{}`)}
	var nowhere *machine
	for _, c := range []struct {
		name string
		v    onto.Version
		dst  any
		code onto.Code
		says string
	}{
		{"a value of another type", v, new(machine), onto.Invalid, `machine "m1" at commit 3 does not fit the Go type onto_test.machine`},
		{"no pointer", v, machine{}, onto.Invalid, "cannot be decoded into a onto_test.machine"},
		{"nil", v, nil, onto.Invalid, "cannot be decoded into a <nil>"},
		{"a nil pointer", v, nowhere, onto.Invalid, "cannot be decoded into a *onto_test.machine"},
		{"a delete", gone, new(machine), onto.NotFound, `machine "m1" was deleted by commit 4`},
		{"damaged", onto.Version{Op: onto.Put, Fields: json.RawMessage(`{"id":"m1"}}`)}, new(machine), onto.Invalid, "something follows"},
	} {
		if err := c.v.Decode(c.dst); onto.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: got %v, want %s with %q", c.name, err, c.code, c.says)
		}
	}
}

// Fields become a Go value without a store that knows its type.
func ExampleVersion_Decode() {
	v := onto.Version{
		Identity: onto.EntityID("Customer", "c1"), Op: onto.Put, Commit: 1,
		Fields: json.RawMessage(`{"id":"c1","limit":9007199254740993,"name":"Ada"}`),
	}
	var c struct {
		Name  string `json:"name"`
		Limit any    `json:"limit"`
	}
	if err := v.Decode(&c); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Name, c.Limit)
	// Output:
	// Ada 9007199254740993
}
