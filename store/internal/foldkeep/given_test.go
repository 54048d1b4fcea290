package foldkeep_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// A draft with facts is computed again when a state has changed, and not when that has
// changed which the caller says it was computed from.
func TestFactsGiven(t *testing.T) {
	places(t, func(p place) {
		b := &interposed{Backend: p.backend(), comment: "computed"}
		s, err := store.OpenWith(p.Context(), b, &store.Options{Folds: []store.Folding{notices(1)}}, onto.TypeOf[notice]())
		if err != nil {
			p.Fatal(err)
		}
		defer s.Close()
		other := p.open(notices(1))
		first := p.commit(s, onto.Draft{}.Assert(fact("n1", "opened", "x")))
		state := onto.EntityID("inbox", "n1")
		snooze := onto.Draft{Comment: "computed"}.Assert(fact("n1", "snoozed", "x"))
		spoil := func() { p.commit(other, onto.Draft{}.Assert(fact("n1", "opened", "x"))) }

		b.then = func() {
			spoil()
			b.then = func() { p.Error("it was computed again") }
		}
		_, err = s.Commit(p.Context(), snooze.Given(state, first.ID))
		var e *onto.Error
		if want := (onto.Expectation{Identity: state, Commit: first.ID}); !errors.As(err, &e) || e.Code != onto.Stale || e.Expectation == nil || *e.Expectation != want {
			p.Errorf("got %v, want that %s has changed", err, state)
		}
		b.then = spoil
		if _, err := s.Commit(p.Context(), snooze.Given(onto.EntityID("inbox", "n2"), 0)); err != nil {
			p.Errorf("got %v, want it to be computed again", err)
		}
		p.verified(s, "n1", "1o1o1o1s")

		// What cannot be computed is told only if nothing that comes earlier refuses the draft.
		bad := fact("n1", "opened", "refused")
		for d, want := range map[*onto.Draft]onto.Code{new(onto.Draft{}): onto.Invalid, new(onto.Draft{}.GivenHead(1)): onto.Stale} {
			if _, err := s.Commit(p.Context(), d.Assert(bad)); onto.CodeOf(err) != want || err == nil {
				p.Errorf("got %v, want the code %q", err, want)
			}
		}
	})
}

// streamed counts the streams that are appended.
type streamed struct {
	backend.Backend
	n int
}

func (b *streamed) Unwrap() backend.Backend { return b.Backend }

func (b *streamed) AppendStream(ctx context.Context, d *backend.Draft, w iter.Seq2[backend.Write, error]) (onto.Result, error) {
	b.n++
	return b.Backend.AppendStream(ctx, d, w)
}

// A stream of facts that was computed from what has changed is not tried again.
func TestStreamsGiven(t *testing.T) {
	places(t, func(p place) {
		b := &streamed{Backend: p.backend()}
		s, err := store.OpenWith(p.Context(), b, nil, onto.TypeOf[notice]())
		if err != nil {
			p.Fatal(err)
		}
		defer s.Close()
		_, err = s.CommitStream(p.Context(), onto.Draft{}.GivenHead(1), func(yield func(any, error) bool) {
			yield(fact("n1", "opened", "x"), nil)
		})
		if onto.CodeOf(err) != onto.Stale || b.n != 1 {
			p.Errorf("got %v after %d streams, want that it is stale after one", err, b.n)
		}
	})
}

// A transaction reads a state and asserts facts about its subject, which change the state:
// what it decides on holds.
func TestFactsInTransactions(t *testing.T) {
	places(t, func(p place) {
		const callers, most = 8, 5
		handles := []*store.Store{p.open(notices(1)), p.open(notices(1))}
		p.commit(handles[0], onto.Draft{}.Assert(fact("n1", "opened", "x")))
		errMost := errors.New("snoozed often enough")
		snooze := func(s *store.Store) error {
			draft := onto.Draft{}.Assert(fact("n2", "opened", "x"))
			_, err := store.Transact(p.Context(), s, draft, func(tx *store.Tx) error {
				in, err := store.Get[inbox](p.Context(), tx, "n1")
				switch {
				case err != nil:
					return err
				case in.Snoozes == most:
					return errMost
				}
				return tx.Ensure(fact("n1", "snoozed", "x"))
			})
			return err
		}
		var mu sync.Mutex
		made := 0
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				err := snooze(handles[i%len(handles)])
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if !errors.Is(err, errMost) {
					p.Error(err)
				}
			})
		}
		all.Wait()
		if made != most {
			p.Errorf("%d of %d callers have snoozed, want %d", made, callers, most)
		}
		p.verified(handles[1], "n1", "1o"+strings.Repeat("1s", most))
		p.verified(handles[1], "n2", strings.Repeat("1o", most))
	})
}
