package duck

import (
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/sqlgen"
)

// An ordered answer with wide rows that does not fit in memory is asked for without the
// fields, which are then fetched for some rows at a time. Each fetch reads the files
// again, so this is not done where the rows fit.

const (
	lateBytes = 16 << 20 // of fields that are fetched at a time, approximately
	fewRows   = 1_000    // that are fetched first, and at least
	manyRows  = 20_000   // that are fetched at most
)

// place is a version without its fields.
type place struct {
	onto.Identity
	commit int64
}

// late pushes the versions in the order of the question, their fields later.
func (a *question) late(ctx context.Context, c *conn, ends *ended, push func(onto.Version) error) error {
	columns := append(sqlgen.KeyColumns(a.Query.Kind), "commit_id")
	var places []place
	limit := fewRows
	fetch := func() error {
		bytes := 1
		err := a.engine.use(ctx, func(other *conn) error {
			return a.fetch(ctx, other, places, ends, func(v onto.Version) error {
				bytes += len(v.Fields)
				return push(v)
			})
		})
		limit = min(max(fewRows, lateBytes/bytes*len(places)), manyRows)
		places = places[:0]
		return err
	}
	err := c.each(ctx, a.selecting(raw(prefixed("v.", columns))), func(r *rows) error {
		id := readIdentity(r, 0, a.Query.Kind, a.Query.Type)
		if places = append(places, place{id, r.int(len(columns) - 1)}); len(places) < limit {
			return nil
		}
		return fetch()
	})
	if err == nil && len(places) > 0 {
		err = fetch()
	}
	return err
}

// canBeLate reports whether the fields can be fetched later.
func (a *question) canBeLate() bool {
	return a.engine != nil && a.Sorts && len(a.Query.Order) > 0 && a.divisions == 0
}

// fetch pushes the versions at some places, in their order.
func (a *question) fetch(ctx context.Context, c *conn, places []place, ends *ended, push func(onto.Version) error) error {
	type whole struct {
		onto.Version
		ended
	}
	wanted := make(map[place]*whole, len(places))
	for _, p := range places {
		wanted[p] = nil
	}
	var last ended
	err := a.at(places).ask(ctx, c, &last, func(v onto.Version) error {
		p := place{v.Identity, v.Commit}
		if _, ok := wanted[p]; ok {
			wanted[p] = &whole{v, last}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range places {
		w := wanted[p]
		if w == nil {
			return onto.Errorf(onto.Unavailable, "%s of commit %d was found by DuckDB, and not when it was asked again", p.Identity, p.commit)
		}
		if ends != nil {
			*ends = w.ended
		}
		if err := push(w.Version); err != nil {
			return err
		}
	}
	return nil
}

// at is the question for all versions at some places, and perhaps others, in any
// order.
func (a *question) at(places []place) *question {
	part, q := *a, *a.Query
	q.After = nil
	part.Query, part.Where, part.unordered, part.divisions, part.withEnds = &q, nil, true, 1, true
	part.own.keys = slices.Clone(a.own.keys)
	for i, column := range sqlgen.KeyColumns(q.Kind) {
		keys := make([]string, len(places))
		for n := range places {
			keys[n] = sqlgen.KeyValues(&places[n].Identity)[i].(string)
		}
		slices.Sort(keys)
		part.own.narrow(column, slices.Compact(keys))
	}
	if q.Mode == backend.History {
		first, last := places[0].commit, places[0].commit
		for _, p := range places {
			first, last = min(first, p.commit), max(last, p.commit)
		}
		part.Where = []sqlgen.Part{sqlgen.SQL("v.commit_id BETWEEN ? AND ?", first, last)}
	}
	return &part
}
