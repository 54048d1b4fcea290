package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func commitBenchmarks() []benchmark {
	return []benchmark{
		{"B1", "durable commit of one entity", "sqlite", commitOne},
		{"B2", "durable commits by concurrent callers", "sqlite", commitConcurrent},
		{"B3", "commit of 1,000 entities", "sqlite", commitMany},
	}
}

// commitOne is B1.
func commitOne(e *env) []row {
	return []row{
		e.insertRow("durable commit of one new entity / raw one-row insert", plain(), atLeast(0.70)),
		e.insertRow("with index and search fields / raw insert without", tagged(), noGoal()),
		e.insertRow("with keys in random order / raw insert of the same", scattered(), noGoal()),
		e.updateRow("durable update of one entity / raw update in place", plain(), noGoal()),
	}
}

func (e *env) insertRow(what string, w workload, g goal) row {
	return e.insertAgainst(what, w, e.openRaw(e.copied(e.rawRows(w, e.entities(), indexed)), indexed).insertOne, g)
}

// insertAgainst compares commits of one new entity with what a control writes for one.
func (e *env) insertAgainst(what string, w workload, write func(context.Context, rawRow) error, g goal) row {
	n, batch := e.entities(), commitTurn
	s := e.openStore(e.copied(e.history(w, n, 1)))
	ours, theirs := n, n
	taken := e.alternate(e.commitPlan(),
		e.singleCommits(s, func() []any {
			ours += batch
			return series(batch, func(i int) any { return w.thing(ours-batch+i, 0) })
		}),
		e.singleWrites(write, func() []rawRow {
			theirs += batch
			return w.rows(theirs-batch, batch, 0)
		}))
	return faster(what, taken[0], taken[1], g)
}

func (e *env) updateRow(what string, w workload, g goal) row {
	n, batch := e.entities(), commitTurn
	s, r := e.openStore(e.copied(e.history(w, n, 1))), e.openRaw(e.copied(e.rawRows(w, n, indexed)), indexed)
	ours, theirs := 0, 0
	which := func(i int) int { return i * 7919 % n }
	taken := e.alternate(e.commitPlan(),
		e.singleCommits(s, func() []any {
			return series(batch, func(int) any { ours++; return w.thing(which(ours), ours) })
		}),
		e.singleWrites(r.updateOne, func() []rawRow {
			return series(batch, func(int) rawRow { theirs++; return w.row(which(theirs), theirs) })
		}))
	return faster(what, taken[0], taken[1], g)
}

// commitTurn is how many one-row commits are made in a turn.
const commitTurn = 25

// commitPlan gives a round enough commits for checkpoints on both sides.
func (e *env) commitPlan() plan { return plan{rounds: e.pick(20, 10), turns: e.pick(20, 10)} }

// singleCommits commits things one by one.
func (e *env) singleCommits(s *store.Store, next func() []any) side {
	return side{"subject", func() (int, func()) {
		things := next()
		return len(things), func() {
			for _, t := range things {
				e.must(commit(e.ctx, s, t))
			}
		}
	}}
}

// singleWrites writes rows one by one.
func (e *env) singleWrites(write func(context.Context, rawRow) error, next func() []rawRow) side {
	return side{"control", func() (int, func()) {
		rows := next()
		return len(rows), func() {
			for _, row := range rows {
				e.must(write(e.ctx, row))
			}
		}
	}}
}

func commit(ctx context.Context, s *store.Store, things any) error {
	res, err := s.Commit(ctx, onto.Draft{}.Ensure(things))
	if err == nil && !res.Changed() {
		err = errors.New("a commit changed nothing")
	}
	return err
}

// callers is how many commit at once in B2.
const callers = 64

// commitConcurrent is B2.
func commitConcurrent(e *env) []row {
	w, n := plain(), e.entities()
	s := e.openStore(e.copied(e.history(w, n, 1)))
	next := func(count int) []any {
		n += count
		return series(count, func(i int) any { return w.thing(n-count+i, 0) })
	}
	many, one := 20*callers, 4*commitTurn
	taken := e.alternate(plan{rounds: e.pick(15, 10), turns: e.pick(5, 2)},
		side{"subject", func() (int, func()) {
			things := next(many)
			return many, func() { e.must(commitAtOnce(e.ctx, s, things)) }
		}},
		e.singleCommits(s, func() []any { return next(one) }).as("control"))
	return []row{faster("durable commits by 64 callers / by one caller", taken[0], taken[1], atLeast(11))}
}

// commitAtOnce lets the callers commit things, each one thing at a time.
func commitAtOnce(ctx context.Context, s *store.Store, things []any) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	failed := make([]error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := next.Add(1); int(i) <= len(things) && failed[c] == nil; i = next.Add(1) {
				failed[c] = commit(ctx, s, things[i-1])
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

// commitMany is B3.
func commitMany(e *env) []row {
	plainRows := e.bulkRows(plain(), "commit of 1,000 new entities", atLeast(0.40))
	taggedRows := e.bulkRows(tagged(), "with index and search fields", noGoal())
	return []row{plainRows[0], plainRows[1], taggedRows[0], e.bulkUpdateRow(plain())}
}

// bulkPlan is for commits of 1,000 rows.
func (e *env) bulkPlan() plan { return plan{rounds: e.pick(15, 10), turns: e.pick(4, 2)} }

// bulkRows compares a commit of 1,000 entities with the control's two ways.
func (e *env) bulkRows(w workload, what string, g goal) []row {
	n, batch := e.entities(), 2
	s := e.openStore(e.copied(e.history(w, n, 1)))
	single := e.openRaw(e.copied(e.rawRows(w, n, indexed)), indexed)
	multi := e.openRaw(e.copied(e.rawRows(w, n, indexed)), indexed)
	taken := e.alternate(e.bulkPlan(),
		e.bulkCommits(s, batch, w, n, 0),
		e.bulkWrites(single.insertAll, batch, w, n),
		e.bulkWrites(multi.insertBulk, batch, w, n))
	return []row{
		faster(what+" / raw insert, row by row", taken[0], taken[1], g),
		faster(what+" / raw insert, 100 rows a statement", taken[0], taken[2], noGoal()),
	}
}

// bulkUpdateRow compares a commit of 1,000 new versions with raw updates.
func (e *env) bulkUpdateRow(w workload) row {
	r := e.openRaw(e.copied(e.rawRows(w, e.entities(), indexed)), indexed)
	return e.updatesAgainst("update of 1,000 entities / raw update in place, row by row", w, r.updateAll, noGoal())
}

// updatesAgainst compares commits of 1,000 new versions with what a control writes for
// them.
func (e *env) updatesAgainst(what string, w workload, write func(context.Context, []rawRow) error, g goal) row {
	n, batch := e.entities(), 2
	s := e.openStore(e.copied(e.history(w, n, 1)))
	versions := [2]int{}
	taken := e.alternate(e.bulkPlan(),
		side{"subject", func() (int, func()) {
			versions[0]++
			return e.bulkCommits(s, batch, w, 0, versions[0]).batch()
		}},
		side{"control", func() (int, func()) {
			versions[1]++
			list := series(batch, func(i int) []rawRow { return w.rows(i*commitSize, commitSize, versions[1]) })
			return batch, func() { e.each(list, write) }
		}})
	return faster(what, taken[0], taken[1], g)
}

// bulkCommits commits 1,000 entities at a time, from the from-th on.
func (e *env) bulkCommits(s *store.Store, batch int, w workload, from, version int) side {
	return side{"subject", func() (int, func()) {
		list := series(batch, func(i int) any { return w.things(from+i*commitSize, commitSize, version) })
		from += batch * commitSize
		return batch, func() {
			for _, things := range list {
				e.must(commit(e.ctx, s, things))
			}
		}
	}}
}

// bulkWrites writes 1,000 rows at a time, from the from-th on.
func (e *env) bulkWrites(write func(context.Context, []rawRow) error, batch int, w workload, from int) side {
	return side{"control", func() (int, func()) {
		list := series(batch, func(i int) []rawRow { return w.rows(from+i*commitSize, commitSize, 0) })
		from += batch * commitSize
		return batch, func() { e.each(list, write) }
	}}
}

func (e *env) each(list [][]rawRow, write func(context.Context, []rawRow) error) {
	for _, rows := range list {
		e.must(write(e.ctx, rows))
	}
}
