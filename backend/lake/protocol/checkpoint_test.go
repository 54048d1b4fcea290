package protocol

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// counting is a bucket that counts its requests.
type counting struct {
	bucket.Bucket
	mu *sync.Mutex // guards n
	n  map[string]int
}

func newCounting(b bucket.Bucket) counting { return counting{b, new(sync.Mutex), map[string]int{}} }

func (c counting) count(op string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[op]++
}

func (c counting) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	c.count("get")
	return c.Bucket.Get(ctx, key, r, ifNot)
}

func (c counting) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	c.count("swap")
	return c.Bucket.Swap(ctx, key, data, old)
}

func (c counting) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	c.count("list")
	return c.Bucket.List(ctx, prefix, after, limit)
}

// plainLog is a log on a bucket without faults.
func plainLog(b bucket.Bucket, name string) *peer {
	n := 0
	return newPeer(b, Settings{
		Now:     time.Now,
		Attempt: func() string { n++; return fmt.Sprintf("%s%0*d", strings.ToUpper(name), attemptDigits-len(name), n) },
		Jitter:  func(int64) int64 { return 0 },
		Runtime: name, Patience: time.Second,
	})
}

// Any commit is found with few requests, however long the log is; writing takes
// none but its own.
func TestLogIsNotWalked(t *testing.T) {
	ctx := t.Context()
	b := memory.New(nil)
	w := newCounting(b)
	l := plainLog(w, "w")
	if _, err := l.MakeLake(ctx, "store"); err != nil {
		t.Fatal(err)
	}
	clear(w.n)
	const rounds = 1000
	for i := range rounds {
		if _, err := l.commit(ctx, func(t *Tip) (*Round, error) { return roundOf(t, []string{fmt.Sprint("k", i)}), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if w.n["get"]+w.n["list"] > 0 || w.n["swap"] != rounds {
		t.Errorf("%d rounds took %v, want a swap each and no get or list", rounds, w.n)
	}
	if err := l.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	r := newCounting(b)
	fresh := plainLog(r, "r")
	tip, err := fresh.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.n["get"] != 3 || len(tip.Catalog.Checkpoints) != rounds/CheckpointRounds {
		t.Errorf("opening took %v with %d checkpoints, want 3 gets and %d", r.n, len(tip.Catalog.Checkpoints), rounds/CheckpointRounds)
	}
	for _, commit := range []int64{1, 2, 255, 256, 257, 511, 768, 769, 900, 935, 936, 999, 1000} {
		clear(r.n)
		m, err := fresh.RoundOf(ctx, tip, commit)
		if err != nil || m.First > commit || m.CommitID < commit {
			t.Fatalf("commit %d: got %+v, %v", commit, m, err)
		}
		if r.n["get"] > 6 {
			t.Errorf("commit %d took %v", commit, r.n)
		}
		before := r.n["get"]
		if again, err := fresh.RoundOf(ctx, tip, commit); err != nil || again.Entry() != m.Entry() || r.n["get"]-before >= max(before, 1) {
			t.Errorf("commit %d again: got %+v and error %v after %d requests, and %d at first", commit, again, err, r.n["get"]-before, before)
		}
	}
	for commit := range int64(rounds) { // as many as are kept, and no more
		if _, err := fresh.RoundOf(ctx, tip, commit+1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(fresh.recent.list); n == 0 || n > maxRecentRounds || fresh.recent.size > maxRecentCommits {
		t.Errorf("%d rounds with %d commits are kept", n, fresh.recent.size)
	}
}
