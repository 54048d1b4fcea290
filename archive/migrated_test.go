package archive_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
)

// archived is a store that is copied while its types change.
type archived interface {
	backend.Backend
	backend.Archive
}

// item is a type with so many optional fields.
func item(fields int) onto.Type {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Item", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	for i := range fields {
		s.Fields = append(s.Fields, onto.Field{Name: fmt.Sprint("f", i+1), Type: onto.String, Optional: true})
	}
	s.SortFields()
	return onto.Untyped(s)
}

// passing is a type that comes and goes.
func passing() onto.Type {
	return onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "Passing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}})
}

// changing changes a store step by step.
type changing struct {
	b archived
	n int
}

// step migrates the type of everything that lives, commits, or lets a type come or go.
func (c *changing) step(ctx context.Context) error {
	n := c.n
	c.n++
	fields := 1 + n/4
	switch n % 4 {
	case 0:
		m := &store.Migration{Types: []onto.Type{item(fields)}}
		if fields > 1 {
			m.Upgraders = []store.Upgrader{{Type: "Item", From: fields - 1, Program: fmt.Sprintf(`.f%d = "of %d"`, fields, n)}}
		}
		_, _, err := store.Migrate(ctx, c.b, m, &store.ApplyOptions{Force: true})
		return err
	case 1, 2: // a type that comes begins with the commit that follows
		s, err := store.Open(ctx, kept{c.b}, item(fields), passing())
		if err != nil || n%4 == 1 {
			return err
		}
		defer s.Close()
		d := onto.Draft{}.Ensure(onto.Entity{Type: "Passing", Key: fmt.Sprint("p", n), Fields: []byte(`{}`)})
		for i := range 30 {
			d = d.Ensure(onto.Entity{Type: "Item", Key: fmt.Sprint("i", i), Fields: fmt.Appendf(nil, `{"f1":"set by %d"}`, n)})
		}
		_, err = s.Commit(ctx, d)
		return err
	}
	_, _, err := store.DropTypes(ctx, c.b, &store.Drop{Kind: onto.KindEntity, Type: "Passing"}, &store.ApplyOptions{Force: true})
	return err
}

// changingStores are stores of both kinds, with some history.
func changingStores(t *testing.T) map[string]*changing {
	t.Helper()
	onDisk, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "source.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*changing{"memory": {b: memory.New(nil).Open()}, "sqlite": {b: onDisk}}
	for _, c := range all {
		t.Cleanup(func() {
			backendtest.Check(t, c.b)
			c.b.Close()
		})
		for range 12 {
			if err := c.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// asOf is a store whose types are as they were when a commit had been made. One that has come
// since, before the next commit, is not among them.
type asOf struct {
	backend.Archive
	commit int64
}

func (a asOf) Schemas(ctx context.Context) (list []onto.SchemaVersion, err error) {
	all, err := a.Archive.Schemas(ctx)
	for _, v := range all {
		if v.End != nil && v.End.Commit > a.commit {
			v.End = nil
		}
		if v.Since <= a.commit {
			list = append(list, v)
		}
	}
	return list, err
}

// whole fails unless a copy has the log of its source up to its own head, and the types of
// then.
func whole(t *testing.T, from, to backend.Archive, until int64) {
	t.Helper()
	c, err := (&archive.Job{From: asOf{from, until}, To: asOf{to, until}}).Verify(t.Context())
	if err != nil || c.First != nil || c.Commit != until || c.Target != until {
		t.Fatalf("the copy up to commit %d: got %+v (%v) and error %v, want no difference", until, c, c.First, err)
	}
}

func headOf(t *testing.T, b backend.Backend) int64 {
	t.Helper()
	c, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// Types change while the copy reads them, once or again and again: before or after the list of
// them is read. The copy ends with some commit, and has what the source had then.
func TestTypesChangeWhileTheyAreRead(t *testing.T) {
	for kind, source := range changingStores(t) {
		for _, times := range []int{1, 2, 4, 5, 6, 9} {
			for _, after := range []bool{false, true} {
				left := times
				change := func(now bool) {
					if !now || left == 0 {
						return
					}
					left--
					for head := headOf(t, source.b); headOf(t, source.b) == head; {
						if err := source.step(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				to := memory.New(nil).OpenTarget()
				res, err := (&archive.Job{From: &moving{source.b, func() { change(!after) }, func() { change(after) }}, To: to}).Apply(t.Context())
				if err != nil {
					t.Fatalf("%s, %d changes: %v", kind, times, err)
				}
				if n := times - left; n != min(times, 5) {
					t.Errorf("%s: the types were changed %d times meanwhile, want %d", kind, n, min(times, 5))
				}
				whole(t, source.b, to, res.Until)
				backendtest.Check(t, to)
				to.Close()
			}
		}
	}
}

// moving is a log whose types change before or after they are read.
type moving struct {
	archived
	before, after func()
}

func (m *moving) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	m.before()
	defer m.after()
	return m.archived.Schemas(ctx)
}

// A store is copied again and again while it is migrated all the time: into an empty place, and
// into one that has an earlier copy. Each copy that is complete is as the source up to its end,
// and one that is not says why.
func TestCopyBesideMigrations(t *testing.T) {
	for kind, source := range changingStores(t) {
		t.Run(kind, func(t *testing.T) {
			steps, ended := effort.Count(t, 200), make(chan error, 1)
			go func() {
				for range steps {
					if err := source.step(context.Background()); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			}()
			again := memory.New(nil).OpenTarget()
			defer again.Close()
			copies, refused := 0, map[onto.Code]int{}
			for going := true; going; {
				select {
				case err := <-ended:
					if err != nil {
						t.Fatal(err)
					}
					going = false
				default:
				}
				fresh := memory.New(nil).OpenTarget()
				for _, to := range []*memory.Backend{fresh, again} {
					res, err := (&archive.Job{From: source.b, To: to, Batch: 3}).Apply(t.Context())
					if code := onto.CodeOf(err); err != nil {
						if refused[code]++; code != onto.Stale || !going {
							t.Fatalf("got error %v (%s), want a copy, or Stale", err, code)
						}
						continue
					}
					copies++
					whole(t, source.b, to, res.Until)
				}
				fresh.Close()
			}
			backendtest.Check(t, again)
			same(t, &archive.Job{From: source.b, To: again}, headOf(t, source.b))
			t.Logf("%d copies beside %d changes, refused %v", copies, steps, refused)
		})
	}
}
