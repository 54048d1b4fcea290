package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
)

// take takes a lease for a minute.
func take(t *testing.T, b *memory.Backend, name, owner string, wait time.Duration) onto.Lease {
	t.Helper()
	l, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: name, Owner: owner, TTL: time.Minute, Wait: wait})
	if err != nil {
		t.Fatalf("%s takes %s: %v", owner, name, err)
	}
	return l
}

// The clock of these tests is that of the bubble, for the store and for waiting.

func TestLeaseIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		first := take(t, s.Open(), "import", "one", 0)
		second := take(t, s.Open(), "import", "two", time.Hour)
		if second.Epoch <= first.Epoch || time.Now().Before(first.Expires) || time.Since(first.Expires) > time.Second {
			t.Errorf("got %v at %v, want it soon after %v", second, time.Now(), first.Expires)
		}
		before := time.Now()
		_, err := s.Open().Acquire(t.Context(), &backend.LeaseRequest{Name: "import", Owner: "one", TTL: time.Minute, Wait: 7 * time.Second})
		if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "two") || time.Since(before) != 7*time.Second {
			t.Errorf("got error %v after %v, want contention with two after 7s", err, time.Since(before))
		}
	})
}

func TestWriteLeaseIsWaitedFor(t *testing.T) {
	for _, test := range []struct {
		options *memory.Options
		want    time.Duration
	}{
		{nil, memory.DefaultLockTimeout}, {&memory.Options{LockTimeout: 9 * time.Second}, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := memory.New(test.options).Open()
			l := take(t, b, onto.WriteLease, "one", 0)
			before := time.Now()
			_, err := b.Append(t.Context(), &backend.Draft{})
			if !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "one") || time.Since(before) != test.want {
				t.Errorf("got error %v after %v, want contention with one after %v", err, time.Since(before), test.want)
			}
			if _, err := b.Append(t.Context(), &backend.Draft{Lease: &l}); err != nil {
				t.Errorf("the holder: %v", err)
			}
			before = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = b.Append(ctx, &backend.Draft{})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(before) != time.Second {
				t.Errorf("got error %v after %v, want the deadline after 1s", err, time.Since(before))
			}
		})
	}
}

func TestWaitingEndsWithTheHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		b := s.Open()
		take(t, s.Open(), "import", "one", 0)
		done := make(chan error, 1)
		go func() {
			_, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: "import", Owner: "two", TTL: time.Minute, Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, onto.Closed) {
			t.Errorf("got error %v, want %v", err, onto.Closed)
		}
	})
}
