package codec_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

func TestFind(t *testing.T) {
	const doc = `{"":0,"\"":1,"\\":2,"a":{"b":[1,{"c":2}],"c":"}"},"ab":null,"b":"{\"a\":3}","é":{"":{}}}`
	cases := []struct {
		names []string
		want  string // "" for nil
	}{
		{nil, doc},
		{[]string{""}, `0`},
		{[]string{`"`}, `1`},
		{[]string{`\`}, `2`},
		{[]string{`\"`}, ``},
		{[]string{"a"}, `{"b":[1,{"c":2}],"c":"}"}`},
		{[]string{"a", "b"}, `[1,{"c":2}]`},
		{[]string{"a", "c"}, `"}"`},
		{[]string{"a", "b", "c"}, ``},
		{[]string{"ab"}, `null`},
		{[]string{"ab", "x"}, ``},
		{[]string{"b"}, `"{\"a\":3}"`},
		{[]string{"b", "a"}, ``},
		{[]string{"aa"}, ``},
		{[]string{"z"}, ``},
		{[]string{"é", ""}, `{}`},
		{[]string{"é", "", ""}, ``},
		{[]string{"\xff"}, ``},
	}
	for _, c := range cases {
		if got := codec.Find([]byte(doc), c.names); string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("Find(%q): got %s, want %s", c.names, got, c.want)
		}
	}
	if got := codec.Find(nil, []string{"a"}); got != nil {
		t.Errorf("Find in nothing: got %s", got)
	}
}

// TestFindAgainstDecoding looks up each name of drawn objects, and some that
// are not there.
func TestFindAgainstDecoding(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		w := &writer{t: t}
		w.object(3)
		src, err := codec.AppendCanonical(nil, []byte(w.b.String()))
		if err != nil {
			t.Fatal(err)
		}
		var decoded map[string]json.RawMessage
		if err := json.Unmarshal(src, &decoded); err != nil {
			t.Fatal(err)
		}
		for name, want := range decoded {
			if got := codec.Find(src, []string{name}); string(got) != string(want) {
				t.Fatalf("Find(%s, %q): got %s, want %s", src, name, got, want)
			}
		}
		other := readable(rapid.StringN(0, 3, -1).Draw(t, "other"))
		if got := codec.Find(src, []string{other}); string(got) != string(decoded[other]) {
			t.Fatalf("Find(%s, %q): got %s, want %s", src, other, got, decoded[other])
		}
	})
}

func TestElements(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		w := &writer{t: t}
		w.list(3)
		src, err := codec.AppendCanonical(nil, []byte(w.b.String()))
		if err != nil {
			t.Fatal(err)
		}
		var want []json.RawMessage
		if err := json.Unmarshal(src, &want); err != nil {
			t.Fatal(err)
		}
		got := []json.RawMessage{}
		for e := range codec.Elements(src) {
			got = append(got, e)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Elements(%s): got %s, want %s", src, got, want)
		}
	})
	for e := range codec.Elements([]byte(`["a",2]`)) {
		if string(e) != `"a"` {
			t.Errorf("got %s, want the first element", e)
		}
		break
	}
	if got := slices.Collect(codec.Elements([]byte(`[]`))); got != nil {
		t.Errorf("got %s, want nothing", got)
	}
}

// A text that is cut off, as in a damaged file, is not looked for without end.
func TestTextThatIsCutOff(t *testing.T) {
	for _, list := range []string{`["\"]`, `["a`, `["\\\"`, `[["\"]]`} {
		n := 0
		func() {
			defer func() { _ = recover() }() // what is no canonical JSON may be refused so
			for range codec.Elements([]byte(list)) {
				if n++; n > len(list) {
					t.Fatalf("%s has no end", list)
				}
			}
		}()
	}
}
