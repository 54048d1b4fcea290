package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

func factBenchmarks() []benchmark {
	return []benchmark{
		{"B24", "durable commit of one fact", "sqlite", commitFact},
		{"B25", "one attribute with 10 facts", "sqlite", readAttribute},
		{"B26", "all facts that hold at an instant", "sqlite", readInstant},
	}
}

// Contract is facts about persons.
type Contract struct {
	onto.About[string]
	Employer string `json:"employer"`
	Salary   int    `json:"salary"`
}

// facts is a sequence of facts: so many rounds, in each of which every subject gets a
// fact on its salary, which begins to hold a month after the one before. Every other one
// ends three months later.
type facts struct{ subjects, rounds int }

// perAttribute is how many facts an attribute has in most benchmarks.
const perAttribute = 10

func (f facts) fact(subject, round int) onto.Fact {
	fact := onto.Fact{
		Type: "Contract", Subject: fmt.Sprintf("person-%08d", subject), Attribute: "salary",
		ID: fmt.Sprintf("%04d-%08d", round, subject), Value: 3000 + 100*round + subject%100, From: f.month(round),
	}
	if round%2 == 1 {
		fact.Until = f.month(round + 3)
	}
	return fact
}

// month is the start of a month; those of all rounds are past.
func (f facts) month(n int) time.Time {
	return time.Date(2020, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC)
}

// commits is how many commits a round takes.
func (f facts) commits() int { return commitsPerVersion(f.subjects) }

// factStore is a fixture: a store with these facts.
func (e *env) factStore(f facts) string {
	return e.fixture(fmt.Sprintf("facts-%dx%d.db", f.subjects, f.rounds), func(path string) {
		s, done := e.contracts(path)
		for round := range f.rounds {
			for from := 0; from < f.subjects; from += commitSize {
				_, err := s.Commit(e.ctx, onto.Draft{}.Assert(series(min(commitSize, f.subjects-from), func(i int) onto.Fact { return f.fact(from+i, round) })...))
				e.must(err)
			}
		}
		done()
	})
}

func (e *env) contracts(path string) (s *store.Store, done func()) {
	db, err := sqlite.Open(e.ctx, path, nil)
	e.must(err)
	s, err = store.Open(e.ctx, db, onto.TypeOf[Contract]())
	e.must(err)
	return s, func() { e.must(s.Close()) }
}

func (e *env) openContracts(path string) *store.Store {
	s, done := e.contracts(path)
	e.cleanup(done)
	return s
}

// commitFact is B24.
func commitFact(e *env) []row {
	w, n, batch := plain(), e.entities(), commitTurn
	f := facts{n / perAttribute, perAttribute}
	things, contracts := e.openStore(e.copied(e.history(w, n, 1))), e.openContracts(e.copied(e.factStore(f)))
	next, given := n, 0
	one := func(name string, made func() onto.Fact) side {
		return side{name, func() (int, func()) {
			list := series(batch, func(int) onto.Fact { return made() })
			return batch, func() {
				for _, fact := range list {
					res, err := contracts.Commit(e.ctx, onto.Draft{}.Assert(fact))
					e.must(err)
					e.assert(res.Changed(), "a commit changed nothing")
				}
			}
		}}
	}
	fresh := func() onto.Fact {
		given++
		return f.fact(given%f.subjects, f.rounds+given/f.subjects)
	}
	taken := e.alternate(e.commitPlan(),
		one("subject", func() onto.Fact { fact := fresh(); fact.ID = ""; return fact }),
		e.singleCommits(things, func() []any {
			next += batch
			return series(batch, func(i int) any { return w.thing(next-batch+i, 0) })
		}).as("control"),
		one("given", fresh))
	return []row{
		faster("durable commit of one new fact / of one new entity", taken[0], taken[1], atLeast(0.8)),
		faster("durable commit of one new fact with an id of its own / of one new entity", taken[2], taken[1], noGoal()),
	}
}

// factTable is a table of facts as a developer would write it by hand: columns for both
// axes of time, and the index that finds the fact that speaks first.
type factTable struct{ one, all statement }

const createFactTable = `
CREATE TABLE facts (subject TEXT NOT NULL, attribute TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL,
	valid_from TEXT NOT NULL, valid_until TEXT, known_from INTEGER NOT NULL, known_until INTEGER, seq INTEGER NOT NULL,
	PRIMARY KEY (subject, attribute, known_from DESC, seq DESC, id DESC)) WITHOUT ROWID`

// The conditions of both axes; the parameters are commit, commit, time, time.
const holdsByHand = `known_from <= ? AND (known_until IS NULL OR known_until > ?) AND valid_from <= ? AND (valid_until IS NULL OR valid_until > ?)`

const factColumns = `subject, attribute, id, value, valid_from, valid_until, known_from, seq`

func (e *env) factTable(f facts) *factTable {
	path := e.fixture(fmt.Sprintf("facts-byhand-%dx%d.db", f.subjects, f.rounds), func(path string) {
		db, err := sql.Open("sqlite3", "file:"+path)
		e.must(err)
		_, err = db.ExecContext(e.ctx, createFactTable)
		e.must(err)
		tx, err := db.BeginTx(e.ctx, nil)
		e.must(err)
		insert, err := tx.PrepareContext(e.ctx, `INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)`)
		e.must(err)
		for round := range f.rounds {
			for i := range f.subjects {
				fact := f.fact(i, round)
				value, err := json.Marshal(fact.Value)
				e.must(err)
				var until any
				if !fact.Until.IsZero() {
					until = codec.FormatTime(fact.Until)
				}
				_, err = insert.ExecContext(e.ctx, fact.Subject, fact.Attribute, fact.ID, string(value), codec.FormatTime(fact.From), until,
					round*f.commits()+i/commitSize+1, i%commitSize)
				e.must(err)
			}
		}
		e.must(tx.Commit())
		e.must(db.Close())
	})
	conn := e.openReader(path)
	return &factTable{
		one: e.prepare(conn, `SELECT `+factColumns+` FROM facts WHERE subject = ? AND attribute = ? AND `+holdsByHand+`
			ORDER BY known_from DESC, seq DESC, id DESC LIMIT 1`),
		all: e.prepare(conn, `SELECT `+factColumns+` FROM (SELECT *, row_number() OVER (
			PARTITION BY subject, attribute ORDER BY known_from DESC, seq DESC, id DESC) AS place FROM facts WHERE `+holdsByHand+`) WHERE place = 1`),
	}
}

// facts reads the answers of a statement.
func (e *env) factRows(s statement, args ...any) []onto.Fact {
	rows, err := s.stmt.QueryContext(e.ctx, args...)
	e.must(err)
	defer rows.Close()
	var list []onto.Fact
	for rows.Next() {
		fact := onto.Fact{Type: "Contract"}
		var value sql.RawBytes
		var from string
		var until sql.NullString
		e.must(rows.Scan(&fact.Subject, &fact.Attribute, &fact.ID, &value, &from, &until, &fact.Asserted, &fact.Seq))
		var number int64
		e.must(json.Unmarshal(value, &number))
		fact.Value, fact.Commit = number, fact.Asserted
		fact.From, err = codec.ParseTime(from)
		e.must(err)
		if until.Valid {
			fact.Until, err = codec.ParseTime(until.String)
			e.must(err)
		}
		list = append(list, fact)
	}
	e.must(rows.Err())
	return list
}

// instant is a moment on both axes.
type instant struct {
	view   store.View
	commit int64
	valid  time.Time
}

func (i *instant) args(more ...any) []any {
	valid := codec.FormatTime(i.valid)
	return append(more, i.commit, i.commit, valid, valid)
}

// instants are the present, and halfway through the rounds with the time that these are
// about.
func (f facts) instants(s *store.Store) (now, past instant) {
	head := int64(f.rounds * f.commits())
	now = instant{s.Now(), head, time.Now()}
	half := f.rounds / 2
	past = instant{commit: int64(half * f.commits()), valid: f.month(half-1).AddDate(0, 0, 9)}
	past.view = s.At(past.commit).ValidAt(past.valid)
	return now, past
}

func (e *env) collected(q store.Facts) []onto.Fact {
	var list []onto.Fact
	for fact, err := range q.All(e.ctx) {
		e.must(err)
		list = append(list, fact)
	}
	return list
}

func (e *env) checkFacts(ours, theirs []onto.Fact) {
	slices.SortFunc(theirs, func(a, b onto.Fact) int { return a.Identity().Compare(b.Identity()) })
	e.assert(len(ours) > 0 && slices.Equal(ours, theirs), "the subject's %d answers are not the control's %d", len(ours), len(theirs))
}

// readAttribute is B25.
func readAttribute(e *env) []row {
	f := facts{e.entities() / perAttribute, perAttribute}
	s, t := e.openContracts(e.factStore(f)), e.factTable(f)
	now, past := f.instants(s)
	ask := func(i instant, subject string) []onto.Fact {
		return e.collected(i.view.Facts("Contract").About(subject).Attribute("salary"))
	}
	byHand := func(i instant, subject string) []onto.Fact { return e.factRows(t.one, i.args(subject, "salary")...) }
	subjects := func() []string {
		return series(getTurn, func(int) string { return f.fact(e.random.IntN(f.subjects), 0).Subject })
	}
	reads := func(name string, read func(instant, string) []onto.Fact, at instant) side {
		return side{name, func() (int, func()) {
			list := subjects()
			return len(list), func() {
				for _, subject := range list {
					got := read(at, subject)
					e.assert(len(got) == 1 && got[0].Subject == subject, "got %d facts about %s", len(got), subject)
				}
			}
		}}
	}
	var rows []row
	for _, c := range []struct {
		what string
		at   instant
	}{{"now", now}, {"with both axes in the past", past}} {
		for _, subject := range subjects()[:50] {
			e.checkFacts(ask(c.at, subject), byHand(c.at, subject))
		}
		taken := e.alternate(e.getPlan(), reads("subject", ask, c.at), reads("control", byHand, c.at))
		rows = append(rows, faster("an attribute with 10 facts, "+c.what+" / by hand, with columns and an index for it", taken[0], taken[1], atLeast(0.5)))
	}
	about := func(i instant, subject string) []onto.Fact {
		c, err := store.About[Contract](e.ctx, i.view, subject)
		e.must(err)
		return []onto.Fact{{Subject: subject, Value: c.Salary}}
	}
	taken := e.alternate(e.getPlan(), reads("subject", about, now), reads("control", byHand, now))
	return append(rows, faster("the same as a struct of what holds, now / by hand", taken[0], taken[1], noGoal()))
}

// readInstant is B26.
func readInstant(e *env) []row {
	many, single := facts{e.entities() / perAttribute, perAttribute}, facts{e.entities(), 1}
	var rows []row
	for _, c := range []struct {
		what string
		facts
		past bool
		goal goal
	}{
		{"100,000 facts, 10 on each attribute, what speaks now", many, false, atLeast(0.7)},
		{"100,000 facts, 10 on each attribute, what spoke halfway", many, true, atLeast(0.7)},
		{"100,000 facts, one on each attribute, what speaks now", single, false, noGoal()},
	} {
		s, t := e.openContracts(e.factStore(c.facts)), e.factTable(c.facts)
		at, past := c.instants(s)
		if c.past {
			at = past
		}
		ask := func() []onto.Fact { return e.collected(at.view.Facts("Contract")) }
		byHand := func() []onto.Fact { return e.factRows(t.all, at.args()...) }
		e.checkFacts(ask(), byHand())
		rows = append(rows, e.contestRow(contest{c.what + " / a window function by hand",
			func() int { return len(ask()) }, func() int { return len(byHand()) }, c.subjects, c.goal}))
	}
	return rows
}
