package laketest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/faulty"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
)

// stormPatience is how long writers in a storm wait for the storage.
const stormPatience = 400 * time.Millisecond

// ledger is what writers were told.
type ledger struct {
	mu             sync.Mutex // guards what follows
	acked          map[string]int64
	refused, maybe map[string]bool
}

func newLedger() *ledger {
	return &ledger{acked: map[string]int64{}, refused: map[string]bool{}, maybe: map[string]bool{}}
}

func (g *ledger) String() string {
	return fmt.Sprintf("%d commits acknowledged, %d unknown, %d refused", len(g.acked), len(g.maybe), len(g.refused))
}

// put puts a thing and notes what came of it.
func (g *ledger) put(ctx context.Context, l *lake.Backend, key string) error {
	res, err := l.Append(ctx, putThings(key))
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.acked[key] = res.Commit.ID
	case onto.CodeOf(err) == onto.OutcomeUnknown:
		g.maybe[key] = true
	default:
		g.refused[key] = true
	}
	return err
}

// mustPut puts a thing without faults. The patience is so short that a slow machine may
// exceed it, so it is retried.
func (g *ledger) mustPut(t *testing.T, l *lake.Backend, key string) {
	t.Helper()
	var err error
	for try := range 10 {
		if err = g.put(t.Context(), l, fmt.Sprintf("%s %d", key, try)); err == nil {
			return
		}
	}
	t.Errorf("%s, when all is well: %v", key, err)
}

// judge fails unless a lake can be read, has all that was acknowledged, nothing that
// was refused, and nothing else but writes with an unknown outcome.
func (g *ledger) judge(t *testing.T, b bucket.Bucket) {
	t.Helper()
	l, err := lake.Open(t.Context(), kept{b}, &lake.Options{MustExist: true})
	if err != nil {
		t.Fatalf("the lake cannot be opened: %v", err)
	}
	defer l.Close()
	backendtest.Check(t, l)
	at := map[string]int64{}
	for v, err := range l.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", Mode: backend.History, At: backend.Head}) {
		if err != nil {
			t.Fatalf("the lake cannot be read: %v", err)
		}
		if at[v.Key] != 0 {
			t.Errorf("%s is there twice, as commits %d and %d", v.Key, at[v.Key], v.Commit)
		}
		at[v.Key] = v.Commit
	}
	for key, id := range g.acked {
		if at[key] != id {
			t.Errorf("%s was acknowledged as commit %d and is %d", key, id, at[key])
		}
	}
	came := 0
	for key, id := range at {
		switch {
		case g.refused[key]:
			t.Errorf("%s was refused and is commit %d", key, id)
		case g.maybe[key]:
			came++
		case g.acked[key] == 0:
			t.Errorf("%s is commit %d, and nobody wrote it", key, id)
		}
	}
	t.Logf("%v; %d of the unknown were published", g, came)
}

// storm lets writers commit side by side through buckets with false answers, and then
// once more without them: that must succeed. Plain is the bucket without false answers.
func storm(t *testing.T, plain bucket.Bucket, through func(writer int) bucket.Bucket, quiet func(), each int) *ledger {
	t.Helper()
	openThings(t, plain, lake.Options{})
	const writers = 3
	g := newLedger()
	lakes := make([]*lake.Backend, writers)
	for i := range lakes {
		for tries := 0; ; tries++ {
			l, err := lake.Open(t.Context(), kept{through(i)}, &lake.Options{MustExist: true, Trusted: true, Patience: stormPatience})
			if err == nil {
				lakes[i] = l
				break
			}
			if tries == 20 {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { lakes[i].Close() })
	}
	var wg sync.WaitGroup
	for i, l := range lakes {
		wg.Go(func() {
			for n := range each {
				_ = g.put(t.Context(), l, fmt.Sprintf("w%d-%d", i, n))
			}
		})
	}
	wg.Wait()
	quiet()
	for i, l := range lakes {
		g.mustPut(t, l, fmt.Sprintf("w%d-quiet", i))
	}
	g.judge(t, plain)
	return g
}

// Whatever a bucket denies, what was acknowledged is there, what was refused is not,
// and the lake can be read.
func TestLyingBucket(t *testing.T) {
	storms, each := 0, 15
	if effort.Thorough(t) {
		each = 60
	}
	warm(t)
	counts := map[faulty.Fault]int{}
	for seed := range effort.Seeds(t, 40) {
		storms++
		synctest.Test(t, func(t *testing.T) { lyingStorm(t, seed, each, counts) })
	}
	t.Logf("%d storms, faults: %v", storms, counts)
}

// warm writes and reads a data file outside of any bubble of synctest: what compresses
// files is made once, with channels that cannot go from one bubble to the next.
func warm(t *testing.T) {
	t.Helper()
	l := openThings(t, memory.New(nil), lake.Options{})
	if _, err := l.Append(t.Context(), putThings("a")); err != nil || count(t, l) != 1 {
		t.Fatalf("one thing was put: %v", err)
	}
}

// lyingStorm is a storm on buckets with false answers. It adds the faults to the counts.
func lyingStorm(t *testing.T, seed uint64, each int, counts map[faulty.Fault]int) {
	plain := memory.New(&memory.Options{SameTag: seed%2 == 0})
	var mu sync.Mutex
	var broken []*faulty.Bucket
	storm(t, plain, func(writer int) bucket.Bucket {
		plan, err := faulty.ParsePlan(fmt.Sprintf("seed=%d,write:conflict%%3,write:throttled%%3,create:changed%%2,swap:changed%%3,swap:missing%%3,"+
			"write:doneconflict%%4,write:donethrottled%%4,create:donechanged%%3,swap:donechanged%%4,swap:donemissing%%4,"+
			"write:lost%%3,write:late%%3+4,swap:mistag%%3,get[head]:mistag%%2,any:slow%%3+250,any:cut%%0.5+5", 100*seed+uint64(writer)))
		if err != nil {
			t.Fatal(err)
		}
		plan.Sleep = wait
		b := faulty.New(plain, plan)
		mu.Lock()
		defer mu.Unlock()
		broken = append(broken, b)
		return b
	}, func() {
		for _, b := range broken {
			b.Calm(t.Context())
			for f, n := range b.Count() {
				counts[f] += n
			}
		}
	}, each)
}

// wait waits, unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
