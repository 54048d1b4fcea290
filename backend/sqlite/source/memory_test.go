package source_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/internal/effort"
)

// weighed is a log, with the most memory that was in use while it was read.
type weighed struct {
	backend.LogSource
	entries int
	most    uint64
}

func (w *weighed) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range w.LogSource.Log(ctx, since) {
			if w.entries++; w.entries%3000 == 0 {
				w.look()
			}
			if !yield(e, err) {
				return
			}
		}
		w.look()
	}
}

func (w *weighed) look() { w.most = max(w.most, heap()) }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A commit of very many versions is copied from a file of the original, and from store to
// store, in bounded memory.
func TestCopyMemory(t *testing.T) {
	const size = 1000
	most := int64(18 << 20) // less than all of them, in a plain run, too
	if effort.Thorough(t) {
		most = 64 << 20
	}
	n := effort.Count(t, 100_000)
	path := load(t, "plain", rollback, emptied, fmt.Sprintf(`INSERT INTO commits VALUES (1, '2025-01-02T03:04:05.123456+00:00', NULL);
		INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 'Customer', 'e' || i, '{"id": "e' || i || '", "odd": 1, "tags": [], "name": "' || hex(randomblob(%d)) || '"}', 1 FROM n`, n, size/2))
	var from backend.LogSource = opened(t, path, source.Options{Scratch: t.TempDir()})
	for _, leg := range []string{"from the file", "from store to store"} {
		to, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "copy.db"), &sqlite.Options{Target: true})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		before, w := heap(), &weighed{LogSource: from}
		job := &archive.Job{From: w, To: to, Progress: func(archive.Progress) { w.look() }}
		if res, err := job.Apply(t.Context()); err != nil || res.Versions != int64(n) {
			t.Fatalf("%s: got %+v and error %v, want %d versions", leg, res, err, n)
		}
		if got, err := job.Verify(t.Context()); err != nil || got.First != nil || got.Commit != 1 {
			t.Fatalf("%s: got %+v and error %v, want an equal copy", leg, got, err)
		}
		took := int64(w.most) - int64(before)
		t.Logf("%s: %d versions of %d bytes in one commit took %.1f MB", leg, n, size, float64(took)/(1<<20))
		if took > most {
			t.Errorf("%s: it took %d MB, want %d at most", leg, took>>20, most>>20)
		}
		from = to
	}
}
