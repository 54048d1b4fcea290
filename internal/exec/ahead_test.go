package exec_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/exec"
)

// labelled is a value and where it comes from.
type labelled struct{ n, source int }

func byNumber(a, b *labelled) int { return cmp.Compare(a.n, b.n) }

type maker = func(context.Context) iter.Seq2[labelled, error]

// counting yields numbers of a source, up to an end; negative for none.
func counting(source, step, end int) maker {
	return func(context.Context) iter.Seq2[labelled, error] {
		return func(yield func(labelled, error) bool) {
			for n := 0; end < 0 || n < end; n += step {
				if !yield(labelled{n, source}, nil) {
					return
				}
			}
		}
	}
}

// failing yields some numbers, and then does what ends it.
func failing(count int, end func() error) maker {
	return func(context.Context) iter.Seq2[labelled, error] {
		return func(yield func(labelled, error) bool) {
			for n := range count {
				if !yield(labelled{n, 9}, nil) {
					return
				}
			}
			if err := end(); err != nil {
				yield(labelled{}, err)
			}
		}
	}
}

// Any sequences of numbers in order are merged as Merge merges them, each time anew.
func TestMergeAheadIsMerge(t *testing.T) {
	defer goleak.VerifyNone(t)
	effort.Check(t, 2_000, func(t *rapid.T) {
		var plain []iter.Seq2[labelled, error]
		var made []maker
		for i := range rapid.IntRange(0, 5).Draw(t, "sequences") {
			numbers := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 200).Draw(t, "numbers")
			slices.Sort(numbers)
			s := func(yield func(labelled, error) bool) {
				for _, n := range numbers {
					if !yield(labelled{n, i}, nil) {
						return
					}
				}
			}
			plain, made = append(plain, s), append(made, func(context.Context) iter.Seq2[labelled, error] { return s })
		}
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		take := func(s iter.Seq2[labelled, error]) (list []labelled) {
			for v, err := range s {
				if err != nil {
					t.Fatal(err)
				}
				if list = append(list, v); len(list) == limit {
					break
				}
			}
			return list
		}
		merged := exec.MergeAhead(context.Background(), made, byNumber)
		want := take(exec.Merge(plain, byNumber))
		for range 2 {
			if got := take(merged); !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// Slow sequences work side by side, and each is read ahead only up to a bound.
func TestMergeAheadReadsSideBySide(t *testing.T) {
	defer goleak.VerifyNone(t)
	var begun sync.WaitGroup
	begun.Add(3)
	waiting := func(context.Context) iter.Seq2[labelled, error] {
		return func(yield func(labelled, error) bool) {
			begun.Done()
			begun.Wait() // for all others
			yield(labelled{}, nil)
		}
	}
	n := 0
	for range exec.MergeAhead(t.Context(), []maker{waiting, waiting, waiting}, byNumber) {
		n++
	}
	if n != 3 {
		t.Errorf("got %d values", n)
	}
}

// Little is read ahead of a consumer that has taken little, and more of one that takes more.
func TestMergeAheadReadsAFewFirst(t *testing.T) {
	defer goleak.VerifyNone(t)
	for taken, most := range map[int64]int64{1: 9, 3: 12, 10: 19, 1000: 66} {
		var read atomic.Int64
		eager := func(context.Context) iter.Seq2[labelled, error] {
			return func(yield func(labelled, error) bool) {
				for n := 0; ; n++ {
					read.Add(1)
					if !yield(labelled{n: n}, nil) {
						return
					}
				}
			}
		}
		n := int64(0)
		for range exec.MergeAhead(t.Context(), []maker{eager, counting(1, 1<<40, 1<<41)}, byNumber) {
			if n++; n < taken {
				continue
			}
			for last := int64(-1); last != read.Load(); time.Sleep(20 * time.Millisecond) {
				last = read.Load()
			}
			break
		}
		if ahead := read.Load() - taken; ahead < 1 || ahead > most-1 || taken == 1000 && ahead < 16 {
			t.Errorf("after %d values %d more were read", taken, ahead)
		}
	}
}

// A consumer that leaves ends all goroutines, and the context of the sequences.
func TestMergeAheadIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t)
	var ended atomic.Int64
	blocked := func(ctx context.Context) iter.Seq2[labelled, error] {
		return func(yield func(labelled, error) bool) {
			yield(labelled{n: 0}, nil)
			<-ctx.Done()
			ended.Add(1)
			yield(labelled{}, ctx.Err())
		}
	}
	for v, err := range exec.MergeAhead(t.Context(), []maker{blocked, counting(1, 1, -1), blocked}, byNumber) {
		if v.n != 0 || err != nil {
			t.Errorf("got %v, %v", v, err)
		}
		break
	}
	if ended.Load() != 2 {
		t.Errorf("%d sequences were ended, want 2", ended.Load())
	}
	func() {
		defer func() {
			if recover() != "the consumer's" {
				t.Error("the panic of the consumer is lost")
			}
		}()
		for range exec.MergeAhead(t.Context(), []maker{blocked, blocked}, byNumber) {
			panic("the consumer's")
		}
	}()
	if ended.Load() != 4 {
		t.Errorf("%d sequences were ended, want 4", ended.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range exec.MergeAhead(ctx, []maker{blocked, counting(1, 1, -1)}, byNumber) {
		n++
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || n != 2 {
		t.Errorf("cancelled: %d values, %v", n, last)
	}
}

// An error ends the merge at once, also if lesser values wait.
func TestMergeAheadFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	broken := errors.New("broken")
	for _, before := range []int{0, 1, 40, 500} {
		for _, others := range [][]maker{{}, {counting(1, 1, -1)}, {counting(1, 7, 7), counting(2, 7, -1)}} {
			t.Run(fmt.Sprint(before, " with ", len(others)), func(t *testing.T) {
				var errs []error
				failed := failing(before, func() error { return broken })
				for _, err := range exec.MergeAhead(t.Context(), append([]maker{failed}, others...), byNumber) {
					if err != nil {
						errs = append(errs, err)
					}
				}
				if len(errs) != 1 || errs[0] != broken {
					t.Errorf("got %v", errs)
				}
			})
		}
	}
	// The values of the failed sequence are greater than all that the other has.
	late := func(context.Context) iter.Seq2[labelled, error] {
		return func(yield func(labelled, error) bool) {
			_ = yield(labelled{n: 1_000_000}, nil) && yield(labelled{}, broken)
		}
	}
	var last error
	for _, last = range exec.MergeAhead(t.Context(), []maker{late, counting(1, 0, -1)}, byNumber) {
	}
	if last != broken {
		t.Errorf("got %v", last)
	}
}

// A panic in a sequence becomes one of the consumer, as does the end of its goroutine.
func TestMergeAheadPanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, others := range [][]maker{{}, {counting(1, 1, -1)}} {
		func() {
			defer func() {
				if got := recover(); got != "thrown" {
					t.Errorf("with %d others: recovered %v", len(others), got)
				}
			}()
			for range exec.MergeAhead(t.Context(), append(others, failing(3, func() error { panic("thrown") })), byNumber) {
			}
		}()
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for range exec.MergeAhead(t.Context(), []maker{counting(1, 1, -1), failing(3, func() error { runtime.Goexit(); return nil })}, byNumber) {
		}
		t.Error("the goroutine of the consumer went on")
	}()
	<-ended
	// After the consumer has left, too.
	func() {
		defer func() {
			if got := recover(); got != "thrown late" {
				t.Errorf("recovered %v", got)
			}
		}()
		late := func(ctx context.Context) iter.Seq2[labelled, error] {
			return func(yield func(labelled, error) bool) {
				yield(labelled{}, nil)
				<-ctx.Done()
				panic("thrown late")
			}
		}
		for range exec.MergeAhead(t.Context(), []maker{late, counting(1, 1, -1)}, byNumber) {
			break
		}
	}()
}

func BenchmarkMergeAhead(b *testing.B) {
	for _, sequences := range []int{1, 4} {
		b.Run(fmt.Sprint(sequences), func(b *testing.B) {
			var made []maker
			for i := range sequences {
				made = append(made, counting(i, sequences, -1))
			}
			n := 0
			for range exec.MergeAhead(b.Context(), made, byNumber) {
				if n++; n > b.N {
					break
				}
			}
		})
	}
}
