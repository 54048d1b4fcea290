package protocol

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// distances are how many heads a writer may be behind: as many as a head
// remembers, about as many, and far more.
func distances() []int {
	return []int{1, RecentAttempts - 1, RecentAttempts, RecentAttempts + 1, RecentAttempts + 2, 1000}
}

// pair is two writers of one lake, of which one may fall behind.
func pair(t *testing.T) (s *scripted, behind, ahead *peer) {
	t.Helper()
	b, ahead := leaseLake(t)
	s = &scripted{Bucket: b}
	behind = plainLog(s, "w")
	behind.set.Patience = 10 * time.Second
	if err := put(t.Context(), behind, nil, "first"); err != nil {
		t.Fatal(err)
	}
	return s, behind, ahead
}

// commits lets a writer commit so often.
func commits(t *testing.T, l *peer, n int) {
	t.Helper()
	for i := range n {
		if err := put(t.Context(), l, nil, fmt.Sprint(l.set.Runtime, " ", l.Last().Head.Sequence, " ", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// A writer that has slept while others committed continues at once, however many heads
// have come since.
func TestWriterBehind(t *testing.T) {
	for _, n := range distances() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, behind, ahead := pair(t)
				commits(t, ahead, n)
				s.swaps = 0
				began := time.Now()
				wantCode(t, "the commit", put(t.Context(), behind, nil, "second"), "")
				if waited := time.Since(began); s.swaps != 2 || waited > time.Second {
					t.Errorf("got %d swaps in %v, want a lost one and another at once", s.swaps, waited)
				}
				if keys := wantReadable(t, s.Bucket); len(keys) != n+2 || keys[int64(n)+2] != "second" {
					t.Errorf("got %d commits, the last is %q", len(keys), keys[int64(n)+2])
				}
			})
		})
	}
}

// A round that was published and forgotten by heads is found in the log: also where
// checkpoints list it, and also if no other round has come since.
func TestForgottenRound(t *testing.T) {
	for _, n := range []int{RecentAttempts, RecentAttempts + 1, 3 * RecentAttempts} {
		for _, checkpoints := range []bool{false, true} {
			for _, lie := range []error{bucket.ErrConflict, bucket.ErrChanged} {
				t.Run(fmt.Sprintf("%d %v %v", n, checkpoints, lie), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s, behind, ahead := pair(t)
						s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
							_, err := do()
							commits(t, ahead, n)
							if checkpoints {
								err = ahead.Checkpoint(t.Context())
							}
							if err != nil {
								t.Error(err)
							}
							return "", lie
						}}
						m, err := behind.commit(t.Context(), func(t *Tip) (*Round, error) { return roundOf(t, []string{"second", "third"}), nil })
						if err != nil || m.First != 2 || s.swaps != 2 { // the first was the first commit's
							t.Fatalf("got %+v, %v after %d swaps; want commits 2 and 3 after one", m, err, s.swaps)
						}
						if keys := wantReadable(t, s.Bucket); len(keys) != n+3 || keys[2] != "second" || keys[3] != "third" {
							t.Errorf("got %d commits, %q and %q", len(keys), keys[2], keys[3])
						}
						wantCode(t, "the next", put(t.Context(), behind, nil, "next"), "")
					})
				})
			}
		}
	}
	synctest.Test(t, func(t *testing.T) { // heads without a round
		s, behind, ahead := pair(t)
		for range RecentAttempts + 1 {
			if _, err := ahead.change(t.Context(), func(*Catalog, int64) (bool, error) { return true, nil }); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, "the commit", put(t.Context(), behind, nil, "second"), "")
		wantKeys(t, s.Bucket, "first", "second")
	})
}

// Leases can be taken, renewed late, carried and released by a client that has fallen
// behind by many heads, published or not.
func TestLeaseBehind(t *testing.T) {
	for _, n := range []int{RecentAttempts - 1, RecentAttempts + 2} {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, done: %v", n, done), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx := t.Context()
					s, behind, ahead := pair(t)
					fallBehind := func() { // now, or between the swap and its answer
						if !done {
							commits(t, ahead, n)
							return
						}
						s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
							_, _ = do()
							commits(t, ahead, n)
							return "", bucket.ErrChanged
						}}
					}
					fallBehind()
					lease, err := behind.Acquire(ctx, &backend.LeaseRequest{Name: "import", Owner: "w", TTL: time.Minute})
					wantCode(t, "taking it", err, "")
					fallBehind()
					wantCode(t, "a commit with it", put(ctx, behind, &lease, "second"), "")
					fallBehind()
					time.Sleep(time.Minute)
					lease, err = behind.Renew(ctx, lease, time.Minute)
					wantCode(t, "renewing it late", err, "")
					fallBehind()
					wantCode(t, "a commit after that", put(ctx, behind, &lease, "third"), "")
					fallBehind()
					wantCode(t, "releasing it", behind.Release(ctx, lease), "")
					s.script = nil
					if now, err := behind.Load(ctx); err != nil || len(now.Head.Locks) > 0 {
						t.Errorf("got %v, %v; want a head without leases", now.Head.Locks, err)
					}
					if keys := wantReadable(t, s.Bucket); len(keys) != 5*n+3 {
						t.Errorf("got %d commits, want %d", len(keys), 5*n+3)
					}
				})
			})
		}
	}
}

// A change of the catalog that heads have forgotten is made once.
func TestForgottenChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, behind, ahead := pair(t)
		s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
			_, _ = do()
			commits(t, ahead, RecentAttempts+1)
			return "", bucket.ErrThrottled
		}}
		commits(t, ahead, CheckpointRounds)
		if _, err := behind.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := behind.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, err := ahead.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for _, e := range now.Catalog.Checkpoints {
			if e.First != last+1 {
				t.Errorf("a checkpoint begins with %d, want %d", e.First, last+1)
			}
			last = e.Last
		}
		if last < CheckpointRounds {
			t.Errorf("checkpoints cover %d commits, want %d or more", last, CheckpointRounds)
		}
	})
}

// A compaction that heads have forgotten recognises its own files, and does not remove
// them.
func TestForgottenCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s, behind, ahead := pair(t)
		commits(t, ahead, 4)
		now, err := behind.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		shelf, err := behind.Shelve(ctx, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		files := shelf.Files[onto.TypeName{Kind: onto.KindEntity, Name: "T"}]
		var rows []row
		for i := range files {
			body, err := behind.Data(ctx, &files[i])
			if err != nil {
				t.Fatal(err)
			}
			list, err := decoded(body)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, list...)
		}
		s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
			_, _ = do()
			commits(t, ahead, RecentAttempts+1)
			return "", bucket.ErrConflict
		}}
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Key, b.Key) })
		if _, replaced, err := behind.Replace(ctx, files, []DataFile{encoded(rows)}, shelf); err != nil || !replaced {
			t.Errorf("got %v, %v; want it replaced", replaced, err)
		}
		if keys := wantReadable(t, s.Bucket); len(keys) != RecentAttempts+6 {
			t.Errorf("got %d commits, want %d", len(keys), RecentAttempts+6)
		}
	})
}

// A proposal that its planner would not recognise is not made twice.
func TestForgottenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, behind, ahead := pair(t)
		s.script = []reply{func(do func() (bucket.Tag, error)) (bucket.Tag, error) {
			_, _ = do()
			commits(t, ahead, RecentAttempts+1)
			return "", bucket.ErrUnknown
		}}
		planned := 0
		_, err := behind.Publish(t.Context(), func(t *Tip, attempt string) (*Proposal, error) {
			planned++
			p := behind.proposeLock(t, attempt, "x", 0)
			p.Once = true
			return p, nil
		})
		wantCode(t, "the proposal", err, onto.OutcomeUnknown)
		if planned != 1 {
			t.Errorf("it was planned %d times", planned)
		}
	})
}

// A lease that was ended by force is not mistaken for a later one of another holder.
func TestForgottenBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b, holder := leaseLake(t)
		first := mustTake(t, holder, "first")
		var second onto.Lease
		w := &lockWatcher{Bucket: b, after: func() { second = mustTake(t, plainLog(b, "c"), "second") }}
		record, err := plainLog(w, "b").Break(ctx, onto.LeaseBreak{Lease: onto.Lease{Name: onto.WriteLease}})
		if err != nil || record.Lease.Epoch != first.Epoch {
			t.Errorf("got %+v, %v; want a record of the first lease", record, err)
		}
		wantCode(t, "a commit with the second", put(ctx, plainLog(b, "c"), &second, "x"), "")
		if list, err := holder.Breaks(ctx); err != nil || len(list) != 1 || list[0].Lease.Owner != "first" {
			t.Errorf("got %v, %v; want one record, of the first lease", list, err)
		}
	})
}

// lockWatcher is a bucket that reports the first swap of a lock as failed after it was
// applied and something else has happened.
type lockWatcher struct {
	bucket.Bucket
	after func() // nil once it has
}

func (w *lockWatcher) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	tag, err := w.Bucket.Swap(ctx, key, data, old)
	if after := w.after; after != nil && key == lockKey(onto.WriteLease) {
		w.after = nil
		after()
		return "", bucket.ErrConflict
	}
	return tag, err
}
