package codec_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/codec"
)

func TestRefused(t *testing.T) {
	lists := strings.Repeat("[", codec.MaxDepth+1) + strings.Repeat("]", codec.MaxDepth+1)
	objects := strings.Repeat(`{"a":`, codec.MaxDepth) + "{}" + strings.Repeat("}", codec.MaxDepth)
	for _, c := range []struct{ name, src, path, msg string }{
		{"duplicate", `{"a":1,"a":1}`, "$", `duplicate name "a" in object`},
		{"duplicate apart", `{"a":1,"b":2,"a":3}`, "$", `duplicate name "a" in object`},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, "$", `duplicate name "a" in object`},
		{"duplicate by two escapes", `{"\n":1,"x":2,"\u000a":2}`, "$", `duplicate name "\n" in object`},
		{"duplicate empty name", `{"":1,"":2}`, "$", `duplicate name "" in object`},
		{"duplicate at depth", `{"x":[0,{"y":{"b":1,"a":2,"b":3}}]}`, "$.x[1].y", `duplicate name "b" in object`},

		{"U+0000 escaped", `{"a":"x\u0000"}`, "$.a", "text contains U+0000"},
		{"U+0000 in a name", `{"\u0000":1}`, "$", "text contains U+0000"},
		{"U+0000 raw", "\"x\x00\"", "$", `control character '\x00' in text`},
		{"newline raw", "\"x\n\"", "$", `control character '\n' in text`},
		{"control character after an escape", "\"\\t\x1f\"", "$", `control character '\x1f' in text`},

		{"high surrogate alone", `"\ud800"`, "$", "lone surrogate in text"},
		{"low surrogate alone", `"\udc00x"`, "$", "lone surrogate in text"},
		{"high surrogate before text", `"\ud800abcdef"`, "$", "lone surrogate in text"},
		{"high surrogate before another escape", `"\ud800\n"`, "$", "lone surrogate in text"},
		{"surrogates the wrong way round", `"\udc00\ud800"`, "$", "lone surrogate in text"},
		{"two high surrogates", `"\ud800\ud800"`, "$", "lone surrogate in text"},
		{"high surrogate before U+0000", `"\ud800\u0000"`, "$", "lone surrogate in text"},
		{"lone surrogate in a name", `{"\ud800":1}`, "$", "lone surrogate in text"},

		{"int above int64", `{"n":9223372036854775808}`, "$.n", "integer 9223372036854775808 is outside int64"},
		{"int below int64", `[-9223372036854775809]`, "$[0]", "integer -9223372036854775809 is outside int64"},
		{"float above float64", "1e400", "$", "number 1e400 is outside float64"},
		{"float below float64", "-1.0e309", "$", "number -1.0e309 is outside float64"},
		{"NaN", "NaN", "$", "NaN is no JSON number"},
		{"infinity", "[-Infinity]", "$[0]", "-Infinity is no JSON number"},

		{"lists too deep", lists, "$" + strings.Repeat("[0]", codec.MaxDepth), "nested deeper than 64"},
		{"objects too deep", objects, "$" + strings.Repeat(".a", codec.MaxDepth), "nested deeper than 64"},

		{"invalid UTF-8", "{\"a\":\"\xff\"}", "$.a", "text is not valid UTF-8"},
		{"cut UTF-8", "\"\xc3\"", "$", "text is not valid UTF-8"},
		{"cut UTF-8 before an escape", `"` + "\xc3" + `\u00a9"`, "$", "text is not valid UTF-8"},
		{"encoded surrogate", "\"\xed\xa0\x80\"", "$", "text is not valid UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", "$", "text is not valid UTF-8"},
		{"invalid UTF-8 outside text", "\xff", "$", "unexpected '�'"},

		{"nothing", "", "$", "unexpected end of input"},
		{"only space", " \n", "$", "unexpected end of input"},
		{"two values", "1 2", "$", "unexpected '2' after the value"},
		{"comma at end of list", "[1,]", "$[1]", "unexpected ']'"},
		{"comma at start of list", "[,1]", "$[0]", "unexpected ','"},
		{"no comma in list", "[1 2]", "$", "expected , or ] in list, found '2'"},
		{"open list", "[1", "$", "expected , or ] in list, found end of input"},
		{"comma at end of object", `{"a":1,}`, "$", "expected a quoted name, found '}'"},
		{"no comma in object", `{"a":1 "b":2}`, "$", `expected , or } in object, found '"'`},
		{"open object", `{"a":1`, "$", "expected , or } in object, found end of input"},
		{"no colon", `{"a" 1}`, "$", "expected : after the name, found '1'"},
		{"bare name", `{a:1}`, "$", "expected a quoted name, found 'a'"},
		{"no value", `{"a":}`, "$.a", "unexpected '}'"},
		{"mismatched brackets", `{"a":[1}`, "$.a", "expected , or ] in list, found '}'"},
		{"open text", `"abc`, "$", "text has no end"},
		{"open text after escape", `"abc\`, "$", "text has no end"},
		{"unknown escape", `"\x41"`, "$", `unknown escape \ before 'x'`},
		{"short escape", `"\u12"`, "$", `malformed \u escape`},
		{"escape that is not hex", `"\u12g4"`, "$", `malformed \u escape`},
		{"second half that is not hex", `"\ud83d\uzzzz"`, "$", `malformed \u escape`},
		{"leading zero", "01", "$", "malformed number"},
		{"leading zero after sign", "-012", "$", "malformed number"},
		{"only a sign", "-", "$", "malformed number"},
		{"plus", "+1", "$", "unexpected '+'"},
		{"no digit before point", ".5", "$", "unexpected '.'"},
		{"no digit after point", "5.", "$", "malformed number"},
		{"no digit in exponent", "5e+", "$", "malformed number"},
		{"hexadecimal", "0x10", "$", "unexpected 'x' after the value"},
		{"wrong case", "True", "$", "unexpected 'T'"},
		{"cut word", "nul", "$", "unexpected 'n'"},
		{"long word", "nulls", "$", "unexpected 's' after the value"},
		{"single quotes", "'a'", "$", `unexpected '\''`},
		{"comment", "1 // one", "$", "unexpected '/' after the value"},
		{"byte order mark", "\uFEFF{}", "$", `unexpected '\ufeff'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := codec.AppendCanonical(nil, []byte(c.src))
			var syntax *codec.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %s, %v, want a SyntaxError", out, err)
			}
			if syntax.Msg != c.msg {
				t.Errorf("message: got %q, want %q", syntax.Msg, c.msg)
			}
			if syntax.Path != c.path {
				t.Errorf("path: got %s, want %s", syntax.Path, c.path)
			}
		})
	}
}

func TestRefusalsSayWhere(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`{"a": tru}`, "JSON at $.a: unexpected 't' (byte 7)"},
		{`{"a":1,"b":{},"a":3}`, `JSON: duplicate name "a" in object (byte 15)`},
		{`[{"b":1, "a":2, "c":[1,{"x":1}], "a" : 3, "b":0}]`, `JSON at $[0]: duplicate name "a" in object (byte 34)`},
		{`{"x":12345678901234567890}`, "JSON at $.x: integer 12345678901234567890 is outside int64 (byte 6)"},
		{`["ok","é\ud800"]`, "JSON at $[1]: lone surrogate in text (byte 10)"},
		{`{"content-type":{"a b":[0,1,nil]}}`, `JSON at $."content-type"."a b"[2]: unexpected 'n' (byte 29)`},
		{`{"":{"1a":x}}`, `JSON at $.""."1a": unexpected 'x' (byte 11)`},
	} {
		_, err := codec.AppendCanonical(nil, []byte(c.src))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.src, err, c.want)
		}
	}
}

func TestRefusalsStayShort(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for name, src := range map[string]string{
		"number":    strings.Repeat("9", 1<<20),
		"duplicate": `{"` + long + `":1,"` + long + `":2}`,
		"path":      `{"` + long + `":x}`,
	} {
		_, err := codec.AppendCanonical(nil, []byte(src))
		if err == nil {
			t.Errorf("%s: got no error", name)
		} else if got := len(err.Error()); got > 300 {
			t.Errorf("%s: got a message of %d bytes, want at most 300", name, got)
		}
	}
}

func TestAppendStringRefuses(t *testing.T) {
	for s, want := range map[string]string{
		"a\xff":     "text is not valid UTF-8",
		"a\x00b":    "text contains U+0000",
		"\xed\xa0x": "text is not valid UTF-8",
	} {
		out, err := codec.AppendString([]byte("x"), s)
		var syntax *codec.SyntaxError
		if !errors.As(err, &syntax) || syntax.Msg != want || string(out) != "x" {
			t.Errorf("AppendString(%q): got %s, %v, want x and %q", s, out, err, want)
		}
	}
}

func TestAppendFloatRefuses(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if out, err := codec.AppendFloat(nil, f); err == nil {
			t.Errorf("AppendFloat(%v): got %s, want an error", f, out)
		}
	}
}
