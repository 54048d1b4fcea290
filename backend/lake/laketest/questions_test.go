package laketest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	reference "github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
)

// The answers of a lake on disk are right, from either engine and for any number of
// rounds. DuckDB answers some of the questions of each group of the corpus, since package
// duck asks it all of them, and the process the others.
func TestQuestions(t *testing.T) {
	at := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
	every := 31
	if effort.Thorough(t) {
		every = 3
		at("corpus in process", func(t *testing.T) {
			filtertest.RunSome(t, func(t testing.TB, dir string) backend.Backend { return openFiles(t, dir, 0) })
		})
	}
	at("corpus with DuckDB", func(t *testing.T) { filtertest.RunSome(t, onFiles(every)) })
	at("random with DuckDB", func(t *testing.T) { agree(t, onFiles(1)) })
	at("random over many rounds", func(t *testing.T) {
		agree(t, func(t testing.TB, dir string) backend.Backend {
			return &scattered{Backend: onFiles(2)(t, dir), last: []int64{0}}
		})
	})
}

// agree asks a lake and the reference random questions.
func agree(t *testing.T, open filtertest.Open) {
	t.Helper()
	full := 4_000
	if !effort.Thorough(t) {
		full = 1_000
	}
	filtertest.Agree(t, effort.Count(t, full), openReference, open)
}

func openReference(testing.TB, string) backend.Backend { return reference.New(nil).Open() }

// onFiles opens lakes on disk. DuckDB answers one question of so many.
func onFiles(every int) filtertest.Open {
	return func(t testing.TB, dir string) backend.Backend {
		t.Helper()
		return newDivided(every, func(inProcess int64) backend.Backend { return openFiles(t, dir, inProcess) })
	}
}

// openFiles opens the lake in a directory. Questions about more than so many bytes
// go to DuckDB; less than 0 for all.
func openFiles(t testing.TB, dir string, inProcess int64) backend.Backend {
	t.Helper()
	b, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return openTrusted(t, b, inProcess)
}

func openTrusted(t testing.TB, b bucket.Bucket, inProcess int64) backend.Backend {
	t.Helper()
	l, err := lake.Open(t.Context(), b, &lake.Options{Trusted: true, InProcess: inProcess})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// divided is two handles on one lake: one answers in process, the other with
// DuckDB.
type divided struct {
	backend.Backend // writes, and answers in process
	duckdb          backend.Backend
	every           int // DuckDB answers one question of so many
	asked           int
}

func newDivided(every int, open func(inProcess int64) backend.Backend) *divided {
	return &divided{Backend: open(0), duckdb: open(-1), every: every}
}

// next is the handle that answers the next question.
func (d *divided) next() backend.Backend {
	if d.asked++; d.asked%d.every == 0 {
		return d.duckdb
	}
	return d.Backend
}

func (d *divided) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return d.next().Scan(ctx, q)
}

func (d *divided) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return d.next().Aggregate(ctx, a)
}

func (d *divided) Close() error { return errors.Join(d.Backend.Close(), d.duckdb.Close()) }

// Unwrap implements what [backend.As] looks for.
func (d *divided) Unwrap() backend.Backend { return d.duckdb }

// scattered is a backend that makes several commits of each draft, and translates
// commit numbers to those that the drafts would have had. Only Append, Register, Scan,
// Aggregate and Close may be called.
type scattered struct {
	backend.Backend
	last  []int64 // the last commit of each draft, by its number; 0 is that of none
	made  []part  // by commit
	piece int     // how many writes a commit has
}

// part is one of the commits of a draft: those of its identities from this one on.
type part struct {
	first onto.Identity
	draft int64
}

// Append makes commits of one, three or seven writes. The writes are sorted, so
// that entities come before the relations between them.
func (s *scattered) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if s.piece == 0 {
		s.piece = []int{1, 3, 7}[len(d.Writes)%3]
	}
	draft, head := int64(len(s.last)), s.last[len(s.last)-1]
	var all onto.Result
	for writes := range slices.Chunk(d.Writes, s.piece) {
		piece := *d
		piece.Writes = writes
		res, err := s.Backend.Append(ctx, &piece)
		if err != nil {
			return res, err
		}
		if res.Changed() {
			s.made = append(s.made, part{writes[0].Identity, draft})
			all, head = res, res.ID
		}
	}
	if all.Changed() {
		s.last, all.ID = append(s.last, head), draft
	}
	return all, nil
}

// inner is the last commit of a draft, and a later one for what is no draft yet.
func (s *scattered) inner(draft int64) int64 {
	if draft < int64(len(s.last)) && draft >= 0 {
		return s.last[draft]
	}
	if draft == backend.Head {
		return backend.Head
	}
	return s.last[len(s.last)-1] + 1
}

// query asks the same in the numbers of commits.
func (s *scattered) query(q backend.Query) backend.Query {
	q.At, q.Since = s.inner(q.At), s.inner(q.Since)
	if q.After == nil || q.Mode != backend.History || q.After.Commit == 0 {
		return q
	}
	after := *q.After
	after.Commit = s.inner(q.After.Commit-1) + 1
	for i, p := range s.made {
		if p.draft == q.After.Commit && p.first.Compare(after.Identity) <= 0 {
			after.Commit = int64(i) + 1
		}
	}
	q.After = &after
	return q
}

func (s *scattered) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	asked := s.query(*q)
	return func(yield func(onto.Version, error) bool) {
		for v, err := range s.Backend.Scan(ctx, &asked) {
			if err == nil {
				v.Commit = s.made[v.Commit-1].draft
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

func (s *scattered) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	asked := *a
	asked.Query = s.query(a.Query)
	return s.Backend.Aggregate(ctx, &asked)
}

// Unwrap implements what [backend.As] looks for.
func (s *scattered) Unwrap() backend.Backend { return s.Backend }
