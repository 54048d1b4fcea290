package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

func lakeBenchmarks() []benchmark {
	return []benchmark{
		{"B16", "commits on a lake by many callers", "lake", lakeCommits},
		{"B17", "requests of a round on a lake", "lake", lakeRequests},
		{"B18", "latest scan of a lake", "lake", lakeScans},
		{"B19", "point get on a lake", "lake", lakeGets},
		{"B20", "cold open of a lake", "lake", lakeColdOpen},
	}
}

// slowBucket is a bucket with the latency of S3 that counts requests.
type slowBucket struct {
	bucket.Bucket
	write, read          time.Duration
	creates, swaps       atomic.Int64
	gets, lists, deletes atomic.Int64
}

func (s *slowBucket) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if derived(key) {
		return s.Bucket.Get(ctx, key, r, ifNot)
	}
	s.gets.Add(1)
	time.Sleep(s.read)
	return s.Bucket.Get(ctx, key, r, ifNot)
}

func (s *slowBucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if derived(key) {
		return s.Bucket.Create(ctx, key, data)
	}
	s.creates.Add(1)
	time.Sleep(s.write)
	return s.Bucket.Create(ctx, key, data)
}

func (s *slowBucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if derived(key) {
		return s.Bucket.Swap(ctx, key, data, old)
	}
	s.swaps.Add(1)
	time.Sleep(s.write)
	return s.Bucket.Swap(ctx, key, data, old)
}

// derived reports whether an object is written for other programs, beside commits.
func derived(key string) bool {
	return strings.HasPrefix(key, "meta/indices/") || strings.HasPrefix(key, "meta/schema/")
}

func (s *slowBucket) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	s.lists.Add(1)
	return s.Bucket.List(ctx, prefix, after, limit)
}

func (s *slowBucket) Delete(ctx context.Context, key string) error {
	s.deletes.Add(1)
	return s.Bucket.Delete(ctx, key)
}

// openLake opens a lake on a bucket that is slow from then on.
func (e *env) openLake() (*lake.Backend, *slowBucket) {
	s := &slowBucket{Bucket: memory.New(nil)}
	l, err := lake.Open(e.ctx, s, &lake.Options{Trusted: true})
	e.must(err)
	_, err = l.Register(e.ctx, &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
		{Kind: onto.KindEntity, Name: "Other", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
	}})
	e.must(err)
	s.write, s.read = 60*time.Millisecond, 25*time.Millisecond
	return l, s
}

func (e *env) appendThing(l *lake.Backend, types []string, key string) {
	d := &backend.Draft{}
	for _, t := range types {
		d.Writes = append(d.Writes, backend.Write{
			Identity: onto.EntityID(t, key), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q}`, key), SchemaVersion: 1,
		})
	}
	_, err := l.Append(e.ctx, d)
	e.must(err)
}

// lakeCommits is B16: callers share rounds.
func lakeCommits(e *env) []row {
	const callers = 256
	rate := func(callers int) time.Duration {
		l, _ := e.openLake()
		defer l.Close()
		length := time.Duration(e.pick(4, 2)) * time.Second
		var n atomic.Int64
		var wg sync.WaitGroup
		start := time.Now()
		for c := range callers {
			wg.Go(func() {
				for i := 0; time.Since(start) < length; i++ {
					e.appendThing(l, []string{"Thing"}, fmt.Sprintf("%d-%d", c, i))
					n.Add(1)
				}
			})
		}
		wg.Wait()
		return time.Since(start) / time.Duration(n.Load())
	}
	many, one := rate(callers), rate(1)
	ratio := float64(one) / float64(many)
	return []row{row{
		What:    fmt.Sprintf("commits by %d callers, 60 ms a write / one swap per commit", callers),
		Subject: perOp(many), Control: perOp(one), Ratio: &spread{ratio, ratio, ratio}, Rounds: 1,
	}.judge(ratio, atLeast(100))}
}

// lakeRequests is B17: the cost of a round of a single writer.
func lakeRequests(e *env) []row {
	l, s := e.openLake()
	defer l.Close()
	s.write, s.read = 0, 0
	contract := onto.Schema{Kind: onto.KindFact, Name: "Contract", Left: "Thing", Fields: append(onto.FactFields(false), onto.Field{Name: "salary", Type: onto.Int, Optional: true})}
	contract.SortFields()
	_, err := l.Register(e.ctx, &backend.Registration{Schemas: []onto.Schema{contract}})
	e.must(err)
	for _, err := range l.Survey(e.ctx) { // waits for what is derived from the types
		e.must(err)
	}
	const rounds = 25 // of each kind; all are fewer than a checkpoint takes
	count := func(what string, types int, commit func(key string)) row {
		for _, n := range []*atomic.Int64{&s.creates, &s.swaps, &s.gets, &s.lists, &s.deletes} {
			n.Store(0)
		}
		for i := range rounds {
			commit(fmt.Sprint(i))
		}
		e.assert(s.gets.Load()+s.lists.Load() == 0, "a round took %d gets and %d lists", s.gets.Load(), s.lists.Load())
		per := float64(s.creates.Load()+s.swaps.Load()+s.gets.Load()+s.lists.Load()+s.deletes.Load()) / rounds
		return row{
			What:    fmt.Sprintf("requests of a round that touches %s, sole writer", what),
			Subject: figure{Value: per, Unit: "requests", Text: fmt.Sprintf("%.2f, no get, no list", per)},
		}.judge(per, atMost(float64(2+types), ""))
	}
	return []row{
		count("2 types", 2, func(key string) { e.appendThing(l, []string{"Other", "Thing"}, key) }),
		count("1 type of facts", 1, func(key string) {
			_, err := l.Append(e.ctx, &backend.Draft{
				Writes: []backend.Write{{Identity: onto.FactID("Contract", "k", "salary", key), Op: onto.Put, Fields: []byte(`{"salary":1}`), SchemaVersion: 1, Once: true}},
				Fence:  []onto.Expectation{{Identity: onto.EntityID("onto_folds", "Contract")}}, // as a store does
			})
			e.must(err)
		}),
	}
}
