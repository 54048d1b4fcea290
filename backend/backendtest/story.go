package backendtest

import (
	"context"
	"errors"
	"flag"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// tale is a named story.
type tale struct {
	name string
	tell func(*story)
}

// story is a test about one store, which has the types of the tests.
type story struct {
	*testing.T
	backend.Backend // the handle that the story uses

	ctx    context.Context
	target Target
	place  *Place
	after  *[]func() // what is done at the end, last first
}

// runStories runs stories at once, or, with -failfast, one after the other: then none begins
// after one has failed, which may wait for what a broken backend never does.
func runStories(t *testing.T, target Target, tales []tale) {
	failFast := flag.Lookup("test.failfast").Value.String() == "true"
	for _, tale := range tales {
		t.Run(tale.name, func(t *testing.T) {
			if !failFast {
				t.Parallel()
			}
			tell(t, target, tale.tell)
		})
	}
}

// tell runs a story about a new store. It is cleaned up here and not by Cleanup, since
// opening a store needs the test's context.
func tell(t *testing.T, target Target, tale func(*story)) {
	s := &story{T: t, ctx: t.Context(), target: target, after: new([]func())}
	defer func() {
		for _, end := range slices.Backward(*s.after) {
			end()
		}
	}()
	tale(s.another())
}

// another starts a story about another store of the same kind. At the end the
// store is opened once more and checked.
func (s *story) another() *story {
	s.Helper()
	return s.at(newPlace(s.T, s.TempDir()))
}

// at is another for a store at a certain place.
func (s *story) at(p *Place) *story {
	s.Helper()
	other := *s
	other.place = p
	s.finally(func() {
		b := s.target.Open(s.T, other.place)
		Check(s.T, b)
		s.closeHandle(b)
	})
	other.Backend = other.open()
	other.register(testSchemas()...)
	return &other
}

func (s *story) finally(end func()) { *s.after = append(*s.after, end) }

// open returns another handle on the store, which is closed at the end.
func (s *story) open() backend.Backend {
	s.Helper()
	b := s.target.Open(s.T, s.place)
	s.finally(func() { s.closeHandle(b) })
	return b
}

func (s *story) closeHandle(b backend.Backend) {
	if err := b.Close(); err != nil && !errors.Is(err, onto.Closed) {
		s.Errorf("close: %v", err)
	}
}

// reopen closes the handle and continues with a new one.
func (s *story) reopen() {
	s.Helper()
	s.must(s.Close())
	s.Backend = s.open()
}

// through continues the story through another handle.
func (s *story) through(b backend.Backend) *story {
	other := *s
	other.Backend = b
	return &other
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) register(schemas ...onto.Schema) []onto.SchemaVersion {
	s.Helper()
	list, err := s.Register(s.ctx, &backend.Registration{
		Schemas: schemas, Runtime: "test", Reason: "initial", Actor: onto.Operator("ana"), Comment: "tests need \"types\"",
	})
	if err != nil {
		s.Fatalf("register: %v", err)
	}
	return list
}

// do appends a draft that must be accepted.
func (s *story) do(d *backend.Draft) onto.Result {
	s.Helper()
	r, err := s.Append(s.ctx, d)
	if err != nil {
		s.Fatalf("append: %v", err)
	}
	s.wantHolds(r)
	return r
}

// wantHolds checks where a draft holds, which nothing was committed after: at its
// commit, or at the head.
func (s *story) wantHolds(r onto.Result) {
	s.Helper()
	want := r.ID
	if !r.Changed() {
		want = s.resolve(onto.Point{}).ID
	}
	if r.At != want {
		s.Errorf("append: got %s, repeated %v, which holds at commit %d; want commit %d", showCommit(r.Commit), r.Repeated, r.At, want)
	}
}

// commit appends writes that must make a commit.
func (s *story) commit(writes ...backend.Write) onto.Commit {
	s.Helper()
	r := s.do(draft(writes...))
	if !r.Changed() || r.Repeated {
		s.Fatalf("append: got %s, repeated %v; want a new commit", showCommit(r.Commit), r.Repeated)
	}
	return r.Commit
}

// nothing appends a draft that must be accepted and make no commit.
func (s *story) nothing(d *backend.Draft) {
	s.Helper()
	before := s.everything()
	if r := s.do(d); r.Changed() || r.Repeated {
		s.Fatalf("append: got %s, repeated %v; want no commit", showCommit(r.Commit), r.Repeated)
	}
	s.wantLines("the store", s.everything(), before)
}

// refused appends a draft that must fail with a code and change nothing.
func (s *story) refused(code onto.Code, d *backend.Draft) {
	s.Helper()
	before := s.everything()
	r, err := s.Append(s.ctx, d)
	s.wantCode("append", err, code)
	if r.Changed() {
		s.Errorf("append: got %s with an error", showCommit(r.Commit))
	}
	s.wantLines("the store", s.everything(), before)
}

// stream appends writes as a stream that must be accepted.
func (s *story) stream(d *backend.Draft, writes ...backend.Write) onto.Result {
	s.Helper()
	r, err := s.AppendStream(s.ctx, d, sequence(writes, nil))
	if err != nil {
		s.Fatalf("append a stream: %v", err)
	}
	s.wantHolds(r)
	return r
}

// refusedStream appends a stream that must fail with a code and change nothing.
func (s *story) refusedStream(code onto.Code, d *backend.Draft, writes ...backend.Write) {
	s.Helper()
	before := s.everything()
	_, err := s.AppendStream(s.ctx, d, sequence(writes, nil))
	s.wantCode("append a stream", err, code)
	s.wantLines("the store", s.everything(), before)
}

// sequence yields writes, then an error if there is one.
func sequence(writes []backend.Write, end error) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
		if end != nil {
			yield(backend.Write{}, end)
		}
	}
}

// list formats a sequence. It fails the test if the sequence fails.
func list[T any](s *story, seq iter.Seq2[T, error], show func(T) string) []string {
	s.Helper()
	lines, err := collect(seq, show)
	if err != nil {
		s.Fatalf("after %d items: %v", len(lines), err)
	}
	return lines
}

// collect formats a sequence, up to its error.
func collect[T any](seq iter.Seq2[T, error], show func(T) string) ([]string, error) {
	var lines []string
	for item, err := range seq {
		if err != nil {
			return lines, err
		}
		lines = append(lines, show(item))
	}
	return lines, nil
}

func (s *story) scan(q *backend.Query) []string {
	s.Helper()
	return list(s, s.Scan(s.ctx, q), showVersion)
}

func (s *story) diff(from, to int64) []string {
	s.Helper()
	return list(s, s.Diff(s.ctx, &backend.DiffQuery{From: from, To: to}), showChange)
}

func (s *story) commits(q backend.CommitQuery) []string {
	s.Helper()
	return list(s, s.Commits(s.ctx, &q), showCommit)
}

// get formats the newest version, or the code of the error.
func (s *story) get(id onto.Identity, at int64) string {
	s.Helper()
	v, err := s.Get(s.ctx, id, at)
	if errors.Is(err, onto.NotFound) {
		return "not found"
	}
	s.must(err)
	return showVersion(v)
}

func (s *story) resolve(p onto.Point) onto.Commit {
	s.Helper()
	c, err := s.Resolve(s.ctx, p)
	if err != nil {
		s.Fatalf("resolve %s: %v", p, err)
	}
	return c
}

// everything formats the whole log.
func (s *story) everything() []string {
	s.Helper()
	lines := s.commits(backend.CommitQuery{Until: backend.Head})
	lines = append(lines, "head "+showCommit(s.resolve(onto.Point{})))
	for _, schema := range testSchemas() {
		lines = append(lines, s.scan(historyOf(schema.Kind, schema.Name, backend.Head))...)
		lines = append(lines, s.scan(stateOf(schema.Kind, schema.Name, backend.Head))...)
	}
	return lines
}

// want compares formatted answers.
func (s *story) want(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s\n got: %s\nwant: %s", what, got, want)
	}
}

// wantLines compares lists of formatted answers.
func (s *story) wantLines(what string, got, want []string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s\n got:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantState compares the present state of a type.
func (s *story) wantState(kind onto.Kind, typ string, want ...string) {
	s.Helper()
	s.wantLines(typ+" now", s.scan(stateOf(kind, typ, backend.Head)), want)
}

func (s *story) wantHead(want int64) {
	s.Helper()
	if got := s.resolve(onto.Point{}).ID; got != want {
		s.Errorf("head: got %d, want %d", got, want)
	}
}

func (s *story) wantCode(what string, err error, code onto.Code) {
	s.Helper()
	if !errors.Is(err, code) {
		s.Fatalf("%s: got error %v (code %q), want code %q", what, err, onto.CodeOf(err), code)
	}
}

// discard removes a place that is not needed any more.
func discard(t testing.TB, p *Place) {
	if err := os.RemoveAll(p.Dir); err != nil {
		t.Error(err)
	}
}
