package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/refusal"
)

// Querier answers questions about a lake: a little is read in process, more by
// DuckDB, which is started when it is first needed.
type Querier struct {
	Files     *datafile.Reader
	Newest    func(context.Context) (*protocol.Shelf, error) // the shelf of the newest head
	Usable    func(context.Context) error                    // fails once the lake is closed
	InProcess int64                                          // questions that read at most this many bytes of files are answered without DuckDB
	Memory    string                                         // that DuckDB may take; "" for its default

	mu     sync.Mutex   // guards engine
	engine *duck.Engine // nil until it is needed
}

// Close ends DuckDB. The lake is not usable any more by then.
func (b *Querier) Close() error {
	b.mu.Lock()
	engine := b.engine
	b.mu.Unlock()
	if engine == nil {
		return nil
	}
	return engine.Close() // without the lock: a question that it waits for may need it
}

// Get answers as [backend.Backend] says.
func (b *Querier) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	found, err := b.find(ctx, []onto.Identity{id}, at)
	if err != nil {
		return onto.Version{}, err
	}
	if len(found) == 0 {
		return onto.Version{}, refusal.NoVersion(id)
	}
	found[0].Fields = bytes.Clone(found[0].Fields)
	return found[0], nil
}

// Find answers as [backend.Finder] says.
func (b *Querier) Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := b.find(ctx, ids, at)
	slices.SortFunc(found, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
	return found, err
}

// find finds versions of one type in data files, in no order.
func (b *Querier) find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error) {
	return lookedUp(ctx, b, ids[0].TypeName(), at, func(s *protocol.Shelf) ([]onto.Version, error) {
		return b.Files.Find(ctx, s, ids[0].TypeName(), ids, reach(s, at))
	})
}

// Firsts answers as [backend.Backend] says.
func (b *Querier) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	return lookedUp(ctx, b, q.TypeName(), q.At, func(s *protocol.Shelf) ([]int64, error) {
		return b.Files.Firsts(ctx, s, q.TypeName(), q.IDs, reach(s, q.At))
	})
}

// lookedUp looks something up in the data files of a type, again if they were replaced
// meanwhile or a local copy was damaged.
func lookedUp[T any](ctx context.Context, b *Querier, t onto.TypeName, at int64, look func(s *protocol.Shelf) (T, error)) (found T, err error) {
	s, err := b.Newest(ctx)
	if err != nil {
		return found, err
	}
	found, err = look(s)
	if errors.Is(err, protocol.ErrReplaced) {
		return lookedUp(ctx, b, t, at, look)
	}
	if err != nil && (&scope{own: tableOf(s, t, 0, reach(s, at))}).doubt(b.Files, err) {
		found, err = look(s)
	}
	return found, err
}

// reach returns the commit that a question as of at is about.
func reach(s *protocol.Shelf, at int64) int64 {
	if head := s.Tip.Head.CommitID; at == backend.Head || at > head {
		return head
	}
	return at
}

// scope is what a question is about: the files of its type, and of endpoints that
// it looks at.
type scope struct {
	*protocol.Shelf
	own, left, right *table
	release          []func()
}

// table is files of one type.
type table struct {
	onto.TypeName
	files []protocol.FileEntry
}

// scopeOf finds the files that a query is about.
func scopeOf(s *protocol.Shelf, q *backend.Query, ends backend.Ends) *scope {
	at, since := reach(s, q.At), int64(0)
	if q.Mode == backend.History {
		since = q.Since
	}
	c := &scope{Shelf: s, own: tableOf(s, q.TypeName(), since, at)}
	left, right := endTypes(s, q)
	if ends.Left {
		c.left = tableOf(s, onto.TypeName{Kind: onto.KindEntity, Name: left}, 0, at)
	}
	if ends.Right {
		c.right = tableOf(s, onto.TypeName{Kind: onto.KindEntity, Name: right}, 0, at)
	}
	return c
}

func tableOf(s *protocol.Shelf, t onto.TypeName, since, at int64) *table {
	return &table{t, s.Of(t, since, at)}
}

// reach returns the commit that a question as of at is about.
func (c *scope) reach(at int64) int64 { return reach(c.Shelf, at) }

// files are those of all tables.
func (c *scope) files() iter.Seq[*protocol.FileEntry] {
	return func(yield func(*protocol.FileEntry) bool) {
		for _, t := range []*table{c.own, c.left, c.right} {
			for i := 0; t != nil && i < len(t.files); i++ {
				if !yield(&t.files[i]) {
					return
				}
			}
		}
	}
}

// unique reports whether no identity comes twice in files and none is deleted. It is
// known for one file and for the parts of one.
func unique(files []protocol.FileEntry) bool {
	return len(files) > 0 && protocol.SameRange(files) && !slices.ContainsFunc(files, func(f protocol.FileEntry) bool { return !f.Unique })
}

// close releases what was fetched.
func (c *scope) close() {
	for _, f := range c.release {
		f()
	}
}

// endTypes returns the types of a relation's endpoints.
func endTypes(s *protocol.Shelf, q *backend.Query) (left, right string) {
	if v := s.Types.Newest(q.TypeName()); v != nil {
		return q.EndTypes(&v.Schema)
	}
	return q.EndTypes(nil)
}

// little reports whether a question is about so little that it is read in process.
func (b *Querier) little(c *scope) bool {
	var n int64
	for f := range c.files() {
		n += f.Bytes
	}
	return n <= b.InProcess
}

// answers is the answer of the process if there is little to read. More is left to
// DuckDB, and so is a question whose files turn out, before the first result, to
// decompress to too much.
func answers[T any](ctx context.Context, b *Querier, c *scope, inProcess iter.Seq2[T, error], byDuckDB ask[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		more := !b.little(c)
		if !more {
			inProcess(func(v T, err error) bool {
				more = errors.Is(err, datafile.ErrUnfolds)
				return !more && yield(v, err)
			})
		}
		if more {
			byDuckDB.answers(ctx, b, c)(yield)
		}
	}
}

// question answers a question as of the moment when iteration starts.
func question[T any](ctx context.Context, b *Querier, ask func(s *protocol.Shelf) (*scope, iter.Seq2[T, error])) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		answered, doubted := false, false
		for again := true; again; {
			again = false
			s, err := b.Newest(ctx)
			if err != nil {
				yield(none, err)
				return
			}
			c, answers := ask(s)
			for answer, err := range answers {
				if err == nil {
					err = b.Usable(ctx)
				}
				if err != nil && !answered && (errors.Is(err, protocol.ErrReplaced) || !doubted && c.doubt(b.Files, err)) {
					again, doubted = true, !errors.Is(err, protocol.ErrReplaced)
					break
				}
				if !yield(answer, err) || err != nil {
					break
				}
				answered = true
			}
			c.close()
		}
	}
}

// doubt reports whether an error was caused by a damaged or removed local copy. The
// next question fetches such copies again.
func (c *scope) doubt(r *datafile.Reader, err error) bool {
	if code := onto.CodeOf(err); code != onto.Unavailable && code != onto.Corrupt {
		return false
	}
	damaged := false
	for f := range c.files() {
		damaged = r.Doubt(f) || damaged
	}
	return damaged
}

// Scan answers as [backend.Backend] says.
func (b *Querier) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return question(ctx, b, func(s *protocol.Shelf) (*scope, iter.Seq2[onto.Version, error]) {
		c, p := scopeOf(s, q, q.Ends()), plain{b.Files}
		return c, answers(ctx, b, c, exec.Select(q, p.rows(ctx, q, c), p.ends(ctx, q, c)),
			func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[onto.Version, error] {
				return e.Scan(ctx, q, own, left, right)
			})
	})
}

// Aggregate answers as [backend.Backend] says.
func (b *Querier) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return question(ctx, b, func(s *protocol.Shelf) (*scope, iter.Seq2[onto.Group, error]) {
		c := scopeOf(s, &a.Query, a.Ends())
		return c, b.aggregate(ctx, a, c)
	})
}

func (b *Querier) aggregate(ctx context.Context, a *backend.Aggregation, c *scope) iter.Seq2[onto.Group, error] {
	p := plain{b.Files}
	return answers(ctx, b, c, exec.Aggregate(a, p.rows(ctx, &a.Query, c), p.ends(ctx, &a.Query, c)),
		func(e *duck.Engine, own, left, right *duck.Source) iter.Seq2[onto.Group, error] {
			return e.Aggregate(ctx, a, own, left, right)
		})
}

// Diff answers as [backend.Backend] says. It goes through the types one by one.
func (b *Querier) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return question(ctx, b, func(s *protocol.Shelf) (*scope, iter.Seq2[onto.Change, error]) {
		whole := &scope{Shelf: s}
		from, to := reach(s, q.From), reach(s, q.To)
		return whole, func(yield func(onto.Change, error) bool) {
			for _, t := range s.Names() {
				if q.Kind != "" && (t != q.TypeName()) || len(s.Of(t, from, to)) == 0 {
					continue
				}
				if !b.diffOf(ctx, s, t, from, to, yield) {
					return
				}
			}
		}
	})
}

// diffOf yields the changes of one type. It reports whether to go on. All files are
// fetched before the first change is yielded; if one was replaced meanwhile, the files
// of the newest head hold the same versions.
func (b *Querier) diffOf(ctx context.Context, s *protocol.Shelf, t onto.TypeName, from, to int64, yield func(onto.Change, error) bool) bool {
	for {
		c := &scope{Shelf: s, own: tableOf(s, t, 0, to)}
		changes := answers(ctx, b, c, plain{b.Files}.diff(ctx, from, to, c),
			func(e *duck.Engine, own, _, _ *duck.Source) iter.Seq2[onto.Change, error] {
				return e.Diff(ctx, from, to, own)
			})
		replaced := false
		for change, err := range changes {
			if replaced = errors.Is(err, protocol.ErrReplaced); replaced {
				break
			}
			if !yield(change, err) || err != nil {
				c.close()
				return false
			}
		}
		c.close()
		if !replaced {
			return true
		}
		var err error
		if s, err = b.Newest(ctx); err != nil {
			yield(onto.Change{}, err)
			return false
		}
	}
}

// Explain answers as [backend.Explainer] says.
func (b *Querier) Explain(ctx context.Context, q *backend.Query, a *backend.Aggregation) (backend.Explanation, error) {
	s, err := b.Newest(ctx)
	if err != nil {
		return backend.Explanation{}, err
	}
	var c *scope
	if a != nil {
		c = scopeOf(s, &a.Query, a.Ends())
	} else {
		c = scopeOf(s, q, q.Ends())
	}
	defer c.close()
	x := backend.Explanation{Process: []string{"read all rows, filter, sort and page in process: there is little to read"}}
	if !b.little(c) {
		x, err = b.explain(ctx, q, a, c)
	}
	for f := range c.files() {
		x.Plan = append(x.Plan, fmt.Sprintf("%s (commits %d to %d, %d rows, %d bytes)", f.Path, f.First, f.Last, f.Rows, f.Bytes))
	}
	return x, err
}

// Count counts the versions of a type that a mode selects.
func (b *Querier) Count(ctx context.Context, s *protocol.Shelf, t onto.TypeName, mode backend.Mode) (int64, error) {
	a := &backend.Aggregation{
		Query:   backend.Query{Kind: t.Kind, Type: t.Name, Mode: mode, At: s.Tip.Head.CommitID},
		Compute: []onto.Operand{onto.Count()},
	}
	c := scopeOf(s, &a.Query, a.Ends())
	defer c.close()
	for g, err := range b.aggregate(ctx, a, c) {
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(string(g.Values[0]), 10, 64)
	}
	return 0, nil
}
