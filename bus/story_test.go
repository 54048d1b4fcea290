package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/store"
)

// An order is paid, billing makes an invoice of it, and mail tells of the invoice. What a
// handler ensures and emits is one commit that says where it came from.
func TestAnOrderIsPaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ctx := t.Context()
		paid, err := w.s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana")}.
			Ensure(Order{ID: "o1", State: "paid"}).Emit(OrderPaid{Order: "o1", Amount: 12}))
		if err != nil {
			t.Fatal(err)
		}
		var mailed []bus.Claim[InvoiceDue]
		w.idle(
			bus.On("billing", func(_ context.Context, c *bus.Claim[OrderPaid]) error {
				c.Ensure(Invoice{ID: c.Payload.Order, Amount: c.Payload.Amount})
				c.Emit(InvoiceDue{Invoice: c.Payload.Order})
				c.Draft.Comment = "for " + c.ID
				return nil
			}),
			bus.On("mail", func(_ context.Context, c *bus.Claim[InvoiceDue]) error {
				mailed = append(mailed, *c)
				return nil
			}),
		)
		in, err := store.Get[Invoice](ctx, w.s.Now(), "o1")
		if err != nil || in.Amount != 12 {
			t.Fatalf("got invoice %v and error %v", in, err)
		}
		var made onto.Commit
		for c, err := range w.s.Commits(ctx, store.CommitOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if c.ID > made.ID {
				made = c
			}
		}
		if len(mailed) != 1 {
			t.Fatalf("mail was started %d times, want once", len(mailed))
		}
		due := mailed[0]
		if made.Actor != onto.Component("billing") || made.Causation != paid.ID || made.Correlation != due.Root || made.Comment != "for "+due.Parent {
			t.Errorf("the commit says %+v, want what led to it: commit %d, event %s", made, paid.ID, due.Parent)
		}
		if due.Depth != 1 || due.Root != due.Parent || due.Event.Commit != made.ID || due.Deliveries != 1 || due.Attempts != 0 {
			t.Errorf("got %+v, want the second event of the chain", due.Claim)
		}
		w.wantStates("OrderPaid acked billing 0/1", "InvoiceDue acked mail 0/1")
		if got := w.counts(); got[bus.Started] != 2 || got[bus.Acked] != 2 {
			t.Errorf("observed %v", got)
		}
	})
}

// A handler that fails is started again after pauses that double, and commits nothing
// until it succeeds.
func TestAFailureIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		var at []time.Time
		w.runFor(time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			at = append(at, time.Now())
			if c.Attempts != len(at)-1 || c.Deliveries != len(at) {
				t.Errorf("start %d says %d attempts and %d deliveries", len(at), c.Attempts, c.Deliveries)
			}
			c.Ensure(Order{ID: fmt.Sprint("o", len(at))})
			if len(at) < 4 {
				return errors.New("not yet")
			}
			return nil
		}))
		want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}
		for i, d := range want {
			if got := at[i+1].Sub(at[i]); got < d || got > d+101*time.Millisecond {
				t.Errorf("pause %d was %v, want %v and up to 100 ms", i+1, got, d)
			}
		}
		w.wantStates("net.ping acked h 3/4")
		if n, err := store.Find[Order](w.s.Now()).Count(t.Context()); n != 1 || err != nil {
			t.Errorf("got %d orders and error %v, want that of the success", n, err)
		}
	})
}

// An event that fails too often is a dead letter, which is told of; that of a notice is
// not. Its key goes on.
func TestADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{MaxAttempts: 3})
		bad := w.emit(OrderPaid{Order: "o1", Amount: 1}, OrderPaid{Order: "o1", Amount: 2})[0]
		var told []bus.Claim[bus.DeadLetterNotice]
		w.runFor(time.Minute,
			bus.On("billing", func(_ context.Context, c *bus.Claim[OrderPaid]) error {
				if c.Payload.Amount == 1 {
					return errors.New("never\x00\xff")
				}
				return nil
			}),
			bus.On("alarm", func(_ context.Context, c *bus.Claim[bus.DeadLetterNotice]) error {
				told = append(told, *c)
				return errors.New("no answer")
			}).Attempts(2))
		w.wantStates("OrderPaid dead_lettered billing 3/3", "OrderPaid acked billing 0/1", "event.dead_letter dead_lettered alarm 2/2")
		if len(told) != 2 {
			t.Fatalf("the alarm was started %d times, want 2", len(told))
		}
		want := bus.DeadLetterNotice{Event: bad.ID, Type: "OrderPaid", Namespace: "default", OrderingKey: "o1", Handler: "billing", Error: "never\uFFFD\uFFFD", Attempts: 3, Deliveries: 3}
		if told[0].Payload != want || told[0].Root != bad.Root || told[0].Depth != 1 || told[0].Parent != bad.ID {
			t.Errorf("told %+v with %+v, want %+v", told[0].Payload, told[0].Claim, want)
		}
		if l := w.letters(); len(l) != 2 || l[0].Error != want.Error || l[1].Event.Type != onto.DeadLetterType {
			t.Errorf("got dead letters %+v", l)
		}
	})
}

// Each way to give an event up without further attempts.
func TestBuriedAtOnce(t *testing.T) {
	type Wrong struct {
		N string `json:"n"`
	}
	wrong := bus.On("h", func(context.Context, *bus.Claim[Ping]) error { return nil })
	for name, c := range map[string]struct {
		thing any
		h     *bus.Handler
		want  string
	}{
		"rejected": {Ping{1}, bus.On("h", func(context.Context, *bus.Claim[Ping]) error {
			return fmt.Errorf("outer: %w", bus.Reject(errors.New("no such order")))
		}), "outer: no such order"},
		"rejected without a reason": {Ping{1}, bus.On("h", func(context.Context, *bus.Claim[Ping]) error { return bus.Reject(nil) }), "the handler rejected the event"},
		"wrong kind":                {onto.Emission{Type: "net.ping", Payload: Wrong{"x"}}, wrong, "does not fit bus_test.Ping"},
		"no object":                 {onto.Emission{Type: "net.ping", Payload: json.RawMessage("[1]")}, wrong, "does not fit bus_test.Ping"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.emit(c.thing)
				w.runFor(10*time.Minute, c.h)
				l := w.letters()
				if len(l) != 1 || l[0].Attempts != 1 || l[0].Deliveries != 1 || !strings.Contains(l[0].Error, c.want) {
					t.Errorf("got dead letters %+v, want one after the first start with %q", l, c.want)
				}
			})
		})
	}
}

// Members that a struct does not know are ignored.
func TestUnknownMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(onto.Emission{Type: "net.ping", Payload: map[string]any{"n": 7, "new": []any{1}}})
		got := 0
		w.idle(bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error { got = c.Payload.N; return nil }))
		if got != 7 {
			t.Errorf("got %d, want 7", got)
		}
	})
}

// A handler that emits what leads back to it ends with a dead letter, without retries.
func TestAChainThatGoesRound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{0})
		runs := 0
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			runs++
			c.Emit(Ping{c.Payload.N + 1})
			return nil
		}))
		l := w.letters()
		if runs != onto.MaxChainDepth+1 || len(l) != 1 || l[0].Event.Depth != onto.MaxChainDepth || !strings.Contains(l[0].Error, "the limit is 20") {
			t.Errorf("the handler was started %d times, dead letters %+v", runs, l)
		}
		if got := w.states(); len(got) != runs {
			t.Errorf("got %d events, want %d: at the end of a chain nothing tells of a dead letter", len(got), runs)
		}
	})
}

// A panic, and the end of its goroutine, are failures of the handler.
func TestPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2})
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N == 2 {
				runtime.Goexit()
			}
			panic("at the disco")
		}).Attempts(2))
		l := w.letters()
		slices.SortFunc(l, func(a, b onto.DeadLetter) int {
			return strings.Compare(string(a.Event.Payload), string(b.Event.Payload))
		})
		if len(l) != 2 || !strings.HasPrefix(l[0].Error, "panic: at the disco\ngoroutine ") || !strings.Contains(l[1].Error, "ended its goroutine") {
			t.Errorf("got dead letters %+v", l)
		}
		if l[0].Attempts != 2 || len(l[0].Error) > 4<<10 {
			t.Errorf("got %d attempts and %d bytes of error", l[0].Attempts, len(l[0].Error))
		}
	})
}

// A snoozed event comes back after its time, and nothing is counted.
func TestSnooze(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{MaxAttempts: 2})
		w.emit(Ping{1})
		var at []time.Time
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			at = append(at, time.Now())
			if c.Attempts != 0 || c.Deliveries != 1 {
				t.Errorf("start %d says %d attempts and %d deliveries", len(at), c.Attempts, c.Deliveries)
			}
			if len(at) < 5 {
				return bus.Snooze(10 * time.Minute)
			}
			return nil
		}))
		if len(at) != 5 || at[1].Sub(at[0]) < 10*time.Minute || at[1].Sub(at[0]) > 10*time.Minute+time.Second {
			t.Errorf("started at %v, want every 10 minutes", at)
		}
		w.wantStates("net.ping acked h 0/1")
	})
}

// An event with a delay is handled when its time has come, without waiting for a poll.
func TestADelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Poll: time.Hour, Heartbeat: time.Hour, ClaimLease: time.Hour})
		began := time.Now()
		w.emit(onto.Emission{Payload: Ping{1}, Delay: 90 * time.Second}, onto.Emission{Payload: Ping{2}, NotBefore: began.Add(5 * time.Minute)})
		got := map[int]time.Duration{}
		w.runFor(time.Hour, bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			got[c.Payload.N] = time.Since(began)
			return nil
		}))
		for n, want := range map[int]time.Duration{1: 90 * time.Second, 2: 5 * time.Minute} {
			if got[n] < want || got[n] > want+10*time.Millisecond {
				t.Errorf("event %d was handled after %v, want %v", n, got[n], want)
			}
		}
	})
}

// Events of one key are handled in order, also if the first one fails for a while; those
// of other keys go on meanwhile.
func TestOrderPerKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 30 {
			w.emit(OrderPaid{Order: fmt.Sprint("k", i%3), Amount: float64(i)})
		}
		var got []float64
		fails := 3
		w.runFor(time.Minute, bus.On("h", func(_ context.Context, c *bus.Claim[OrderPaid]) error {
			if c.Payload.Amount == 0 && fails > 0 {
				fails--
				return errors.New("not yet")
			}
			got = append(got, c.Payload.Amount)
			return nil
		}).Concurrency(1))
		if len(got) != 30 || got[0] == 0 || !slices.Contains(got[10:], 0) {
			t.Fatalf("handled %v, want the key that waits among the last", got)
		}
		last := map[int]float64{}
		for _, n := range got {
			key := int(n) % 3
			if n < last[key] {
				t.Errorf("%v after %v of key %d", n, last[key], key)
			}
			last[key] = n
		}
	})
}

// Types that are named at run time come as JSON.
func TestOnTypes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, onto.Emission{Type: "other", Payload: "x"}, onto.Emission{Type: "third"})
		var got []string
		w.idle(bus.OnTypes("h", []string{"other", "net.ping", "other"}, func(_ context.Context, c *bus.Claim[json.RawMessage]) error {
			got = append(got, c.Type+string(c.Payload))
			return nil
		}).Concurrency(1))
		if !slices.Equal(got, []string{`net.ping{"n":1}`, `other"x"`}) {
			t.Errorf("got %q", got)
		}
		w.wantStates("net.ping acked h 0/1", "other acked h 0/1", "third pending")
	})
}

// A handler gets the events of its namespace, and what it emits stays there.
func TestNamespaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Namespace: "eu"})
		w.emit(Ping{1}, onto.Emission{Payload: Ping{100}, Namespace: "us"})
		w.idle(bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N < 3 {
				c.Emit(Ping{c.Payload.N + 1}, &onto.Emission{Payload: Ping{200}, Namespace: "us"})
			}
			return nil
		}))
		w.wantStates("net.ping acked h 0/1", "net.ping acked h 0/1", "net.ping acked h 0/1")
		us, err := w.b.Namespace(t.Context(), "us")
		if err != nil || us.Events != 3 {
			t.Errorf("got %+v and error %v, want 3 events", us, err)
		}
		if _, err := w.b.Namespace(t.Context(), "asia"); onto.CodeOf(err) != onto.NotFound || !strings.Contains(onto.HintOf(err).Text, "eu, us") {
			t.Errorf("got %v with hint %q", err, onto.HintOf(err).Text)
		}
	})
}

// Many events cost few writes: acks ride with the next claim.
func TestAcksRideWithClaims(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var things []any
		for i := range 2000 {
			things = append(things, Ping{i})
		}
		w.emit(things...)
		claims, settles := 0, 0
		w.m.claim = func(*backend.ClaimRequest) error { claims++; return nil }
		w.m.settle = func([]backend.Settlement) error { settles++; return nil }
		w.idle(bus.On("h", nothing))
		if claims > 60 || settles > 20 || w.counts()[bus.Acked] != 2000 {
			t.Errorf("2000 events took %d claims and %d settlements, %d were acked", claims, settles, w.counts()[bus.Acked])
		}
		t.Logf("2000 events: %d claims, %d settlements", claims, settles)
	})
}

// RunUntilIdle handles all there is, key by key, and takes no longer than its handlers.
func TestRunUntilIdleDoesNotWait(t *testing.T) {
	for name, billing := range map[string]func(context.Context, *bus.Claim[OrderPaid]) error{
		"acked":     func(context.Context, *bus.Claim[OrderPaid]) error { return nil },
		"buried":    func(context.Context, *bus.Claim[OrderPaid]) error { return bus.Reject(nil) },
		"committed": func(_ context.Context, c *bus.Claim[OrderPaid]) error { c.Ensure(Order{ID: c.ID}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, &bus.Options{Poll: time.Hour})
				w.emit(Ping{1}, OrderPaid{Order: "o1"}, OrderPaid{Order: "o1"}, OrderPaid{Order: "o1"})
				began := time.Now()
				w.idle(bus.On("h", nothing), bus.On("billing", billing))
				if n := w.counts(); n[bus.Acked]+n[bus.Buried] != 4 {
					t.Errorf("observed %v, want 4 events handled", n)
				}
				w.idle(bus.On("h", nothing))
				if took := time.Since(began); took > 100*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// RunUntilIdle handles also what its handlers emit elsewhere: through another handle, or
// in a process that they start.
func TestRunUntilIdleLooksAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Poll: time.Hour})
		other := w.again(nil)
		w.emit(Ping{1})
		w.idle(bus.On("h", func(_ context.Context, c *bus.Claim[Ping]) error {
			if c.Payload.N < 5 {
				other.emit(Ping{c.Payload.N + 1})
			}
			return nil
		}))
		if n := w.counts()[bus.Acked]; n != 5 {
			t.Errorf("%d of 5 events were handled", n)
		}
	})
}

// A handler may emit by itself, beside its commit: RunUntilIdle handles that as well.
func TestRunUntilIdleHandlesWhatHandlersEmitThemselves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1}, Ping{2})
		w.idle(
			bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
				if c.Payload.N == 1 {
					_, err := w.b.Emit(ctx, InvoiceDue{"alone"})
					return err
				}
				time.Sleep(time.Second)
				_, err := w.s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana")}.Ensure(Order{ID: "o"}).Emit(InvoiceDue{"in a commit"}))
				return err
			}),
			bus.On("mail", func(context.Context, *bus.Claim[InvoiceDue]) error { return nil }),
		)
		w.wantStates("net.ping acked h 0/1", "net.ping acked h 0/1", "InvoiceDue acked mail 0/1", "InvoiceDue acked mail 0/1")
	})
}

// A handler that snoozes for no time at all does not keep RunUntilIdle, or the store, busy
// for ever.
func TestSnoozeForNoTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.emit(Ping{1})
		asks := 0
		h := bus.On("h", func(context.Context, *bus.Claim[Ping]) error {
			if asks++; asks > 1000 {
				return nil
			}
			return bus.Snooze(0)
		})
		w.idle(h)
		if asks != 1 {
			t.Errorf("the handler was started %d times until it was idle, want once", asks)
		}
		w.runFor(time.Second, h)
		if asks > 110 {
			t.Errorf("the handler was started %d times in a second", asks)
		}
		w.wantStates("net.ping pending h 0/0")
	})
}
