package duck_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

// shape is how the versions of a type are laid out in files.
type shape struct {
	files   int              // at most so many
	untyped bool             // the engine is told nothing of typed columns
	some    func(i int) bool // which questions the engine answers, and not memory; nil for all
}

// mirrored is a backend that keeps everything in memory, writes it to files when
// it is asked something, and lets the engine answer.
type mirrored struct {
	backend.Backend
	t      testing.TB
	engine *duck.Engine
	dir    string
	shape  shape

	mu      sync.Mutex // guards what follows
	sources map[string]*duck.Source
	count   int // of questions
}

func openShape(s shape) filtertest.Open {
	return func(t testing.TB, dir string) backend.Backend { return mirror(t, memory.New(nil).Open(), dir, s) }
}

// mirror lets an engine answer for what a backend keeps.
func mirror(t testing.TB, b backend.Backend, dir string, s shape) *mirrored {
	t.Helper()
	e, err := duck.Open(&duck.Options{Directory: dir, Threads: 1})
	must(t, err)
	return &mirrored{Backend: b, t: t, engine: e, dir: dir, shape: s, sources: map[string]*duck.Source{}}
}

func (b *mirrored) Close() error { return errors.Join(b.engine.Close(), b.Backend.Close()) }

// source writes the versions of a type to files, unless they are there.
func (b *mirrored) source(ctx context.Context, kind onto.Kind, typ string) (*duck.Source, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	head, err := b.Backend.Resolve(ctx, onto.Point{})
	if err != nil {
		return nil, err
	}
	schemas, err := b.Backend.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%s-%d-%.8s", kind, typ, head.ID, typelist.Hash(schemas))
	if s := b.sources[name]; s != nil {
		return s, nil
	}
	var all []onto.Version
	for v, err := range b.Backend.Scan(ctx, &backend.Query{Kind: kind, Type: typ, Mode: backend.History, At: head.ID}) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	s := &duck.Source{Kind: kind, Type: typ, Layout: parquet.NewLayout(kind, typ, schemas), Head: head.ID}
	s.Files, s.Typed, s.Unique = writeFiles(b.t, b.dir, name, s.Layout, split(all, b.shape.files))
	s.Typed = s.Typed && !b.shape.untyped
	b.sources[name] = s
	return s, nil
}

// split cuts versions, which are in order of commits, into parts.
func split(all []onto.Version, parts int) [][]onto.Version {
	var list [][]onto.Version
	size := max(1, (len(all)+parts-1)/parts)
	for ; len(all) > 0; all = all[min(size, len(all)):] {
		list = append(list, all[:min(size, len(all))])
	}
	return list
}

// writeFiles writes one file for each part, and returns what holds for all of them.
func writeFiles(t testing.TB, dir, name string, l *parquet.Layout, parts [][]onto.Version) (files []string, typed, unique bool) {
	t.Helper()
	typed = true
	for i, part := range parts {
		body, sum, err := parquet.Encode(l, part)
		must(t, err)
		path := filepath.Join(dir, fmt.Sprintf("%s-%d.parquet", name, i))
		must(t, os.WriteFile(path, body, 0o600))
		files, typed, unique = append(files, path), typed && sum.Typed, sum.Unique && len(parts) == 1
	}
	return files, typed, unique
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asked returns the sources of a query.
func (b *mirrored) asked(ctx context.Context, q *backend.Query) (own, left, right *duck.Source, err error) {
	if own, err = b.source(ctx, q.Kind, q.Type); err != nil || q.Kind == onto.KindEntity {
		return own, nil, nil, err
	}
	leftType, rightType, err := b.endTypes(ctx, q)
	if err == nil {
		left, err = b.source(ctx, onto.KindEntity, leftType)
	}
	if err == nil {
		right, err = b.source(ctx, onto.KindEntity, rightType)
	}
	return own, left, right, err
}

// endTypes returns the types of a relation's endpoints: those a query tells,
// otherwise those of its schema.
func (b *mirrored) endTypes(ctx context.Context, q *backend.Query) (left, right string, err error) {
	schemas, err := b.Backend.Schemas(ctx)
	for _, v := range schemas {
		if v.Schema.TypeName() == q.TypeName() {
			left, right = v.Schema.Left, v.Schema.Right
		}
	}
	if q.Left != nil {
		left = q.Left.Name
	}
	if q.Right != nil {
		right = q.Right.Name
	}
	return left, right, err
}

// begin makes a sequence when its iteration starts.
func begin[T any](start func() (iter.Seq2[T, error], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seq, err := start()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		seq(yield)
	}
}

// spared reports whether memory answers the next question in place of the engine.
func (b *mirrored) spared() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	return b.shape.some != nil && !b.shape.some(b.count)
}

func (b *mirrored) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	if b.spared() {
		return b.Backend.Scan(ctx, q)
	}
	return begin(func() (iter.Seq2[onto.Version, error], error) {
		own, left, right, err := b.asked(ctx, q)
		return b.engine.Scan(ctx, q, own, left, right), err
	})
}

func (b *mirrored) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	if b.spared() {
		return b.Backend.Aggregate(ctx, a)
	}
	return begin(func() (iter.Seq2[onto.Group, error], error) {
		own, left, right, err := b.asked(ctx, &a.Query)
		return b.engine.Aggregate(ctx, a, own, left, right), err
	})
}

func (b *mirrored) Explain(ctx context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	asked := q
	if q == nil {
		asked = &a.Query
	}
	own, left, right, err := b.asked(ctx, asked)
	if err != nil {
		return backend.Explanation{}, err
	}
	return b.engine.Explain(ctx, q, a, own, left, right)
}

func openMemory(testing.TB, string) backend.Backend { return memory.New(nil).Open() }

// TestCorpus asks every case of the corpus. Most cases are about twenty questions, of which
// the engine answers one in a plain run, and each time another one. Only a long run asks a
// second time without typed columns, which most types of the corpus do not have.
func TestCorpus(t *testing.T) {
	t.Parallel()
	some := func(i int) bool { return effort.Includes(t, i+i/20) && (effort.Thorough(t) || i/10%2 == 0) }
	t.Run("typed", func(t *testing.T) { filtertest.Run(t, openShape(shape{files: 2, some: some})) })
	if effort.Thorough(t) {
		t.Run("untyped", func(t *testing.T) { filtertest.Run(t, openShape(shape{files: 1, untyped: true, some: some})) })
	}
}

// TestAgree asks random questions, about files of one shape after the other.
func TestAgree(t *testing.T) {
	t.Parallel()
	full := 20_000
	if !effort.Thorough(t) {
		full = 4_000
	}
	shapes, next := []shape{{files: 1}, {files: 40}, {files: 2, untyped: true}}, 0
	filtertest.Agree(t, effort.Count(t, full), openMemory, func(t testing.TB, dir string) backend.Backend {
		next++
		return openShape(shapes[next%len(shapes)])(t, dir)
	})
}
