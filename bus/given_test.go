package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// A handler that acts on what it has read, and finds it changed at its commit, has not
// failed: it starts again, as often as it may start.
func TestStaleHandlers(t *testing.T) {
	order := onto.EntityID("Order", "o1")
	for name, c := range map[string]struct {
		spoilt         int // starts during which another writer is first
		returns        bool
		states         []string
		started, stale int
	}{
		"once":              {1, false, []string{"net.ping acked h 0/2"}, 2, 1},
		"to the end":        {9, false, []string{"net.ping dead_lettered h 0/4", "event.dead_letter pending"}, 4, 3},
		"once, as an error": {1, true, []string{"net.ping acked h 0/2"}, 2, 1},
		"only fences":       {0, false, []string{"net.ping acked h 0/1"}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.emit(Ping{1})
				calls := 0
				w.runFor(time.Minute, bus.On("h", func(ctx context.Context, claim *bus.Claim[Ping]) error {
					calls++
					seen, err := store.GetVersion[Order](ctx, w.s.Now(), "o1")
					if err != nil && onto.CodeOf(err) != onto.NotFound {
						return err
					}
					if calls <= c.spoilt {
						if _, err := w.s.Commit(ctx, onto.Draft{}.Ensure(Order{ID: "o1", State: string(rune('a' + calls))})); err != nil {
							return err
						}
					}
					given := onto.Draft{}.Given(order, seen.Version.Commit)
					if c.returns {
						_, err := w.s.Commit(ctx, given.Ensure(Order{ID: "o2", State: seen.Value.State}))
						return err
					}
					if claim.Draft = claim.Draft.Given(order, seen.Version.Commit); c.spoilt > 0 {
						claim.Ensure(Order{ID: "o2", State: seen.Value.State})
					}
					return nil
				}).Attempts(4))
				w.wantStates(c.states...)
				if n := w.counts(); n[bus.Started] != c.started || n[bus.Outdated] != c.stale || n[bus.Failed]+n[bus.Troubled]+n[bus.Returned] != 0 {
					t.Errorf("observed %v, want %d started, %d of them outdated", n, c.started, c.stale)
				}
			})
		})
	}
}

// A draft that wants nothing but what it was computed from is judged like any other.
func TestStaleWithoutWrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		calls := int64(0)
		w.runFor(time.Minute, bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
			calls++
			c.Draft = c.Draft.GivenHead(2 - calls)
			return nil
		}))
		w.wantStates("net.ping acked h 0/2")
	})
}
