package duck

import (
	"context"
	"errors"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// DuckDB sorts no fewer than some hundred thousand rows at a time, and must hold them
// in memory with their fields, whether or not it may spill. An answer in the order of
// its mode that does not fit in memory is asked for in parts, one after the other. For
// other orders see late.

// maxDivisions is how often a part is split again.
const maxDivisions = 3

// divisible reports whether an answer can be asked for in parts.
func (a *question) divisible() bool {
	return a.Sorts && !a.unordered && len(a.Query.Order) == 0 && a.divisions < maxDivisions
}

// versions pushes the versions that the statement finds, and notes their
// endpoints.
func (a *question) versions(ctx context.Context, c *conn, ends *ended, push func(onto.Version) error) error {
	if !a.own.exists() {
		return nil
	}
	pushed := false
	err := a.ask(ctx, c, ends, func(v onto.Version) error {
		pushed = true
		return push(v)
	})
	switch {
	case pushed || !errors.Is(err, onto.TooLarge):
		return err
	case a.canBeLate():
		return a.late(ctx, c, ends, push)
	case !a.divisible():
		return err
	}
	if a.Whole() && a.divisions == 0 {
		push = paged(a.Query, push)
	}
	if err = a.divided(ctx, c, ends, push); errors.Is(err, errFull) {
		return nil
	}
	return err
}

var errFull = errors.New("the page is full")

// paged cuts a page out of what is pushed.
func paged(q *backend.Query, push func(onto.Version) error) func(onto.Version) error {
	skip, take := max(0, q.Offset), q.Limit
	return func(v onto.Version) error {
		if skip > 0 {
			skip--
			return nil
		}
		err := push(v)
		if take--; err == nil && take == 0 {
			err = errFull
		}
		return err
	}
}

// divided asks for the parts in order.
func (a *question) divided(ctx context.Context, c *conn, ends *ended, push func(onto.Version) error) error {
	column := a.Tie()[0]
	parts, err := c.divide(ctx, column, sqlgen.SQL("SELECT v.? FROM ? WHERE ?", raw(column), a.from(), sqlgen.All(append(a.after(), a.Where...)...)))
	if err != nil {
		return err
	}
	for _, within := range parts {
		part := *a
		part.divisions++
		part.own.keys = append([]sqlgen.Part{within}, a.own.keys...)
		if err := part.versions(ctx, c, ends, push); err != nil {
			return err
		}
	}
	return nil
}

// divide is conditions on a column that cut the rows of a SELECT into parts of about
// the same number of rows, in order.
func (c *conn) divide(ctx context.Context, column string, rowsOf sqlgen.Part) ([]sqlgen.Part, error) {
	sql := sqlgen.SQL("SELECT DISTINCT unnest(quantile_disc(?, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])) AS b FROM (?) ORDER BY b", raw(column), rowsOf)
	var parts []sqlgen.Part
	above, name := sqlgen.SQL("TRUE"), raw(column)
	err := c.each(ctx, sql, func(r *rows) error {
		bound := r.value(0)
		parts = append(parts, sqlgen.SQL("(? AND ? <= ?)", above, name, bound))
		above = sqlgen.SQL("? > ?", name, bound)
		return nil
	})
	return append(parts, above), err
}
