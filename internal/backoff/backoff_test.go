package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errLate = errors.New("late")

func late() error { return errLate }

// Pauses double up to the longest; the jitter is added to half of each.
func TestPausesGrow(t *testing.T) {
	for name, c := range map[string]struct {
		jitter   func(n int64) int64
		least    time.Duration
		greatest time.Duration
	}{
		"least":    {func(int64) int64 { return 0 }, 5 * time.Millisecond, 50 * time.Millisecond},
		"greatest": {func(n int64) int64 { return n }, 10 * time.Millisecond, 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := Backoff{First: 10 * time.Millisecond, Longest: 100 * time.Millisecond, Jitter: c.jitter}
			want := c.least
			for range 70 {
				began := time.Now()
				if err := b.Pause(t.Context(), late); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got != want {
					t.Errorf("%s, pause %d: got %v, want %v", name, b.Tries, got, want)
				}
				want = min(2*want, c.greatest)
			}
		})
	}
}

func TestPausesAreRandom(t *testing.T) {
	b := Backoff{First: time.Millisecond, Longest: time.Millisecond}
	seen := map[time.Duration]bool{}
	for range 100 {
		d := b.next()
		if seen[d] = true; d < time.Millisecond/2 || d >= time.Millisecond {
			t.Errorf("got %v, want between a half and the whole of a millisecond", d)
		}
	}
	if len(seen) < 10 {
		t.Errorf("got %d different pauses of 100", len(seen))
	}
}

// The last attempt is made at the deadline, not after it.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := Backoff{First: 300 * time.Millisecond, Longest: time.Hour, Until: began.Add(time.Second)}
		var err error
		for err == nil {
			err = b.Pause(t.Context(), late)
		}
		if passed := time.Since(began); err != errLate || passed != time.Second {
			t.Errorf("got %v after %v, want late after a second", err, passed)
		}
		if err := (&Backoff{First: time.Second, Longest: time.Second, Until: began}).Pause(t.Context(), late); err != errLate {
			t.Errorf("a deadline that is over: got %v", err)
		}
	})
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		b := Backoff{First: time.Hour, Longest: time.Hour, Until: began.Add(2 * time.Second)}
		for range 2 { // while it waits, and before
			if err := b.Pause(ctx, late); err != context.Canceled || time.Since(began) != time.Second {
				t.Errorf("got %v after %v, want it cancelled after a second", err, time.Since(began))
			}
		}
	})
}
