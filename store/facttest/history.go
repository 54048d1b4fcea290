package facttest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// Belief is facts about any texts.
type Belief struct {
	onto.About[string]
	Name string   `json:"name"`
	Rank *int     `json:"rank" onto:"index"`
	Tags []string `json:"tags" onto:"many"`
}

// loose is a type that has undeclared attributes.
func loose() onto.Type {
	return onto.Untyped(onto.Schema{
		Name: "Loose", Kind: onto.KindFact, Open: true,
		Fields: []onto.Field{{Name: "rank", Type: onto.Int, Optional: true}},
	})
}

// attributes of the types; "odd" is undeclared.
var attributes = map[string][]string{"Belief": {"name", "rank", "rank", "tags"}, "Loose": {"rank", "odd"}}

// Types are the types that a history is about.
func Types() []onto.Type { return []onto.Type{onto.TypeOf[Belief](), loose()} }

// history is a store and the model of it.
type history struct {
	model
	t      *testing.T
	s      *store.Store
	random *rand.Rand
	made   int // facts so far
	notes  int
}

// grown commits random drafts until there have been so many facts.
func grown(t *testing.T, b backend.Backend, seed uint64, facts int) *history {
	t.Helper()
	s, err := store.Open(t.Context(), b, Types()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h := &history{t: t, s: s, random: rand.New(rand.NewPCG(seed, 17)), model: model{times: []time.Time{{}}}}
	for h.made < facts {
		h.commit()
	}
	return h
}

// aTime returns one of few times, so that many are equal: a day of 2026, or when
// something was committed.
func (h *history) aTime() time.Time {
	if n := len(h.times); n > 1 && h.random.IntN(4) == 0 {
		return h.times[1+h.random.IntN(n-1)]
	}
	return time.Date(2026, 1, 1+h.random.IntN(9), 0, 0, 0, 0, time.UTC)
}

// period returns bounds for a fact or a window, which may be open.
func (h *history) period() (from, until time.Time) {
	for {
		from, until = h.aTime(), h.aTime()
		if h.random.IntN(4) == 0 {
			from = time.Time{}
		}
		if h.random.IntN(4) == 0 {
			until = time.Time{}
		}
		if until.IsZero() || from.Before(until) {
			return from, until
		}
	}
}

// commit makes a random draft true, in the store and in the model.
func (h *history) commit() {
	var d onto.Draft
	var rows []row
	touched := map[onto.Identity]bool{}
	for range 1 + h.random.IntN(6) {
		switch n := h.random.IntN(10); {
		case n < 6:
			r, f := h.assertion(int64(count(rows, "assert")))
			d, rows = d.Assert(f), append(rows, r)
		case n < 8:
			if r, ok := h.revocation(); ok && !touched[r.Identity] {
				touched[r.Identity] = true
				d, rows = d.Revoke(r.Identity, r.at, r.note), append(rows, r)
			}
		case n == 8:
			if r, ok := h.pick("assert"); ok && !touched[r.Identity] {
				touched[r.Identity] = true
				d, rows = d.Retract(r.Identity), append(rows, row{verb: "retract", Identity: r.Identity})
			}
		default:
			h.repeat()
		}
	}
	res, err := h.s.Commit(h.t.Context(), d)
	if err != nil {
		h.t.Fatal(err)
	}
	if res.ID == 0 {
		return // all of it was known
	}
	head, err := h.s.Head(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.times = append(h.times, head.Time)
	for _, r := range rows {
		if r.commit = res.ID; r.Identity.Instance == "" {
			r.Identity.Instance = h.madeID(r)
		}
		h.rows = append(h.rows, r)
	}
}

func count(rows []row, verb string) (n int) {
	for _, r := range rows {
		if r.verb == verb {
			n++
		}
	}
	return n
}

// assertion is a new fact, with an id or without.
func (h *history) assertion(seq int64) (row, onto.Fact) {
	h.made++
	typ := "Belief"
	if h.random.IntN(4) == 0 {
		typ = "Loose"
	}
	list := attributes[typ]
	r := row{verb: "assert", seq: seq, number: h.made * 389 % 1009} // a later one is not a greater one
	r.Identity = onto.FactID(typ, []string{"a", "b"}[h.random.IntN(2)], list[h.random.IntN(len(list))], "")
	if h.random.IntN(2) == 0 { // not in the order in which they are asserted
		r.Instance = fmt.Sprintf("%02d-%d", h.random.IntN(100), r.number)
	}
	r.from, r.until = h.period()
	return r, h.factOf(r)
}

func (h *history) factOf(r row) onto.Fact {
	return onto.Fact{
		Type: r.Type, Subject: r.Left, Attribute: r.Right, ID: r.Instance,
		Value: value(r.Right, r.number), From: r.from, Until: r.until,
	}
}

// madeID is the id that the store has given a fact, which has a value of its own.
func (h *history) madeID(r row) string {
	for v, err := range h.s.At(r.commit).Find(r.Type).All(h.t.Context()) {
		if err != nil {
			h.t.Fatal(err)
		}
		if f, err := onto.FactOf(&v); err != nil {
			h.t.Fatal(err)
		} else if f.Subject == r.Left && f.Attribute == r.Right && f.Value == value(r.Right, r.number) {
			return f.ID
		}
	}
	h.t.Fatalf("%s with value %v is not there", r.Identity, value(r.Right, r.number))
	return ""
}

// pick returns what was once said.
func (h *history) pick(verb string) (row, bool) {
	var list []row
	for _, r := range h.rows {
		if r.verb == verb {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return row{}, false
	}
	return list[h.random.IntN(len(list))], true
}

// revocation ends a fact that is believed, which may be revoked already.
func (h *history) revocation() (row, bool) {
	list := append(h.believed("Belief", int64(len(h.times)-1)), h.believed("Loose", int64(len(h.times)-1))...)
	if len(list) == 0 {
		return row{}, false
	}
	f := list[h.random.IntN(len(list))]
	h.notes++
	at := h.aTime()
	if !f.from.IsZero() && !at.After(f.from) || !f.until.IsZero() && at.After(f.until) {
		return row{}, false
	}
	return row{verb: "revoke", Identity: f.Identity, at: at, note: fmt.Sprint("note ", h.notes)}, true
}

// repeat asserts what is believed already, which changes nothing.
func (h *history) repeat() {
	r, ok := h.pick("assert")
	if !ok {
		return
	}
	for _, o := range h.rows {
		if o.Identity == r.Identity && o.verb != "assert" {
			return // it says something else by now
		}
	}
	if res, err := h.s.Commit(h.t.Context(), onto.Draft{}.Assert(h.factOf(r))); err != nil || res.ID != 0 {
		h.t.Fatalf("%s again: got commit %d, error %v", r.Identity, res.ID, err)
	}
}
