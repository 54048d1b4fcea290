package filtertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// Engine is what the corpus can test without a store.
type Engine struct {
	Match func(f onto.Filter, r *filter.Row) bool
	// Before reports whether a row comes before another by some orders. Ties stay in
	// order of identity.
	Before func(by []onto.Order, a, b *filter.Row) bool
}

// Sound is the engine of package filter.
func Sound() Engine { return Engine{Match: filter.Match, Before: before} }

func before(by []onto.Order, a, b *filter.Row) bool {
	for _, o := range by {
		x, y := a.Value(o.Operand), b.Value(o.Operand)
		c := filter.Compare(x, y)
		if o.Desc && x != nil && y != nil {
			c = -c
		}
		if c != 0 {
			return c < 0
		}
	}
	return false
}

// Judge asks an engine the cases of a group, and reports its mistakes.
func Judge(g *Group, e Engine) []string {
	var wrong []string
	for _, c := range g.Cases {
		if text := g.judge(&c, e); text != "" {
			wrong = append(wrong, fmt.Sprintf("%s (%s.txt:%d): %s\n%s", c.ID, g.File, c.Line, c.Text, text))
		}
	}
	return wrong
}

func (g *Group) judge(c *Case, e Engine) string {
	ask := g.filter
	if c.Order {
		ask = g.sort
	}
	got, err := ask(c, e)
	switch {
	case c.Refused != "":
		return wantRefused(c.Refused, err)
	case err != nil:
		return fmt.Sprintf(" got: %v: %s\nwant: %q", err, onto.HintOf(err), c.Want)
	case !slices.Equal(got, c.Want):
		return fmt.Sprintf(" got: %q\nwant: %q", got, c.Want)
	}
	return ""
}

// wantRefused says how an error differs from the expected one.
func wantRefused(want string, err error) string {
	if err == nil {
		return fmt.Sprintf(" got: no error\nwant: an error with %q", want)
	}
	if said := err.Error() + "\n" + onto.HintOf(err).String(); !strings.Contains(said, want) {
		return fmt.Sprintf(" got: %s\nwant: %q in it", said, want)
	}
	return ""
}

func (g *Group) filter(c *Case, e Engine) ([]string, error) {
	f, err := c.Filter(g.Scope(false))
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, r := range g.Rows {
		if e.Match(f, g.Match(&r)) {
			keys = append(keys, r.Key)
		}
	}
	return keys, nil
}

func (g *Group) sort(c *Case, e Engine) ([]string, error) {
	by, err := c.Orders(g.Scope(false))
	if err != nil {
		return nil, err
	}
	rows := slices.Clone(g.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch x, y := g.Match(&a), g.Match(&b); {
		case e.Before(by, x, y):
			return -1
		case e.Before(by, y, x):
			return 1
		}
		return 0
	})
	var keys []string
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	return keys, nil
}
