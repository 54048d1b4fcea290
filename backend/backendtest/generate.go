package backendtest

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// action is what a step of a random history does.
type action string

const (
	look         action = "look"     // ask for the head and the types
	appendDraft  action = "append"   // append a draft
	appendStream action = "stream"   // append a stream
	repeat       action = "repeat"   // send an earlier draft again
	reopen       action = "reopen"   // close the handle and open it again
	restart      action = "restart"  // close both handles and open them again
	register     action = "register" // register types
	giveUp       action = "give up"  // append with a cancelled context
	ask          action = "ask"      // ask a question
	evolve       action = "evolve"   // change types
)

// step is one operation of a random history. It is plain data: what depends on the
// state of the store is resolved when the step is taken.
type step struct {
	Do     action
	Handle int           // which of the two handles
	Clock  time.Duration // how far the clock moves before

	Writes []wish
	Still  bool // ask for the present state
	Header int
	Key    int // which idempotency key; 0 for none
	Expect []hope
	Fence  []hope

	Twice bool // stream: the first write comes once more at the end
	Clash bool // stream: and differs
	Break bool // stream: an error comes at the end
	Admit int  // stream: which of admissions; 0 for none

	Which int // repeat: which draft; register: which types; ask: as of which commit
	Ask   inquiry

	Change change // evolve
}

// plan is a random history.
type plan []step

// GoString lists the steps that matter, one on each line.
func (p plan) GoString() string {
	var text strings.Builder
	for i, s := range p {
		if s.Do != look || s.Clock != 0 {
			fmt.Fprintf(&text, "\n%4d: %s", i, s)
		}
	}
	return text.String()
}

// String describes the step for messages, without zero values.
func (s step) String() string {
	text := fmt.Sprintf("%s, handle %d", s.Do, s.Handle)
	for _, part := range []struct {
		name  string
		value any
	}{
		{"clock", s.Clock}, {"writes", s.Writes}, {"still", s.Still}, {"header", s.Header}, {"key", s.Key}, {"expect", s.Expect}, {"fence", s.Fence},
		{"twice", s.Twice}, {"clash", s.Clash}, {"break", s.Break}, {"admit", s.Admit}, {"which", s.Which}, {"question", s.Ask},
		{"change", s.Change},
	} {
		if !reflect.ValueOf(part.value).IsZero() {
			text += fmt.Sprintf(", %s %+v", part.name, part.value)
		}
	}
	return text
}

// wish is a write of a random history.
type wish struct {
	Identity int // in pool
	Value    int // in fieldsOf, from 1 on; 0 deletes
	Stamp    int // 1 for the last version of the type, 2 for the one after it, 0 for the one before it
	Known    int // 1 for the fields that it has, 2 for these and t, which it leaves out then; 0 for all
	Once     bool
	Derived  bool
}

// hope is an expectation of a random history.
type hope struct {
	Identity int // in pool; -1 for the head
	Off      int // how far it is from the present state
}

// tLate is a type that random histories register on the way.
const tLate = "Late"

// pool returns the identities of random histories.
func pool() []onto.Identity {
	return []onto.Identity{
		person("a"), person("b"), person("B"), person("é"),
		city("a"), city("b"),
		knows("a", "b"), knows("a", "a"), knows("b", "a"),
		visit("a", "b", "1"), visit("a", "b", "2"), visit("a", "b1", "0"),
		onto.EntityID(tLate, "a"),
		claim("a", "n", "1"), claim("a", "n", "2"), claim("b", "v", "1"), claim("é", "t", "B"), note("a", "v", "1"), note("b'1", "mood", "1"),
	}
}

// registrations returns what random histories register: what is there, a part of a
// type, a new type, a type that differs, a name that is taken, and other flags.
func registrations() [][]onto.Schema {
	different := testSchemas()[0]
	different.Fields = append(different.Fields, onto.Field{Name: "zzz", Type: onto.Int})
	smaller := searchable()[0]
	smaller.Fields = smaller.Fields[:2]
	return [][]onto.Schema{
		testSchemas(),
		{smaller},
		{tagged(tLate), testSchemas()[1]},
		{tagged("Later"), different},
		{tagged("Latest"), tagged(tKnows)},
		{tagged(tNote)},
		searchable(),
		flagged(func(_ string, f *onto.Field) { f.Index = true }),
		flagged(func(_ string, f *onto.Field) { f.Index, f.Search = f.Name == "v", f.Type == onto.String }),
		{different, searchable()[1]},
	}
}

// plans generates random histories. The simplest step comes first where there is a
// choice, since failing histories are shrunk.
func plans() *rapid.Generator[plan] {
	return rapid.Map(rapid.SliceOfN(rapid.Custom(drawStep), 70, 170), func(steps []step) plan { return steps })
}

func drawStep(t *rapid.T) step {
	s := step{
		Do: oneOf(t, "do", look, appendDraft, appendDraft, appendDraft, appendDraft, appendStream, appendStream,
			repeat, reopen, restart, register, giveUp, ask, ask, register, evolve, evolve, appendDraft, appendDraft, appendDraft, appendDraft),
		Handle: oneOf(t, "handle", 0, 0, 1),
		Clock:  oneOf(t, "clock", 0, 0, time.Microsecond, 999, time.Second, -time.Second, -time.Hour, time.Hour),
	}
	switch s.Do {
	case appendDraft, appendStream, giveUp:
		s.drawDraft(t)
	case repeat, register:
		s.Which = rapid.IntRange(0, 999).Draw(t, "which")
	case ask:
		s.Which = rapid.IntRange(0, 999).Draw(t, "which")
		s.Ask = drawInquiry(t)
	case evolve:
		s.drawDraft(t)
		s.Expect, s.Fence, s.Still, s.Change, s.Key = nil, nil, false, drawChange(t), 0
		if s.Change.Spoil == "" {
			s.Key = rapid.IntRange(0, 60).Draw(t, "key") // mostly one that no draft has
		}
	}
	return s
}

func (s *step) drawDraft(t *rapid.T) {
	least := oneOf(t, "least", 1, 1, 1, 1, 0, 1, 1, 1, 1)
	s.Writes = rapid.SliceOfNDistinct(rapid.Custom(drawWish), least, 4, func(w wish) int { return w.Identity }).Draw(t, "writes")
	s.Still = oneOf(t, "still", false, false, false, true, false, false, false)
	s.Header = rapid.IntRange(0, 3).Draw(t, "header")
	if oneOf(t, "keyed", false, false, true, false, false) {
		s.Key = rapid.IntRange(1, 12).Draw(t, "key")
	}
	if s.Do == appendStream {
		s.Admit = oneOf(t, "admit", 0, 0, 1, 2)
	}
	ending := oneOf(t, "ending", "", "", "", "twice", "clash", "break", "", "")
	if s.Do == appendStream && s.accepted() {
		s.Twice, s.Clash, s.Break = ending == "twice", ending == "clash", ending == "break"
	}
	if s.Clash || s.Break {
		s.Key = 0
		return
	}
	if oneOf(t, "expecting", false, false, true, false, false) {
		s.Expect = rapid.SliceOfN(rapid.Custom(drawHope), 1, 2).Draw(t, "expect")
	}
	if oneOf(t, "fenced", false, false, false, true, false, false, false) {
		s.Fence = rapid.SliceOfN(rapid.Custom(drawHope), 1, 2).Draw(t, "fence")
	}
}

// accepted reports whether all writes are of types the store has. A stream that is to
// break must have no second reason to fail, since the contract does not say which one
// is returned.
func (s *step) accepted() bool {
	for _, w := range s.Writes {
		if w.Stamp != 1 || pool()[w.Identity].Type == tLate {
			return false
		}
	}
	return len(s.Writes) > 0
}

func drawWish(t *rapid.T) wish {
	return wish{
		Identity: oneOf(t, "identity", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18),
		Value:    oneOf(t, "value", 1, 2, 3, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0),
		Stamp:    oneOf(t, "stamp", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
		Known:    oneOf(t, "known", 0, 0, 0, 0, 0, 1, 2, 0, 0),
		Once:     oneOf(t, "once", false, false, true, false),
		Derived:  oneOf(t, "derived", false, false, false, true, false, false),
	}
}

func drawHope(t *rapid.T) hope {
	return hope{
		Identity: rapid.IntRange(-1, len(pool())-1).Draw(t, "identity"),
		Off:      oneOf(t, "off", 0, 0, 1, -1, 0, 0),
	}
}

// oneOf draws one of some values. The first and the last come more often than
// the others.
func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

// write makes the requested write.
func (w wish) write(now present) backend.Write {
	id := pool()[w.Identity]
	stamp := now.version(id) + w.Stamp - 1
	if w.Value == 0 {
		return stamped(remove(id), stamp)
	}
	fields := fieldsOf()
	if id.Kind == onto.KindFact {
		fields = factFieldsOf()
	}
	wanted := stamped(set(id, fields[w.Value-1]), stamp)
	wanted.Once, wanted.Derived = w.Once && id.Kind == onto.KindFact, w.Derived
	if w.Known > 0 {
		wanted.Merge = w.Value%2 == 0
		for _, m := range codec.Members(wanted.Fields) {
			wanted.Known = wanted.Known.With(backend.KnownField{Name: m.Name})
		}
		if w.Known == 2 {
			wanted.Known = wanted.Known.With(backend.KnownField{Name: "t"})
		}
	}
	return wanted
}

// present describes the state of a store when a draft is made.
type present interface {
	head() int64
	newest(id onto.Identity) onto.Version // zero if there is none
	version(id onto.Identity) int         // the last of the type; 1 if there is none
}

// draft makes the draft of a step.
func (s step) draft(now present) *backend.Draft {
	var writes []backend.Write
	for _, wish := range s.Writes {
		w := wish.write(now)
		if s.Still {
			w.Op, w.Fields, w.Known, w.Once = onto.Delete, nil, nil, false
			if v := now.newest(w.Identity); v.Live() {
				w.Op, w.Fields = onto.Put, v.Fields
			}
		}
		writes = append(writes, w)
	}
	d := draft(writes...)
	if s.Key > 0 {
		d.IdempotencyKey = fmt.Sprint("key ", s.Key)
	}
	d.Runtime = fmt.Sprint("handle ", s.Handle)
	if s.Header > 0 {
		d.Actor = onto.Component(strings.Repeat("x", s.Header))
		d.Comment = fmt.Sprint("header ", s.Header)
		d.Metadata = fmt.Appendf(nil, `{"header":[%d,{"é":null}]}`, s.Header)
		d.Causation = int64(s.Header - 1)
		d.Correlation = d.Comment
	}
	d.Expect, d.Fence = expectations(s.Expect, now), expectations(s.Fence, now)
	return d
}

// expectations resolves hopes.
func expectations(hopes []hope, now present) []onto.Expectation {
	var list []onto.Expectation
	for _, h := range hopes {
		e := headIs(now.head())
		if h.Identity >= 0 {
			id := pool()[h.Identity]
			e = isAt(id, 0)
			if v := now.newest(id); v.Live() {
				e.Commit = v.Commit
			}
		}
		e.Commit = max(0, e.Commit+int64(h.Off))
		list = append(list, e)
	}
	return list
}
