package lake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// original is a lake whose documents are changed in copies of it.
type original struct {
	bucket *memory.Bucket
	tip    *tip
	keys   []string // of all objects
}

// originalOf is the lake in a bucket that nobody changes any more.
func originalOf(t testing.TB, b *memory.Bucket) *original {
	t.Helper()
	l := &log{b: b, set: settings{patience: time.Second}}
	tip, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := &original{bucket: b, tip: tip}
	for e, err := range l.each(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		o.keys = append(o.keys, e.Key)
	}
	return o
}

func (o *original) read(t testing.TB, key string) []byte {
	t.Helper()
	object, err := o.bucket.Get(context.Background(), key, bucket.Range{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return object.Data
}

// large is the sample, with a write lease that is held.
func large(t testing.TB) *original {
	t.Helper()
	s := openSample(t, makeSample(t), 10*time.Second)
	s.lease(onto.WriteLease, 24*time.Hour)
	return originalOf(t, s.bucket)
}

func (s *sample) lease(name string, ttl time.Duration) {
	s.Helper()
	_, err := s.lake.Acquire(s.Context(), &backend.LeaseRequest{Name: name, Owner: "me", TTL: ttl})
	s.must(err)
}

// smallTime is when the small lake was made. Its leases last an hour.
var smallTime = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)

// small is a lake of a few rounds that has everything that a large one has: ended and
// purged types, compacted files, checkpoints of two levels, rounds that none lists, a
// round of two commits, idempotency keys and leases. It is the same each time, byte
// for byte, so that the corpus of a fuzzer fits it.
func small(t testing.TB) *original {
	t.Helper()
	ctx, now := t.Context(), smallTime
	var attempts atomic.Int64
	set := settings{
		now: func() time.Time { return now }, jitter: rand.Int64N, patience: DefaultPatience,
		attempt: func() string { return fmt.Sprintf("A%015d", attempts.Add(1)) },
	}
	b := memory.New(&memory.Options{Now: func() time.Time { return smallTime }})
	_, err := (&log{b: b, set: set}).makeLake(ctx, "SMALL")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(ctx, unclosed{b}, &Options{Trusted: true, MustExist: true, Now: set.now})
	if err != nil {
		t.Fatal(err)
	}
	l.log.set.attempt = set.attempt
	s := &sample{t, b, l}
	_, err = l.Register(ctx, &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	person := func(i int) backend.Write { return entityPut("Person", fmt.Sprint("p", i), 2, i) }
	wider := sampleSchemas()[0]
	wider.Fields = append(wider.Fields, onto.Field{Name: "note", Type: onto.String, Optional: true})
	for _, round := range []func(){
		func() {
			s.commit("k1", entityPut("Person", "a", 1, 1), entityPut("Person", "b", 1, 1), entityPut("City", "rome", 1, 1), entityPut("Ghost", "g", 1, 1), knowsPut("a", "b", 1))
		},
		func() {
			s.commit("", ended(entityPut("Person", "b", 1, 0)), ended(knowsPut("a", "b", 0)), entityPut("Ghost", "g", 1, 2))
		},
		func() {
			s.evolve(backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "City"}}}, ended(entityPut("City", "rome", 1, 0)))
		},
		func() {
			s.evolve(backend.Evolution{End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Ghost", Purge: true}}})
		},
		func() {
			s.evolve(backend.Evolution{Add: []backend.NewVersion{{Schema: wider}}}, entityPut("Person", "c", 2, 1))
		},
		s.compact,
		func() { s.commit("k2", person(1)) },
		func() { s.checkpoint(3); s.checkpoint(2); s.branch() },
		func() { s.together(person(2), person(3)) },
		func() { s.commit("", person(4)) },
		func() { s.checkpoint(2) },
		func() { s.commit("k3", person(5), knowsPut("a", "p1", 1)) },
		func() { s.commit("", person(6)) },
		func() { s.lease(onto.WriteLease, time.Hour); s.lease("nightly", time.Hour) },
	} {
		now = now.Add(time.Second)
		round()
	}
	s.must(l.deriver.rest(ctx))
	for _, key := range below("meta/indices/")(t, originalOf(t, b)) { // which heads they were made from depends on time
		s.remove(key)
	}
	_, err = l.RepairIndex(ctx, true)
	s.must(err)
	s.must(l.Close())
	return originalOf(t, b)
}

// compact merges all files.
func (s *sample) compact() {
	s.Helper()
	plan, err := s.lake.PlanCompaction(s.Context(), &CompactionOptions{All: true})
	s.must(err)
	_, err = s.lake.Compact(s.Context(), plan, nil)
	s.must(err)
}

// checkpoint lists some of the rounds that no checkpoint lists.
func (s *sample) checkpoint(rounds int) {
	s.Helper()
	log, t := s.lake.log, s.tip()
	list, err := log.since(s.Context(), t, t.catalog.covered())
	s.must(err)
	doc := &checkpoint{StoreID: t.head.StoreID, First: list[0].manifest.First}
	for _, r := range list[:rounds] {
		doc.Last = r.manifest.CommitID
		doc.Rounds = append(doc.Rounds, roundFull{r.manifest.entry(), r.manifest.Files})
		doc.Keys = append(doc.Keys, r.manifest.keys()...)
	}
	s.must(log.addCheckpoint(s.Context(), doc, 0))
}

// branch lets one checkpoint stand for all.
func (s *sample) branch() {
	s.Helper()
	ctx, log, t := s.Context(), s.lake.log, s.tip()
	doc, err := log.branch(ctx, t, t.catalog.Checkpoints)
	s.must(err)
	e := doc.Children[0]
	e.Last, e.Path, e.SHA256, e.Level = doc.Last, checkpointPath(doc.Last, log.set.attempt()), hashOf(encode(doc)), 1
	s.must(log.create(ctx, object{e.Path, encode(doc)}))
	_, err = log.change(ctx, func(c *catalog, _ int64) (bool, error) { c.Checkpoints = []checkpointEntry{e}; return true, nil })
	s.must(err)
}

// together commits writes in one round, each alone, in order.
func (s *sample) together(writes ...backend.Write) {
	s.Helper()
	s.lake.publishing <- struct{}{} // until all are in the queue
	var callers sync.WaitGroup
	errs := make([]error, len(writes))
	for i, w := range writes {
		callers.Go(func() { _, errs[i] = s.lake.Append(s.Context(), &backend.Draft{Writes: []backend.Write{w}}) })
		for s.lake.queue.Len() <= i {
			runtime.Gosched()
		}
	}
	<-s.lake.publishing
	callers.Wait()
	s.must(errors.Join(errs...))
}

// The small lake is sound, the same each time, and has what it is made for.
func TestSmallLake(t *testing.T) {
	one, two := small(t), small(t)
	for _, key := range one.keys {
		if a, b := one.read(t, key), two.read(t, key); string(a) != string(b) {
			t.Errorf("%s differs:\n%s\n%s", key, a, b)
		}
	}
	c := one.tip.catalog
	if n := len(c.Checkpoints); n != 2 || c.Checkpoints[0].Level != 1 || c.Through == 0 || one.tip.manifest.CommitID <= c.covered() {
		t.Errorf("got %d checkpoints up to %d of %d commits, and files through %d", n, c.covered(), one.tip.manifest.CommitID, c.Through)
	}
	for f, err := range CheckBucket(t.Context(), unclosed{one.bucket}, nil, nil) {
		t.Errorf("got the finding %v, %v", f, err)
	}
}
