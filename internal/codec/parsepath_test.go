package codec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/internal/codec"
)

func TestParsePath(t *testing.T) {
	for _, names := range [][]string{
		{"id"}, {"home", "city"}, {"a b", "c"}, {"", ""}, {`"`, `\`, `\"`}, {"x.y", "é", "1", "line\nend"}, {`a\`, "b"}, {strings.Repeat("long ", 50)},
	} {
		var path []byte
		for _, name := range names {
			path = codec.AppendStep(path, name)
		}
		if got, ok := codec.ParsePath(string(path[1:])); !ok || !slices.Equal(got, names) {
			t.Errorf("%s: got %q, %t; want %q", path[1:], got, ok, names)
		}
	}
	for _, path := range []string{
		"", ".", ".id", "id.", "a..b", "a b", "1", "a[0]", "a{}", `"id"`, `"a b`, `"a b".`, `"a b"c`, `"a\q"`, `"\u0061 b"`, `"\`, `"a b"."id"`, "$.id", `{"a":1}`, "true.7",
	} {
		if names, ok := codec.ParsePath(path); ok {
			t.Errorf("%s is read as %q", path, names)
		}
	}
}
