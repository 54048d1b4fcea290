package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// original is a lake whose documents are changed in copies of it.
type original struct {
	bucket *memory.Bucket
	tip    *protocol.Tip
	keys   []string // of all objects
}

// originalOf is the lake in a bucket that does not change any more.
func originalOf(t testing.TB, b *memory.Bucket) *original {
	t.Helper()
	l := protocol.NewLog(b, protocol.Settings{Patience: time.Second})
	tip, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := &original{bucket: b, tip: tip}
	for e, err := range l.Each(t.Context(), "") {
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
	set := protocol.Settings{
		Now: func() time.Time { return now }, Jitter: rand.Int64N, Patience: DefaultPatience,
		Attempt: func() string { return fmt.Sprintf("A%015d", attempts.Add(1)) },
	}
	b := memory.New(&memory.Options{Now: func() time.Time { return smallTime }})
	_, err := protocol.NewPublisher(protocol.NewLog(b, set)).MakeLake(ctx, "SMALL")
	if err != nil {
		t.Fatal(err)
	}
	l := newBackend(unclosed{b}, &Options{Trusted: true, MustExist: true, Now: set.Now})
	l.follow(set)
	if err := l.open(ctx); err != nil {
		t.Fatal(err)
	}
	s := &sample{t, b, l}
	_, err = l.Register(ctx, &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	person := func(i int) backend.Write { return entityPut("Person", fmt.Sprint("p", i), 2, i) }
	wider := sampleSchemas()[0]
	wider.Fields = append(wider.Fields, onto.Field{Name: "note", Type: onto.String, Optional: true})
	for _, round := range []func(){
		func() {
			s.commit("k1", entityPut("Person", "a", 1, 1), entityPut("Person", "b", 1, 1), entityPut("City", "rome", 1, 1), entityPut("Ghost", "g", 1, 1), salaryPut("c", "s1", 1), salaryPut("b", "s2", 1), knowsPut("a", "b", 1))
		},
		func() {
			s.commit("", ended(entityPut("Person", "b", 1, 0)), ended(salaryPut("b", "s2", 0)), ended(knowsPut("a", "b", 0)), entityPut("Ghost", "g", 1, 2))
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
		func() { s.checkpoint(3, set.Attempt()); s.checkpoint(2, set.Attempt()); s.branch(set.Attempt()) },
		func() { s.together(person(2), person(3)) },
		func() { s.commit("", person(4)) },
		func() { s.checkpoint(2, set.Attempt()) },
		func() { s.commit("k3", person(5), salaryPut("p1", "s3", 1), knowsPut("a", "p1", 1)) },
		func() { s.commit("", person(6)) },
		func() { s.lease(onto.WriteLease, time.Hour); s.lease("nightly", time.Hour) },
	} {
		now = now.Add(time.Second)
		round()
	}
	s.must(l.deriver.Rest(ctx))
	for _, key := range below("meta/indices/")(t, originalOf(t, b)) { // which heads they were made from depends on time
		s.remove(key)
	}
	plan, err := l.PlanIndexRepair(ctx)
	s.must(err)
	_, err = l.RepairIndex(ctx, plan)
	s.must(err)
	s.must(l.Close())
	return originalOf(t, b)
}

// compact merges all files.
func (s *sample) compact() {
	s.Helper()
	plan, err := s.lake.PlanCompaction(s.Context(), &backend.CompactionOptions{All: true})
	s.must(err)
	_, err = s.lake.Compact(s.Context(), plan, nil)
	s.must(err)
}

// checkpoint lists some of the rounds that no checkpoint lists.
func (s *sample) checkpoint(rounds int, attempt string) {
	s.Helper()
	t := s.tip()
	doc := &protocol.Checkpoint{StoreID: t.Head.StoreID, First: 1}
	if n := len(t.Catalog.Checkpoints); n > 0 {
		doc.First = t.Catalog.Checkpoints[n-1].Last + 1
	}
	for doc.Last = doc.First - 1; len(doc.Rounds) < rounds; {
		m, err := s.lake.log.RoundOf(s.Context(), t, doc.Last+1)
		s.must(err)
		doc.Last = m.CommitID
		doc.Rounds = append(doc.Rounds, protocol.RoundFiles{RoundEntry: m.Entry(), Files: m.Files})
		doc.Keys = append(doc.Keys, m.Keys()...)
	}
	e := s.createCheckpoint(doc, attempt)
	e.From = doc.Rounds[0].Time
	s.publishCheckpoints(append(slices.Clone(t.Catalog.Checkpoints), e)...)
}

// createCheckpoint writes the object of a checkpoint.
func (s *sample) createCheckpoint(doc *protocol.Checkpoint, attempt string) protocol.CheckpointEntry {
	s.Helper()
	body := protocol.Encode(doc)
	e := protocol.CheckpointEntry{First: doc.First, Last: doc.Last, Path: fmt.Sprintf("meta/checkpoints/%d-%s.json", doc.Last, attempt), SHA256: protocol.HashOf(body)}
	s.must(s.lake.publisher.Create(s.Context(), protocol.Object{Key: e.Path, Body: body}))
	return e
}

// publishCheckpoints lets the catalog name checkpoints.
func (s *sample) publishCheckpoints(list ...protocol.CheckpointEntry) {
	s.Helper()
	p := s.lake.publisher
	_, err := p.Publish(s.Context(), func(t *protocol.Tip, attempt string) (*protocol.Proposal, error) {
		c := *t.Catalog
		c.Checkpoints = list
		return p.Propose(t, nil, &c, attempt), nil
	})
	s.must(err)
}

// branch lets one checkpoint stand for all.
func (s *sample) branch(attempt string) {
	s.Helper()
	children := s.tip().Catalog.Checkpoints
	doc := &protocol.Checkpoint{StoreID: s.tip().Head.StoreID, First: children[0].First, Last: children[len(children)-1].Last, Children: children}
	for _, e := range children {
		var child protocol.Checkpoint
		s.must(json.Unmarshal(s.read(e.Path), &child))
		doc.Keys = append(doc.Keys, child.Keys...)
	}
	e := s.createCheckpoint(doc, attempt)
	e.From, e.Level = children[0].From, 1
	s.publishCheckpoints(e)
}

// together commits writes in one round, each alone, in order.
func (s *sample) together(writes ...backend.Write) {
	s.Helper()
	s.lake.writer.publishing <- struct{}{} // until all are in the queue
	var callers sync.WaitGroup
	errs := make([]error, len(writes))
	for i, w := range writes {
		callers.Go(func() { _, errs[i] = s.lake.Append(s.Context(), &backend.Draft{Writes: []backend.Write{w}}) })
		for s.lake.writer.queue.Len() <= i {
			runtime.Gosched()
		}
	}
	<-s.lake.writer.publishing
	callers.Wait()
	s.must(errors.Join(errs...))
}

// The small lake is sound, the same each time, and has everything that it is made for.
func TestSmallLake(t *testing.T) {
	one, two := small(t), small(t)
	for _, key := range one.keys {
		if a, b := one.read(t, key), two.read(t, key); string(a) != string(b) {
			t.Errorf("%s differs:\n%s\n%s", key, a, b)
		}
	}
	c := one.tip.Catalog
	if n := len(c.Checkpoints); n != 2 || c.Checkpoints[0].Level != 1 || c.Through == 0 || one.tip.Manifest.CommitID <= c.Checkpoints[1].Last {
		t.Errorf("got %d checkpoints up to %d of %d commits, and files through %d", n, c.Checkpoints[n-1].Last, one.tip.Manifest.CommitID, c.Through)
	}
	for f, err := range CheckBucket(t.Context(), unclosed{one.bucket}, nil, nil) {
		t.Errorf("got the finding %v, %v", f, err)
	}
}
