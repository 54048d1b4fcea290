package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// die claims events for handler h as a process that ends before it settles them.
func (w *world) die(types ...string) {
	w.Helper()
	r := &backend.ClaimRequest{Namespace: "default", Handler: "h", Types: types, Session: "dead", Limit: 100, Lease: time.Second}
	if _, err := w.m.full.Claim(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	time.Sleep(2 * time.Second)
}

// An event whose claim was lost is started alone, after its start was recorded and
// everything else of its handler was settled.
func TestALostEventIsStartedAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{-1}, Ping{-2}, Ping{-3})
		w.die("net.ping")
		for i := range 20 {
			w.emit(Ping{i})
		}
		var running, lost atomic.Int64
		w.runFor(time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			others := running.Add(1) - 1
			defer running.Add(-1)
			time.Sleep(10 * time.Millisecond)
			if c.Payload.N >= 0 {
				return nil
			}
			lost.Add(1)
			if !c.Lost || c.Deliveries != 1 || others > 0 || running.Load() != 1 {
				t.Errorf("event %d was started with %d others: %+v", c.Payload.N, others, c.Claim)
			}
			e, err := w.b.Event(t.Context(), c.ID)
			if err != nil || e.Claims[0].Deliveries != 1 {
				t.Errorf("the start is not recorded: %+v, %v", e.Claims, err)
			}
			for o, err := range w.b.Events(t.Context(), &backend.EventQuery{Status: onto.EventClaimed}) {
				if err != nil || o.ID != c.ID && o.Claims[0].Deliveries == 0 && string(o.Payload) > `{"n":0` {
					t.Errorf("event %s waits under the same claim, error %v", o.Payload, err)
				}
			}
			return nil
		}))
		if n := w.counts(); lost.Load() != 3 || n[bus.Acked] != 23 || n[bus.Started] != 23 {
			t.Errorf("%d lost events were started, observed %v", lost.Load(), n)
		}
	})
}

// A lost event that was started as often as it may is a dead letter without being started.
func TestAnEventThatKillsItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2})
		limit := 3
		h := func(f func(context.Context, *bus.Claim[Ping]) error) *bus.Handler {
			return bus.On("h", f).Attempts(limit)
		}
		kills := 0
		for range 10 {
			// A process that ends while event 1 is handled: its settlements never arrive.
			ctx, cancel := context.WithCancel(t.Context())
			p := w.again(&bus.Options{Drain: time.Millisecond})
			var dead atomic.Bool
			p.m.settle = func([]backend.Settlement) error {
				if dead.Load() {
					return onto.Errorf(onto.Closed, "planted")
				}
				return nil
			}
			p.m.claim = func(r *backend.ClaimRequest) error { return p.m.settle(nil) }
			p.m.beat = func(*backend.Beat) error { return p.m.settle(nil) }
			go func() { time.Sleep(time.Minute); cancel() }()
			_ = p.b.Run(ctx, h(func(ctx context.Context, c *bus.Claim[Ping]) error {
				if c.Payload.N == 1 {
					dead.Store(true)
					kills++
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}))
			cancel()
			time.Sleep(time.Minute)
		}
		// The first start was not recorded, the others were.
		if kills != limit+1 {
			t.Errorf("the process was killed %d times, want %d", kills, limit+1)
		}
		w.wantStates("net.ping dead_lettered h 0/3", "net.ping acked h 0/1", "event.dead_letter pending")
		if l := w.letters(); len(l) != 1 || l[0].Deliveries != 3 || !strings.Contains(l[0].Error, "started 3 times") {
			t.Errorf("got dead letters %+v", l)
		}
	})
}

// Of the suspects of a process one runs at a time, whichever handlers they are of.
func TestSuspectsExcludeEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2})
		for _, h := range []string{"a", "b", "c"} {
			r := &backend.ClaimRequest{Namespace: "default", Handler: h, Types: []string{"net.ping"}, Session: "dead", Limit: 100, Lease: time.Second}
			if _, err := w.m.full.Claim(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		var running, most atomic.Int64
		f := func(context.Context, *bus.Claim[Ping]) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		}
		w.idle(bus.On("a", f), bus.On("b", f), bus.On("c", f))
		if most.Load() != 1 || w.counts()[bus.Acked] != 6 {
			t.Errorf("%d suspects ran at a time, observed %v", most.Load(), w.counts())
		}
	})
}

// A handler runs as often at a time as it may, and claims not much more than that while
// it is slow, so that other processes get the rest.
func TestConcurrency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 60 {
			w.emit(Ping{i})
		}
		var running, most atomic.Int64
		w.runFor(3500*time.Millisecond, bus.On("h", func(context.Context, *bus.Claim[Ping]) error {
			most.Store(max(most.Load(), running.Add(1)))
			if time.Now().Nanosecond() < 5e8 {
				n := 0
				for _, s := range w.states() {
					if strings.HasPrefix(s, "net.ping claimed") {
						n++
					}
				}
				if n > 5 {
					t.Errorf("%d events are claimed, want at most 5", n)
				}
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		}).Concurrency(5))
		if most.Load() != 5 {
			t.Errorf("%d handlers ran at a time, want 5", most.Load())
		}
	})
}

// Handlers of higher priority claim first, up to a bound; then the others have a turn.
func TestPriorityOfHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{MaxPerPass: 30, ClaimLimit: 10})
		for i := range 70 {
			w.emit(Ping{i})
		}
		var claims []string
		w.m.claim = func(r *backend.ClaimRequest) error { claims = append(claims, r.Handler); return nil }
		slow := func(context.Context, *bus.Claim[Ping]) error { time.Sleep(time.Minute); return nil }
		w.idle(bus.On("low", slow).Concurrency(1000), bus.On("high", slow).Priority(1).Concurrency(1000))
		text := strings.Join(claims, " ")
		if !strings.HasPrefix(text, "high high high low low low high high high low low low high high") {
			t.Errorf("claims came as %q, want passes of three each, the higher first", text)
		}
		if w.counts()[bus.Acked] != 140 {
			t.Errorf("observed %v", w.counts())
		}
	})
}

// The backend need not tell of writes: then events are found by the poll.
func TestPoll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		blind := struct {
			backend.Backend
			backend.Bus
		}{w.m.full, w.m.full}
		s, err := store.Open(t.Context(), blind, onto.TypeOf[Order]())
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Open(s, &bus.Options{Poll: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var after time.Duration
		began := time.Now()
		go func() {
			time.Sleep(11 * time.Second)
			w.emit(Ping{1})
		}()
		err = b.Run(ctx, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { after = time.Since(began); return nil }))
		if err != nil || after < 11*time.Second || after > 21*time.Second {
			t.Errorf("handled after %v, error %v", after, err)
		}
	})
}

// An event is handled as soon as it is emitted, by this process or another, and a bus
// without events asks once per poll.
func TestWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Poll: time.Hour, Heartbeat: 100 * time.Hour, ClaimLease: time.Hour})
		other := w.again(nil)
		var claims, handled atomic.Int64
		w.m.claim = func(*backend.ClaimRequest) error { claims.Add(1); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- w.b.Run(ctx, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { handled.Add(1); return nil }))
		}()
		for i := range 3 {
			time.Sleep(7 * time.Minute)
			other.emit(Ping{i})
			synctest.Wait() // the clock stands still
			if n := handled.Load(); n != int64(i)+1 {
				t.Errorf("%d events were handled, want %d", n, i+1)
			}
		}
		before := claims.Load()
		time.Sleep(24 * time.Hour)
		if n := claims.Load() - before; n > 24+3*24+2 { // each sign of life is a write that makes it look, too
			t.Errorf("%d claims in a day without events, polled each hour, with three signs of life in each", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A session is there while Run runs, with what it says about itself.
func TestSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Session: "worker-1", Metadata: map[string]any{"version": "1.2"}})
		w.emit(Ping{1})
		w.idle(bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
			n, err := w.b.Namespace(ctx, "default")
			if err != nil || len(n.Sessions) != 1 || n.Sessions[0].ID != "worker-1" || c.Session != "worker-1" {
				t.Errorf("got %+v and error %v", n.Sessions, err)
			}
			if text := string(n.Sessions[0].Metadata); !strings.Contains(text, `"handlers":["h"]`) || !strings.Contains(text, `"pid":`) || !strings.Contains(text, `"version":"1.2"`) {
				t.Errorf("the session says %s", text)
			}
			if err := w.b.Run(ctx, bus.On("other", nothing)); onto.CodeOf(err) != onto.Invalid {
				t.Errorf("a second run of the session: %v", err)
			}
			return nil
		}))
	})
}

// A commit may carry a lease of the handler's own; if that is lost the handler has failed,
// and the claim is still held.
func TestALeaseOfTheHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		w.runFor(time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			c.Ensure(Order{ID: "o"})
			if c.Attempts == 0 {
				c.Draft.Lease = &onto.Lease{Name: "x", Owner: "y", Epoch: 7}
			}
			return nil
		}))
		w.wantStates("net.ping acked h 1/2")
	})
}

// Acks, failures and events of a commit that changes nothing count all the same.
func TestNothingChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		if _, err := w.s.Commit(t.Context(), onto.Draft{}.Ensure(Order{ID: "o"})); err != nil {
			t.Fatal(err)
		}
		w.idle(
			bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
				c.Ensure(Order{ID: "o"})
				c.Emit(InvoiceDue{"i"})
				return nil
			}),
			bus.On("mail", func(_ context.Context, c *bus.Claim[InvoiceDue]) error {
				if c.Event.Commit != 0 {
					return errors.New("it rides in no commit")
				}
				return nil
			}))
		w.wantStates("net.ping acked h 0/1", "InvoiceDue acked mail 0/1")
	})
}

// A handler under a new name gets the events that are kept; several handlers do not
// disturb each other.
func TestHandlersAreIndependent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 10 {
			w.emit(Ping{i})
		}
		w.idle(bus.On("a", nothing))
		w.runFor(time.Hour, bus.On("a", nothing), bus.On("b", nothing), bus.On("c", func(context.Context, *bus.Claim[Ping]) error {
			return errors.New("no")
		}).Attempts(2))
		for i, s := range w.states()[:10] {
			if want := "net.ping dead_lettered a 0/1 b 0/1 c 2/2"; s != want {
				t.Errorf("event %d: %s, want %s", i, s, want)
			}
		}
		if n := len(w.letters()); n != 10 {
			t.Errorf("got %d dead letters, want 10", n)
		}
	})
}

// A suspect that waits until nothing else of its handler runs is renewed meanwhile.
func TestASuspectWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newWorld(t, nil)
		b := a.again(nil)
		a.emit(Ping{1})
		slow := bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			time.Sleep(5 * time.Minute)
			return nil
		})
		done := make(chan struct{})
		go func() { defer close(done); a.runFor(20*time.Minute, slow) }()
		synctest.Wait()
		a.emit(Ping{2})
		a.die("net.ping")
		time.Sleep(15 * time.Second) // the first process has the suspect
		b.runFor(10*time.Minute, bus.On("h", nothing))
		<-done
		if n := b.counts(); n[bus.Started] != 0 {
			t.Errorf("the second process: %v", n)
		}
		if n := a.counts(); n[bus.Acked] != 2 || n[bus.Lost] != 0 {
			t.Errorf("the first process: %v", n)
		}
	})
}

// What runs when the suspects of one handler take long.
func TestSuspectsOfOneHandlerDoNotHoldUpAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 8 {
			w.emit(Ping{i}, InvoiceDue{"old"})
		}
		w.die("net.ping")
		r := &backend.ClaimRequest{Namespace: "default", Handler: "mail", Types: []string{"InvoiceDue"}, Session: "dead", Limit: 100, Lease: time.Second}
		if _, err := w.m.full.Claim(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for range 20 {
			w.emit(InvoiceDue{"new"})
		}
		began := time.Now()
		var last, fresh atomic.Int64
		w.runFor(time.Hour,
			bus.On("h", func(context.Context, *bus.Claim[Ping]) error { time.Sleep(5 * time.Minute); return nil }).Priority(1),
			bus.On("mail", func(_ context.Context, c *bus.Claim[InvoiceDue]) error {
				if c.Payload.Invoice == "new" {
					fresh.Add(1)
					last.Store(int64(time.Since(began)))
				}
				return nil
			}))
		if n := w.counts(); n[bus.Acked] != 36 || fresh.Load() != 20 || last.Load() > int64(time.Minute) {
			t.Errorf("new events were handled after %v, observed %v", time.Duration(last.Load()), n)
		}
	})
}

// Acks that a handler adds to its draft count, also if it wants nothing else.
func TestFurtherAcks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, InvoiceDue{"i"})
		got, err := w.m.full.Claim(t.Context(), &backend.ClaimRequest{Namespace: "default", Handler: "other", Types: []string{"InvoiceDue"}, Session: "s", Limit: 1, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.idle(bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			c.Draft.Acks = got.Claims
			return nil
		}))
		w.wantStates("net.ping acked h 0/1", "InvoiceDue acked other 0/0")
	})
}

// Where much is written, many handlers do not all claim after every write. Events are
// handled soon all the same.
func TestManyHandlersAndWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		const handlers, events = 50, 200
		var claims atomic.Int64
		w.m.claim = func(*backend.ClaimRequest) error { claims.Add(1); return nil }
		var parts []bus.Part
		for i := range handlers {
			parts = append(parts, bus.OnTypes(fmt.Sprint("h", i), []string{fmt.Sprint("T", i)}, func(context.Context, *bus.Claim[json.RawMessage]) error { return nil }))
		}
		go func() {
			for i := range events {
				time.Sleep(time.Millisecond)
				w.emit(onto.Emission{Type: fmt.Sprint("T", i%handlers), Payload: i})
			}
		}()
		w.runFor(900*time.Millisecond, parts...) // before the next poll
		var late time.Duration
		for _, o := range w.observed(bus.Started) {
			late = max(late, o.Wait)
		}
		if n := w.counts()[bus.Acked]; n != events || late > 50*time.Millisecond {
			t.Errorf("handled %d events, the last one after %v", n, late)
		}
		if claims.Load() > 40*handlers {
			t.Errorf("%d claims for %d events in 200 ms", claims.Load(), events)
		}
		t.Logf("%d claims, the longest wait %v", claims.Load(), late)
	})
}
