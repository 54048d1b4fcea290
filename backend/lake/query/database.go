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

// database is the engine for much data: DuckDB on local copies of the files.
type database struct{ *Querier }

// start returns DuckDB, which is started when it is first needed.
func (d database) start(ctx context.Context) (*duck.Engine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Usable(ctx); err != nil { // under the lock: Close comes after it and finds the engine
		return nil, err
	}
	if d.engine != nil {
		return d.engine, nil
	}
	var err error
	directory := d.Files.Directory()
	d.engine, err = duck.Open(&duck.Options{Directory: directory, Memory: d.Memory, Spill: filepath.Join(directory, "spill")})
	return d.engine, err
}

// ask fetches what a question is about, then lets DuckDB answer it.
func ask[T any](ctx context.Context, d database, c *scope, question func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		e, own, left, right, err := d.sources(ctx, c)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		question(e, own, left, right)(func(v T, err error) bool { return yield(v, c.named(err)) })
	}
}

// named tells which objects an error of DuckDB is about: it knows only local copies,
// or none.
func (c *scope) named(err error) error {
	if code := onto.CodeOf(err); err == nil || code != onto.TooLarge && code != onto.Corrupt && code != onto.Unavailable {
		return err
	}
	n, first := 0, ""
	for _, t := range []*table{c.own, c.left, c.right} {
		for i := 0; t != nil && i < len(t.files); i++ {
			if f := &t.files[i]; f.SHA256 != "" && strings.Contains(err.Error(), f.SHA256) {
				return onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err)
			}
			if n++; n == 1 {
				first = t.files[i].Path
			}
		}
	}
	if n > 1 {
		first = fmt.Sprintf("%s and %d other files", first, n-1)
	}
	return onto.Errorf(onto.CodeOf(err), "%s: %w", first, err)
}

// sources fetches what a question is about.
func (d database) sources(ctx context.Context, c *scope) (e *duck.Engine, own, left, right *duck.Source, err error) {
	if e, err = d.start(ctx); err != nil {
		return
	}
	if own, err = d.fetch(ctx, c, c.own); err != nil {
		return
	}
	if left, err = d.fetch(ctx, c, c.left); err != nil {
		return
	}
	right, err = d.fetch(ctx, c, c.right)
	return
}

// fetch makes a source of a table, for the engine. It is nil for none.
func (d database) fetch(ctx context.Context, c *scope, t *table) (*duck.Source, error) {
	if t == nil {
		return nil, nil
	}
	paths, release, err := d.Files.Locals(ctx, t.files)
	if err != nil {
		return nil, err
	}
	c.release = append(c.release, release)
	if err := d.Files.Vet(t.files, paths); err != nil {
		return nil, err
	}
	return &duck.Source{
		Kind: t.Kind, Type: t.Name, Layout: d.Files.Layout(c.Types, t.TypeName), Files: paths,
		Purged: c.Types.Purged[t.TypeName], Head: c.Tip.Head.CommitID,
		Typed:  !slices.ContainsFunc(t.files, func(f protocol.FileEntry) bool { return !f.Typed }),
		Unique: unique(t.files),
	}, nil
}

func (d database) scan(ctx context.Context, q *backend.Query, c *scope) iter.Seq2[onto.Version, error] {
	return ask(ctx, d, c, func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[onto.Version, error] {
		return e.Scan(ctx, q, own, left, right)
	})
}

func (d database) aggregate(ctx context.Context, a *backend.Aggregation, c *scope) iter.Seq2[onto.Group, error] {
	return ask(ctx, d, c, func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[onto.Group, error] {
		return e.Aggregate(ctx, a, own, left, right)
	})
}

func (d database) diff(ctx context.Context, from, to int64, c *scope) iter.Seq2[onto.Change, error] {
	return ask(ctx, d, c, func(e *duck.Engine, own, _, _ *duck.Source) iter.Seq2[onto.Change, error] {
		return e.Diff(ctx, from, to, own)
	})
}

func (d database) explain(ctx context.Context, q *backend.Query, a *backend.Aggregation, c *scope) (backend.Explanation, error) {
	e, own, left, right, err := d.sources(ctx, c)
	if err != nil {
		return backend.Explanation{}, err
	}
	return e.Explain(ctx, q, a, own, left, right)
}
