package laketest

import (
	"fmt"
	"iter"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/internal/effort"
)

// Many long reads are open at a time, and questions are asked beside them: each gets
// its answer, whole, within the memory that is configured.
func TestManyOpenReaders(t *testing.T) {
	const readers, rows = 100, 20_000
	l := openThings(t, memory.New(nil), lake.Options{InProcess: -1})
	_, err := l.AppendStream(t.Context(), &backend.Draft{}, func(yield func(backend.Write, error) bool) {
		for i := range rows {
			key := fmt.Sprintf("k%06d", i)
			if !yield(putThings(key).Writes[0], nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	q := &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}
	type reader struct {
		next func() (onto.Version, error, bool)
		stop func()
		rows int
		last string
	}
	var open []*reader
	read := func(r *reader, number, n int) {
		t.Helper()
		for range n {
			v, err, ok := r.next()
			if !ok {
				return
			}
			if err != nil {
				t.Fatalf("reader %d, after %d rows: %v", number, r.rows, err)
			}
			if v.Key <= r.last {
				t.Fatalf("reader %d: %s comes after %s", number, v.Key, r.last)
			}
			r.rows++
			r.last = v.Key
		}
	}
	for i := range readers {
		next, stop := iter.Pull2(l.Scan(t.Context(), q))
		defer stop()
		open = append(open, &reader{next: next, stop: stop})
		read(open[i], i+1, 1)
		if i%10 == 9 {
			if got := count(t, l); got != rows {
				t.Fatalf("beside %d readers: counted %d rows, want %d", i+1, got, rows)
			}
		}
	}
	for i, r := range open { // some stop early, in a plain run most
		if i%3 == 0 || !effort.Includes(t, i/3) {
			r.stop()
			continue
		}
		read(r, i+1, rows)
		if r.rows != rows {
			t.Errorf("reader %d: got %d rows, want %d", i+1, r.rows, rows)
		}
	}
	t.Logf("%d readers of %d rows were open at a time", readers, rows)
}
