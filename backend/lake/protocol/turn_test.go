package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
)

// distant is a bucket whose requests take about 20 ms. It counts those for turns, and
// may refuse them.
type distant struct {
	bucket.Bucket
	refuse bool

	mu    *sync.Mutex // guards what follows
	r     *rand.Rand
	turns *int
}

func newDistant(refuse bool) distant {
	return distant{memory.New(nil), refuse, new(sync.Mutex), rand.New(rand.NewPCG(1, 2)), new(int)}
}

func (d distant) travel(key string) error {
	d.mu.Lock()
	half := time.Duration(8+d.r.IntN(5)) * time.Millisecond
	d.mu.Unlock()
	time.Sleep(half)
	return nil
}

func (d distant) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if err := d.travel(key); err != nil {
		return bucket.Object{}, err
	}
	o, err := d.Bucket.Get(ctx, key, r, ifNot)
	return o, errors.Join(err, d.travel(""))
}

func (d distant) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := d.travel(key); err != nil {
		return "", err
	}
	tag, err := d.Bucket.Create(ctx, key, data)
	return tag, errors.Join(err, d.travel(""))
}

func (d distant) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	if err := d.travel(key); err != nil {
		return "", err
	}
	if bytes.Contains(data, []byte(`"turn_ms"`)) {
		d.mu.Lock()
		*d.turns++
		d.mu.Unlock()
		if d.refuse {
			return "", bucket.ErrChanged
		}
	}
	tag, err := d.Bucket.Swap(ctx, key, data, old)
	return tag, errors.Join(err, d.travel(""))
}

func (d distant) Delete(ctx context.Context, key string) error {
	return errors.Join(d.travel(key), d.Bucket.Delete(ctx, key), d.travel(""))
}

// contest is the result of writers that write one round after the other.
type contest struct {
	commits, failed int
	waits           []time.Duration // of each round, sorted
	turns           int             // requests
	few             int             // commits of the writer with the fewest
}

func (c contest) String() string {
	return fmt.Sprintf("%d commits, %d failed, the slowest writer %d; wait: median %v, 99%% %v, worst %v; %d requests about the turn",
		c.commits, c.failed, c.few, c.waits[len(c.waits)/2], c.waits[len(c.waits)*99/100], c.waits[len(c.waits)-1], c.turns)
}

// spell is how long writers compete, by the clock of the test.
func spell(t *testing.T) time.Duration {
	if effort.Thorough(t) {
		return time.Minute
	}
	return 15 * time.Second
}

// compete lets writers write for a while.
func compete(t *testing.T, d distant, writers int, pause time.Duration) (c contest) {
	ctx := t.Context()
	var mu sync.Mutex
	each := make([]int, writers)
	var wg sync.WaitGroup
	end := time.Now().Add(spell(t))
	for i := range writers {
		wg.Go(func() {
			l := plainLog(d, fmt.Sprint("w", i))
			r := rand.New(rand.NewPCG(uint64(i), 9))
			l.set.Jitter, l.set.Patience = r.Int64N, 10*time.Second
			if _, err := l.MakeLake(ctx, "store"); err != nil {
				t.Error(err)
				return
			}
			for n := 0; time.Now().Before(end); n++ {
				began := time.Now()
				_, err := l.commit(ctx, func(t *Tip) (*Round, error) { return roundOf(t, []string{fmt.Sprint(i, " ", n)}), nil })
				mu.Lock()
				c.waits = append(c.waits, time.Since(began))
				if err == nil {
					each[i]++
				} else {
					c.failed++
				}
				mu.Unlock()
				time.Sleep(time.Duration(r.Int64N(int64(pause) + 1)))
			}
		})
	}
	wg.Wait()
	for _, n := range each {
		c.commits += n
	}
	slices.Sort(c.waits)
	c.turns, c.few = *d.turns, slices.Min(each)
	return c
}

// No writer starves because others are faster, and a single writer asks for no turn.
func TestTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writers int
		refuse  bool
	}{{1, false}, {2, true}, {2, false}, {8, true}, {8, false}} {
		synctest.Test(t, func(t *testing.T) {
			got := compete(t, newDistant(c.refuse), c.writers, 0)
			t.Logf("%d writers, with turns: %t: %v", c.writers, !c.refuse, got)
			switch {
			case c.writers == 1 && got.turns > 0:
				t.Errorf("one writer: got %d requests for a turn, want none", got.turns)
			case !c.refuse && got.few*c.writers*5 < got.commits:
				t.Errorf("%d writers: got %d commits of one and %d of all, want each to have a share", c.writers, got.few, got.commits)
			}
		})
	}
}

// A writer that has asked for a turn and is gone delays the others for a short time
// only.
func TestTurnIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b, l := leaseLake(t)
		gone := plainLog(b, "gone")
		c := gone.newTurn()
		c.lost = turnAfter
		tip, err := c.again(ctx)
		if err != nil || tip.Head.Turn == 0 || tip.Head.Attempt != c.mine {
			t.Fatalf("got %+v, %v; want a head with a turn", tip, err)
		}
		other := plainLog(b, "other")
		for _, w := range []*peer{l, other} {
			began := time.Now()
			if err := put(ctx, w, nil, w.set.Runtime); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > w.set.Patience {
				t.Errorf("%s waited %v", w.set.Runtime, waited)
			}
		}
		if h := other.Last().Head; h.Turn != 0 || h.CommitID != 2 {
			t.Errorf("got %+v, want two commits and no turn", h)
		}
	})
}
