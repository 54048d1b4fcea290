package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/ontologia/onto/internal/codec"
)

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		sortedObject, unsortedObject, escapedObject,
		`null`, `[]`, `{}`, `""`, `-0.0`, `1e20`, `5e-324`, `1e400`, `9223372036854775808`,
		`{"a":1,"\u0061":2}`, `{"b":[{"d":1,"c":2}],"a":{}}`, `"\ud83d\ude00"`, `"\ud800"`, `"\u0000"`,
		"\"\x7f\u2028\"", "{\"\xff\":1}", `{"\n":1,"[":2,"\\":3}`, `[1,]`, `{"a":}`, `[[[[[[]]]]]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		once, err := codec.AppendCanonical(nil, src)
		if err != nil {
			checkRefusal(t, src, err)
			return
		}
		if !json.Valid(src) {
			t.Fatalf("accepted %q, which is not JSON", src)
		}
		if !json.Valid(once) || !utf8.Valid(once) {
			t.Fatalf("got %q, which is not JSON", once)
		}
		twice, err := codec.AppendCanonical(nil, once)
		if err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("canonical twice: got %q, %v, want %q", twice, err, once)
		}
		checkParts(t, once)
	})
}

func checkRefusal(t *testing.T, src []byte, err error) {
	var syntax *codec.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("got a %T, want a SyntaxError", err)
	}
	if syntax.Offset < 0 || syntax.Offset > len(src) {
		t.Fatalf("offset %d is outside the %d bytes of input", syntax.Offset, len(src))
	}
	if syntax.Path[0] != '$' || syntax.Msg == "" {
		t.Fatalf("got path %q and message %q, want both", syntax.Path, syntax.Msg)
	}
}

func checkParts(t *testing.T, canonical []byte) {
	switch codec.KindOf(canonical) {
	case codec.Object:
		if got := codec.AppendObject(nil, codec.Members(canonical)); !bytes.Equal(got, canonical) {
			t.Fatalf("members: got %q, want %q", got, canonical)
		}
	case codec.String:
		got, err := codec.AppendString(nil, codec.Unquote(canonical))
		if err != nil || !bytes.Equal(got, canonical) {
			t.Fatalf("text: got %q, %v, want %q", got, err, canonical)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"2026-02-10T12:34:56.789012+00:00", "2026-02-10T12:34:56Z", "2026-02-10t12:34:56.1234567z",
		"9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59", "0000-01-01T00:00:00Z", "now", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := codec.ParseTime(s)
		if err != nil {
			return
		}
		text := codec.FormatTime(parsed)
		if len(text) != len(codec.TimeLayout) {
			t.Fatalf("%q: got %s, want %d bytes", s, text, len(codec.TimeLayout))
		}
		if again, err := codec.ParseTime(text); err != nil || !again.Equal(parsed) {
			t.Fatalf("%q: got %v, %v, want %v", s, again, err, parsed)
		}
	})
}
