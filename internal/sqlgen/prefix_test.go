package sqlgen_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// quoted is texts as canonical JSON; null for what is no text.
func quoted(texts ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		if canonical, err := codec.AppendString(nil, text); err == nil {
			list[i] = canonical
		} else {
			list[i] = json.RawMessage(`"x"`)
		}
	}
	return list
}

// TestPrefixIsARange requires that the range of a prefix holds all texts that begin
// with it and no others.
func TestPrefixIsARange(t *testing.T) {
	s := scope("typed")
	for _, test := range []struct{ prefix, below string }{
		{"a", "b"},
		{"az", "a{"},
		{"é", "ê"},
		{"a\uD7FF", "a\uE000"}, // what is between stands in no text
		{"a\U0010FFFF", "b"},
		{"a\U0010FFFF\U0010FFFF", "b"},
		{"\U0010FFFF", ""},
		{"\x7F", "\u0080"},
		{"\uFFFF", "\U00010000"},
	} {
		p := s.Where(onto.Path("string").StartsWith(test.prefix))
		want := []any{test.prefix, test.below}
		if test.below == "" {
			want = want[:1]
		}
		if !slices.Equal(p.Args, want) {
			t.Errorf("%q: got %q, want %q", test.prefix, p.Args, want)
		}
		for _, text := range []string{test.prefix, test.prefix + "\x01", test.prefix + "\U0010FFFF\U0010FFFF"} {
			if text < test.prefix || test.below != "" && text >= test.below {
				t.Errorf("%q is not in the range of %q", text, test.prefix)
			}
		}
		if test.below != "" && strings.HasPrefix(test.below, test.prefix) {
			t.Errorf("%q begins with %q", test.below, test.prefix)
		}
	}
}

func TestPinned(t *testing.T) {
	for _, test := range []struct {
		filter string
		side   onto.Side
		want   []string // nil if it is open
	}{
		{`$.id == "a"`, onto.OwnSide, []string{"a"}},
		{`$.id == 1`, onto.OwnSide, []string{}},
		{`$.id.in_(["a", "b", 3])`, onto.OwnSide, []string{"a", "b"}},
		{`$.x == 1 & ($.y == 2 & $.id == "a")`, onto.OwnSide, []string{"a"}},
		{`$.x == 1 | $.id == "a"`, onto.OwnSide, nil},
		{`~($.id == "a")`, onto.OwnSide, nil},
		{`$.id != "a"`, onto.OwnSide, nil},
		{`$.id.any() == "a"`, onto.OwnSide, nil},
		{`$.id.id == "a"`, onto.OwnSide, nil},
		{`left.$.id == "a"`, onto.OwnSide, nil},
		{`left.$.id == "a" & right.$.id == "b"`, onto.RightSide, []string{"b"}},
	} {
		got, ok := sqlgen.Pinned(parse(t, test.filter), test.side, "id")
		if ok != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q %v, want %q", test.filter, got, ok, test.want)
		}
	}
	if _, ok := sqlgen.Pinned(nil, onto.OwnSide, "id"); ok {
		t.Error("no filter pins the key")
	}
}

func TestNeedsEnd(t *testing.T) {
	for filter, want := range map[string]bool{
		`left.$.a == 1`:                      true,
		`left.$.a != 1`:                      true,
		`left.$.a.is_not_null()`:             true,
		`left.$.a.is_null()`:                 false,
		`left.$.a.any().is_null()`:           true,
		`right.$.a == 1`:                     false,
		`$.a == 1 & left.$.a == 1`:           true,
		`left.$.a == 1 | left.$.b == 2`:      true,
		`left.$.a == 1 | $.b == 2`:           false,
		`~(left.$.a == 1)`:                   false,
		`left.$.a.in_([]) & $.b.is_null()`:   true,
		`left.$.a == 1 | left.$.b.is_null()`: false,
	} {
		if got := sqlgen.NeedsEnd(parse(t, filter), onto.LeftSide); got != want {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
	if sqlgen.NeedsEnd(nil, onto.LeftSide) {
		t.Error("no filter needs an end")
	}
}
