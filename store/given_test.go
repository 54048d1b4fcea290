package store_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// everywhere tells a story in memory and on disk. Each call of open opens one more handle.
func everywhere(t *testing.T, story func(t *testing.T, open func(types ...onto.Type) *store.Store)) {
	t.Run("memory", func(t *testing.T) {
		m := memory.New(nil)
		story(t, func(types ...onto.Type) *store.Store {
			s, err := store.Open(t.Context(), m.Open(), types...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		story(t, func(types ...onto.Type) *store.Store { return openAt(t, path, types...) })
	})
}

// wantStale fails unless the error is Stale because of this expectation.
func wantStale(t *testing.T, err error, want onto.Expectation) {
	t.Helper()
	var e *onto.Error
	if !errors.As(err, &e) || e.Code != onto.Stale || e.Expectation == nil || *e.Expectation != want {
		t.Errorf("got %v, want it to be stale: %+v", err, want)
	}
}

var counterC = onto.EntityID("Counter", "c")

// ways are the ways to commit a draft that writes something: what is new, by a count.
func ways(s *store.Store, n *int) map[string]func(context.Context, onto.Draft) (onto.Result, error) {
	next := func() Counter { *n++; return Counter{ID: "d", N: *n} }
	things := func(yield func(any, error) bool) { yield(next(), nil) }
	return map[string]func(context.Context, onto.Draft) (onto.Result, error){
		"Commit": func(ctx context.Context, d onto.Draft) (onto.Result, error) { return s.Commit(ctx, d.Ensure(next())) },
		"CommitStream": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			return s.CommitStream(ctx, d, iter.Seq2[any, error](things))
		},
		"PlanCommit": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			plan, err := s.PlanCommit(ctx, d.Ensure(next()))
			return plan.Result, errors.Join(err, plan.Err)
		},
		"PlanStream": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			plan, err := s.PlanStream(ctx, d, things, func(onto.Change) error { return nil })
			return plan.Result, errors.Join(err, plan.Err)
		},
		"Update": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			return store.Update(ctx, s, d, store.Key{"e"}, func(c *Counter) error { c.N++; return nil })
		},
		"Transact": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			return store.Transact(ctx, s, d, func(tx *store.Tx) error {
				c, err := store.Get[Counter](ctx, tx, "e")
				c.N++
				return errors.Join(err, tx.Ensure(c))
			})
		},
		"facts": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			return s.Commit(ctx, d.Assert(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", Value: 1}))
		},
		"a stream of facts": func(ctx context.Context, d onto.Draft) (onto.Result, error) {
			return s.CommitStream(ctx, d, func(yield func(any, error) bool) {
				yield(onto.Fact{Type: "contract", Subject: "ada", Attribute: "salary", Value: 1}, nil)
			})
		},
	}
}

// What the caller says that a draft was computed from is judged wherever drafts are
// committed, and at once.
func TestGiven(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Counter](), onto.TypeOf[person](), onto.TypeOf[contract]())
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}, Counter{ID: "e"}))
		for name, way := range ways(s, new(int)) {
			head, err := s.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []struct {
				onto.Draft
				failed onto.Expectation
			}{
				{onto.Draft{}.Given(counterC, 7), onto.Expectation{Identity: counterC, Commit: 7}},
				{onto.Draft{}.GivenHead(head.ID + 1), onto.Expectation{Head: true, Commit: head.ID + 1}},
				{onto.Draft{}.Given(counterC, 1).Given(counterC, 0).GivenHead(7), onto.Expectation{Identity: counterC}},
				{onto.Draft{}.GivenHead(head.ID).Given(counterC, 3).GivenHead(7), onto.Expectation{Identity: counterC, Commit: 3}},
			} {
				res, err := way(t.Context(), d.Draft)
				wantStale(t, err, d.failed)
				if res.Changed() {
					t.Errorf("%s: got %+v", name, res)
				}
			}
			_, err = way(t.Context(), onto.Draft{}.Given(counterC, 7).ExpectHead(head.ID+1))
			wantError(t, err, onto.HeadMismatch)
			_, err = way(t.Context(), onto.Draft{}.Given(counterC, -1))
			wantError(t, err, onto.Invalid, "-1 is negative")
			_, err = way(t.Context(), onto.Draft{}.Given(onto.EntityID("Nothing", "c"), 1))
			wantError(t, err, onto.Invalid, "Nothing")
			_, err = way(t.Context(), onto.Draft{}.Given(onto.EntityID("Counter", ""), 1))
			wantError(t, err, onto.Invalid)
			if now, err := s.Head(t.Context()); err != nil || now.ID != head.ID {
				t.Errorf("%s: the head is %d, %v after stale drafts; it was %d", name, now.ID, err, head.ID)
			}
			if res, err := way(t.Context(), onto.Draft{}.Given(counterC, 1).GivenHead(head.ID)); err != nil || res.At < head.ID {
				t.Errorf("%s: got %+v, %v for a draft that is not stale", name, res, err)
			}
		}
	})
}

// A repetition may be computed from something else, and is no other draft for that.
func TestGivenIsNoPartOfTheDigest(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Counter](), onto.TypeOf[person](), onto.TypeOf[contract]())
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}, Counter{ID: "e"}))
		n := 0
		for name, way := range ways(s, &n) {
			if strings.HasPrefix(name, "Plan") {
				continue
			}
			d := onto.Draft{IdempotencyKey: name}
			first, err := way(t.Context(), d.Given(counterC, 1))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !first.Changed() {
				t.Errorf("%s: got %+v", name, first)
			}
			n--
			again, err := way(t.Context(), d.Given(counterC, 7).GivenHead(99))
			if err != nil || again.ID != first.ID || !again.Repeated {
				t.Errorf("%s again: got %+v, %v; want commit %d", name, again, err, first.ID)
			}
			n--
			_, err = way(t.Context(), d.Given(counterC, 1).ExpectVersion(counterC, 1))
			wantError(t, err, onto.IdempotencyConflict)
		}
	})
}

// A plan says which of the things that the draft was computed from have changed, and what the
// draft would change all the same.
func TestGivenIsPlanned(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(...onto.Type) *store.Store) {
		s := open(onto.TypeOf[Counter]())
		mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}))
		plan := wantPlanned(t, s, onto.Draft{}.Given(counterC, 1).GivenHead(7).ExpectHead(1).Ensure(Counter{ID: "d"}))
		want := []struct {
			name store.ConditionName
			text string
			met  bool
		}{{store.ExpectedHead, "the head is 1", true}, {store.GivenVersion, `Counter "c" is at commit 1`, true}, {store.GivenHead, "the head is 7", false}}
		if len(plan.Conditions) != len(want) {
			t.Fatalf("got %v", plan.Conditions)
		}
		for i, w := range want {
			if c := plan.Conditions[i]; c.Name != w.name || c.String() != w.text || c.Err == nil != w.met {
				t.Errorf("got %s, %q, %v; want %+v", c.Name, c, c.Err, w)
			}
		}
		if len(plan.Changes) != 1 || plan.Changes[0].Identity.Key != "d" {
			t.Errorf("got changes %v", plan.Changes)
		}
	})
}

// spoiler is a backend that does something before a draft with a comment is appended.
type spoiler struct {
	backend.Backend
	before func(d *backend.Draft)
}

func (b *spoiler) Unwrap() backend.Backend { return b.Backend }

func (b *spoiler) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if b.before != nil && d.Comment != "" {
		b.before(d)
	}
	return b.Backend.Append(ctx, d)
}

// An update that loses a race is repeated, also if the draft was computed from something else;
// but not if that has changed, or if the caller has given the very version of the update.
func TestGivenWithAnUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		given onto.Draft
		spoil string // the counter that another writer changes each time
		calls int
		stale *onto.Expectation
	}{
		"the update's":        {onto.Draft{}.Given(onto.EntityID("Counter", "d"), 1), "c", 2, nil},
		"the caller's":        {onto.Draft{}.Given(onto.EntityID("Counter", "d"), 1), "d", 1, &onto.Expectation{Identity: onto.EntityID("Counter", "d"), Commit: 1}},
		"the caller's head":   {onto.Draft{}.GivenHead(1), "c", 1, &onto.Expectation{Head: true, Commit: 1}},
		"given by both":       {onto.Draft{}.Given(counterC, 1), "c", 1, &onto.Expectation{Identity: counterC, Commit: 1}},
		"nothing is given":    {onto.Draft{}, "c", 2, nil},
		"a version not there": {onto.Draft{}.Given(onto.EntityID("Counter", "x"), 0), "c", 2, nil},
	} {
		for _, way := range []string{"Update", "Transact"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				b := &spoiler{Backend: memory.New(nil).Open()}
				s, err := store.Open(t.Context(), b, onto.TypeOf[Counter]())
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: "c"}, Counter{ID: "d"}))
				b.before = func(*backend.Draft) {
					b.before = nil
					mustCommit(t, s, onto.Draft{}.Ensure(Counter{ID: c.spoil, N: 5}))
				}
				c.given.Comment = "spoilt"
				calls := 0
				change := func(v *Counter) error { calls++; v.N++; return nil }
				if way == "Update" {
					_, err = store.Update(t.Context(), s, c.given, store.Key{"c"}, change)
				} else {
					_, err = store.Transact(t.Context(), s, c.given, func(tx *store.Tx) error {
						v, err := store.Get[Counter](t.Context(), tx, "c")
						return errors.Join(err, change(&v), tx.Ensure(v))
					})
				}
				if c.stale != nil {
					wantStale(t, err, *c.stale)
				} else if err != nil {
					t.Error(err)
				}
				if calls != c.calls {
					t.Errorf("the function was called %d times, want %d", calls, c.calls)
				}
			})
		}
	}
}
