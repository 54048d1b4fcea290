package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func indexBenchmarks() []benchmark {
	return []benchmark{{"B9", "filter on an indexed field", "sqlite", findIndexed}}
}

// lookup is a question with few answers.
type lookup struct {
	criterion
	want int
}

// lookupRace is a row of questions that two sides answer by an index.
type lookupRace struct {
	what   string
	asked  []lookup
	ours   func(onto.Filter) int
	theirs func(args ...any) int
	goal   goal
}

// findIndexed is B9.
func findIndexed(e *env) []row {
	w, n := tagged(), e.entities()
	s, r := e.openStore(e.history(w, n, 1)), e.openIndexed(w, n)
	const spread = districts / 50
	cities := lookups(w, n, func(i int) criterion { return inCity(i * spread) })
	ranges := lookups(w, n, func(i int) criterion { return between(float64(i*spread), float64(i*spread+1)) })

	find := func(f onto.Filter) int { return found(e, store.Find[TaggedCustomer](s.Now()).Where(f)) }
	byCity := e.lookupByHand(r, "SELECT key, fields FROM raw WHERE "+inCity(0).sql)
	byBalance := e.lookupByHand(r, "SELECT key, fields FROM raw WHERE "+between(0, 0).sql+" ORDER BY key")
	e.checkSame(e.untagged(s, cities[1].filter), e.decoded(byCity, cities[1].args...))
	e.checkSame(e.untagged(s, ranges[1].filter), e.decoded(byBalance, ranges[1].args...))
	return []row{
		e.lookupRow(lookupRace{"filter on an indexed field, 0.1% match / hand-written expression index", cities, find,
			func(args ...any) int { return length(e.decoded(byCity, args...)) }, atLeast(0.70)}),
		e.lookupRow(lookupRace{"range of an indexed number, 0.1% match / the same by hand", ranges, find,
			func(args ...any) int { return length(e.decoded(byBalance, args...)) }, noGoal()}),
	}
}

// lookups makes the questions of a turn.
func lookups(w workload, n int, one func(i int) criterion) []lookup {
	customers := series(n, func(i int) Customer { return w.customer(i, 0) })
	return series(50, func(i int) lookup {
		l := lookup{criterion: one(i)}
		for k := range customers {
			if l.match(&customers[k]) {
				l.want++
			}
		}
		return l
	})
}

func (e *env) lookupRow(race lookupRace) row {
	ours := func(l lookup) int { return race.ours(l.filter) }
	theirs := func(l lookup) int { return race.theirs(l.args...) }
	asked := race.asked[:e.fitting(race.asked, ours)]
	turn := func(name string, ask func(lookup) int) side {
		return side{name, func() (int, func()) {
			return len(asked), func() {
				for _, l := range asked {
					got := ask(l)
					e.assert(got == l.want, "%s: got %d answers, want %d", name, got, l.want)
				}
			}
		}}
	}
	taken := e.alternate(plan{rounds: e.pick(30, 10), turns: e.pick(4, 2)}, turn("subject", ours), turn("control", theirs))
	return faster(race.what, taken[0], taken[1], race.goal)
}

// fitting is how many questions make a turn of about 20 ms, one at least.
func (e *env) fitting(asked []lookup, ask func(lookup) int) int {
	ask(asked[0])
	start := time.Now()
	ask(asked[0])
	return min(len(asked), 1+int(20*time.Millisecond/time.Since(start)))
}

// openIndexed opens a control with an index on each field that the workload
// marks for one.
func (e *env) openIndexed(w workload, n int) *raw {
	r := e.openRaw(e.copied(e.rawRows(w, n, indexed)), indexed)
	for _, field := range []string{"balance", "city", "tier"} {
		_, err := r.conn.ExecContext(e.ctx, fmt.Sprintf(`CREATE INDEX raw_%[1]s ON raw(json_extract(fields, '$.%[1]s'))`, field))
		e.must(err)
	}
	return r
}

// lookupByHand prepares a statement and makes sure that it uses an index.
func (e *env) lookupByHand(r *raw, text string) statement {
	s := e.prepare(r.conn, text)
	e.assert(strings.Contains(s.plan, "INDEX raw_"), "the control does not use its index: %s", s.plan)
	return s
}

func (e *env) countTagged(s *store.Store, f onto.Filter) int {
	n, err := store.Find[TaggedCustomer](s.Now()).Where(f).Count(e.ctx)
	e.must(err)
	return int(n)
}

// untagged yields the answers as the type that the control decodes.
func (e *env) untagged(s *store.Store, f onto.Filter) iter.Seq2[Customer, error] {
	return func(yield func(Customer, error) bool) {
		for c, err := range store.Find[TaggedCustomer](s.Now()).Where(f).All(e.ctx) {
			if !yield(Customer(c), err) {
				return
			}
		}
	}
}
