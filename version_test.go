package onto_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ontologia/onto"
)

func TestVersionMap(t *testing.T) {
	v := onto.Version{Op: onto.Put, Fields: json.RawMessage(
		`{"big":9007199254740993,"f":1.5,"huge":1e20,"l":[1,{"n":-2}],"n":null,"o":{"x":1},"s":"é","t":true}`)}
	want := map[string]any{
		"big": int64(9007199254740993), "f": 1.5, "huge": 1e20, "l": []any{int64(1), map[string]any{"n": int64(-2)}},
		"n": nil, "o": map[string]any{"x": int64(1)}, "s": "é", "t": true,
	}
	if got, err := v.Map(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestMapOfNoObject(t *testing.T) {
	for _, src := range []string{"", "{}"} {
		if got, err := (onto.Version{Fields: []byte(src)}).Map(); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%q: got %v, %v, want an empty object", src, got, err)
		}
	}
	for _, src := range []string{"null", "[]", `"x"`, "{", `{"a":1}{}`, `{"a":1}}`, "nonsense"} {
		if got, err := (onto.Version{Fields: []byte(src)}).Map(); onto.CodeOf(err) != onto.Corrupt {
			t.Errorf("%s: got %v, %v, want Corrupt", src, got, err)
		}
	}
}

func TestChangeOperation(t *testing.T) {
	put, gone := &onto.Version{Op: onto.Put}, &onto.Version{Op: onto.Delete}
	for _, c := range []struct {
		name          string
		before, after *onto.Version
		want          onto.Operation
	}{
		{"came", nil, put, onto.OperationInsert},
		{"came back", gone, put, onto.OperationInsert},
		{"changed", put, put, onto.OperationUpdate},
		{"went", put, nil, onto.OperationDelete},
		{"went, with its delete", put, gone, onto.OperationDelete},
	} {
		if got := (onto.Change{Before: c.before, After: c.after}).Operation(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if !put.Live() || gone.Live() {
		t.Errorf("got live %v and %v, want true and false", put.Live(), gone.Live())
	}
}
