package laketest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/faulty"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

func oneNote(k int) *backend.Draft {
	d := streamDraft("")
	d.Writes = []backend.Write{{
		Identity: onto.EntityID("Note", fmt.Sprintf("k%07d", k)), Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"n":%d,"text":""}`, k),
	}}
	return d
}

// interrupting is a draft during whose first decision another writer commits.
func interrupting(t *testing.T, other *lake.Backend) *backend.Draft {
	d := streamDraft("")
	asked := 0
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked != 50 {
			return true, nil
		}
		_, err := other.Append(t.Context(), oneNote(9_000_000))
		return true, err
	}
	return d
}

func wantNoLease(t *testing.T, l *lake.Backend) {
	t.Helper()
	if leases, err := l.Leases(t.Context()); err != nil || len(leases) > 0 {
		t.Errorf("leases: %v, %v", leases, err)
	}
}

// gate is a bucket of which one swap waits, once it is armed.
type gate struct {
	bucket.Bucket
	armed         atomic.Bool
	entered, open chan struct{}
}

func (g *gate) Swap(ctx context.Context, key string, data []byte, tag bucket.Tag) (bucket.Tag, error) {
	if g.armed.CompareAndSwap(true, false) {
		close(g.entered)
		<-g.open
	}
	return g.Bucket.Swap(ctx, key, data, tag)
}

// A member that panics while a round is decided fails alone.
func TestPanicInGroup(t *testing.T) {
	g := &gate{Bucket: memory.New(nil), entered: make(chan struct{}), open: make(chan struct{})}
	l := openPieces(t, g, &lake.Options{})
	defer l.Close()
	registerNotes(t, l)
	begin := func(f func() error) chan any {
		end := make(chan any, 1)
		go func() {
			defer func() { end <- recover() }()
			if err := f(); err != nil {
				panic(err)
			}
		}()
		return end
	}
	appending := func(k int) func() error {
		return func() error {
			_, err := l.Append(t.Context(), oneNote(k))
			return err
		}
	}
	g.armed.Store(true)
	ends := []chan any{begin(appending(0))}
	<-g.entered // it leads: the others gather
	panicking := begin(func() error {
		d := streamDraft("")
		d.Admit = func(*backend.Write, *onto.Version) (bool, error) { panic("out of Admit") }
		_, err := l.AppendStream(t.Context(), d, notes(10, 2, 20))
		return err
	})
	ends = append(ends, begin(appending(1)), begin(appending(2)))
	close(g.open)
	for i, end := range ends {
		if got := <-end; got != nil {
			t.Errorf("append %d ended with %v", i, got)
		}
	}
	if got := <-panicking; got != "out of Admit" {
		t.Errorf("who panicked got %v", got)
	}
	wantNotes(t, l, 3)
}

// A compaction takes the parts of a file together or not at all.
func TestDueTakesWholeRanges(t *testing.T) {
	l := openPieces(t, memory.New(nil), &lake.Options{StreamBytes: 4000, FileBytes: 5_000})
	defer l.Close()
	registerNotes(t, l)
	for i := range 11 {
		if _, err := l.Append(t.Context(), oneNote(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.AppendStream(t.Context(), streamDraft(""), notes(11, 300, 1000)); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, false, true} {
		plan, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{All: all})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Compact(t.Context(), plan, nil); err != nil {
			t.Fatal(err)
		}
		wantTidy(t, l)
		wantNotes(t, l, 311)
	}
}

// A lock whose write was sent twice by a proxy is the writer's own.
func TestLockSentTwice(t *testing.T) {
	b := kept{memory.New(nil)}
	other := openPieces(t, b, &lake.Options{})
	defer other.Close()
	registerNotes(t, other)
	again := faulty.New(b, faulty.Plan{Rules: []faulty.Rule{{Call: "write", Key: "meta/locks", Fault: faulty.Again, At: 1}}})
	l := openPieces(t, kept{again}, &lake.Options{StreamBytes: 3000})
	defer l.Close()
	if _, err := l.AppendStream(t.Context(), interrupting(t, other), notes(0, 80, 60)); err != nil {
		t.Error(err)
	}
	wantNoLease(t, other)
}

// A stream that carries another lease takes the write lease beside it.
func TestStreamWithOwnLease(t *testing.T) {
	b := kept{memory.New(nil)}
	l, other := openPieces(t, b, &lake.Options{StreamBytes: 2000}), openPieces(t, b, &lake.Options{})
	defer l.Close()
	defer other.Close()
	registerNotes(t, l)
	for _, held := range []bool{true, false} {
		lease, err := l.Acquire(t.Context(), &backend.LeaseRequest{Name: "import", Owner: "test", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		d := interrupting(t, other)
		d.Lease = &lease
		if !held {
			if err := l.Release(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
		_, err = l.AppendStream(t.Context(), d, notes(0, 300, 20))
		if held && err != nil || !held && onto.CodeOf(err) != onto.LeaseExpired {
			t.Errorf("held %v: %v", held, err)
		}
		if held {
			if err := l.Release(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
		wantNoLease(t, other)
	}
}

// Closing ends a stream that is being read, or that lost to other commits; one that is
// being published is finished.
func TestCloseEndsStream(t *testing.T) {
	b := kept{memory.New(nil)}
	other := openPieces(t, b, &lake.Options{})
	defer other.Close()
	registerNotes(t, other)
	for _, at := range []int{0, 5, 150, 299} {
		l := openPieces(t, b, &lake.Options{StreamBytes: 2000})
		closed := make(chan error, 1)
		var once sync.Once
		_, err := l.AppendStream(t.Context(), streamDraft(""), func(yield func(backend.Write, error) bool) {
			i := 0
			for w := range notes(0, 300, 20) {
				if i == at {
					once.Do(func() { go func() { closed <- l.Close() }() })
				}
				if i++; !yield(w, nil) {
					return
				}
			}
		})
		if err != nil && onto.CodeOf(err) != onto.Closed {
			t.Errorf("closed at %d: %v", at, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	l := openPieces(t, b, &lake.Options{StreamBytes: 2000})
	d := interrupting(t, other)
	closed, admit, asked := make(chan error, 1), d.Admit, 0
	d.Admit = func(w *backend.Write, v *onto.Version) (bool, error) {
		if asked++; asked == 60 {
			go func() { closed <- l.Close() }()
		}
		return admit(w, v)
	}
	if _, err := l.AppendStream(t.Context(), d, notes(0, 300, 20)); err != nil && onto.CodeOf(err) != onto.Closed {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantNoLease(t, other)
}

// A cache whose folder was removed meanwhile makes another.
func TestStreamWithoutFolder(t *testing.T) {
	dir := t.TempDir()
	l := openPieces(t, memory.New(nil), &lake.Options{StreamBytes: 2000, CacheDir: dir})
	defer l.Close()
	registerNotes(t, l)
	if err := os.RemoveAll(filepath.Join(dir, "process")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendStream(t.Context(), streamDraft(""), notes(0, 300, 20)); err != nil {
		t.Error(err)
	}
	wantNotes(t, l, 300)
}
