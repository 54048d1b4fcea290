package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
)

// reject gives up events below a number.
func reject(below int) func(context.Context, *bus.Claim[Ping]) error {
	return func(_ context.Context, c *bus.Claim[Ping]) error {
		if c.Payload.N < below {
			return bus.Reject(fmt.Errorf("number %d is bad", c.Payload.N))
		}
		return nil
	}
}

// A dead letter is replayed: a new event of the same kind, at the start of its own chain,
// that resolves the dead letter with who did it.
func TestReplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ctx := t.Context()
		n := 7
		old := w.emit(onto.Emission{Payload: Ping{1}, Priority: &n, OrderingKey: "k"})[0]
		w.idle(bus.On("h", reject(5)), bus.On("other", reject(5)))
		made, err := w.b.Replay(ctx, old.ID, onto.Operator("ana"))
		if err != nil {
			t.Fatal(err)
		}
		if made.ID == old.ID || made.Root != made.ID || made.Depth != 0 || made.ReplayOf != old.ID || made.Type != old.Type ||
			string(made.Payload) != string(old.Payload) || made.Priority != 7 || made.OrderingKey != "k" || made.Namespace != old.Namespace {
			t.Errorf("got %+v, a replay of %+v", made, old)
		}
		letters := w.letters()
		if len(letters) != 2 {
			t.Fatalf("got %d dead letters, want one of each handler", len(letters))
		}
		for _, l := range letters {
			if r := l.Resolution; r.Kind != onto.Replayed || r.By != onto.Operator("ana") || r.Replay != made.ID || r.Time.IsZero() {
				t.Errorf("the dead letter of %s is %+v", l.Handler, r)
			}
		}
		if left, err := w.b.CountDeadLetters(ctx, nil); left != 0 || err != nil {
			t.Errorf("%d are left, error %v", left, err)
		}
		w.idle(bus.On("h", nothing), bus.On("other", nothing))
		if s, err := w.b.Event(ctx, made.ID); err != nil || s.Status != onto.EventAcked {
			t.Errorf("got %+v and error %v, want that it was handled", s, err)
		}
		// An event without dead letter is replayed as well, also one that exists no more.
		if _, err := w.b.Replay(ctx, made.ID, onto.Actor{}); err != nil {
			t.Error(err)
		}
		if _, err := w.b.Clean(ctx, &backend.Cleaning{Before: time.Now().Add(time.Hour), Unhandled: true, Apply: true}, nil); err != nil {
			t.Fatal(err)
		}
		if again, err := w.b.Replay(ctx, old.ID, onto.Operator("ana")); err != nil || string(again.Payload) != `{"n":1}` {
			t.Errorf("got %+v and error %v, want the event of the dead letter", again, err)
		}
		if _, err := w.b.Replay(ctx, made.ID, onto.Operator("ana")); onto.CodeOf(err) != onto.NotFound {
			t.Errorf("got %v, want NotFound", err)
		}
		if _, err := w.b.Replay(ctx, old.ID, onto.Actor{Kind: "x"}); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("got %v, want Invalid", err)
		}
	})
}

// A selection of dead letters is looked at first, then replayed in order, or dropped.
func TestSelections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ctx := t.Context()
		for i := range 250 {
			w.emit(Ping{i})
		}
		w.idle(bus.On("h", reject(220)).Concurrency(1), bus.On("other", reject(3)).Concurrency(1))
		q := &backend.DeadLetterQuery{Namespace: "default", Handler: "h"}
		if n, err := w.b.CountDeadLetters(ctx, q); n != 220 || err != nil {
			t.Errorf("got %d and error %v, want 220", n, err)
		}
		plan, err := w.b.PlanReplay(ctx, &backend.DeadLetterQuery{Error: "number 2 is"})
		if err != nil || len(plan) != 1 || !slices.Equal(slices.Sorted(slices.Values(plan[0].Handlers)), []string{"h", "other"}) || len(plan[0].DeadLetters) != 2 {
			t.Errorf("got %+v and error %v, want one event of two handlers", plan, err)
		}
		made, err := w.b.ReplayDeadLetters(ctx, q, onto.Operator("ana"))
		if err != nil || len(made) != 220 {
			t.Fatalf("got %d events and error %v, want 220", len(made), err)
		}
		for i, e := range made {
			if want := fmt.Sprintf(`{"n":%d}`, i); string(e.Payload) != want {
				t.Fatalf("event %d is %s, want %s", i, e.Payload, want)
			}
		}
		dropped, err := w.b.DropDeadLetters(ctx, nil, onto.Operator("bob"))
		if dropped != 3 || err != nil {
			t.Errorf("dropped %d, error %v; want those of the other handler", dropped, err)
		}
		for _, l := range w.letters() {
			want := onto.Replayed
			if l.Handler == "other" {
				want = onto.Dropped
			}
			if l.Resolution.Kind != want {
				t.Errorf("the dead letter of %s is %+v", l.Handler, l.Resolution)
			}
		}
		for _, c := range []struct {
			id   int64
			want onto.Code
		}{{1, onto.Conflict}, {10_000, onto.NotFound}} {
			q := &backend.DeadLetterQuery{Namespace: "default", IDs: []int64{c.id}}
			if _, err := w.b.ReplayDeadLetters(ctx, q, onto.Operator("ana")); onto.CodeOf(err) != c.want {
				t.Errorf("replay of %d: got %v, want %s", c.id, err, c.want)
			}
			if _, err := w.b.DropDeadLetters(ctx, q, onto.Operator("ana")); onto.CodeOf(err) != c.want {
				t.Errorf("drop of %d: got %v, want %s", c.id, err, c.want)
			}
		}
	})
}

// Two operators resolve the same dead letters at the same time: each is resolved once.
func TestTwoOperators(t *testing.T) {
	for name, resolve := range map[string]func(*world, context.Context) (int, error){
		"replay": func(w *world, ctx context.Context) (int, error) {
			list, err := w.b.ReplayDeadLetters(ctx, nil, onto.Operator("ana"))
			return len(list), err
		},
		"drop": func(w *world, ctx context.Context) (int, error) {
			return w.b.DropDeadLetters(ctx, nil, onto.Operator("ana"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, nil)
				for i := range 5 {
					w.emit(Ping{i})
				}
				w.idle(bus.On("h", reject(5)))
				first := true
				w.m.emit = func(*backend.Emission) error {
					if first {
						first = false
						_, err := w.b.DropDeadLetters(t.Context(), &backend.DeadLetterQuery{IDs: []int64{2, 4}}, onto.Operator("bob"))
						return err
					}
					return nil
				}
				n, err := resolve(w, t.Context())
				if n != 3 || err != nil {
					t.Errorf("%d were resolved, error %v; want the 3 that the other left", n, err)
				}
				for _, l := range w.letters() {
					if bob := l.ID == 2 || l.ID == 4; (l.Resolution.By == onto.Operator("bob")) != bob {
						t.Errorf("dead letter %d: %+v", l.ID, l.Resolution)
					}
				}
			})
		})
	}
}

// Replays of several hundred that fail in the middle tell what was done.
func TestAReplayFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 150 {
			w.emit(Ping{i})
		}
		w.idle(bus.On("h", reject(1000)))
		calls := 0
		planted := errors.New("planted")
		w.m.emit = func(*backend.Emission) error {
			if calls++; calls == 2 {
				return planted
			}
			return nil
		}
		made, err := w.b.ReplayDeadLetters(t.Context(), nil, onto.Operator("ana"))
		if len(made) != 100 || !errors.Is(err, planted) {
			t.Errorf("got %d events and error %v, want the first hundred", len(made), err)
		}
		if left, err := w.b.CountDeadLetters(t.Context(), nil); left != 50 || err != nil {
			t.Errorf("%d are left, error %v", left, err)
		}
	})
}
