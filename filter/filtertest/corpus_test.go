package filtertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/filter/filtertest"
)

// corpus returns all groups, or fails the test.
func corpus(t *testing.T) []filtertest.Group {
	t.Helper()
	groups, err := filtertest.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func TestCorpusIsLarge(t *testing.T) {
	cases := 0
	for _, g := range corpus(t) {
		cases += len(g.Cases)
	}
	t.Logf("%d cases in %d groups", cases, len(corpus(t)))
	if cases < 250 {
		t.Errorf("got %d cases, want 250 or more", cases)
	}
}

// TestMatch asks package filter every case.
func TestMatch(t *testing.T) {
	for _, g := range corpus(t) {
		t.Run(g.Name(), func(t *testing.T) {
			for _, wrong := range filtertest.Judge(&g, filtertest.Sound()) {
				t.Error(wrong)
			}
		})
	}
}

// TestFormat writes every filter and reads it back.
func TestFormat(t *testing.T) {
	for _, g := range corpus(t) {
		for _, c := range g.Cases {
			if c.Order || c.Refused != "" {
				continue
			}
			text, err := rewritten(c.Text)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			again := c
			again.Text = text
			back, err := again.Filter(g.Scope(false))
			if err != nil {
				t.Errorf("%s: %s was written as %s: %v", c.ID, c.Text, text, err)
				continue
			}
			if twice, err := rewritten(text); twice != text {
				t.Errorf("%s: %s was written as %s, and then as %s (%v)", c.ID, c.Text, text, twice, err)
			}
			if got := matching(&g, back); !slices.Equal(got, c.Want) {
				t.Errorf("%s: %s was written as %s\n got: %q\nwant: %q", c.ID, c.Text, text, got, c.Want)
			}
		}
	}
}

// rewritten reads a filter and writes it.
func rewritten(text string) (string, error) {
	f, err := filter.Parse(text)
	if err != nil {
		return "", err
	}
	return filter.Format(f), nil
}

// matching returns the keys of the rows for which a filter is true.
func matching(g *filtertest.Group, f onto.Filter) []string {
	var keys []string
	for _, r := range g.Rows {
		if filter.Match(f, g.Match(&r)) {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// TestRefusedPointAt requires the column in errors about a text.
func TestRefusedPointAt(t *testing.T) {
	for _, g := range corpus(t) {
		for _, c := range g.Cases {
			if c.Refused == "" || c.Order {
				continue
			}
			if _, err := c.Filter(g.Scope(false)); err == nil || onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "column") {
				t.Errorf("%s: %s\n got: %v\nwant: an error with the code %s and the column", c.ID, c.Text, err, onto.Invalid)
			}
		}
	}
}
