package query

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// start returns DuckDB, which is started when it is first needed.
func (b *Querier) start(ctx context.Context) (*duck.Engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.Usable(ctx); err != nil { // under the lock: Close comes after it and finds the engine
		return nil, err
	}
	if b.engine != nil {
		return b.engine, nil
	}
	var err error
	directory := b.Files.Directory()
	b.engine, err = duck.Open(&duck.Options{Directory: directory, Memory: b.Memory, Spill: filepath.Join(directory, "spill")})
	return b.engine, err
}

// ask is a question to DuckDB about local copies of files.
type ask[T any] func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[T, error]

// answers fetches what the question is about, then lets DuckDB answer it.
func (question ask[T]) answers(ctx context.Context, b *Querier, c *scope) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		e, own, left, right, err := b.sources(ctx, c)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		question(e, own, left, right)(func(v T, err error) bool { return yield(v, c.named(err)) })
	}
}

// named adds the objects that an error of DuckDB is about: DuckDB knows only local
// copies, or none.
func (c *scope) named(err error) error {
	if code := onto.CodeOf(err); err == nil || code != onto.TooLarge && code != onto.Corrupt && code != onto.Unavailable {
		return err
	}
	n, first := 0, ""
	for f := range c.files() {
		if f.SHA256 != "" && strings.Contains(err.Error(), f.SHA256) {
			return onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err)
		}
		if n++; n == 1 {
			first = f.Path
		}
	}
	if n > 1 {
		first = fmt.Sprintf("%s and %d other files", first, n-1)
	}
	return onto.Errorf(onto.CodeOf(err), "%s: %w", first, err)
}

// sources fetches what a question is about.
func (b *Querier) sources(ctx context.Context, c *scope) (e *duck.Engine, own, left, right *duck.Source, err error) {
	if e, err = b.start(ctx); err != nil {
		return
	}
	if own, err = b.fetch(ctx, c, c.own); err != nil {
		return
	}
	if left, err = b.fetch(ctx, c, c.left); err != nil {
		return
	}
	right, err = b.fetch(ctx, c, c.right)
	return
}

// fetch makes a source of a table, for the engine. It is nil for none.
func (b *Querier) fetch(ctx context.Context, c *scope, t *table) (*duck.Source, error) {
	if t == nil {
		return nil, nil
	}
	paths, release, err := b.Files.Locals(ctx, t.files)
	if err != nil {
		return nil, err
	}
	c.release = append(c.release, release)
	if err := b.Files.Vet(t.files, paths); err != nil {
		return nil, err
	}
	return &duck.Source{
		Kind: t.Kind, Type: t.Name, Layout: b.Files.Layout(c.Types, t.TypeName), Files: paths,
		Purged: c.Types.Purged[t.TypeName], Head: c.Tip.Head.CommitID,
		Typed:  !slices.ContainsFunc(t.files, func(f protocol.FileEntry) bool { return !f.Typed }),
		Unique: unique(t.files),
	}, nil
}

// explain tells how DuckDB answers a question.
func (b *Querier) explain(ctx context.Context, q *backend.Query, a *backend.Aggregation, c *scope) (backend.Explanation, error) {
	e, own, left, right, err := b.sources(ctx, c)
	if err != nil {
		return backend.Explanation{}, err
	}
	return e.Explain(ctx, q, a, own, left, right)
}
