package store_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

// tallied counts the questions to a backend.
type tallied struct {
	backend.Backend
	n atomic.Int64
}

func (b *tallied) Unwrap() backend.Backend { return b.Backend }

func (b *tallied) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	b.n.Add(1)
	return b.Backend.Get(ctx, id, at)
}

func (b *tallied) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	b.n.Add(1)
	return backend.Find(ctx, b.Backend, ids, at)
}

func (b *tallied) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	b.n.Add(1)
	return b.Backend.Scan(ctx, q)
}

func (b *tallied) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	b.n.Add(1)
	return b.Backend.Diff(ctx, q)
}

func (b *tallied) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	b.n.Add(1)
	return b.Backend.Schemas(ctx)
}

// asked counts the questions that a plan asks.
func (b *tallied) asked(t *testing.T, what string, most int64, plan func() (changes int)) {
	t.Helper()
	b.n.Store(0)
	changes := plan()
	t.Logf("%s: %d changes, %d questions", what, changes, b.n.Load())
	if b.n.Load() > most {
		t.Errorf("%s: a plan of %d changes asked %d questions, want at most %d", what, changes, b.n.Load(), most)
	}
}

// A plan asks about many things at once: on a bucket each question costs requests.
func TestPlansLookThingsUpInBulk(t *testing.T) {
	const n = 1500
	b := &tallied{Backend: memory.New(nil).Open()}
	s, err := store.Open(t.Context(), b, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	products := func(title string) (list []any) {
		for i := range n {
			list = append(list, Product{fmt.Sprintf("p%d", i*7919%n), title})
		}
		return list
	}
	links := func(seats int) (list []any) {
		for i := range n {
			list = append(list, onto.Relation{Type: "Subscription", Left: fmt.Sprintf("c%d", i%50), Right: fmt.Sprintf("p%d", i), Fields: map[string]any{"seats": seats}})
		}
		return list
	}
	const most = 25
	for i, list := range [][]any{products("a"), products("b"), links(1), links(2)} {
		b.asked(t, fmt.Sprintf("stream %d", i+1), most, func() (changes int) {
			for p, err := range s.Preview(t.Context(), things(list...)) {
				if err != nil {
					t.Fatal(err)
				}
				if p.Changes {
					changes++
				}
			}
			return changes
		})
		if _, err := s.CommitStream(t.Context(), onto.Draft{Correlation: "all"}, things(list...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []struct {
		store.Revert
		blocked int
	}{
		{store.Revert{Commit: 1}, n}, {store.Revert{Commit: 2}, 0}, {store.Revert{Commit: 3}, n}, {store.Revert{Commit: 4}, 0}, {store.Revert{Correlation: "all"}, 0},
	} {
		b.asked(t, fmt.Sprintf("%+v", r.Revert), most, func() (changes int) {
			blocked := 0
			for c, err := range revertPlan(t, s, r.Revert).Changes {
				if err != nil {
					t.Fatal(err)
				}
				if changes++; len(c.Blocked) > 0 {
					blocked++
				}
			}
			if blocked != r.blocked {
				t.Errorf("%+v: %d are blocked, want %d", r.Revert, blocked, r.blocked)
			}
			return changes
		})
	}
}

// What is looked up at once becomes less where it is large, so memory does not grow with
// the size of what is stored.
func TestPlansOfLargeThingsAskForFewAtOnce(t *testing.T) {
	const n = 600
	b := &widest{Backend: memory.New(nil).Open()}
	s, err := store.Open(t.Context(), b, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := strings.Repeat("long ", 20_000)
	var gone []any
	for i := range n / 100 {
		d := onto.Draft{}
		for k := range 100 {
			key := fmt.Sprintf("p%d", i*100+k)
			d = d.Ensure(Product{key, long})
			gone = append(gone, onto.EntityID("Product", key))
		}
		mustCommit(t, s, d)
	}
	for _, err := range s.Preview(t.Context(), things(gone...)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("at most %d bytes were found at once", b.most)
	if b.most > 8<<20 {
		t.Error("that is too much")
	}
}

// widest notes how much is found at once.
type widest struct {
	backend.Backend
	most int
}

func (b *widest) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	list, err := backend.Find(ctx, b.Backend, ids, at)
	bytes := 0
	for _, v := range list {
		bytes += len(v.Fields)
	}
	b.most = max(b.most, bytes)
	return list, err
}
