package main

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func scanBenchmarks() []benchmark {
	return []benchmark{
		{"B7", "latest scan with a filter", "sqlite", scanLatest},
		{"B8", "as-of scan with a filter", "sqlite", scanAsOf},
	}
}

// contest is one question that two sides answer by reading everything.
type contest struct {
	what         string
	ours, theirs func() int // gives all answers and returns how many
	want         int
	goal         goal
}

// scanPlan is for scans of all entities.
func (e *env) scanPlan() plan { return plan{rounds: e.pick(15, 10), turns: e.pick(2, 1)} }

func (e *env) contestRow(c contest) row {
	taken := e.alternate(e.scanPlan(), e.scans("subject", 1, c.want, c.ours), e.scans("control", 1, c.want, c.theirs))
	return faster(c.what, taken[0], taken[1], c.goal)
}

// scans asks a question so many times in a turn.
func (e *env) scans(name string, times, want int, ask func() int) side {
	return side{name, func() (int, func()) {
		return times, func() {
			for range times {
				got := ask()
				e.assert(got == want, "%s: got %d answers, want %d", name, got, want)
			}
		}
	}}
}

// found counts the answers of a query.
func found[T any](e *env, q store.Query[T]) (n int) {
	for _, err := range q.All(e.ctx) {
		e.must(err)
		n++
	}
	return n
}

// scanLatest is B7.
func scanLatest(e *env) []row {
	w, n := plain(), e.entities()
	s := e.openStore(e.history(w, n, 1))
	r := e.openRaw(e.rawRows(w, n, indexed), indexed)
	rows := []row{
		e.filterRow(s, r, w, n, "latest scan, 10% match / raw scan with json_extract", ofTier("Gold"), atLeast(1.4)),
		e.naiveRow(w, e.keysOf(10), 10, atLeast(4)),
		e.naiveRow(w, e.keysOf(1000), 1000, atLeast(100)),
		e.filterRow(s, r, w, n, "latest scan, 1% match / raw scan with json_extract", below(10), noGoal()),
		e.filterRow(s, r, w, n, "latest scan, all match / raw scan with json_extract", below(1000), noGoal()),
	}
	return append(rows, e.otherScans(s, r, w, n)...)
}

// filterRow compares a typed query with a scan of the raw table. That table
// holds nothing else, so the control need not ask for the type.
func (e *env) filterRow(s *store.Store, r *raw, w workload, n int, what string, c criterion, g goal) row {
	byHand := e.prepare(r.conn, `SELECT key, fields FROM raw WHERE `+c.sql)
	query := store.Find[Customer](s.Now()).Where(c.filter)
	e.checkSame(query.All(e.ctx), e.decoded(byHand, c.args...))
	return e.contestRow(contest{
		what,
		func() int { return found(e, query) },
		func() int { return length(e.decoded(byHand, c.args...)) },
		c.count(w, n, 0), g,
	})
}

// otherScans are the same question in other forms.
func (e *env) otherScans(s *store.Store, r *raw, w workload, n int) []row {
	c := ofTier("Gold")
	byHand := e.prepare(r.conn, `SELECT key, fields FROM raw WHERE `+c.sql)
	first := e.prepare(r.conn, `SELECT key, fields FROM raw WHERE `+c.sql+` ORDER BY json_extract(fields, '$.balance') DESC, key LIMIT 10`)
	number := e.prepare(r.conn, `SELECT count(*) FROM raw WHERE `+c.sql)
	typed, untyped := store.Find[Customer](s.Now()).Where(c.filter), s.Now().Find(typeName).Where(c.filter)
	richest := typed.OrderBy(onto.Path("balance").Desc()).Limit(10)
	e.checkSame(richest.All(e.ctx), e.decoded(first, c.args...))
	want := c.count(w, n, 0)
	return []row{
		e.contestRow(contest{"latest scan, 10% match, not decoded / the same by hand",
			func() int { return found(e, untyped) }, func() int { return e.kept(byHand, c.args...) }, want, noGoal()}),
		e.contestRow(contest{"the first 10 of 10% that match, ordered by a field / the same by hand",
			func() int { return found(e, richest) }, func() int { return length(e.decoded(first, c.args...)) }, 10, noGoal()}),
		e.contestRow(contest{"count of 10% that match / select count(*)",
			func() int { return e.count(typed) }, func() int { return e.counted(number, c.args...) }, want, noGoal()}),
	}
}

func (e *env) count(q store.Query[Customer]) int {
	n, err := q.Count(e.ctx)
	e.must(err)
	return int(n)
}

// naiveRow compares a latest scan with the join that does without a projection,
// on a copy of the file.
func (e *env) naiveRow(w workload, keys, versions int, g goal) row {
	path, c := e.history(w, keys, versions), ofTier("Gold")
	s := e.openStore(path)
	join := e.prepareNaive(path, naiveLatest(c.on("eh.fields_json")))
	args := append([]any{typeName, typeName}, c.args...)
	query := store.Find[Customer](s.Now()).Where(c.filter)
	e.checkSame(query.All(e.ctx), e.decoded(join, args...))
	want := c.count(w, keys, versions-1)
	taken := e.alternate(slowPlan(),
		e.scans("subject", scanTurn(keys), want, func() int { return found(e, query) }),
		e.scans("control", 1, want, func() int { return length(e.decoded(join, args...)) }))
	return faster(fmt.Sprintf("latest scan, %s versions per key / join with MAX(commit_id)", thousands(int64(versions))), taken[0], taken[1], g)
}

// slowPlan is for controls that need seconds.
func slowPlan() plan { return plan{rounds: 10, turns: 1} }

// scanTurn is how many scans of so many keys make a turn that can be measured.
func scanTurn(keys int) int { return max(1, 20_000/keys) }

// scanAsOf is B8.
func scanAsOf(e *env) []row {
	few := e.asOfScanRows(plain(), e.keysOf(10), 10, atLeast(0.65), atLeast(4))
	many := e.asOfScanRows(plain(), e.keysOf(1000), 1000, atLeast(0.16), atLeast(25))
	return append(few, many...)
}

// asOfScanRows compares scans of the past with the latest scan of the same
// store and with the join that does without help, on a copy of the file.
func (e *env) asOfScanRows(w workload, keys, versions int, againstLatest, againstNaive goal) []row {
	path, c := e.history(w, keys, versions), ofTier("Gold")
	s := e.openStore(path)
	head, err := s.Head(e.ctx)
	e.must(err)
	join := e.prepareNaive(path, naiveAsOf(c.on("eh.fields_json")))
	at := func(share float64) moment { return momentAt(s, head.ID, keys, versions, share) }
	half, late, now := at(0.5), at(0.9), at(1)
	args := append([]any{typeName, half.commit, typeName}, c.args...)
	e.checkSame(half.customers().Where(c.filter).All(e.ctx), e.decoded(join, args...))

	filtered := func(name string, m moment) side {
		return e.scans(name, scanTurn(keys), c.count(w, keys, m.version), func() int { return found(e, m.customers().Where(c.filter)) })
	}
	whole := func(name string, m moment) side {
		return e.scans(name, scanTurn(keys), keys, func() int { return found(e, m.customers()) })
	}
	taken := e.alternate(slowPlan(), filtered("subject", half), filtered("control", now), filtered("late", late),
		e.scans("naive", 1, c.count(w, keys, half.version), func() int { return length(e.decoded(join, args...)) }))
	all := e.alternate(slowPlan(), whole("subject", half), whole("control", now))
	each := thousands(int64(versions)) + " versions per key"
	return []row{
		faster("as-of scan at half the log, "+each+" / latest scan", taken[0], taken[1], againstLatest),
		faster("as-of scan at half the log, "+each+" / join with MAX(commit_id)", taken[0], taken[3], againstNaive),
		faster("as-of scan at 90% of the log, "+each+" / latest scan", taken[2], taken[1], noGoal()),
		faster("as-of scan without a filter, "+each+" / latest scan without", all[0], all[1], noGoal()),
	}
}

// moment is a view of a history after a version of all keys was written.
type moment struct {
	view    store.View
	commit  int64
	version int
}

// momentAt is where a share of the log has been written.
func momentAt(s *store.Store, head int64, keys, versions int, share float64) moment {
	written := int(float64(versions) * share) // of each key
	m := moment{commit: int64(written * commitsPerVersion(keys)), version: written - 1}
	m.view = s.At(m.commit)
	if m.commit == head {
		m.view = s.Now()
	}
	return m
}

func (m moment) customers() store.Query[Customer] { return store.Find[Customer](m.view) }

// checkSame makes sure that two sides give the same answers.
func (e *env) checkSame(ours iter.Seq2[Customer, error], theirs iter.Seq[Customer]) {
	byKey := func(a, b Customer) int { return cmp.Compare(a.ID, b.ID) }
	var got []Customer
	for c, err := range ours {
		e.must(err)
		got = append(got, c)
	}
	want := slices.SortedFunc(theirs, byKey)
	slices.SortFunc(got, byKey)
	e.assert(len(want) > 0 && slices.Equal(got, want), "the subject's %d answers are not the control's %d", len(got), len(want))
}

// length counts what a sequence yields.
func length[T any](seq iter.Seq[T]) (n int) {
	for range seq {
		n++
	}
	return n
}
