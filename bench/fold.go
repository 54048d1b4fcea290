package main

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

func foldBenchmarks() []benchmark {
	return []benchmark{{"B28", "durable commit of a fact with its fold", "sqlite", commitFold}}
}

// Pay is what the contracts of a person come to.
type Pay struct {
	Person  string `json:"person" onto:"key"`
	Salary  int    `json:"salary"`
	Highest int    `json:"highest"`
	Changes int    `json:"changes"`
}

func (p *Pay) apply(salary int) {
	p.Salary, p.Highest, p.Changes = salary, max(p.Highest, salary), p.Changes+1
}

func payFold() store.Fold[Contract, Pay] {
	return store.Fold[Contract, Pay]{Name: "pay", Version: 1, Apply: func(p *Pay, f onto.Fact, _ onto.Draft) error {
		p.apply(int(f.Value.(int64)))
		return nil
	}}
}

// commitFold is B28. By hand, the state is kept in memory and written beside the fact: no
// read, and no check that no other writer was first.
func commitFold(e *env) []row {
	f := facts{e.entities() / perAttribute, perAttribute}
	all := e.foldRow(f, f.subjects)
	few := e.foldRow(f, 100)
	return []row{
		faster("durable commit of a fact with its fold, each time about another subject / fact and state by hand", all[0], all[1], atLeast(0.7)),
		faster("durable commit of a fact with its fold, about 100 subjects in turn / fact and state by hand", few[0], few[1], atLeast(0.7)),
	}
}

// foldRow compares commits about so many subjects in turn.
func (e *env) foldRow(f facts, subjects int) []samples {
	folded, byHand := e.openFolded(f), e.openPayByHand(f)
	pays := make([]Pay, subjects)
	for i := range pays {
		pays[i] = payByHand(f, i)
	}
	next := func(given *int) (int, onto.Fact) {
		*given++
		subject := *given % subjects
		fact := f.fact(subject, f.rounds+*given/subjects)
		fact.ID = ""
		return subject, fact
	}
	ours, theirs, batch := 0, 0, commitTurn
	taken := e.alternate(e.commitPlan(),
		side{"subject", func() (int, func()) {
			list := series(batch, func(int) onto.Fact { _, fact := next(&ours); return fact })
			return batch, func() {
				for _, fact := range list {
					_, err := folded.Commit(e.ctx, onto.Draft{}.Assert(fact))
					e.must(err)
				}
			}
		}},
		side{"control", func() (int, func()) {
			type pair struct {
				fact onto.Fact
				pay  Pay
			}
			list := series(batch, func(int) pair {
				subject, fact := next(&theirs)
				pays[subject].apply(fact.Value.(int))
				return pair{fact, pays[subject]}
			})
			return batch, func() {
				for i := range list {
					_, err := byHand.Commit(e.ctx, onto.Draft{}.Assert(list[i].fact).Ensure(list[i].pay))
					e.must(err)
				}
			}
		}})
	e.equalPays(folded, byHand)
	return taken
}

// equalPays checks that both sides have come to the same states, in the commits of the
// facts.
func (e *env) equalPays(folded, byHand *store.Store) {
	status, err := folded.Folds(e.ctx)
	e.must(err)
	e.assert(len(status) == 1 && status[0].UpToDate(), "the fold is not up to date: %+v", status)
	want, err := store.Find[Pay](byHand.Now()).Count(e.ctx)
	e.must(err)
	got := int64(0)
	for p, err := range store.Find[Pay](folded.Now()).All(e.ctx) {
		e.must(err)
		other, err := store.Get[Pay](e.ctx, byHand.Now(), p.Person)
		e.must(err)
		e.assert(p == other, "got %+v by the fold, %+v by hand", p, other)
		got++
	}
	e.assert(got == want, "%d states by the fold, %d by hand", got, want)
}

// payByHand is the state of a subject after the facts of the fixture.
func payByHand(f facts, subject int) Pay {
	p := Pay{Person: f.fact(subject, 0).Subject}
	for round := range f.rounds {
		p.apply(f.fact(subject, round).Value.(int))
	}
	return p
}

// openFolded opens a copy of the fixture with the fold, whose states are there.
func (e *env) openFolded(f facts) *store.Store {
	s := e.openPay(f, &store.Options{Folds: []store.Folding{payFold()}})
	e.must(s.CatchUp(e.ctx))
	return s
}

// openPayByHand opens a copy of the fixture with states that are written by hand.
func (e *env) openPayByHand(f facts) *store.Store {
	s := e.openPay(f, nil)
	for from := 0; from < f.subjects; from += commitSize {
		_, err := s.Commit(e.ctx, onto.Draft{}.Ensure(series(min(commitSize, f.subjects-from), func(i int) Pay { return payByHand(f, from+i) })))
		e.must(err)
	}
	return s
}

func (e *env) openPay(f facts, o *store.Options) *store.Store {
	db, err := sqlite.Open(e.ctx, e.copied(e.factStore(f)), nil)
	e.must(err)
	s, err := store.OpenWith(e.ctx, db, o, onto.TypeOf[Contract](), onto.TypeOf[Pay]())
	e.must(err)
	e.cleanup(func() { e.must(s.Close()) })
	return s
}
