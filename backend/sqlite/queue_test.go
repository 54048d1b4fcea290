package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// A long stream makes others wait no longer than their timeouts.
func TestLongStreamDoesNotTrapCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	b := open(t, path, &sqlite.Options{LockTimeout: 20 * time.Millisecond})
	inside, release := make(chan struct{}), make(chan struct{})
	streamed := make(chan error, 1)
	go func() {
		_, err := b.AppendStream(t.Context(), &backend.Draft{}, func(yield func(backend.Write, error) bool) {
			close(inside)
			<-release
			yield(thingDraft("streamed", 1).Writes[0], nil)
		})
		streamed <- err
	}()
	<-inside
	if _, err := b.Append(t.Context(), thingDraft("a", 1)); !errors.Is(err, onto.LockContention) {
		t.Errorf("append: got %v, want LockContention", err)
	}
	if _, err := b.AppendStream(t.Context(), &backend.Draft{}, nil); !errors.Is(err, onto.LockContention) {
		t.Errorf("stream: got %v, want LockContention", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Append(ctx, thingDraft("b", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
	close(release)
	if err := <-streamed; err != nil {
		t.Errorf("the stream: %v", err)
	}
	if r, err := b.Append(t.Context(), thingDraft("c", 1)); err != nil || r.ID != 2 {
		t.Errorf("afterwards: got commit %d, error %v; want 2", r.ID, err)
	}
}

// Callers that leave the queue at any moment affect no others: all others are committed
// once, and what was acknowledged is there.
func TestLeavingTheQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	b := open(t, path, nil)
	const callers, rounds = 16, 20
	var mu sync.Mutex
	acks, left := map[string]int64{}, 0
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprintf("%d-%d", g, i)
				ctx, cancel := context.WithCancel(t.Context())
				if g%2 == 0 { // half of them give up
					go cancel()
				}
				r, err := b.Append(ctx, thingDraft(key, i))
				cancel()
				mu.Lock()
				if err == nil {
					acks[key] = r.ID
				} else if errors.Is(err, context.Canceled) {
					left++
				} else {
					t.Errorf("%s: %v", key, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	wantAcknowledged(t, b, acks)
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil || head.ID != int64(len(acks)) || len(acks)+left != callers*rounds {
		t.Errorf("head %d, %d acknowledged, %d left, error %v; want as many commits as acknowledgements", head.ID, len(acks), left, err)
	}
	t.Logf("%d acknowledged, %d left the queue", len(acks), left)
}

// Many processes that make the same new store at once get one store.
func TestManyMakeOneStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
				return
			}
			defer b.Close()
			info, err := b.Describe(t.Context(), true)
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
			}
			ids[i] = info.StoreID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("got store ids %v, want one", ids)
			break
		}
	}
}

// When the commit of a group fails, no caller is told about a head that does not exist.
func TestVerdictsOfAFailedGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	b := open(t, path, nil)
	planted := errors.New("planted")
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // holds the lock while the others gather
		b.AppendStream(t.Context(), &backend.Draft{}, func(func(backend.Write, error) bool) {
			close(inside)
			<-release
		})
	})
	<-inside
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() {
			d := thingDraft(fmt.Sprint(i), i)
			d.Expect = []onto.Expectation{{Head: true}}
			_, errs[i] = b.Append(t.Context(), d)
		})
	}
	for b.Waiting() < len(errs) {
		runtime.Gosched()
	}
	b.FailAt("commit", planted)
	close(release)
	wg.Wait()
	for i, err := range errs {
		if !errors.Is(err, planted) {
			t.Errorf("member %d: got %v, want what the group failed with", i, err)
		}
	}
	if head, err := b.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != 0 {
		t.Errorf("head: got %d, error %v; want 0", head.ID, err)
	}
}
