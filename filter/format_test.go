package filter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/effort"
)

func TestFormatIsAFixedPoint(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		f := drawFilter(t, 4)
		text := filter.Format(f)
		parsed, err := filter.Parse(text)
		if err != nil {
			t.Fatalf("Parse(%s): %v", text, err)
		}
		if again := filter.Format(parsed); again != text {
			t.Fatalf("once  %s\ntwice %s", text, again)
		}
		row := drawRow(t)
		if got, want := filter.Match(parsed, row), filter.Match(f, row); got != want {
			t.Fatalf("%s on %s: got %v after Format and Parse, %v before", text, row, got, want)
		}
	})
}

// TestFormatNeedsItsBrackets takes away one pair of brackets after the other:
// each time the filter changes or is no filter any more.
func TestFormatNeedsItsBrackets(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		text := filter.Format(drawBracketed(t, 4))
		for i, c := range text {
			if c != '(' {
				continue
			}
			fewer := text[:i] + withoutClosing(text[i+1:])
			f, err := filter.Parse(fewer)
			if err == nil && filter.Format(f) == text {
				t.Fatalf("%s means the same as %s", fewer, text)
			}
		}
	})
}

// drawBracketed draws filters whose only brackets are those of grouping.
func drawBracketed(t *rapid.T, depth int) onto.Filter {
	if depth == 0 {
		return onto.Path("a").Eq(1)
	}
	list := []onto.Filter{drawBracketed(t, depth-1), drawBracketed(t, rapid.IntRange(0, depth-1).Draw(t, "depth"))}
	return rapid.SampledFrom([]onto.Filter{onto.And(list), onto.Or(list), onto.Not{Of: list[0]}}).Draw(t, "filter")
}

// withoutClosing removes the bracket that closes one opened before the text.
func withoutClosing(text string) string {
	open := 1
	for i, c := range text {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			return text[:i] + text[i+1:]
		}
	}
	return text
}

type tier string

func TestFormatBuiltFilters(t *testing.T) {
	a, b := onto.Path("a").Eq(1), onto.Path("b").Eq(2)
	at := time.Date(2026, 2, 10, 12, 34, 56, 789012345, time.FixedZone("", 3600))
	cases := []struct {
		f    onto.Filter
		want string
	}{
		{nil, `true`},
		{onto.And{}, `true`},
		{onto.Or{}, `false`},
		{onto.And(nil), `true`},
		{onto.Not{Of: onto.And{}}, `~true`},
		{onto.And{a}, `$.a == 1`},
		{onto.And{onto.Or{onto.And{a}}}, `$.a == 1`},
		{onto.And{a, onto.Or{}}, `$.a == 1 & false`},
		{onto.And{a, onto.And{b, onto.And{a}}}, `$.a == 1 & $.b == 2 & $.a == 1`},
		{onto.Or{onto.Or{a, b}, onto.And{a, b}}, `$.a == 1 | $.b == 2 | $.a == 1 & $.b == 2`},
		{onto.And{onto.Or{a, b}, onto.Not{Of: onto.Or{a}}}, `($.a == 1 | $.b == 2) & ~$.a == 1`},
		{onto.Not{Of: onto.Not{Of: onto.And{onto.Or{a, b}}}}, `~~($.a == 1 | $.b == 2)`},

		{onto.Path("a").Eq(uint8(7)), `$.a == 7`},
		{onto.Path("a").Eq(float32(0.1)), `$.a == 0.1`},
		{onto.Path("a").Eq(2.0), `$.a == 2`},
		{onto.Path("a").Eq(1e300), `$.a == 1e300`},
		{onto.Path("a").Eq(tier("Gold")), `$.a == "Gold"`},
		{onto.Path("a").Lt(at), `$.a < "2026-02-10T11:34:56.789012+00:00"`},
		{onto.Path("a").In(), `$.a.in_([])`},
		{onto.Path("é", "x.y", "9").IsNull(), `$."é"."x.y"."9".is_null()`},
		{onto.Path("l").Some("a", "b c", `d"`).IsNull(), `$.l.any_path("a.\"b c\".\"d\\\"\"").is_null()`},

		// A filter that Check refuses is still legible.
		{onto.Path("a").Eq(nil), `$.a == null`},
		{onto.Path("a").Eq(math.NaN()), `$.a == "NaN"`},
		{onto.Path("a").Eq([]int{1}), `$.a == "[1]"`},
		{onto.Path("a").Eq("\xff\x00"), `$.a == "��"`},
		{onto.Path().Eq(1), `$ == 1`},
		{onto.Condition{Operand: onto.Path("a"), Test: "like", Values: []any{"x"}}, `$.a.like("x")`},
		{onto.And{a, nil}, `$.a == 1 & true`},
		{onto.And{a, &onto.Not{Of: a}}, `$.a == 1 & false`},
	}
	for _, c := range cases {
		if got := filter.Format(c.f); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// huge are filters that must not bring the program down.
func huge() map[string]onto.Filter {
	deep := onto.Filter(onto.Path("a").Eq(1))
	for range 1_000_000 {
		deep = onto.Not{Of: deep}
	}
	lists := onto.Filter(onto.Path("a").Eq(1))
	for i := range 1_000_000 {
		if lists = (onto.Or{lists}); i%2 == 0 {
			lists = onto.And{lists}
		}
	}
	doubled := onto.Filter(onto.Path("a").Ne(1)) // 2 to the power of 90 conditions
	for range 90 {
		doubled = onto.And{doubled, doubled}
	}
	empties := onto.Filter(onto.And{})
	for range 90 {
		empties = onto.And{empties, empties}
	}
	circle := onto.And{nil}
	circle[0] = circle
	return map[string]onto.Filter{"deep": deep, "lists": lists, "doubled": doubled, "empties": empties, "circle": circle}
}

func TestHugeFiltersAreCutAndRefused(t *testing.T) {
	for name, f := range huge() {
		if text := filter.Format(f); !strings.Contains(text, "…") || len(text) > 1<<20 {
			t.Errorf("%s: Format gives %d bytes: %.80s", name, len(text), text)
		}
		if _, err := filter.Check(f, nil); err == nil || onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%s: Check: got %v, want a refusal", name, err)
		}
		if filter.Match(f, &filter.Row{Own: []byte(`{"a":1}`)}) {
			t.Errorf("%s: matches", name)
		}
		filter.UsesEndpoints(f)
	}
}

func TestUsesEndpoints(t *testing.T) {
	cases := []struct {
		f           onto.Filter
		left, right bool
	}{
		{nil, false, false},
		{onto.Path("left").Eq(1), false, false},
		{onto.Left("a").Eq(1), true, false},
		{onto.And{onto.Path("a").Eq(1), onto.Not{Of: onto.Or{onto.Right("a").IsNull()}}}, false, true},
		{onto.Or{onto.Right("a").IsNull(), onto.Left("a").Some().Eq(1)}, true, true},
	}
	for _, c := range cases {
		if left, right := filter.UsesEndpoints(c.f); left != c.left || right != c.right {
			t.Errorf("%s: got %v, %v, want %v, %v", filter.Format(c.f), left, right, c.left, c.right)
		}
	}
}
