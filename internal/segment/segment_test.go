package segment_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/segment"
)

func TestEscape(t *testing.T) {
	for name, want := range map[string]string{
		"": "%", ".": "%2E", "..": "%2E%2E", "...": "...", "a.b-c_D9": "a.b-c_D9", "a/b": "a%2Fb", "%": "%25", "%2E": "%252E",
		"ä": "%C3%A4", "\x00": "%00", "a b": "a%20b", "../x": "..%2Fx", "\xff": "%FF",
	} {
		if got := segment.Escape(name); got != want {
			t.Errorf("the name %q is escaped to %q, want %q", name, got, want)
		}
	}
	for _, part := range []string{"", ".", "..", "%2", "a%", "%zz", "%c3", "%61", "a/b", "%2E%2E%2E", "ä", "%%", "%25%"} {
		if name, err := segment.Unescape(part); err == nil {
			t.Errorf("the segment %q is taken for the name %q, want an error", part, name)
		}
	}
}

// Every name escapes to one valid segment, and back.
func FuzzEscape(f *testing.F) {
	for _, name := range []string{"", ".", "..", "%", "a/b", "ä", "\x00\xff", "%2E", "~lock"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		part := segment.Escape(text)
		if name, err := segment.Unescape(part); err != nil || name != text {
			t.Errorf("%q became %q and then %q, error %v", text, part, name, err)
		}
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(r rune) bool { return r != '%' && (r > 127 || !segment.Plain(byte(r))) }) {
			t.Errorf("%q became %q, which is no segment of a path", text, part)
		}
		if name, err := segment.Unescape(text); err == nil && segment.Escape(name) != text {
			t.Errorf("the segment %q is taken for %q, which is escaped to %q", text, name, segment.Escape(name))
		}
	})
}
