package filtertest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/effort"
)

// Duel asks package filter and another engine about random rows and filters, n
// of them at least.
func Duel(t *testing.T, n int, other Engine) {
	asked, matched := 0, 0
	effort.CheckUntil(t, func() bool { return asked >= n }, func(rt *rapid.T) {
		l := &ledger{schemas: agreeSchemas(rt)}
		l.draft(drawWrites(rt, l))
		l.draft(drawWrites(rt, l))
		for range 10 {
			q := newInquirer(rt, l).question().query
			where := q.Where
			q.Where = nil
			for _, v := range l.answer(&q) {
				asked++
				row := l.row(&q, v)
				got, want := other.Match(where, row), filter.Match(where, row)
				if got != want {
					rt.Fatalf("%s: %s\n%s, left %s, right %s\n got: %v\nwant: %v", describe(&q), filter.Format(where), row.Own, row.Left, row.Right, got, want)
				}
				if want {
					matched++
				}
			}
		}
	})
	t.Logf("%d rows were matched with random filters, %d of them did", asked, matched)
}

// Disagree looks for a question that two backends answer differently, asking n
// or a few more, and returns what Agree would say about it.
func Disagree(t *testing.T, n int, a, b Open) string {
	for seed := range (n + perHistory - 1) / perHistory {
		found := rapid.Custom(func(rt *rapid.T) string {
			d := newDebate(t, rt, false, a, b)
			defer d.end()
			for range perHistory {
				if _, wrong := d.ask(newInquirer(rt, d.ledger).question()); wrong != "" {
					return wrong
				}
			}
			return ""
		}).Example(seed)
		if found != "" {
			return found
		}
	}
	return ""
}

// Complaints returns what Run says about a backend, group by group, until it
// says something.
func Complaints(t *testing.T, open Open) []string {
	groups, err := Corpus()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	for i := range groups {
		if g := &groups[i]; len(g.Rows) > 0 && len(r.said) == 0 {
			g.run(r, open(t, t.TempDir()))
		}
	}
	return r.said
}

// recorder keeps the errors of a test.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
