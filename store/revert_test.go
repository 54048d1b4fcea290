package store_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// meddled is a backend that calls a function right before a stream gets the lock.
type meddled struct {
	backend.Backend
	meddle func()
}

func (m *meddled) Unwrap() backend.Backend { return m.Backend }

func (m *meddled) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if f := m.meddle; f != nil {
		m.meddle = nil
		// The plan is made when the sequence is read, so read it all first.
		var list []backend.Write
		for w, err := range writes {
			if err != nil {
				return onto.Result{}, err
			}
			list = append(list, w)
		}
		f()
		writes = func(yield func(backend.Write, error) bool) {
			for _, w := range list {
				if !yield(w, nil) {
					return
				}
			}
		}
	}
	return m.Backend.AppendStream(ctx, d, writes)
}

// onBoth runs a story on each backend.
func onBoth(t *testing.T, story func(t *testing.T, s *store.Store, m *meddled)) {
	for _, name := range []string{"memory", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			var b backend.Backend = memory.New(nil).Open()
			if name == "sqlite" {
				var err error
				if b, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), nil); err != nil {
					t.Fatal(err)
				}
			}
			m := &meddled{Backend: b}
			s, err := store.Open(t.Context(), m, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription]())
			if err != nil {
				t.Fatal(err)
			}
			story(t, s, m)
			backendtest.Check(t, b)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// shownState shows products and subscriptions as of a view.
func shownState(t *testing.T, v store.View) string {
	t.Helper()
	var parts []string
	for _, typ := range []string{"Product", "Subscription"} {
		for x, err := range v.Find(typ).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, showState(x))
		}
	}
	return strings.Join(parts, " ")
}

func showState(x onto.Version) string {
	m, _ := x.Map()
	if x.Kind == onto.KindEntity {
		return fmt.Sprintf("%s=%v", x.Key, m["title"])
	}
	return fmt.Sprintf("%s-%s=%v", x.Left, x.Right, m["seats"])
}

func showPlan(t *testing.T, p store.RevertPlan) string {
	t.Helper()
	parts := []string{fmt.Sprint(p.Commits)}
	for c, err := range p.Changes {
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %s%s%s", c.Change().Operation(), c.Key, c.Left, c.Right)
		if c.Blocked != nil {
			text += fmt.Sprint(c.Blocked)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func revertPlan(t *testing.T, s *store.Store, r store.Revert) store.RevertPlan {
	t.Helper()
	p, err := s.PlanRevert(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantState(t *testing.T, s *store.Store, want string) {
	t.Helper()
	if got := shownState(t, s.Now()); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func mustRevert(t *testing.T, s *store.Store, r store.Revert) onto.Result {
	t.Helper()
	res, _, err := s.Revert(t.Context(), onto.Draft{}, r)
	if err != nil {
		t.Fatalf("revert %+v: %v", r, err)
	}
	return res
}

func TestRevertACommit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, Product{"p2", "b"}, subscription("c1", "p1", 1), subscription("c2", "p1", 2)))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "x"}, Product{"p3", "new"}, subscription("c1", "p1", 9)).
			Delete(onto.EntityID("Product", "p2"), onto.RelationID("Subscription", "c2", "p1")))
		p := revertPlan(t, s, store.Revert{Commit: 2})
		if got := showPlan(t, p); got != "[2] update_version p1 insert p2 delete p3 update_version c1p1 insert c2p1" || p.Head != 2 {
			t.Errorf("plan: got %q at %d", got, p.Head)
		}
		wantState(t, s, "p1=x p3=new c1-p1=9")

		res, did, err := s.Revert(t.Context(), onto.Draft{Actor: onto.Operator("ana")}, store.Revert{Commit: 2})
		if err != nil || res.ID != 3 || res.Operations != 5 {
			t.Fatalf("got %+v, %v", res, err)
		}
		if showPlan(t, did) != showPlan(t, p) || showPlan(t, p) == "[2]" {
			t.Errorf("the plan of head 2 is now %q", showPlan(t, did))
		}
		c, err := s.At(3).Commit(t.Context())
		if err != nil || c.Causation != 2 || c.Comment != "revert commit 2" || c.Actor != onto.Operator("ana") {
			t.Errorf("got commit %+v, %v", c, err)
		}
		if got, want := shownState(t, s.Now()), shownState(t, s.At(1)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := shownState(t, s.At(2)); got != "p1=x p3=new c1-p1=9" {
			t.Errorf("the past has become %q", got)
		}

		// Repeating it changes nothing, and says so.
		if res := mustRevert(t, s, store.Revert{Commit: 2}); res.Changed() {
			t.Errorf("the second time made commit %d", res.ID)
		}
		if got := showPlan(t, revertPlan(t, s, store.Revert{Commit: 2})); got != "[2]" {
			t.Errorf("got plan %q, want it empty", got)
		}
		// A revert can be reverted, and that too.
		mustRevert(t, s, store.Revert{Commit: 3})
		wantState(t, s, "p1=x p3=new c1-p1=9")
		mustRevert(t, s, store.Revert{Commit: 4})
		wantState(t, s, "p1=a p2=b c1-p1=1 c2-p1=2")
		mustRevert(t, s, store.Revert{Commit: 1, Over: true})
		wantState(t, s, "")
	})
}

func TestRevertIsBlockedByLaterCommits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		d := onto.Draft{}
		for i := range 8 {
			d = d.Ensure(Product{fmt.Sprint("p", i), "a"})
		}
		mustCommit(t, s, d)
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p0", "b"}, Product{"p1", "b"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p0", "c"}))
		mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Product", "p0")))
		if got := showPlan(t, revertPlan(t, s, store.Revert{Commit: 2})); got != "[2] insert p0[3 4] update_version p1" {
			t.Errorf("got plan %q", got)
		}
		before := shownState(t, s.Now())
		res, p, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 2})
		wantError(t, err, onto.Refused, `Product "p0" by commits 3, 4`, "--over")
		if res.Changed() || p.Head != 4 || shownState(t, s.Now()) != before {
			t.Errorf("a refused revert made commit %d", res.ID)
		}
		if strings.Contains(err.Error(), "p1") {
			t.Errorf("%v names what is not blocked", err)
		}
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2", "z"}, Product{"p3", "z"}, Product{"p4", "z"}, Product{"p5", "z"}, Product{"p6", "z"}))
		_, _, err = s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 1})
		wantError(t, err, onto.Refused, `"p1" by commit 2,`, `"p4" by commit 5`, "and more")
		if strings.Contains(err.Error(), `"p6"`) {
			t.Errorf("%v names more than five", err)
		}
		mustRevert(t, s, store.Revert{Commit: 2, Over: true})
		wantState(t, s, "p0=a p1=a p2=z p3=z p4=z p5=z p6=z p7=a")
	})
}

func TestRevertACorrelation(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, Product{"p2", "a"}))
		mine := onto.Draft{Correlation: "import"}
		mustCommit(t, s, mine.Ensure(Product{"p1", "b"}, Product{"p3", "b"}))
		mustCommit(t, s, onto.Draft{Correlation: "other"}.Ensure(Product{"p4", "other"}))
		mustCommit(t, s, mine.Ensure(Product{"p1", "c"}).Delete(onto.EntityID("Product", "p2")))
		mustCommit(t, s, mine.Ensure(Product{"p3", "c"}, subscription("c1", "p3", 1)))
		r := store.Revert{Correlation: "import"}
		if got := showPlan(t, revertPlan(t, s, r)); got != "[2 4 5] update_version p1 insert p2 delete p3 delete c1p3" {
			t.Errorf("got plan %q", got)
		}
		res := mustRevert(t, s, r)
		wantState(t, s, "p1=a p2=a p4=other")
		if c, err := s.At(res.ID).Commit(t.Context()); err != nil || c.Comment != "revert correlation import" || c.Causation != 0 || c.Correlation != "" {
			t.Errorf("got commit %+v, %v", c, err)
		}
		if res := mustRevert(t, s, r); res.Changed() {
			t.Errorf("the second time made commit %d", res.ID)
		}
		mustRevert(t, s, store.Revert{Commit: res.ID})
		wantState(t, s, "p1=c p3=c p4=other c1-p3=1")
	})
}

func TestRevertACorrelationIsBlockedFromOutside(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mine := onto.Draft{Correlation: "import"}
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, Product{"p2", "a"}))
		mustCommit(t, s, mine.Ensure(Product{"p1", "b"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "between"}, Product{"p2", "before"}))
		mustCommit(t, s, mine.Ensure(Product{"p1", "c"}, Product{"p2", "c"}))
		// p2 goes back to right before commit 4, the first of them that changed it.
		if got := showPlan(t, revertPlan(t, s, store.Revert{Correlation: "import"})); got != "[2 4] update_version p1[3] update_version p2" {
			t.Errorf("got plan %q", got)
		}
		_, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Correlation: "import"})
		wantError(t, err, onto.Refused, `Product "p1" by commit 3`)
		wantState(t, s, "p1=c p2=c")
		mustRevert(t, s, store.Revert{Correlation: "import", Over: true})
		wantState(t, s, "p1=a p2=before")
	})
}

func TestRevertAnIdentity(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		id, rel := onto.EntityID("Product", "p1"), onto.RelationID("Subscription", "c1", "p1")
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2", "a"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, subscription("c1", "p1", 1)))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}, Product{"p2", "b"}, subscription("c1", "p1", 2)))
		mustCommit(t, s, onto.Draft{}.Delete(id))
		if got := showPlan(t, revertPlan(t, s, store.Revert{Identity: id, To: 2})); got != "[3 4] insert p1" {
			t.Errorf("got plan %q", got)
		}
		mustRevert(t, s, store.Revert{Identity: id, To: 2})
		wantState(t, s, "p1=a p2=b c1-p1=2")
		mustRevert(t, s, store.Revert{Identity: id, To: 3})
		mustRevert(t, s, store.Revert{Identity: rel, To: 2})
		wantState(t, s, "p1=b p2=b c1-p1=1")
		if res := mustRevert(t, s, store.Revert{Identity: rel, To: 2}); res.Changed() {
			t.Errorf("the second time made commit %d", res.ID)
		}
		res := mustRevert(t, s, store.Revert{Identity: rel})
		wantState(t, s, "p1=b p2=b")
		if c, err := s.At(res.ID).Commit(t.Context()); err != nil || c.Comment != `revert Subscription "c1" → "p1" to before it existed` {
			t.Errorf("got commit %+v, %v", c, err)
		}
		mustRevert(t, s, store.Revert{Identity: id, To: 1}) // it did not exist then
		wantState(t, s, "p2=b")
	})
}

func TestRevertRefusesNonsense(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}))
		id := onto.EntityID("Product", "p1")
		for _, c := range []struct {
			r    store.Revert
			code onto.Code
			want string
		}{
			{store.Revert{}, onto.Invalid, "not 0 of them"},
			{store.Revert{Over: true}, onto.Invalid, "not 0 of them"},
			{store.Revert{Commit: 1, Correlation: "x"}, onto.Invalid, "not 2 of them"},
			{store.Revert{Commit: 1, Identity: id}, onto.Invalid, "not 2 of them"},
			{store.Revert{Commit: 1, To: 1}, onto.Invalid, "only an identity"},
			{store.Revert{Commit: -1}, onto.NotFound, "ids start at 1"},
			{store.Revert{Commit: 3}, onto.NotFound, "3"},
			{store.Revert{Correlation: "nope"}, onto.NotFound, `"nope"`},
			{store.Revert{Identity: id, To: -1}, onto.Invalid, "negative"},
			{store.Revert{Identity: id, To: 3}, onto.NotFound, "3"},
			{store.Revert{Identity: onto.EntityID("Product", "p9"), To: 1}, onto.NotFound, "never did"},
			{store.Revert{Identity: onto.EntityID("Produkt", "p1"), To: 1}, onto.Invalid, "did you mean Product?"},
			{store.Revert{Identity: onto.EntityID("Product", ""), To: 1}, onto.Invalid, "empty"},
			{store.Revert{Identity: onto.RelationID("Product", "a", "b"), To: 1}, onto.Invalid, "Product"},
		} {
			_, err := s.PlanRevert(t.Context(), c.r)
			wantError(t, err, c.code, c.want)
			res, _, err := s.Revert(t.Context(), onto.Draft{}, c.r)
			wantError(t, err, c.code, c.want)
			if res.Changed() {
				t.Errorf("%+v made commit %d", c.r, res.ID)
			}
		}
		_, _, err := s.Revert(t.Context(), onto.Draft{}.Ensure(Product{"p2", "a"}), store.Revert{Commit: 2})
		wantError(t, err, onto.Invalid, "intents of its own")
		_, _, err = s.Revert(t.Context(), onto.Draft{Comment: "\x00"}, store.Revert{Commit: 2})
		wantError(t, err, onto.Invalid, "U+0000")
		_, _, err = s.Revert(t.Context(), onto.Draft{}.ExpectHead(1), store.Revert{Commit: 2})
		wantError(t, err, onto.HeadMismatch)
		wantState(t, s, "p1=b")
	})
}

func TestRevertNoticesWhatHappensMeanwhile(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, m *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}, Product{"p2", "a"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}, Product{"p2", "b"}, Product{"p3", "b"}))
		for _, over := range []bool{false, true} {
			m.meddle = func() { mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2", fmt.Sprint("c", over)})) }
			res, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 2, Over: over})
			if over == false {
				wantError(t, err, onto.VersionMismatch, `Product "p2" was changed by commit 3 meanwhile`)
			} else {
				wantError(t, err, onto.VersionMismatch, "by commit 4 meanwhile")
			}
			if res.Changed() {
				t.Errorf("made commit %d", res.ID)
			}
			wantState(t, s, fmt.Sprintf("p1=b p2=c%t p3=b", over))
		}
		// Changes of other identities, or to the wanted state, do not block.
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2", "b"}))
		m.meddle = func() {
			mustCommit(t, s, onto.Draft{}.Ensure(Product{"p9", "x"}).Delete(onto.EntityID("Product", "p3")))
		}
		mustRevert(t, s, store.Revert{Commit: 2, Over: true})
		wantState(t, s, "p1=a p2=a p9=x")
	})
}

func TestRevertWithAnIdempotencyKey(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "a"}))
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "b"}, Product{"p2", "b"}))
		d := onto.Draft{IdempotencyKey: "undo"}
		first, _, err := s.Revert(t.Context(), d, store.Revert{Commit: 2})
		if err != nil || first.ID != 3 {
			t.Fatalf("got %+v, %v", first, err)
		}
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p1", "later"})) // would block it otherwise
		again, _, err := s.Revert(t.Context(), d, store.Revert{Commit: 2})
		if err != nil || again.ID != 3 || !again.Repeated {
			t.Errorf("got %+v, %v, want commit 3 again", again, err)
		}
		_, _, err = s.Revert(t.Context(), d, store.Revert{Commit: 1})
		wantError(t, err, onto.IdempotencyConflict)
		wantState(t, s, "p1=later")
	})
}

// More than a chunk of a stream, so that what is decided spans several.
func TestRevertALargeCommit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		const n = 3000
		d, e := onto.Draft{}, onto.Draft{}
		for i := range n {
			d = d.Ensure(Product{fmt.Sprintf("p%04d", i), "a"})
			e = e.Ensure(Product{fmt.Sprintf("p%04d", i), "b"})
		}
		mustCommit(t, s, d)
		mustCommit(t, s, e)
		mustCommit(t, s, onto.Draft{}.Ensure(Product{"p2999", "c"}))
		_, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 2})
		wantError(t, err, onto.Refused, `Product "p2999" by commit 3`)
		if head, err := s.Head(t.Context()); err != nil || head.ID != 3 {
			t.Fatalf("head is %d, %v", head.ID, err)
		}
		if res := mustRevert(t, s, store.Revert{Commit: 2, Over: true}); res.Operations != n {
			t.Errorf("got %d operations", res.Operations)
		}
		if got, want := shownState(t, s.Now()), shownState(t, s.At(1)); got != want {
			t.Error("not all is as it was")
		}
	})
}

// Random histories: the revert of a random commit equals a model that keeps
// every state as a map.
func TestRevertAgreesWithAModel(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store, _ *meddled) {
		past := []map[string]string{{}} // title by key, by commit
		keys := []string{"a", "b", "c", "d"}
		effort.Check(t, 1000, func(r *rapid.T) {
			for range rapid.IntRange(1, 4).Draw(r, "commits") {
				past = modelCommit(t, r, s, past, keys)
			}
			last := len(past) - 1
			if last == 0 {
				return
			}
			target := rapid.IntRange(max(1, last-6), last).Draw(r, "target")
			over := rapid.Bool().Draw(r, "over")
			want, blocked := map[string]string{}, false
			for _, k := range keys {
				if want[k] = past[last][k]; past[target][k] == past[target-1][k] {
					continue
				}
				want[k] = past[target-1][k]
				for i := target + 1; i <= last && want[k] != past[last][k]; i++ {
					blocked = blocked || past[i][k] != past[i-1][k]
				}
			}
			res, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: int64(target), Over: over})
			if blocked && !over {
				if onto.CodeOf(err) != onto.Refused {
					r.Fatalf("commit %d: got %+v, %v, want a refusal", target, res, err)
				}
				want = past[last]
			} else if err != nil {
				r.Fatalf("commit %d: %v", target, err)
			}
			if changed := showModel(want, keys) != showModel(past[last], keys); changed != res.Changed() {
				r.Fatalf("commit %d: changed is %t, want %t", target, res.Changed(), changed)
			} else if changed {
				past = append(past, want)
			}
			if got := shownState(t, s.Now()); got != showModel(want, keys) {
				r.Fatalf("commit %d, over %t: got %q, want %q", target, over, got, showModel(want, keys))
			}
		})
	})
}

// modelCommit makes a random commit of the store and of the model.
func modelCommit(t *testing.T, r *rapid.T, s *store.Store, past []map[string]string, keys []string) []map[string]string {
	d, next := onto.Draft{}, map[string]string{}
	for _, k := range keys {
		next[k] = past[len(past)-1][k]
		switch rapid.IntRange(0, 3).Draw(r, k) {
		case 0:
			next[k], d = "", d.Delete(onto.EntityID("Product", k))
		case 1:
			next[k] = rapid.SampledFrom([]string{"x", "y"}).Draw(r, "title")
			d = d.Ensure(Product{k, next[k]})
		}
	}
	if mustCommit(t, s, d).Changed() {
		past = append(past, next)
	}
	return past
}

func showModel(m map[string]string, keys []string) string {
	var parts []string
	for _, k := range keys {
		if m[k] != "" {
			parts = append(parts, k+"="+m[k])
		}
	}
	return strings.Join(parts, " ")
}
