package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

type note struct {
	ID   string `json:"id" onto:"key"`
	Text string `json:"text"`
}

// onEveryFollowed runs a story on each backend that keeps positions. Each call of open is
// another program with the same store.
func onEveryFollowed(t *testing.T, story func(t *testing.T, open func() *store.Store)) {
	t.Helper()
	openOn := func(t *testing.T, handle func() backend.Backend) func() *store.Store {
		return func() *store.Store {
			s, err := store.Open(t.Context(), handle(), onto.TypeOf[note]().As("Note"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
	}
	t.Run("memory", func(t *testing.T) {
		log := memory.New(nil)
		story(t, openOn(t, func() backend.Backend { return log.Open() }))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "follow.db")
		story(t, openOn(t, func() backend.Backend {
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}))
	})
}

func putNotes(t *testing.T, s *store.Store, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := s.Commit(t.Context(), onto.Draft{}.Ensure(note{"n", text})); err != nil {
			t.Fatal(err)
		}
	}
}

// follow collects commits until there are enough, and leaves the loop within the last.
func follow(ctx context.Context, s *store.Store, name string, n int, opts *store.FollowOptions) (ids []int64, err error) {
	for c, err := range s.FollowWith(ctx, name, opts) {
		if err != nil {
			return ids, err
		}
		if ids = append(ids, c.ID); len(ids) == n {
			break
		}
	}
	return ids, nil
}

func wantFollowed(t *testing.T, what string, got []int64, err error, want ...int64) {
	t.Helper()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: got commits %v, error %v, want %v", what, got, err, want)
	}
}

func wantPositions(t *testing.T, what string, s *store.Store, want string) {
	t.Helper()
	got, err := s.Positions(t.Context())
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%s: got positions %v, error %v, want %s", what, got, err, want)
	}
}

// A commit is done with when the loop goes on, and comes again otherwise.
func TestFollowGoesOnWhereItEnded(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s, other := open(), open()
		putNotes(t, s, "a", "b", "c")
		wantPositions(t, "before", s, "[]")
		got, err := follow(t.Context(), s, "mirror", 2, nil)
		wantFollowed(t, "the first run", got, err, 1, 2)
		wantPositions(t, "left within commit 2", other, "[{mirror 1}]")
		got, err = follow(t.Context(), other, "mirror", 0, &store.FollowOptions{Once: true})
		wantFollowed(t, "another program", got, err, 2, 3)
		got, err = follow(t.Context(), s, "mirror", 0, &store.FollowOptions{Once: true})
		wantFollowed(t, "nothing is left", got, err)
		got, err = follow(t.Context(), s, "audit.log-2", 0, &store.FollowOptions{Once: true, From: 2})
		wantFollowed(t, "another name, from commit 2", got, err, 3)
		wantPositions(t, "after", s, "[{audit.log-2 3} {mirror 3}]")
	})
}

// A start in the middle counts from the first look on, also if nothing comes.
func TestFollowFromTheMiddleIsKept(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		putNotes(t, s, "a", "b")
		got, err := follow(t.Context(), s, "late", 0, &store.FollowOptions{Once: true, From: 2})
		wantFollowed(t, "at the head", got, err)
		putNotes(t, s, "c", "d")
		got, err = follow(t.Context(), s, "late", 0, &store.FollowOptions{Once: true, From: 3})
		wantFollowed(t, "From is for new names", got, err, 3, 4)
		got, err = follow(t.Context(), s, "rides", 0, &store.FollowOptions{Once: true, From: 4, Ride: &onto.Advance{}})
		wantFollowed(t, "at the head, riding", got, err)
		wantPositions(t, "after", s, "[{late 4} {rides 4}]")
	})
}

// Commits come while the loop waits, and the position is saved before it waits again.
func TestFollowWaits(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s, writer := open(), open()
		ctx, cancel := context.WithCancel(t.Context())
		came, ended := make(chan int64), make(chan error, 1)
		go func() {
			for c, err := range s.Follow(ctx, "mirror") {
				if err != nil {
					ended <- err
					return
				}
				came <- c.ID
			}
			ended <- nil
		}()
		for id := range int64(20) {
			putNotes(t, writer, fmt.Sprint(id))
			select {
			case got := <-came:
				if got != id+1 {
					t.Fatalf("got commit %d, want %d", got, id+1)
				}
			case err := <-ended:
				t.Fatal(err)
			}
		}
		for saved := int64(0); saved != 20; {
			list, err := writer.Positions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				saved = list[0].Commit
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
}

// What was done with is saved also if the context ends within the next commit.
func TestFollowSavesWhenCancelled(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		for i := range 300 { // more than one page
			putNotes(t, s, fmt.Sprint(i))
		}
		if got, err := follow(t.Context(), s, "all", 0, &store.FollowOptions{Once: true}); err != nil || len(got) != 300 {
			t.Errorf("got %d commits, error %v, want 300", len(got), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for c, err := range s.Follow(ctx, "mirror") {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				break
			}
			if n++; c.ID == 290 {
				cancel()
			}
		}
		list, err := s.Positions(t.Context())
		if err != nil || len(list) != 2 || list[1].Commit != int64(n) || n < 290 {
			t.Errorf("got %v, error %v, after %d commits", list, err, n)
		}
	})
}

// Of two followers of one name, the second to save fails and moves nothing.
func TestFollowTwice(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s, other := open(), open()
		putNotes(t, s, "a", "b", "c")
		n := 0
		for _, err := range s.Follow(t.Context(), "mirror") {
			if err != nil {
				if !errors.Is(err, onto.Conflict) || onto.HintOf(err).Text == "" {
					t.Errorf("got %v, want a conflict with a hint", err)
				}
				break
			}
			if n++; n == 1 {
				got, err := follow(t.Context(), other, "mirror", 0, &store.FollowOptions{Once: true})
				wantFollowed(t, "the other", got, err, 1, 2, 3)
			}
		}
		if n != 1 {
			t.Errorf("the loop went on for %d commits", n)
		}
		wantPositions(t, "after", s, "[{mirror 3}]")
	})
}

// The position rides in what the loop commits: both are there, or neither.
func TestFollowRides(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		putNotes(t, s, "a", "b", "c")
		var done onto.Advance
		run := func(do func(c onto.Commit) bool) (ids []int64, err error) {
			for c, err := range s.FollowWith(t.Context(), "tally", &store.FollowOptions{Ride: &done, Once: true}) {
				if err != nil {
					return ids, err
				}
				if ids = append(ids, c.ID); !do(c) {
					break
				}
			}
			return ids, nil
		}
		commit := func(text string) {
			if _, err := s.Commit(t.Context(), onto.Draft{Advance: &done}.Ensure(note{"tally", text})); err != nil {
				t.Fatal(err)
			}
		}
		got, err := run(func(onto.Commit) bool { return true })
		wantFollowed(t, "no step is taken", got, err, 1, 2, 3)
		wantPositions(t, "no step is taken", s, "[]")
		got, err = run(func(c onto.Commit) bool {
			if c.ID != 2 {
				commit(fmt.Sprint(c.ID))
			}
			return true
		})
		wantFollowed(t, "a step is left out", got, err, 1, 2, 3)
		wantPositions(t, "a step is left out", s, "[{tally 3}]")
		got, err = run(func(onto.Commit) bool { commit("3"); return true }) // changes nothing
		wantFollowed(t, "its own commits", got, err, 4, 5)
		wantPositions(t, "its own commits", s, "[{tally 5}]")

		putNotes(t, s, "d", "e")
		got, err = run(func(c onto.Commit) bool {
			if err := s.RemovePosition(t.Context(), "tally"); err != nil {
				t.Fatal(err)
			}
			return true
		})
		if !errors.Is(err, onto.Conflict) || !slices.Equal(got, []int64{6}) {
			t.Errorf("another one moved it: got %v, error %v", got, err)
		}
	})
}

func TestFollowRefusals(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		putNotes(t, s, "a")
		for _, c := range []struct {
			what, name string
			opts       store.FollowOptions
			want       onto.Code
		}{
			{"no name", "", store.FollowOptions{}, onto.Invalid},
			{"a name outside the grammar", "a b", store.FollowOptions{}, onto.Invalid},
			{"from a commit that is not there", "x", store.FollowOptions{From: 7}, onto.NotFound},
			{"from a negative commit", "x", store.FollowOptions{From: -1}, onto.Invalid},
		} {
			if _, err := follow(t.Context(), s, c.name, 0, &c.opts); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %s", c.what, err, c.want)
			}
		}
		if err := s.RemovePosition(t.Context(), "x"); !errors.Is(err, onto.NotFound) {
			t.Errorf("no position: got %v", err)
		}
		wantPositions(t, "after", s, "[]")
		if _, err := follow(t.Context(), s, "x", 0, &store.FollowOptions{Once: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.RemovePosition(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		wantPositions(t, "removed", s, "[]")
	})
}

// A position of a log that was longer, before a backup was restored for example, is
// refused.
func TestFollowBeyondTheLog(t *testing.T) {
	onEveryFollowed(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		putNotes(t, s, "a")
		p, ok := backend.As[backend.Positions](s.Backend())
		if !ok {
			t.Fatal("no positions")
		}
		if err := p.Advance(t.Context(), onto.Advance{Name: "x", To: 9}); err != nil {
			t.Fatal(err)
		}
		if _, err := follow(t.Context(), s, "x", 0, nil); !errors.Is(err, onto.NotFound) || onto.HintOf(err).Text == "" {
			t.Errorf("got %v, want that commit 9 does not exist, with a hint", err)
		}
	})
}

// bare hides what a backend can do besides.
type bare struct{ backend.Backend }

func TestFollowWithoutPositions(t *testing.T) {
	s, err := store.Open(t.Context(), bare{memory.New(nil).Open()}, onto.TypeOf[note]().As("Note"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = follow(t.Context(), s, "x", 0, nil)
	_, listErr := s.Positions(t.Context())
	for _, err := range []error{err, listErr, s.RemovePosition(t.Context(), "x")} {
		if !errors.Is(err, onto.UnsupportedOperation) || onto.HintOf(err).Text == "" {
			t.Errorf("got %v, want unsupported with a hint", err)
		}
	}
}

// positioned keeps positions, and does not notice writes.
type positioned struct {
	backend.Backend
	p backend.Positions
}

func (b positioned) Positions(ctx context.Context) ([]onto.Position, error) {
	return b.p.Positions(ctx)
}

func (b positioned) Advance(ctx context.Context, a onto.Advance) error { return b.p.Advance(ctx, a) }

// Where the backend does not notice writes, the log is looked at now and then.
func TestFollowPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(nil).Open()
		s, err := store.Open(t.Context(), positioned{b, b}, onto.TypeOf[note]().As("Note"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(90*time.Second, func() { putNotes(t, s, "a") })
		got, err := follow(t.Context(), s, "mirror", 1, &store.FollowOptions{Poll: time.Minute})
		wantFollowed(t, "polled", got, err, 1)
		if passed := time.Since(began); passed != 2*time.Minute {
			t.Errorf("came after %v of the clock, want the second poll", passed)
		}
	})
}
