package words_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/words"
)

func TestSplit(t *testing.T) {
	cases := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n.,;", nil},
		{"Hello, World!", []string{"hello", "world"}},
		{"one one", []string{"one", "one"}},
		{"snake_case kebab-case dot.case", []string{"snake", "case", "kebab", "case", "dot", "case"}},
		{"don't", []string{"don", "t"}},
		{"A1 2b 3.14 x²", []string{"a1", "2b", "3", "14", "x"}},
		{"caf\u00e9 cafe\u0301 CAFÉ", []string{"cafe", "cafe", "cafe"}},
		{"a\u0301\u0302\u0303b", []string{"ab"}},
		{"\u0301", nil},
		{"\u0301a \u0301", []string{"a"}},
		{"İstanbul ISPARTA ışık", []string{"istanbul", "isparta", "ısık"}},
		{"Straße STRASSE ẞ", []string{"straße", "strasse", "ß"}},
		{"Ærø Łódź", []string{"ærø", "łodz"}},
		{"Москва Йод", []string{"москва", "иод"}},
		{"Ελλάδα ΣΟΦΟΣ", []string{"ελλαδα", "σοφοσ"}},
		{"東京タワー", []string{"東京タワー"}},
		{"भारत हिन्दी", []string{"भरत", "हनद"}},
		{"שָׁלוֹם", []string{"שלום"}},
		{"٣٤ ४२", []string{"٣٤", "४२"}},
		{"\u212bngstr\u00f6m \u212a", []string{"angstrom", "k"}},
		{"go🚀now ❤\ufe0f 👩\u200d💻", []string{"go", "now"}},
		{"a\xffb\xc3", []string{"a", "b"}},
		{"\xf0\u06c0", []string{"\u06d5"}},
		{"a\x00b", []string{"a", "b"}},
		{"star* *light", []string{"star", "light"}},
	}
	for _, c := range cases {
		if got := words.Split(c.text); !slices.Equal(got, c.want) {
			t.Errorf("Split(%q): got %q, want %q", c.text, got, c.want)
		}
	}
}

// TestSplitIsTheSameForAllForms compares what is written with one character
// and with several.
func TestSplitIsTheSameForAllForms(t *testing.T) {
	korean, jamo := words.Split("한글"), words.Split("\u1112\u1161\u11ab\u1100\u1173\u11af")
	if len(korean) != 1 || !slices.Equal(korean, jamo) {
		t.Errorf("got %q and %q, want one word that is the same", korean, jamo)
	}
}

// TestEveryCharacter checks that words stay as they are when split again, and
// that there is nothing in them but letters and digits.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for _, w := range words.Split("x" + string(r)) {
			if again := words.Split(w); !slices.Equal(again, []string{w}) {
				t.Fatalf("%U: %q is split into %q", r, w, again)
			}
			for _, c := range w {
				if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
					t.Fatalf("%U: %q has %U", r, w, c)
				}
			}
		}
	}
}

func TestQuery(t *testing.T) {
	cases := []struct {
		text string
		want []backend.Word
	}{
		{"", nil},
		{"***", nil},
		{"Lamp", []backend.Word{{Text: "lamp"}}},
		{"lam*", []backend.Word{{Text: "lam", Prefix: true}}},
		{"lam *", []backend.Word{{Text: "lam"}}},
		{"*lam", []backend.Word{{Text: "lam"}}},
		{"la*mp", []backend.Word{{Text: "la", Prefix: true}, {Text: "mp"}}},
		{"lam**", []backend.Word{{Text: "lam", Prefix: true}}},
		{"cafe\u0301*", []backend.Word{{Text: "cafe", Prefix: true}}},
		{"lamp LAMP lamp* lámp", []backend.Word{{Text: "lamp"}, {Text: "lamp", Prefix: true}}},
		{`"red lamp" AND (NOT blue) OR x:y -z`, []backend.Word{
			{Text: "red"}, {Text: "lamp"}, {Text: "and"}, {Text: "not"}, {Text: "blue"}, {Text: "or"}, {Text: "x"}, {Text: "y"}, {Text: "z"},
		}},
	}
	for _, c := range cases {
		if got := words.Query(c.text); !slices.Equal(got, c.want) {
			t.Errorf("Query(%q): got %v, want %v", c.text, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	texts := []string{"The red Lamp", "", "Café Zürich"}
	cases := map[string]bool{
		"":               true,
		"*":              true,
		"lamp":           true,
		"LAMP red":       true,
		"lamp cafe":      true,
		"lam":            false,
		"lam*":           true,
		"lamp*":          true,
		"lamps*":         false,
		"amp*":           false,
		"zur* red l*":    true,
		"zur* blue":      false,
		"redlamp":        false,
		"lam* la* lamp":  true,
		"la* lan*":       false,
		"the-red-lamp":   true,
		"lampcafe":       false,
		"zu\u0308rich":   true,
		"red red red re": false,
	}
	for query, want := range cases {
		if got := words.Match(words.Query(query), texts...); got != want {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
	if words.Match(words.Query("x")) {
		t.Error("a word was found in no text")
	}
	if !words.Match(nil) {
		t.Error("no words were not found in no text")
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "Hello, World!", "caf\u00e9 cafe\u0301*", "İstanbul STRASSE ß", "東京タワー 한글", "भारत", "a\xffb\x00", "🚀* *x", strings.Repeat("a\u0301", 40),
		"a" + strings.Repeat("\u0301", 70) + "b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		split := words.Split(text)
		if again := words.Split(strings.Join(split, " ")); !slices.Equal(again, split) {
			t.Fatalf("%q: got %q, split again %q", text, split, again)
		}
		if size := len(strings.Join(split, "")); size > 12*len(text) {
			t.Fatalf("%d bytes became %d", len(text), size)
		}
		query := words.Query(text)
		for i, w := range query {
			if !slices.Contains(split, w.Text) || slices.Contains(query[:i], w) {
				t.Fatalf("%q: query %v, words %q", text, query, split)
			}
		}
		if !words.Match(query, text) {
			t.Fatalf("%q is not found by itself", text)
		}
		if !words.Match(query, split...) {
			t.Fatalf("%q is not found in its words", text)
		}
	})
}
