package protocol

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// The rounds of certain commits are read alone, in either order, where checkpoints list them
// and where they do not.
func TestRoundsOfCertainCommits(t *testing.T) {
	ctx := context.Background()
	b := memory.New(nil)
	l := plainLog(b, "w")
	if _, err := l.MakeLake(ctx, "store"); err != nil {
		t.Fatal(err)
	}
	head, rounds := int64(0), 0
	grow := func(n int) {
		for range n {
			var keys []string
			for range 1 + rounds%3 {
				head++
				keys = append(keys, fmt.Sprint("k", head))
			}
			rounds++
			if _, err := l.commit(ctx, func(t *Tip) (*Round, error) { return roundOf(t, keys), nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	ask := func(what string, commits []int64, most int) {
		t.Helper()
		r := newCounting(b)
		fresh := plainLog(r, "r")
		tip, err := fresh.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		clear(r.n)
		left, paths := commits, map[string]bool{}
		for m, err := range fresh.RoundsOf(ctx, tip, commits) {
			if err != nil {
				t.Fatal(err)
			}
			if paths[m.Entry().Path] || len(left) == 0 || left[0] < m.First || left[0] > m.CommitID {
				t.Fatalf("%s: got the round of %d to %d, want that of %v", what, m.First, m.CommitID, left)
			}
			paths[m.Entry().Path] = true
			for len(left) > 0 && m.First <= left[0] && left[0] <= m.CommitID {
				left = left[1:]
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: there are no rounds of %v", what, left)
		}
		if r.n["get"] > len(paths)+most {
			t.Errorf("%s: %d rounds took %v", what, len(paths), r.n)
		}
	}
	for _, turn := range []struct {
		rounds     int
		checkpoint bool
		most       int // requests besides those for the rounds
	}{{10, false, 1}, {400, false, 12}, {300, true, 10}, {100, false, 12}} {
		grow(turn.rounds)
		if turn.checkpoint {
			if err := l.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
		}
		what := fmt.Sprintf("%d rounds, %d commits", rounds, head)
		ask(what, nil, 0)
		ask(what, []int64{1}, turn.most)
		ask(what, []int64{head}, 0)
		var all []int64
		for id := range head {
			all = append(all, id+1)
		}
		ask(what, all, turn.most)
		for _, n := range []int{2, 10, 100} {
			var some []int64
			for range n {
				some = append(some, 1+random.Int64N(head))
			}
			slices.Sort(some)
			some = slices.Compact(some)
			ask(what, some, turn.most)
			slices.Reverse(some)
			ask(what, some, turn.most)
		}
	}
	tip, err := l.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.RoundsOf(ctx, tip, []int64{head + 1}) {
		if onto.CodeOf(err) != onto.Corrupt {
			t.Errorf("a commit that does not exist: got error %v, want Corrupt", err)
		}
	}
}
