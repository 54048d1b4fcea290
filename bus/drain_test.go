package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto/bus"
)

// When Run ends, running handlers finish, and what was claimed and not started is there
// for others at once.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 20 {
			w.emit(Ping{i})
		}
		began := time.Now()
		w.runFor(time.Second, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { time.Sleep(10 * time.Second); return nil }).Concurrency(3))
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("Run took %v, want as long as the handlers", took)
		}
		if n := w.counts(); n[bus.Started] != 3 || n[bus.Acked] != 3 {
			t.Errorf("observed %v, want 3 started and acked", n)
		}
		w.idle(bus.On("h", nothing))
		for i, s := range w.states() {
			if s != "net.ping acked h 0/1" {
				t.Errorf("event %d: %s", i, s)
			}
		}
		list, err := w.b.Namespaces(t.Context())
		if err != nil || len(list) != 1 || len(list[0].Sessions) != 0 {
			t.Errorf("got %+v and error %v, want no sessions", list, err)
		}
	})
}

// Handlers that still run at the end of the drain are cancelled, and nothing is counted.
// One that ignores that is left behind.
func TestTheDrainEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Drain: 10 * time.Second})
		w.emit(Ping{1}, Ping{2})
		free := make(chan struct{})
		began := time.Now()
		w.runFor(time.Second, bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			<-free
			return nil
		}))
		if took := time.Since(began); took < 16*time.Second || took > 22*time.Second {
			t.Errorf("Run took %v", took)
		}
		if n := w.counts(); n[bus.Returned] != 1 || n[bus.Abandoned] != 1 {
			t.Errorf("observed %v", n)
		}
		w.wantStates("net.ping pending h 0/0", "net.ping claimed h 0/0")
		close(free)
		synctest.Wait()
		w.wantStates("net.ping pending h 0/0", "net.ping claimed h 0/0")
	})
}

// RunUntilIdle says when it did not come to an end.
func TestRunUntilIdleIsCutShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.b.RunUntilIdle(ctx, bus.On("h", func(ctx context.Context, _ *bus.Claim[Ping]) error { time.Sleep(10 * time.Second); return ctx.Err() }))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
