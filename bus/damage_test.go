package bus_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
)

// halfway is a backend that fails to claim after it has settled.
type halfway struct {
	full
	left int // calls that fail
}

func (h *halfway) Claim(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
	if len(r.Settle) == 0 || h.left == 0 {
		return h.full.Claim(ctx, r)
	}
	h.left--
	verdicts, err := h.full.Settle(ctx, r.Settle)
	if err == nil {
		err = onto.Errorf(onto.Unavailable, "planted")
	}
	return backend.Claimed{Verdicts: verdicts}, err
}

// What was settled before a claim failed is not settled again, and not taken for lost.
func TestAClaimFailsHalfway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.m.full = &halfway{w.m.full, 3}
		for i := range 60 {
			w.emit(OrderPaid{Order: fmt.Sprint(i % 3)})
		}
		w.idle(bus.On("h", func(_ context.Context, c *bus.Claim[OrderPaid]) error { return nil }))
		if n := w.counts(); n[bus.Acked] != 60 || n[bus.Lost] != 0 || n[bus.Troubled] != 3 {
			t.Errorf("observed %v", n)
		}
	})
}

// A store that is too damaged to claim from ends Run. What was handled by then is acked,
// and what was not started is returned, as far as the store still takes it.
func TestDamageEndsRun(t *testing.T) {
	for name, settles := range map[string]bool{"it still settles": true, "it does nothing any more": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				for i := range 20 {
					w.emit(OrderPaid{Order: string(rune('a' + i%2))})
				}
				damaged := func(bad bool) error {
					if bad {
						return onto.Errorf(onto.Corrupt, "planted")
					}
					return nil
				}
				var handled atomic.Int64
				w.m.claim = func(r *backend.ClaimRequest) error { return damaged(handled.Load() >= 4) }
				w.m.settle = func([]backend.Settlement) error { return damaged(handled.Load() >= 4 && !settles) }
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := w.b.Run(ctx, bus.On("h", func(context.Context, *bus.Claim[OrderPaid]) error { handled.Add(1); return nil }))
				if onto.CodeOf(err) != onto.Corrupt {
					t.Errorf("got %v, want Corrupt", err)
				}
				acked, claimed := 0, 0
				for _, s := range w.states() {
					if s == "OrderPaid acked h 0/1" {
						acked++
					}
					if slices.Contains([]string{"OrderPaid claimed h 0/0", "OrderPaid claimed h 0/1"}, s) {
						claimed++
					}
				}
				if settles && (acked != int(handled.Load()) || claimed != 0) || !settles && claimed == 0 {
					t.Errorf("%d events were handled: %d are acked, %d still claimed", handled.Load(), acked, claimed)
				}
			})
		})
	}
}
