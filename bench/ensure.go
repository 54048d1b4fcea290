package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func ensureBenchmarks() []benchmark {
	return []benchmark{{"B4", "ensure of 1,000 unchanged entities", "sqlite", ensureUnchanged}}
}

// ensureUnchanged is B4. All sides look at the same kind of choice: 1,000
// customers picked at random.
func ensureUnchanged(e *env) []row {
	w, n, batch := plain(), e.entities(), 2
	s, r := e.openStore(e.history(w, n, 1)), e.openRaw(e.rawRows(w, n, indexed), indexed)
	head, err := s.Head(e.ctx)
	e.must(err)
	drafts := func() [][]Customer {
		return series(batch, func(int) []Customer {
			chosen := e.random.Perm(n)
			return series(commitSize, func(i int) Customer { return w.customer(chosen[i], 0) })
		})
	}
	draftSide := func(name string, run func(context.Context, []Customer) error) side {
		return side{name, func() (int, func()) {
			list := drafts()
			return batch, func() {
				for _, draft := range list {
					e.must(run(e.ctx, draft))
				}
			}
		}}
	}
	taken := e.alternate(plan{rounds: e.pick(20, 10), turns: e.pick(5, 2)},
		draftSide("subject", func(ctx context.Context, draft []Customer) error { return ensureSame(ctx, s, draft) }),
		draftSide("control", func(ctx context.Context, draft []Customer) error { return getEach(ctx, s, draft) }),
		draftSide("raw", r.compareEach))
	after, err := s.Head(e.ctx)
	e.must(err)
	e.assert(after.ID == head.ID, "the head went from %d to %d", head.ID, after.ID)
	return []row{
		faster("ensure of 1,000 unchanged entities / 1,000 point gets", taken[0], taken[1], atLeast(1.2)),
		faster("ensure of 1,000 unchanged entities / 1,000 raw selects and comparisons", taken[0], taken[2], noGoal()),
	}
}

func ensureSame(ctx context.Context, s *store.Store, draft []Customer) error {
	res, err := s.Commit(ctx, onto.Draft{}.Ensure(draft))
	if err == nil && res.Changed() {
		err = fmt.Errorf("commit %d wrote what was there", res.ID)
	}
	return err
}

func getEach(ctx context.Context, s *store.Store, draft []Customer) error {
	for i := range draft {
		if _, err := store.Get[Customer](ctx, s.Now(), draft[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// compareEach is the version by hand: read each row and compare.
func (r *raw) compareEach(ctx context.Context, draft []Customer) error {
	for i := range draft {
		fields, err := r.fields(ctx, draft[i].ID)
		if err != nil {
			return err
		}
		if !bytes.Equal(fields, []byte(jsonOf(&draft[i]))) {
			return fmt.Errorf("%s differs", draft[i].ID)
		}
	}
	return nil
}
