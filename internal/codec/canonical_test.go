package codec_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/codec"
)

// canonical returns the canonical form of src, or fails the test.
func canonical(t *testing.T, src string) string {
	t.Helper()
	out, err := codec.AppendCanonical(nil, []byte(src))
	if err != nil {
		t.Fatalf("AppendCanonical(%s): %v", src, err)
	}
	return string(out)
}

func TestCanonicalForm(t *testing.T) {
	nested := strings.Repeat("[", codec.MaxDepth) + strings.Repeat("]", codec.MaxDepth)
	objects := strings.Repeat(`{"a":`, codec.MaxDepth-1) + "{}" + strings.Repeat("}", codec.MaxDepth-1)
	for _, c := range []struct{ name, src, want string }{
		{"null", "null", "null"},
		{"booleans", "[true,false]", "[true,false]"},
		{"space around", " \t\r\n{ \"a\" : [ 1 , 2 ] } \n", `{"a":[1,2]}`},
		{"empty containers", `{"o":{ },"l":[ ]}`, `{"l":[],"o":{}}`},
		{"keys sorted", `{"b":1,"a":2,"c":3}`, `{"a":2,"b":1,"c":3}`},
		{"keys sorted at depth", `[{"b":{"d":1,"c":2},"a":3}]`, `[{"a":3,"b":{"c":2,"d":1}}]`},
		{"prefix before longer key", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"upper before lower", `{"a":1,"B":2,"_":3}`, `{"B":2,"_":3,"a":1}`},
		{"keys by code point, not UTF-16", "{\"\U0001F600\":1,\"\uFFFD\":2,\"é\":3,\"z\":4}",
			"{\"z\":4,\"é\":3,\"\uFFFD\":2,\"\U0001F600\":1}"},
		{"escaped keys by what they mean", `{"[":1,"\n":2,"A":3,"\\":4,"\"":5}`, `{"\n":2,"\"":5,"A":3,"[":1,"\\":4}`},
		{"key escapes undone", `{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{"list order kept", `[3,1,2]`, `[3,1,2]`},
		{"lists depth limit", nested, nested},
		{"objects depth limit", objects, objects},
		{"siblings are not depth", "[" + strings.Repeat("[],", 99) + "[]]", "[" + strings.Repeat("[],", 99) + "[]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := canonical(t, c.src); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCanonicalNumbers(t *testing.T) {
	for _, c := range []struct {
		src, want string
		kind      codec.ValueKind
	}{
		{"0", "0", codec.Int},
		{"-0", "0", codec.Int},
		{"-0.0", "0", codec.Int},
		{"1.0", "1", codec.Int},
		{"-7", "-7", codec.Int},
		{"1e3", "1000", codec.Int},
		{"1E+2", "100", codec.Int},
		{"100e-2", "1", codec.Int},
		{"1e18", "1000000000000000000", codec.Int},
		{"999999999999999999", "999999999999999999", codec.Int},
		{"9007199254740993", "9007199254740993", codec.Int},
		{"9223372036854775807", "9223372036854775807", codec.Int},
		{"-9223372036854775808", "-9223372036854775808", codec.Int},
		{"-9223372036854775808.0", "-9223372036854775808", codec.Int},
		{"9223372036854775807.0", "9.223372036854776e18", codec.Float},
		{"1e20", "1e20", codec.Float},
		{"1e300", "1e300", codec.Float},
		{"-1.5e300", "-1.5e300", codec.Float},
		{"1.7976931348623157e308", "1.7976931348623157e308", codec.Float},
		{"5e-324", "5e-324", codec.Float},
		{"1e-400", "0", codec.Int},
		{"0.1", "0.1", codec.Float},
		{"0.10", "0.1", codec.Float},
		{"0.30000000000000004", "0.30000000000000004", codec.Float},
		{"1.50", "1.5", codec.Float},
		{"0.000001", "0.000001", codec.Float},
		{"0.0000001", "1e-7", codec.Float},
		{"12.5e-10", "1.25e-9", codec.Float},
		{"4503599627370495.5", "4503599627370495.5", codec.Float},
	} {
		got := canonical(t, c.src)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
		if kind := codec.KindOf([]byte(got)); kind != c.kind {
			t.Errorf("%s: got kind %s, want %s", c.src, kind, c.kind)
		}
	}
}

func TestCanonicalText(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"plain", `"abc"`, `"abc"`},
		{"empty", `""`, `""`},
		{"no HTML escapes", `"<a href='x'>&\u003c\u003e\u0026"`, `"<a href='x'>&<>&"`},
		{"slash", `"a\/b"`, `"a/b"`},
		{"short escapes", `"\"\\\b\f\n\r\t"`, `"\"\\\b\f\n\r\t"`},
		{"long forms of short escapes", `"\u0022\u005c\u0008\u000c\u000a\u000d\u0009"`, `"\"\\\b\f\n\r\t"`},
		{"other control characters", `"\u0001\u001F\u000b"`, `"\u0001\u001f\u000b"`},
		{"delete is ordinary", "\"\x7f\\u007f\"", "\"\x7f\x7f\""},
		{"letters", `"\u0061\u00e9\u00E9é"`, `"aééé"`},
		{"line separators", `"\u2028\u2029"`, "\"\u2028\u2029\""},
		{"surrogate pair", `"\ud83d\ude00\uD83D\uDE00"`, `"😀😀"`},
		{"replacement character", `"\ufffd"`, "\"\uFFFD\""},
		{"noncharacters", `"\uffff\ufeff"`, "\"\uFFFF\uFEFF\""},
		{"raw UTF-8 next to escapes", `"é\té😀\\"`, `"é\té😀\\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := canonical(t, c.src)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			text := codec.Unquote([]byte(got))
			if again, err := codec.AppendString(nil, text); err != nil || string(again) != c.want {
				t.Errorf("AppendString(%q): got %q, %v, want %q", text, again, err, c.want)
			}
		})
	}
}

func TestAppendCanonicalKeepsWhatIsThere(t *testing.T) {
	out, err := codec.AppendCanonical([]byte(`{"x":`), []byte(`{"b":1,"a":2}`))
	if want := `{"x":{"a":2,"b":1}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	out, err = codec.AppendCanonical([]byte("before"), []byte(`{"b":1,`))
	if err == nil || string(out) != "before" {
		t.Errorf("after an error: got %s, %v, want before and an error", out, err)
	}
}

func TestAppendCanonicalAllocatesNothingForCanonicalInput(t *testing.T) {
	src, dst := []byte(sortedObject), make([]byte, 0, 1024)
	got := testing.AllocsPerRun(100, func() {
		if _, err := codec.AppendCanonical(dst, src); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestKindOf(t *testing.T) {
	for src, want := range map[string]string{
		"null": "null", "true": "bool", "false": "bool", "12": "int", "-1": "int",
		"0.5": "float", "1e20": "float", `"x"`: "string", "[]": "list", "{}": "object",
	} {
		if got := codec.KindOf([]byte(src)).String(); got != want {
			t.Errorf("KindOf(%s): got %s, want %s", src, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	src := []byte(`{"a":[{"b":"}"},"]"],"b\"\u0001":{"c":","},"d":":","e":-1.5,"f":null}`)
	list, err := codec.ParseObject(src)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ name, value string }{
		{"a", `[{"b":"}"},"]"]`}, {"b\"\x01", `{"c":","}`}, {"d", `":"`}, {"e", "-1.5"}, {"f", "null"},
	}
	if len(list) != len(want) {
		t.Fatalf("got %d members, want %d", len(list), len(want))
	}
	for i, w := range want {
		if list[i].Name != w.name || string(list[i].Value) != w.value {
			t.Errorf("member %d: got %q %s, want %q %s", i, list[i].Name, list[i].Value, w.name, w.value)
		}
	}
	if got := codec.AppendObject(nil, list); !bytes.Equal(got, src) {
		t.Errorf("AppendObject: got %s, want %s", got, src)
	}
	list[0].Value = append(list[0].Value, "!!"...)
	if got := string(list[1].Value); got != want[1].value {
		t.Errorf("growing a value reached its neighbour: got %s, want %s", got, want[1].value)
	}
}

func TestMembersOfNothing(t *testing.T) {
	if got := codec.Members([]byte("{}")); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	if got := string(codec.AppendObject(nil, nil)); got != "{}" {
		t.Errorf("got %s, want {}", got)
	}
}

func TestParseObjectWantsAnObject(t *testing.T) {
	for src, want := range map[string]string{
		`[1]`: "expected an object, found list",
		`"x"`: "expected an object, found string",
		`1.5`: "expected an object, found float",
		`{`:   "expected a quoted name, found end of input",
	} {
		_, err := codec.ParseObject([]byte(src))
		var syntax *codec.SyntaxError
		if !errors.As(err, &syntax) || syntax.Msg != want {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
}
