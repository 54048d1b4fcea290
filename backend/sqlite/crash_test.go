package sqlite_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// A writer is killed at random moments. What it acknowledged is there, the check is
// clean, and the next writer continues.
func TestKilledWritersLoseNothing(t *testing.T) {
	t.Parallel()
	kills := effort.Count(t, 200)
	for _, c := range []struct {
		name       string
		goroutines int
	}{{"single commits", 1}, {"group commits", 16}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := effort.Rand(t)
			path := filepath.Join(t.TempDir(), "killed.db")
			makeThings(t, path)
			acks := map[string]int64{}
			for i := range kills / 2 {
				writer := backendtest.StartWriter(t, path, fmt.Sprint("w", i), c.goroutines)
				select {
				case <-writer.First:
				case <-writer.Ended:
					t.Fatalf("the writer ended by itself")
				}
				// The moment is the point of the test: nothing waits for it.
				timer := time.NewTimer(time.Duration(random.IntN(40_000)) * time.Microsecond)
				<-timer.C
				maps.Copy(acks, writer.Kill())
				if i%10 == 9 || i == kills/2-1 {
					b := open(t, path, nil)
					wantAcknowledged(t, b, acks)
					backendtest.Check(t, b)
				}
			}
			t.Logf("%d kills, %d acknowledged commits, all there", kills/2, len(acks))
		})
	}
}

// A writer is killed at each point of a commit.
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	for _, point := range append(sqlite.Points(), "words", "committed") {
		for _, goroutines := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s, %d callers", point, goroutines), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "killed.db")
				makeThings(t, path)
				acks := map[string]int64{}
				for round := range 2 {
					writer := backendtest.StartWriter(t, path, fmt.Sprint(round), goroutines, point)
					acked, err := writer.Wait()
					if err == nil {
						t.Errorf("the writer was not killed")
					}
					maps.Copy(acks, acked)
					wantAcknowledged(t, open(t, path, nil), acks)
				}
			})
		}
	}
}

// Processes that write one file at the same time lose nothing, and readers
// never fail.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                  string
		processes, goroutines int
		commits               int // in all
	}{{"8 processes", 8, 1, 15_000}, {"2 processes of 64 goroutines", 2, 64, 60_000}} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shared.db")
			makeThings(t, path)
			b := open(t, path, nil)
			var writers []*backendtest.Writer
			for i := range c.processes {
				writers = append(writers, backendtest.StartWriter(t, path, string(rune('a'+i)), c.goroutines))
			}
			for i, w := range writers {
				select {
				case <-w.First:
				case <-w.Ended:
					t.Fatalf("writer %d never came to its turn", i)
				}
			}
			reads := readUntil(t, b, int64(effort.Count(t, c.commits)), writers)
			acks := map[string]int64{}
			for i, w := range writers {
				acked, err := w.Stop()
				if err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
				if len(acked) == 0 {
					t.Errorf("writer %d never came to its turn", i)
				}
				maps.Copy(acks, acked)
			}
			wantAcknowledged(t, b, acks)
			head, err := b.Resolve(t.Context(), onto.Point{})
			if err != nil || head.ID != int64(len(acks)) {
				t.Errorf("head: got %d, error %v; want %d, one for each acknowledgement", head.ID, err, len(acks))
			}
			t.Logf("%d commits by %d processes, %d reads meanwhile", len(acks), c.processes, reads)
		})
	}
}

// readUntil reads all the time until there are so many commits, and fails the test if a
// read fails, shows a half commit, or a writer ends: the shared entity always belongs to the
// newest commit.
func readUntil(t *testing.T, b backend.Backend, commits int64, writers []*backendtest.Writer) (reads int) {
	t.Helper()
	for ; ; reads++ {
		head, err := b.Resolve(t.Context(), onto.Point{})
		if err != nil {
			t.Fatalf("read %d: %v", reads, err)
		}
		shared, err := b.Get(t.Context(), onto.EntityID("Thing", "~shared"), head.ID)
		if err != nil || shared.Commit != head.ID {
			t.Fatalf("read %d: the head is %d, but the shared entity is at commit %d, error %v", reads, head.ID, shared.Commit, err)
		}
		n := 0
		for c, err := range b.Diff(t.Context(), &backend.DiffQuery{From: head.ID - 1, To: head.ID}) {
			if err != nil {
				t.Fatalf("read %d: diff: %v", reads, err)
			}
			n++
			_ = c
		}
		if n != 3 {
			t.Fatalf("read %d: commit %d shows %d of its 3 changes", reads, head.ID, n)
		}
		if head.ID >= commits {
			return reads + 1
		}
		for i, w := range writers {
			select {
			case <-w.Ended:
				t.Fatalf("writer %d ended by itself after %d commits", i, head.ID)
			default:
			}
		}
	}
}
