package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// speaking is what facts of a type say at a time, by the definition: of those on one
// attribute that hold, the one that was asserted last.
func speaking(t *testing.T, v store.View, typ string, at time.Time) string {
	t.Helper()
	type place struct{ subject, attribute string }
	best := map[place]onto.Fact{}
	for version, err := range v.FindKind(onto.KindFact, typ).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := onto.FactOf(&version)
		if err != nil {
			t.Fatal(err)
		}
		p := place{f.Subject, f.Attribute}
		if b, ok := best[p]; f.Holds(at) && (!ok || assertedBefore(&b, &f)) {
			best[p] = f
		}
	}
	var list []string
	for p, f := range best {
		list = append(list, fmt.Sprintf("%s.%s=%v (%s)", p.subject, p.attribute, f.Value, f.ID))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func assertedBefore(a, b *onto.Fact) bool {
	return cmp.Or(cmp.Compare(a.Asserted, b.Asserted), cmp.Compare(a.Seq, b.Seq), strings.Compare(a.ID, b.ID)) < 0
}

// answers is what facts say after each commit, at some times.
func answers(t *testing.T, s *store.Store, typ string, commits int64) []string {
	t.Helper()
	var list []string
	for c := range commits + 1 {
		for m := time.Month(1); m <= 12; m += 2 {
			list = append(list, fmt.Sprintf("%d %d: %s", c, m, speaking(t, s.At(c), typ, day(m, 10))))
		}
	}
	return list
}

// factHistory makes random commits of facts: assertions, several at once, revocations,
// retractions and reverts.
type factHistory struct {
	t    *testing.T
	s    *store.Store
	rnd  *rand.Rand
	typ  string
	ids  []onto.Identity
	last int64 // commit
}

func (h *factHistory) commit(d onto.Draft) {
	h.t.Helper()
	res, err := h.s.Commit(h.t.Context(), d)
	if err != nil {
		h.t.Fatal(err)
	}
	h.last = max(h.last, res.ID)
}

func (h *factHistory) month() time.Time { return day(time.Month(1+h.rnd.IntN(12)), 1) }

func (h *factHistory) fact() onto.Fact {
	f := onto.Fact{Type: h.typ, Subject: fmt.Sprint("s", h.rnd.IntN(2)), ID: fmt.Sprintf("%03d", h.rnd.IntN(900))}
	if f.Attribute, f.Value = "salary", h.rnd.IntN(50); h.rnd.IntN(3) == 0 {
		f.Attribute, f.Value = "employer", fmt.Sprint("e", h.rnd.IntN(50))
	}
	if h.rnd.IntN(3) > 0 {
		f.From = h.month()
	}
	if until := h.month(); h.rnd.IntN(2) == 0 && until.After(f.From) {
		f.Until = until
	}
	return f
}

func (h *factHistory) step() {
	pick := func() onto.Identity { return h.ids[h.rnd.IntN(len(h.ids))] }
	switch n := h.rnd.IntN(10); {
	case n < 5 || len(h.ids) == 0:
		var d onto.Draft
		for range 1 + h.rnd.IntN(3) {
			f := h.fact()
			if slices.Contains(h.ids, f.Identity()) {
				continue
			}
			h.ids, d = append(h.ids, f.Identity()), d.Assert(f)
		}
		h.commit(d)
	case n < 7:
		res, err := h.s.Commit(h.t.Context(), onto.Draft{}.Revoke(pick(), h.month(), "over"))
		if code := onto.CodeOf(err); err != nil && code != onto.Invalid && code != onto.NotFound { // it ends earlier, or is retracted
			h.t.Fatal(err)
		}
		h.last = max(h.last, res.ID)
	case n < 8:
		h.commit(onto.Draft{}.Retract(pick()))
	default:
		res, _, err := h.s.Revert(h.t.Context(), onto.Draft{}, store.Revert{Commit: 1 + h.rnd.Int64N(h.last), Over: true})
		if err != nil {
			h.t.Fatal(err)
		}
		h.last = max(h.last, res.ID)
	}
}

func openFacts(t *testing.T, types ...onto.Type) (*store.Store, backend.Backend) {
	t.Helper()
	m := memory.New(nil)
	s, err := store.Open(t.Context(), m.Open(), types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := m.Open()
	t.Cleanup(func() { b.Close() })
	return s, b
}

func newFactHistory(t *testing.T, seed uint64, steps int) (*factHistory, backend.Backend) {
	t.Helper()
	s, b := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	h := &factHistory{t: t, s: s, rnd: rand.New(rand.NewPCG(seed, 17)), typ: "contract"}
	for range steps {
		h.step()
	}
	return h, b
}

// A revert brings facts back to what they were. Who speaks then is who spoke before: the
// order of assertion stays.
func TestFactsAreReverted(t *testing.T) {
	commits, histories := int64(0), 0
	for seed := range effort.Seeds(t, 100) {
		histories++
		h, _ := newFactHistory(t, seed, 25)
		before := answers(t, h.s, h.typ, h.last)
		head := h.last
		for c := head; c > head/2; c-- { // back to the middle, one commit after the other
			res, plan, err := h.s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: c, Over: true})
			if err != nil {
				t.Fatalf("seed %d: revert of %d: %v", seed, c, err)
			}
			h.last = max(h.last, res.ID)
			for m := time.Month(1); m <= 12; m += 2 {
				if got, want := speaking(t, h.s.Now(), h.typ, day(m, 10)), speaking(t, h.s.At(c-1), h.typ, day(m, 10)); got != want {
					t.Fatalf("seed %d: after the revert of %d, in month %d: got %s, want %s; commits %v", seed, c, m, got, want, plan.Commits)
				}
			}
		}
		if got := answers(t, h.s, h.typ, head); !slices.Equal(got, before) {
			t.Fatalf("seed %d: reverts changed the past", seed)
		}
		commits += h.last
	}
	t.Logf("%d histories, %d commits", histories, commits)
}

// A fact that is brought back says when it was asserted; one that is there as it was
// makes no version.
func TestFactsAreBroughtBack(t *testing.T) {
	ctx := t.Context()
	s, _ := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	old := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "old", Value: 1}
	recent := onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "recent", Value: 2}
	mustCommit(t, s, onto.Draft{}.Assert(old))
	mustCommit(t, s, onto.Draft{}.Assert(recent))
	mustCommit(t, s, onto.Draft{}.Retract(old.Identity()))
	v, err := s.At(1).Get(ctx, old.Identity())
	if err != nil {
		t.Fatal(err)
	}
	if res := mustCommit(t, s, onto.Draft{}.Ensure(v)); res.Operations != 1 {
		t.Errorf("bringing a fact back made %d versions", res.Operations)
	}
	back, err := s.Now().Get(ctx, old.Identity())
	if err != nil || string(back.Fields) != `{"asserted":1,"salary":1}` {
		t.Errorf("it came back as %s, %v", back.Fields, err)
	}
	if got := speaking(t, s.Now(), "contract", day(1, 1)); got != "ada.salary=2 (recent)" {
		t.Errorf("got %s: what is brought back must not speak over what was asserted later", got)
	}
	there, err := s.Now().Get(ctx, recent.Identity())
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range map[string]onto.Version{"as it is": there, "as it was": v} {
		if res := mustCommit(t, s, onto.Draft{}.Ensure(version)); res.ID != 0 {
			t.Errorf("%s: got commit %d, want none", name, res.ID)
		}
		res, err := s.CommitStream(ctx, onto.Draft{}, sequence(version))
		if err != nil || res.ID != 0 {
			t.Errorf("%s, in a stream: got commit %d, %v, want none", name, res.ID, err)
		}
	}
	other := v
	other.Instance = "never"
	for name, make := range map[string]func() error{
		"a draft":  func() error { _, err := s.Commit(ctx, onto.Draft{}.Ensure(other)); return err },
		"a stream": func() error { _, err := s.CommitStream(ctx, onto.Draft{}, sequence(other)); return err },
	} {
		if err := make(); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("%s brings back a fact that never was: got %v", name, err)
		}
	}
	for name, thing := range map[string]any{"a struct": contract{}, "a fact": old} {
		d := onto.Draft{}.Ensure(thing)
		if name == "a fact" {
			d = onto.Draft{}.Merge(thing)
		}
		if _, err := s.Commit(ctx, d); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "facts are asserted") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := s.Commit(ctx, onto.Draft{}.Merge(v)); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("merging into a fact: got %v", err)
	}
}

// The versions of a fact that are brought back must be those of one.
func TestFactRowsAreChecked(t *testing.T) {
	s, _ := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	id := onto.FactID("contract", "ada", "salary", "x")
	mustCommit(t, s, onto.Draft{}.Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: "x", Value: 1}))
	for fields, want := range map[string]string{
		`{}`:                           "there is no value",
		`{"salary":null}`:              "there is no value",
		`{"salary":1,"employer":"e"}`:  "a value of employer, which is another attribute",
		`{"salary":1,"value":2}`:       "given twice",
		`{"salary":"one"}`:             "field salary: expected int",
		`{"salary":1,"asserted":0}`:    "asserted is 0",
		`{"salary":1,"seq":-1}`:        "seq is -1",
		`{"salary":1,"kind":"revoke"}`: "has a meaning of its own",
		`{"salary":1,"wage":1}`:        "has no field wage",
		`{"salary":1,"valid_from":"2026-02-01T00:00:00Z","valid_until":"2026-01-01T00:00:00Z"}`: "no time at all",
	} {
		_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(onto.Version{Identity: id, Op: onto.Put, Fields: []byte(fields)}))
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", fields, err, want)
		}
	}
	head, err := s.Head(t.Context())
	if err != nil || head.ID != 1 {
		t.Errorf("something was written: head %d, %v", head.ID, err)
	}
}

// Facts come in streams: numbered, none overwritten. What depends on what is there is
// refused, or judged when it is.
func TestFactsInStreams(t *testing.T) {
	ctx := t.Context()
	s, _ := openFacts(t, onto.TypeOf[person](), onto.TypeOf[contract]())
	fact := func(id string, value int) onto.Fact {
		return onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", ID: id, Value: value}
	}
	if _, err := s.CommitStream(ctx, onto.Draft{}, sequence(fact("z", 1), fact("b", 2), fact("a", 3))); err != nil {
		t.Fatal(err)
	}
	if got := speaking(t, s.Now(), "contract", day(1, 1)); got != "ada.salary=3 (a)" {
		t.Errorf("got %s, want what came last", got)
	}
	if res, err := s.CommitStream(ctx, onto.Draft{}, sequence(fact("a", 3), fact("b", 2))); err != nil || res.ID != 0 {
		t.Errorf("known facts in another order: got commit %d, %v", res.ID, err)
	}
	for name, c := range map[string]struct {
		things []any
		code   onto.Code
	}{
		"another value":                  {[]any{fact("new", 1), fact("a", 4)}, onto.Conflict},
		"a retraction of what never was": {[]any{fact("new", 1), fact("none", 1).Identity()}, onto.NotFound},
		"a revocation":                   {[]any{fact("new", 1), onto.Intent{Op: onto.Put, Identity: fact("a", 0).Identity(), Revoke: &onto.Revocation{At: day(2, 2)}}}, onto.Invalid},
	} {
		if _, err := s.CommitStream(ctx, onto.Draft{}, sequence(c.things...)); onto.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	if head, _ := s.Head(ctx); head.ID != 1 {
		t.Errorf("a refused stream has made commit %d", head.ID)
	}
	if _, err := s.CommitStream(ctx, onto.Draft{}, sequence(fact("a", 0).Identity(), fact("new", 5))); err != nil {
		t.Fatal(err)
	}
	if got := speaking(t, s.Now(), "contract", day(1, 1)); got != "ada.salary=5 (new)" {
		t.Errorf("got %s, want what was asserted beside a retraction", got)
	}
}

// sequence is a stream of things.
func sequence(things ...any) func(func(any, error) bool) {
	return func(yield func(any, error) bool) {
		for _, thing := range things {
			if !yield(thing, nil) {
				return
			}
		}
	}
}
