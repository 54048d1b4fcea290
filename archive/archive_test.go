package archive_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type person struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name" onto:"search"`
	Age  int    `json:"age" onto:"index"`
}

type note struct {
	ID   string `json:"id" onto:"key"`
	Text string `json:"text"`
}

type knows struct {
	onto.Link[person, person]
	Since int `json:"since"`
}

// kept is a backend that its store does not close.
type kept struct{ backend.Backend }

func (kept) Close() error              { return nil }
func (k kept) Unwrap() backend.Backend { return k.Backend }

// source is a store that a test fills.
type source struct {
	t *testing.T
	b *memory.Backend
	s *store.Store
}

func newSource(t *testing.T) *source {
	t.Helper()
	b := memory.New(nil).Open()
	t.Cleanup(func() {
		backendtest.Check(t, b)
		b.Close()
	})
	return &source{t, b, openStore(t, b)}
}

func openStore(t *testing.T, b backend.Backend) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), kept{b}, onto.TypeOf[person](), onto.TypeOf[note](), onto.TypeOf[knows]())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *source) commit(d onto.Draft, items ...any) onto.Result {
	s.t.Helper()
	res, err := s.s.Commit(s.t.Context(), d.Ensure(items...))
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// fill makes commits.
func (s *source) fill(n int) {
	s.t.Helper()
	first := int(s.head())
	for i := first; i < first+n; i++ {
		id := fmt.Sprint("p", i%7)
		s.commit(onto.Draft{Actor: onto.Operator("ana"), Comment: fmt.Sprint("number ", i), IdempotencyKey: fmt.Sprint("key ", i)},
			person{ID: id, Name: "Ada " + id, Age: i}, note{ID: fmt.Sprint("n", i), Text: strings.Repeat("x", i%50)},
			knows{Link: onto.Between[person, person](id, "p0"), Since: i})
	}
}

func (s *source) head() int64 {
	c, err := s.b.Resolve(s.t.Context(), onto.Point{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c.ID
}

func (s *source) drop(name string, purge bool) {
	s.t.Helper()
	_, _, err := store.DropTypes(s.t.Context(), s.b, &store.Drop{Kind: onto.KindEntity, Type: name, Purge: purge}, &store.ApplyOptions{Force: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.s = nil
}

// target is an empty store to copy to.
func target(t *testing.T) (*memory.Store, *memory.Backend) {
	t.Helper()
	st := memory.New(nil)
	b := st.OpenTarget()
	t.Cleanup(func() {
		backendtest.Check(t, b)
		b.Close()
	})
	return st, b
}

func apply(t *testing.T, j *archive.Job) *archive.Result {
	t.Helper()
	res, err := j.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// same fails unless a verification finds two logs equal up to a commit.
func same(t *testing.T, j *archive.Job, commit int64) {
	t.Helper()
	c, err := j.Verify(t.Context())
	if err != nil || c.First != nil || c.Sum == "" || c.Types == "" || c.Commit != commit {
		t.Fatalf("verify: got %+v and error %v, want no difference up to commit %d", c, err, commit)
	}
}

func wantError(t *testing.T, err error, code onto.Code, text string) {
	t.Helper()
	if onto.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), text) {
		t.Fatalf("got error %v (%s), want %s with %q", err, onto.CodeOf(err), code, text)
	}
}

func TestCopy(t *testing.T) {
	from := newSource(t)
	from.fill(30)
	st, to := target(t)
	if err := archive.Copy(t.Context(), from.b, to); err != nil {
		t.Fatal(err)
	}
	job := &archive.Job{From: from.b, To: to}
	same(t, job, 30)
	other := st.Open()
	defer other.Close()
	s := openStore(t, other)
	ada, err := store.Get[person](t.Context(), s.At(9), "p1")
	if err != nil || ada.Age != 8 {
		t.Errorf("as of commit 9: got %+v and error %v, want the age 8", ada, err)
	}
	res, err := s.Commit(t.Context(), onto.Draft{Actor: onto.Operator("ana"), Comment: "number 3", IdempotencyKey: "key 3"}.Ensure(
		person{ID: "p3", Name: "Ada p3", Age: 3}, note{ID: "n3", Text: "xxx"}, knows{Link: onto.Between[person, person]("p3", "p0"), Since: 3}))
	if err != nil || !res.Repeated || res.ID != 4 {
		t.Errorf("a draft that the source has committed: got %+v and error %v, want the result of commit 4", res, err)
	}

	page, err := store.Find[person](openStore(t, from.b).Now()).Limit(2).Page(t.Context())
	if err != nil || page.Next == "" {
		t.Fatalf("a page of the source: got the cursor %q and error %v", page.Next, err)
	}
	_, err = store.Find[person](s.Now()).Limit(2).After(page.Next).Page(t.Context())
	wantError(t, err, onto.Invalid, "the cursor is from another store")
	testLeaseOfTheSource(t, openStore(t, from.b), s)

	// What the source commits later is added, and a copy that has it is left alone.
	from.fill(5)
	plan, err := job.Plan(t.Context())
	if err != nil || plan.Shared != 30 || plan.Commits != 5 || plan.Until != 35 || plan.Resumes || plan.Versions == 0 {
		t.Fatalf("plan: got %+v and error %v", plan, err)
	}
	if res := apply(t, job); res.Commits != 5 || res.Until != 35 || res.Versions != plan.Versions {
		t.Errorf("got %+v, want the five commits that are new", res)
	}
	if res := apply(t, job); res.Commits != 0 || res.Until != 35 {
		t.Errorf("again: got %+v, want nothing copied", res)
	}
	same(t, job, 35)
}

func TestCopyUntil(t *testing.T) {
	from := newSource(t)
	from.fill(10)
	from.drop("note", false)
	_, to := target(t)
	job := &archive.Job{From: from.b, To: to, Until: 10}
	if res := apply(t, job); res.Until != 10 {
		t.Fatalf("got %+v, want the commits up to 10", res)
	}
	same(t, job, 10)
	types, err := to.Schemas(t.Context())
	for _, v := range types {
		if v.End != nil {
			t.Errorf("%s has ended, with commit 11", v.Schema.TypeName())
		}
	}
	if err != nil || len(types) != 3 {
		t.Fatalf("got %d types and error %v, want 3", len(types), err)
	}
	_, err = (&archive.Job{From: from.b, To: to, Until: 12}).Plan(t.Context())
	wantError(t, err, onto.NotFound, "no commit 12")
	job.Until = 0
	if res := apply(t, job); res.Until != 11 {
		t.Fatalf("got %+v, want the commits up to 11", res)
	}
	same(t, job, 11)
	_, err = (&archive.Job{From: from.b, To: to, Until: 5}).Plan(t.Context())
	wantError(t, err, onto.Conflict, "the target has commits up to 11")
}

// testLeaseOfTheSource takes a lease of the same name, owner and epoch on both stores. That
// of the source lets nothing be written to the copy, and no position of the source is known
// to the copy.
func testLeaseOfTheSource(t *testing.T, source, copied *store.Store) {
	t.Helper()
	opts := &store.LeaseOptions{Owner: "nightly"}
	there, err := source.Lease(t.Context(), "import", opts)
	if err != nil {
		t.Fatal(err)
	}
	here, err := copied.Lease(t.Context(), "import", opts)
	if err != nil {
		t.Fatal(err)
	}
	a, b := there.Current(), here.Current()
	if a.Epoch != b.Epoch || a.Store == b.Store {
		t.Fatalf("got the leases %+v and %+v, want equal ones of two stores", a, b)
	}
	_, err = copied.Commit(t.Context(), onto.Draft{Lease: &a}.Ensure(note{ID: "n", Text: "x"}))
	wantError(t, err, onto.LeaseExpired, "is of another store")
	_, err = copied.CommitStream(t.Context(), onto.Draft{Lease: &a}, func(yield func(any, error) bool) { yield(note{ID: "n", Text: "x"}, nil) })
	wantError(t, err, onto.LeaseExpired, "is of another store")
	_, err = copied.Commit(t.Context(), onto.Draft{Advance: &onto.Advance{Name: "mirror", From: 7, To: 8}})
	wantError(t, err, onto.Conflict, "mirror")
	for _, l := range []*store.Lease{there, here} {
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestPurgeIsRepeated(t *testing.T) {
	from := newSource(t)
	from.fill(8)
	_, to := target(t)
	job := &archive.Job{From: from.b, To: to}
	apply(t, job)
	from.drop("note", true)
	plan, err := job.Plan(t.Context())
	if err != nil || plan.Shared != 8 {
		t.Fatalf("plan: got %+v and error %v, want eight commits shared", plan, err)
	}
	apply(t, job)
	same(t, job, from.head())
}

// purging purges a type of its source while its log is read.
type purging struct {
	*memory.Backend
	at    int64
	purge func()
}

func (p *purging) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range p.Backend.Log(ctx, since) {
			if e.Commit != nil && e.Commit.ID == p.at && p.purge != nil {
				p.purge()
				p.purge = nil
				yield(backend.LogEntry{}, onto.Errorf(onto.Stale, "types were purged"))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestPurgeMeanwhile(t *testing.T) {
	from := newSource(t)
	from.fill(8)
	_, to := target(t)
	job := &archive.Job{From: &purging{from.b, 5, func() { from.drop("note", true) }}, To: to}
	apply(t, job)
	same(t, job, from.head())
}

func TestOtherTargets(t *testing.T) {
	from := newSource(t)
	from.fill(5)
	_, err := (&archive.Job{From: from.b, To: from.b}).Plan(t.Context())
	wantError(t, err, onto.Invalid, "is the store that is to be copied")

	stranger := newSource(t)
	stranger.fill(3)
	stranger.commit(onto.Draft{}, person{ID: "else", Name: "Else"})
	_, err = (&archive.Job{From: from.b, To: stranger.b}).Apply(t.Context())
	wantError(t, err, onto.Conflict, "commit 1 differs")

	st, to := target(t)
	job := &archive.Job{From: from.b, To: to}
	apply(t, job)
	other := st.Open()
	defer other.Close()
	if _, err := openStore(t, other).Commit(t.Context(), onto.Draft{}.Ensure(person{ID: "own", Name: "Own"})); err != nil {
		t.Fatal(err)
	}
	_, err = job.Apply(t.Context())
	wantError(t, err, onto.Conflict, "the target has commits up to 6")
	from.fill(2)
	_, err = job.Apply(t.Context())
	wantError(t, err, onto.Conflict, "commit 6 differs")
	c, err := job.Verify(t.Context())
	if err != nil || c.First == nil || c.First.Commit != 6 || c.Sum != "" {
		t.Errorf("verify: got %+v and error %v, want a difference in commit 6", c, err)
	}
}

// altered is a log with one entry changed.
type altered struct {
	*memory.Backend
	alter func(e *backend.LogEntry) (keep bool)
}

func (a *altered) Log(ctx context.Context, since int64) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for e, err := range a.Backend.Log(ctx, since) {
			if e.Commit != nil {
				c := *e.Commit
				e.Commit = &c
			}
			if a.alter(&e) && !yield(e, err) {
				return
			}
		}
	}
}

func (a *altered) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	return a.Backend.Schemas(ctx)
}

func TestVerifyNamesTheDifference(t *testing.T) {
	from := newSource(t)
	from.fill(12)
	id := onto.EntityID("note", "n6")
	for _, c := range []struct {
		name  string
		alter func(e *backend.LogEntry) bool
		want  string
	}{
		{"a version is missing", func(e *backend.LogEntry) bool { return e.Commit != nil || e.Version.Identity != id }, "commit 7 is missing"},
		{"fields", func(e *backend.LogEntry) bool {
			if e.Commit == nil && e.Version.Identity == id {
				e.Version.Fields = []byte(`{"id":"n6","text":""}`)
			}
			return true
		}, "of commit 7 differs"},
		{"a digest", func(e *backend.LogEntry) bool {
			if e.Commit != nil && e.Commit.ID == 4 {
				e.Commit.Digest = ""
			}
			return true
		}, "commit 4 differs"},
		{"the end", func(e *backend.LogEntry) bool {
			id := e.Version.Commit
			if e.Commit != nil {
				id = e.Commit.ID
			}
			return id < 12
		}, "commit 12 is missing"},
	} {
		_, to := target(t)
		apply(t, &archive.Job{From: from.b, To: to})
		got, err := (&archive.Job{From: from.b, To: &altered{to, c.alter}}).Verify(t.Context())
		if err != nil || got.First == nil || !strings.Contains(got.First.String(), c.want) {
			t.Errorf("%s: got %v and error %v, want %q", c.name, got, err, c.want)
		}
	}
	_, to := target(t)
	apply(t, &archive.Job{From: from.b, To: to, Until: 9})
	got, err := (&archive.Job{From: from.b, To: to}).Verify(t.Context())
	if err != nil || got.First != nil || got.Commit != 9 || got.Source != 12 || got.Target != 9 {
		t.Errorf("a copy that is behind: got %+v and error %v, want it equal up to commit 9", got, err)
	}
}

func TestDamagedSource(t *testing.T) {
	from := newSource(t)
	from.fill(9)
	for _, c := range []struct {
		name  string
		alter func(e *backend.LogEntry) bool
		code  onto.Code
		want  string
	}{
		{"a gap", func(e *backend.LogEntry) bool {
			return e.Commit == nil && e.Version.Commit != 4 || e.Commit != nil && e.Commit.ID != 4
		}, onto.Invalid, "the log continues with commit 5, and 4 comes next"},
		{"an end", func(e *backend.LogEntry) bool {
			return e.Commit == nil && e.Version.Commit < 8 || e.Commit != nil && e.Commit.ID < 8
		}, onto.Corrupt, "the log ends"},
		{"a version too few", func(e *backend.LogEntry) bool {
			return e.Commit != nil || e.Version.Commit != 9 || e.Version.Type != "note"
		}, onto.Corrupt, "its header says 3"},
		{"a type that is not there", func(e *backend.LogEntry) bool { e.Version.SchemaVersion *= 3; return true }, onto.Invalid, "schema version 3"},
	} {
		_, to := target(t)
		_, err := (&archive.Job{From: &altered{from.b, c.alter}, To: to}).Apply(t.Context())
		wantError(t, err, c.code, c.want)
		if size, err := to.LogSize(t.Context(), 0, backend.Head); err != nil || size.Head != 0 {
			t.Errorf("%s: got the head %d and error %v, want an empty target", c.name, size.Head, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	from := newSource(t)
	from.fill(3)
	_, to := target(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&archive.Job{From: from.b, To: to}).Apply(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
}
