package lake

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// readFiles is a bucket that counts the data files that are read.
type readFiles struct {
	bucket.Bucket
	n *atomic.Int64
}

func (r readFiles) Get(ctx context.Context, key string, part bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if strings.HasSuffix(key, ".parquet") {
		r.n.Add(1)
	}
	return r.Bucket.Get(ctx, key, part, ifNot)
}

// A process that has just started and writes something new reads no file of the
// many small ones; what exists already is found in the one that has it.
func TestSmallFilesTellWhatTheyHold(t *testing.T) {
	b := memory.New(nil)
	s := openSample(t, b, time.Second)
	_, err := s.lake.Register(t.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	const commits = 100 // more than one checkpoint
	for i := range commits {
		s.commit("", entityPut("Person", fmt.Sprint("p", i), 1, i), entityPut("Person", fmt.Sprint("q", i), 1, i), salaryPut(fmt.Sprint("p", i), fmt.Sprint("s", i), i), knowsPut(fmt.Sprint("p", i), fmt.Sprint("q", i), i))
	}
	for _, c := range []struct {
		name    string
		writes  []backend.Write
		changed int
		read    int64
	}{
		{"new", []backend.Write{entityPut("Person", "new", 1, 1)}, 1, 0},
		{"new of two types", []backend.Write{entityPut("Person", "newer", 1, 1), knowsPut("p1", "p2", 1)}, 2, 0},
		{"a new fact", []backend.Write{salaryPut("p7", "new", 1)}, 1, 0},
		{"a fact as it is", []backend.Write{salaryPut("p7", "s7", 7)}, 0, 1},
		{"as it is", []backend.Write{entityPut("Person", "p7", 1, 7)}, 0, 1},
		{"relation as it is", []backend.Write{knowsPut("p7", "q7", 7)}, 0, 1},
		{"changed", []backend.Write{entityPut("Person", "q99", 1, 1000)}, 1, 1},
		{"deleted", []backend.Write{ended(entityPut("Person", "new", 1, 0))}, 1, 1},
		{"deleted before", []backend.Write{ended(entityPut("Person", "new", 1, 0))}, 0, 2},
	} {
		files := readFiles{unclosed{b}, new(atomic.Int64)}
		l, err := Open(t.Context(), files, &Options{Trusted: true})
		s.must(err)
		r, err := l.Append(t.Context(), &backend.Draft{Writes: c.writes})
		s.must(err)
		s.must(l.Close())
		if r.Operations != c.changed || files.n.Load() != c.read {
			t.Errorf("%s: got %d changes and %d files that were read, want %d and %d", c.name, r.Operations, files.n.Load(), c.changed, c.read)
		}
	}
	if found := checked(t, s.lake); len(found) > 0 {
		t.Errorf("got %v", found)
	}
}
