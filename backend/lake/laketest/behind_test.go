package laketest

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

// many is more heads than a head remembers.
const many = 66

// appendMany lets a lake commit more often than a head remembers.
func appendMany(t *testing.T, l *lake.Backend, from int) {
	t.Helper()
	for i := range many {
		if _, err := l.Append(t.Context(), oneNote(from+i)); err != nil {
			t.Fatal(err)
		}
	}
}

// twoLakes opens a lake of notes twice, through two buckets.
func twoLakes(t *testing.T, b, plain bucket.Bucket, o lake.Options) (l, other *lake.Backend) {
	t.Helper()
	l, other = openPieces(t, kept{b}, &o), openPieces(t, kept{plain}, &lake.Options{})
	t.Cleanup(func() {
		l.Close()
		other.Close()
	})
	registerNotes(t, l)
	return l, other
}

// A writer that has slept while others committed continues: with a draft, with one that
// carries a lease, with a lease that is renewed late, and with types.
func TestSleeper(t *testing.T) {
	ctx := t.Context()
	now := time.Now()
	b := memory.New(nil)
	l, other := twoLakes(t, b, b, lake.Options{Now: func() time.Time { return now }})
	next := 1_000
	sleep := func() {
		appendMany(t, other, next)
		next += many
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := l.Append(ctx, oneNote(0))
	must("the first", err)
	sleep()
	_, err = l.Append(ctx, oneNote(1))
	must("a draft", err)
	sleep()
	lease, err := l.Acquire(ctx, &backend.LeaseRequest{Name: "import", Owner: "test", TTL: time.Minute})
	must("a lease", err)
	sleep()
	d := oneNote(2)
	d.Lease = &lease
	_, err = l.Append(ctx, d)
	must("a draft with a lease", err)
	sleep()
	now = now.Add(50 * time.Second)
	lease, err = l.Renew(ctx, lease, time.Minute)
	must("a late renewal", err)
	sleep()
	must("a release", l.Release(ctx, lease))
	sleep()
	_, err = l.Register(ctx, things())
	must("a type", err)
	sleep()
	plan, err := l.PlanCompaction(ctx, &backend.CompactionOptions{All: true})
	must("a plan", err)
	sleep()
	_, err = l.Compact(ctx, plan, nil)
	must("a compaction", err)
	backendtest.Check(t, l)
}

// A long stream that falls behind by more heads than a head remembers is decided once
// more, under the write lease.
func TestStreamBesideManyCommits(t *testing.T) {
	b := memory.New(nil)
	l, other := twoLakes(t, b, b, lake.Options{StreamBytes: 3000})
	for _, lease := range []string{"", "import"} {
		d := streamDraft("")
		if lease != "" {
			held, err := l.Acquire(t.Context(), &backend.LeaseRequest{Name: lease, Owner: "test", TTL: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			d.Lease = &held
		}
		asked := 0
		d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
			if asked++; asked == 50 {
				appendMany(t, other, 1_000_000+len(lease)*1000)
			}
			return true, nil
		}
		from := len(lease) * 1000 // what is not there yet
		if res, err := l.AppendStream(t.Context(), d, notes(from, 300, 20)); err != nil || res.Operations != 300 || asked != 600 {
			t.Errorf("with the lease %q: got %d operations after %d questions, %v; want 300 after 600", lease, res.Operations, asked, err)
		}
	}
	backendtest.Check(t, l)
}

// An import beside a writer that never pauses is committed.
func TestImportBesideWriter(t *testing.T) {
	rows := effort.Count(t, 200_000)
	b := memory.New(nil)
	l, other := twoLakes(t, b, b, lake.Options{StreamBytes: 256 << 10})
	commits, committed := 0, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			switch _, err := other.Append(ctx, oneNote(8_000_000+n)); {
			case err == nil:
				commits++
				select {
				case committed <- struct{}{}:
				default:
				}
			case ctx.Err() != nil:
				ended <- nil
				return
			case onto.CodeOf(err) != onto.LockContention: // the import has the lease
				ended <- err
				return
			}
		}
	}()
	d := streamDraft("")
	asked := 0
	d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
		if asked++; asked == rows/2 { // for the first decision no lease stops the writer
			for range many {
				<-committed
			}
		}
		return true, nil
	}
	res, err := l.AppendStream(t.Context(), d, notes(0, rows, 20))
	stop()
	if err != nil || res.Operations != rows {
		t.Errorf("got %d operations, %v; want %d", res.Operations, err, rows)
	}
	if err := <-ended; err != nil {
		t.Errorf("the writer: %v", err)
	}
	t.Logf("%d rows beside %d commits", rows, commits)
	backendtest.Check(t, l)
}

// denier is a bucket that applies the next swap of the head, lets other writers
// continue and then reports that it failed.
type denier struct {
	bucket.Bucket
	meanwhile atomic.Pointer[func()] // nil if no swap is denied
}

func (d *denier) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	tag, err := d.Bucket.Swap(ctx, key, data, old)
	if key != "meta/head.json" {
		return tag, err
	}
	if meanwhile := d.meanwhile.Swap(nil); meanwhile != nil {
		(*meanwhile)()
		return "", bucket.ErrChanged
	}
	return tag, err
}

// reporting is a bucket that reports swaps. Several may be reported as one.
type reporting struct {
	bucket.Bucket
	swapped chan<- struct{}
}

func (r reporting) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	tag, err := r.Bucket.Swap(ctx, key, data, old)
	select {
	case r.swapped <- struct{}{}:
	default: // one is there
	}
	return tag, err
}

// catalogPath is the catalog that the head names.
func catalogPath(t *testing.T, b bucket.Bucket) string {
	t.Helper()
	o, err := b.Get(t.Context(), "meta/head.json", bucket.Range{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Catalog string `json:"catalog_path"`
	}
	if err := json.Unmarshal(o.Data, &head); err != nil {
		t.Fatal(err)
	}
	return head.Catalog
}

func noWrites() iter.Seq2[backend.Write, error] { return func(func(backend.Write, error) bool) {} }

// A change that was published, reported as failed and forgotten by heads is found
// again, or repeated where that changes nothing. Where neither is possible, the outcome
// is unknown.
func TestDeniedAndForgotten(t *testing.T) {
	ctx := t.Context()
	b := memory.New(nil)
	d, swapped := &denier{Bucket: b}, make(chan struct{}, 1)
	l, other := twoLakes(t, d, reporting{b, swapped}, lake.Options{StreamBytes: 3000})
	next := 1_000_000
	meanwhile := func() {
		before := catalogPath(t, b)
		appendMany(t, other, next)
		next += many
		for catalogPath(t, b) == before { // its checkpoint swaps the head, too
			select {
			case <-swapped:
			case <-t.Context().Done():
				return
			}
		}
	}
	deny := func() { d.meanwhile.Store(&meanwhile) }
	deny()
	if res, err := l.Append(ctx, oneNote(0)); err != nil || res.Commit.ID != 1 {
		t.Errorf("a draft: got commit %d, %v; want 1", res.Commit.ID, err)
	}
	deny()
	res, err := l.AppendStream(ctx, streamDraft(""), notes(1, 300, 20))
	if err != nil || res.Commit.ID != many+2 || res.Operations != 300 {
		t.Errorf("a stream: got commit %d, %v; want %d", res.Commit.ID, err, many+2)
	}
	deny()
	if named, err := l.Register(ctx, things()); err != nil || len(named) != 1 {
		t.Errorf("a type: got %v, %v", named, err)
	}
	plan, err := l.PlanCompaction(ctx, &backend.CompactionOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	deny()
	if merged, err := l.Compact(ctx, plan, nil); merged != 1 || err != nil {
		t.Errorf("a compaction: got %d, %v; want it merged", merged, err)
	}
	backendtest.Check(t, l)
	all, err := l.Schemas(ctx)
	if err != nil {
		t.Fatal(err)
	}
	deny()
	_, err = l.AppendStream(ctx, &backend.Draft{Evolve: &backend.Evolution{
		Base: typelist.Hash(all), End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Thing"}},
	}}, noWrites())
	if onto.CodeOf(err) != onto.OutcomeUnknown {
		t.Errorf("dropping a type: got %v, want that nobody knows", err)
	}
	backendtest.Check(t, l)
	if res, err := l.Append(ctx, oneNote(500)); err != nil {
		t.Errorf("the next: got %v, %v", res, err)
	}
	found := 0
	for _, err := range l.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: "Note", At: backend.Head}) {
		if found++; err != nil {
			t.Fatal(err)
		}
	}
	if want := 302 + 5*many; found != want {
		t.Errorf("got %d notes, want %d", found, want)
	}
}
