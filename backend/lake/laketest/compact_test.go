package laketest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// compacting is a lake that compacts everything after every other commit.
type compacting struct {
	*lake.Backend
	mu   sync.Mutex // guards made
	made int
}

func (c *compacting) compact(ctx context.Context) error {
	c.mu.Lock()
	c.made++
	due := c.made%2 == 0
	c.mu.Unlock()
	if !due {
		return nil
	}
	plan, err := c.PlanCompaction(ctx, &backend.CompactionOptions{All: true})
	if err == nil {
		_, err = c.Compact(ctx, plan, nil)
	}
	if errors.Is(err, onto.Closed) { // the commit is there all the same
		return nil
	}
	return err
}

func (c *compacting) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	res, err := c.Backend.Append(ctx, d)
	if err == nil {
		err = c.compact(context.WithoutCancel(ctx))
	}
	return res, err
}

func (c *compacting) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	res, err := c.Backend.AppendStream(ctx, d, writes)
	if err == nil {
		err = c.compact(context.WithoutCancel(ctx))
	}
	return res, err
}

// Answers are the same whatever was compacted, also beside writers and readers.
func TestContractWithCompaction(t *testing.T) {
	var buckets sync.Map
	backendtest.Run(t, backendtest.Target{
		Operations: 500, Again: 2,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			b, _ := buckets.LoadOrStore(p.Name, memory.New(nil))
			return &compacting{Backend: open(t, kept{b.(bucket.Bucket)}, p, 0).(*lake.Backend)}
		},
	})
}

// putThings is a draft that puts things.
func putThings(keys ...string) *backend.Draft {
	d := &backend.Draft{}
	for _, key := range keys {
		d.Writes = append(d.Writes, backend.Write{
			Identity: onto.EntityID("Thing", key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q}`, key), SchemaVersion: 1,
		})
	}
	return d
}

func things() *backend.Registration {
	return &backend.Registration{Schemas: []onto.Schema{{
		Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}},
	}}}
}

// openThings opens a lake with a type.
func openThings(t *testing.T, b bucket.Bucket, o lake.Options) *lake.Backend {
	t.Helper()
	o.Trusted = true
	l, err := lake.Open(t.Context(), kept{b}, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := l.Register(t.Context(), things()); err != nil {
		t.Fatal(err)
	}
	return l
}

func count(t *testing.T, l *lake.Backend) int {
	t.Helper()
	n := 0
	for _, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// hours is a clock that is moved by hand, also during concurrent reads of it.
type hours struct{ passed atomic.Int64 }

func (h *hours) now() time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(h.passed.Load()) * time.Hour)
}

func (h *hours) pass(n int64) { h.passed.Add(n) }

// A reader that knows files which a compaction has replaced and a janitor has removed
// reads those of the newest head. The janitor waits until no reader can be about to
// read them.
func TestReplacedFiles(t *testing.T) {
	clock := &hours{}
	b := memory.New(&memory.Options{Now: clock.now})
	w := openThings(t, b, lake.Options{})
	for i := range 30 {
		if _, err := w.Append(t.Context(), putThings(fmt.Sprint("k", i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, inProcess := range []int64{0, -1} {
		r := openThings(t, b, lake.Options{InProcess: inProcess})
		if got, err := r.Resolve(t.Context(), onto.Point{}); err != nil || got.ID < 30 { // now it knows the files
			t.Fatalf("got %v, %v", got, err)
		}
		clock.pass(2)
		plan, err := w.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if merged, err := w.Compact(t.Context(), plan, nil); err != nil || merged != len(plan.Items) {
			t.Fatalf("got %d, %v", merged, err)
		}
		if early := replacedKeys(t, w); inProcess == 0 && len(early) > 0 {
			t.Errorf("removed at once: %v", early)
		}
		clock.pass(2)
		if _, err := w.Append(t.Context(), putThings("late")); err != nil { // tells the bucket's time
			t.Fatal(err)
		}
		orphans, err := w.PlanJanitor(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := replacedKeys(t, w); inProcess == 0 && len(got) != 30 {
			t.Errorf("got %d replaced files, want 30: %v", len(got), got)
		}
		if _, err := w.Sweep(t.Context(), orphans); err != nil {
			t.Fatal(err)
		}
		if got := count(t, r); got != 31 {
			t.Errorf("got %d things, want 31", got)
		}
		if v, err := r.Get(t.Context(), onto.EntityID("Thing", "k7"), backend.Head); err != nil || v.Commit != 8 {
			t.Errorf("got %v, %v", v, err)
		}
	}
}

func replacedKeys(t *testing.T, l *lake.Backend) []string {
	t.Helper()
	plan, err := l.PlanJanitor(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range plan.Orphans {
		if o.Reason == "replaced" && strings.HasPrefix(o.Key, "commits/") {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// What is due is merged with few files left, and a file that is merged is not
// lost to a commit beside it.
func TestCompactBesideWriters(t *testing.T) {
	b := memory.New(nil)
	l := openThings(t, b, lake.Options{})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 60 {
				if _, err := l.Append(t.Context(), putThings(fmt.Sprintf("w%d-%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	for range 2 {
		wg.Go(func() {
			other, err := lake.Open(t.Context(), kept{b}, &lake.Options{Trusted: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close()
			other.CompactEvery(ctx, time.Millisecond, func(err error) {
				if !errors.Is(err, onto.Unavailable) && !errors.Is(err, onto.LockContention) {
					t.Error(err)
				}
			})
		})
	}
	for got := 0; got < 180; got = count(t, l) {
	}
	stop()
	wg.Wait()
	if got := count(t, l); got != 180 {
		t.Errorf("got %d things, want 180", got)
	}
}

func TestPlanCompaction(t *testing.T) {
	l := openThings(t, memory.New(nil), lake.Options{})
	plan := func(o *backend.CompactionOptions) []backend.CompactionItem {
		p, err := l.PlanCompaction(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Items
	}
	for i := range 11 {
		if _, err := l.Append(t.Context(), putThings(fmt.Sprint(i), "same")); err != nil {
			t.Fatal(err)
		}
	}
	if got := plan(nil); len(got) != 0 {
		t.Errorf("11 files are due: %v", got)
	}
	if got := plan(&backend.CompactionOptions{All: true}); len(got) != 1 || got[0].Files != 11 || got[0].First != 1 || got[0].Last != 11 || got[0].Rows != 12 {
		t.Errorf("got %+v", got)
	}
	if _, err := l.Append(t.Context(), putThings("more")); err != nil {
		t.Fatal(err)
	}
	if got := plan(&backend.CompactionOptions{Type: "Thing"}); len(got) != 1 || got[0].Files != 12 {
		t.Errorf("got %+v", got)
	}
	if _, err := l.PlanCompaction(t.Context(), &backend.CompactionOptions{Type: "Thin"}); !errors.Is(err, onto.Invalid) {
		t.Errorf("got %v", err)
	}
	keys := slices.Collect(func(yield func(string) bool) {
		for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", Mode: backend.History, At: backend.Head}) {
			if err != nil || !yield(v.Key) {
				return
			}
		}
	})
	if len(keys) != 13 {
		t.Errorf("got %v", keys)
	}
}
