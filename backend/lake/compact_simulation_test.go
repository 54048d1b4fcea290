package lake

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// compact merges files now and then.
func (s *simulation) compact(ctx context.Context, l *log, client int) {
	if !s.begin(ctx, l) {
		return
	}
	for n := range 6 {
		time.Sleep(time.Duration(400+300*client) * time.Millisecond)
		s.compactOnce(ctx, l, n%3)
	}
}

// compactOnce merges all files but some of the oldest.
func (s *simulation) compactOnce(ctx context.Context, l *log, but int) {
	t, err := l.load(ctx)
	if err != nil {
		return
	}
	shelf, err := l.shelve(ctx, t, nil)
	if err != nil {
		return
	}
	files := shelf.files[onto.TypeName{Kind: onto.KindEntity, Name: "T"}]
	if files = files[min(len(files), but):]; len(files) >= 2 {
		s.merge(ctx, l, shelf, files)
	}
}

// merge replaces files by one.
func (s *simulation) merge(ctx context.Context, l *log, shelf *shelf, files []fileEntry) {
	var versions []onto.Version
	for i := range files {
		body, err := l.data(ctx, &files[i])
		if err != nil {
			return
		}
		list, err := decoded(body)
		if err != nil {
			return
		}
		versions = append(versions, list...)
	}
	slices.SortFunc(versions, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	file := encoded(versions)
	if _, replaced, err := l.replace(ctx, files, []dataFile{file}, shelf); err == nil && replaced {
		s.mu.Lock()
		s.compacted++
		s.mu.Unlock()
	}
}

// encoded is a file of type T.
func encoded(versions []onto.Version) (file dataFile) {
	outside.do(func() {
		body, sum, err := parquet.Encode(parquet.NewLayout(onto.KindEntity, "T", nil), versions)
		if err != nil {
			panic(err)
		}
		file = dataFile{kind: onto.KindEntity, typ: "T", version: 1, rows: sum.Rows, body: body}
	})
	return file
}

// decoded reads a file of type T. The same file is read often, so it is decoded
// once.
func decoded(body []byte) (list []onto.Version, err error) {
	outside.do(func() {
		var known bool
		if list, known = outside.decoded[string(body)]; known {
			return
		}
		var f *parquet.File
		if f, err = parquet.Open(bytes.NewReader(body), int64(len(body)), onto.KindEntity, "T"); err != nil {
			return
		}
		for v, failed := range f.All(context.Background()) {
			if err = failed; err != nil {
				return
			}
			list = append(list, v)
		}
		if len(outside.decoded) > 1000 {
			clear(outside.decoded)
		}
		outside.decoded[string(body)] = list
	})
	return list, err
}

// outsider does jobs outside of any bubble: compression keeps its workers for
// whoever comes next, and a bubble's are nobody else's.
type outsider struct {
	mu   sync.Mutex // held by whoever has a job
	jobs chan func()
	done chan struct{}

	decoded map[string][]onto.Version // by body
}

var outside = newOutsider()

func newOutsider() *outsider {
	o := &outsider{jobs: make(chan func()), done: make(chan struct{}), decoded: map[string][]onto.Version{}}
	go func() {
		for job := range o.jobs {
			job()
			o.done <- struct{}{}
		}
	}()
	return o
}

func (o *outsider) do(job func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs <- job
	<-o.done
}
