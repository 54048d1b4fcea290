package foldkeep_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// Random histories of programs with and without folds, of older and newer versions: a
// state is what a replay makes of the facts, or the fold says that it is behind.
func TestRandomHistories(t *testing.T) {
	const histories = 40
	var mu sync.Mutex // guards total
	total := map[string]int{}
	t.Cleanup(func() { t.Logf("%v", total) })
	for _, where := range []struct {
		name  string
		place func(*testing.T) place
		n     int
	}{{"memory", inMemory, 3 * histories}, {"sqlite", inFile, histories}} {
		for seed := range effort.Seeds(t, where.n) {
			t.Run(fmt.Sprintf("%s-%d", where.name, seed), func(t *testing.T) {
				t.Parallel()
				h := &history{place: where.place(t), rnd: rand.New(rand.NewPCG(seed, 7)), did: map[string]int{}}
				h.run(60)
				mu.Lock()
				defer mu.Unlock()
				for what, n := range h.did {
					total[what] += n
				}
			})
		}
	}
}

// history is a random history.
type history struct {
	place
	rnd      *rand.Rand
	programs []*store.Store
	version  int // of the newest program
	facts    []onto.Identity
	commits  []int64
	keyed    []onto.Draft
	results  []onto.Result
	did      map[string]int
}

func (h *history) run(steps int) {
	h.version = 1
	h.programs = []*store.Store{h.open(), h.open(notices(1)), h.open(counting())}
	for range steps {
		h.step()
		h.check()
	}
	for _, s := range h.programs {
		if err := s.CatchUp(h.Context()); err != nil {
			h.Fatal(err)
		}
	}
	if behind := h.check(); len(behind) > 0 {
		h.Errorf("after catching up, %v is behind", behind)
	}
	for _, s := range h.programs {
		if err := s.VerifyFolds(h.Context()); err != nil {
			h.Error(err)
		}
	}
}

func (h *history) program() *store.Store { return h.programs[h.rnd.IntN(len(h.programs))] }

func (h *history) fact() onto.Fact {
	attributes := []string{"opened", "snoozed", "seen"}
	f := fact(fmt.Sprintf("s%d", h.rnd.IntN(4)), attributes[h.rnd.IntN(3)], "v")
	if h.rnd.IntN(3) == 0 {
		f.ID = fmt.Sprintf("id%d", h.rnd.IntN(6))
	}
	return f
}

func (h *history) some(most int) []onto.Fact {
	var list []onto.Fact
	for range 1 + h.rnd.IntN(most) {
		list = append(list, h.fact())
	}
	return list
}

func (h *history) step() {
	ctx, s := h.Context(), h.program()
	d := onto.Draft{Actor: onto.Operator(fmt.Sprintf("op%d", h.rnd.IntN(3))), Comment: []string{"", "x"}[h.rnd.IntN(2)]}
	what, res, err := "", onto.Result{}, error(nil)
	switch n := h.rnd.IntN(100); {
	case n < 45:
		what = "assert"
		res, err = s.Commit(ctx, d.Assert(h.some(3)...))
	case n < 55 && len(h.facts) > 0:
		what = "revoke"
		at := time.Date(2026, 1, 1+h.rnd.IntN(28), 0, 0, 0, 0, time.UTC)
		res, err = s.Commit(ctx, d.Revoke(h.one(), at, h.rnd.IntN(2)))
	case n < 65 && len(h.facts) > 0:
		what = "retract"
		res, err = s.Commit(ctx, d.Retract(h.one()).Assert(h.some(2)...))
	case n < 75:
		what = "stream"
		res, err = s.CommitStream(ctx, d, things(h.some(6)))
	case n < 82 && len(h.commits) > 0:
		what = "revert"
		res, _, err = s.Revert(ctx, onto.Draft{}, store.Revert{Commit: h.commits[h.rnd.IntN(len(h.commits))], Over: h.rnd.IntN(2) == 0})
	case n < 88:
		what = "keyed"
		d.IdempotencyKey = fmt.Sprintf("key%d", len(h.keyed))
		d = d.Assert(h.fact(), h.fact())
		if res, err = s.Commit(ctx, d); err == nil && res.ID != 0 {
			h.keyed, h.results = append(h.keyed, d), append(h.results, res)
		}
	case n < 93 && len(h.keyed) > 0:
		what = "repeated"
		i := h.rnd.IntN(len(h.keyed))
		again, err := s.Commit(ctx, h.keyed[i])
		if err != nil || !again.Repeated || again.ID != h.results[i].ID {
			h.Fatalf("a repeated draft: got %+v, %v; want commit %d", again, err, h.results[i].ID)
		}
	case n < 95 && h.version < 3:
		what = "newer version"
		h.version++
		h.programs = append(h.programs, h.open(notices(h.version)))
	case n < 97:
		what = "catch up"
		err = s.CatchUp(ctx)
	default:
		what = "rebuild"
		if err = s.RebuildFold(ctx, "tally", nil); err != nil {
			h.Fatal(err)
		}
	}
	switch code := onto.CodeOf(err); {
	case err == nil:
		h.did[what]++
	case slices.Contains([]onto.Code{onto.Conflict, onto.NotFound, onto.Invalid, onto.Refused}, code) && !strings.Contains(err.Error(), "fold"):
		h.did[what+" refused"]++
	default:
		h.Fatalf("%s: %v", what, err)
	}
	if err == nil && res.ID != 0 && !res.Repeated {
		h.commits = append(h.commits, res.ID)
		h.learn(s, res.ID)
	}
}

func (h *history) one() onto.Identity { return h.facts[h.rnd.IntN(len(h.facts))] }

// learn notes the facts of a commit.
func (h *history) learn(s *store.Store, commit int64) {
	for c, err := range s.Changes(h.Context(), commit) {
		if err != nil {
			h.Fatal(err)
		}
		if c.Kind == onto.KindFact && !slices.Contains(h.facts, c.Identity) {
			h.facts = append(h.facts, c.Identity)
		}
	}
}

// check compares every state with a replay of its own, unless the fold says that it is
// behind, and returns those that are.
func (h *history) check() (behind []string) {
	ctx, s := h.Context(), h.programs[0]
	var head onto.Commit
	var list []store.FoldStatus
	for { // what is done in the background must not come in between
		before, err := s.Head(ctx)
		if err == nil {
			list, err = s.Folds(ctx)
		}
		if err == nil {
			head, err = s.Head(ctx)
		}
		if err != nil {
			h.Fatal(err)
		}
		if before.ID == head.ID {
			break
		}
	}
	for _, f := range list {
		since := map[string]bool{}
		if f.Rebuilding {
			h.did["rebuilding"]++
			behind = append(behind, f.Name)
			continue
		}
		if f.Behind != 0 {
			h.did["behind"]++
			behind = append(behind, f.Name)
			since = h.changed(s, f.Behind, head.ID)
		}
		h.compare(s, f, head.ID, since)
	}
	return behind
}

// changed is the subjects with facts that have changed since a commit.
func (h *history) changed(s *store.Store, since, upto int64) map[string]bool {
	found := map[string]bool{}
	for id := since + 1; id <= upto; id++ {
		for c, err := range s.Changes(h.Context(), id) {
			if err != nil {
				h.Fatal(err)
			}
			if c.Kind == onto.KindFact {
				found[c.Left] = true
			}
		}
	}
	return found
}

// compare compares the states of a fold as of a commit, except of some subjects.
func (h *history) compare(s *store.Store, f store.FoldStatus, at int64, but map[string]bool) {
	ctx, v := h.Context(), s.At(at)
	bySubject := map[string][]onto.Fact{}
	for fact, err := range v.Facts("notice").Every().All(ctx) {
		if err != nil {
			h.Fatal(err)
		}
		bySubject[fact.Subject] = append(bySubject[fact.Subject], fact)
	}
	want := map[string]string{}
	for subject, facts := range bySubject {
		slices.SortFunc(facts, func(a, b onto.Fact) int {
			return cmp.Or(cmp.Compare(a.Asserted, b.Asserted), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
		})
		want[subject] = h.fold(s, f, subject, facts)
	}
	got := map[string]string{}
	for state, err := range v.Find(f.State).All(ctx) {
		if err != nil {
			h.Fatal(err)
		}
		m, err := state.Map()
		if err != nil {
			h.Fatal(err)
		}
		meta := m["onto_fold"].(map[string]any)
		got[state.Key] = fmt.Sprintf("%v of %v, %v, version %v", m["trail"], meta["applied"], meta["last"], meta["version"])
		if f.Name == "tally" {
			got[state.Key] = fmt.Sprintf("%v %v of %v, %v, version %v", m["sum"], m["last"], meta["applied"], meta["last"], meta["version"])
		}
	}
	for subject := range but {
		delete(want, subject)
		delete(got, subject)
	}
	if !maps.Equal(got, want) {
		h.Fatalf("fold %+v as of commit %d:\n got %v\nwant %v", f, at, got, want)
	}
}

// fold folds in the words of this test.
func (h *history) fold(s *store.Store, f store.FoldStatus, subject string, facts []onto.Fact) string {
	var trail, comment string
	last := facts[len(facts)-1]
	for _, fact := range facts {
		trail += fmt.Sprintf("%d%s", f.Version, fact.Attribute[:1])
		if fact.Revoked != nil {
			trail += "!"
		}
	}
	if f.Name == "tally" {
		c, err := s.At(last.Asserted).Commit(h.Context())
		if err != nil {
			h.Fatal(err)
		}
		comment = c.Comment
		trail = fmt.Sprintf("%d %s%s", len(facts), last.Attribute, comment)
	}
	return fmt.Sprintf("%s of %d, %s/%s, version %d", trail, len(facts), last.Attribute, last.ID, f.Version)
}
