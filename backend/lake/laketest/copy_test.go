package laketest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// A store goes from SQLite to a lake, from there to memory and from memory back to SQLite, by
// copies that are killed on the legs to the lake and to the file. At the end it exports the
// same at every tenth commit, with the same sums.
func TestKilledCopies(t *testing.T) {
	t.Parallel()
	kills, random := effort.Count(t, 50), effort.Rand(t)
	first := filepath.Join(t.TempDir(), "first.db")
	long := longStore(t, first)
	onLake := filepath.Join(t.TempDir(), "lake")
	killedCopies(t, random, kills, first, onLake, "")

	last := filepath.Join(t.TempDir(), "last.db")
	l, err := openArchive(t.Context(), onLake, false)
	must(t, err)
	defer l.Close()
	inMemory := memory.New(nil).OpenTarget()
	defer inMemory.Close()
	must(t, archive.Copy(t.Context(), l, inMemory))
	id, err := inMemory.Origin(t.Context())
	must(t, err)
	killedCopies(t, random, kills, onLake, last, id)

	a, err := openArchive(t.Context(), first, false)
	must(t, err)
	defer a.Close()
	b, err := openArchive(t.Context(), last, false)
	must(t, err)
	defer b.Close()
	var sums []string
	for _, other := range []backend.Archive{l, inMemory, b} {
		c, err := (&archive.Job{From: a, To: other}).Verify(t.Context())
		if err != nil || c.First != nil || c.Commit != long {
			t.Fatalf("got %+v and error %v, want all %d commits equal", c, err, long)
		}
		sums = append(sums, c.Sum+c.Types)
	}
	for _, other := range []archived{l, inMemory, b} {
		backendtest.Check(t, other)
		sameExports(t, a, other, long)
	}
	if sums[0] != sums[1] || sums[1] != sums[2] {
		t.Errorf("got the sums %q, want them equal", sums)
	}
	if s, err := b.CopyState(t.Context()); err != nil || s.Origin != id || s.Unfinished {
		t.Errorf("the last copy: got %+v and error %v, want one of the store in memory, %s", s, err, id)
	}
	t.Logf("%d commits, %d kills on each of two legs, sums %.16s", long, kills, sums[0])
}

// archived is a backend that can be copied.
type archived interface {
	backend.Backend
	backend.Archive
}

// openArchive opens a SQLite file, or the lake in a directory.
func openArchive(ctx context.Context, place string, target bool) (archived, error) {
	if filepath.Ext(place) == ".db" {
		return sqlite.Open(ctx, place, &sqlite.Options{Target: target})
	}
	files, err := file.Open(place, &file.Options{Create: true})
	if err != nil {
		return nil, err
	}
	return lake.Open(ctx, files, &lake.Options{Target: target})
}

// remembered is a store in memory under the id that it has in the process of the test.
type remembered struct {
	*memory.Backend
	id string
}

func (r remembered) Origin(context.Context) (string, error) { return r.id, nil }

// copyInParts is the job of a child: it copies, and says so for each batch that is durable. If
// an id is given, the source is a store in memory of that id, which has what lies there.
func copyInParts(args []string) (err error) {
	ctx := context.Background()
	from, err := openArchive(ctx, args[0], false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if id := args[2]; id != "" {
		m := memory.New(nil).OpenTarget()
		defer m.Close()
		if err := archive.Copy(ctx, from, m); err != nil {
			return err
		}
		from = remembered{m, id}
	}
	to, err := openArchive(ctx, args[1], true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	job := archive.Job{From: from, To: to, Batch: 1, Progress: func(p archive.Progress) { fmt.Println("at", p.Commit) }}
	if _, err := job.Apply(ctx); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

// killedCopies copies by children, of which some are killed after a batch, or at any moment
// of the one that follows.
func killedCopies(t *testing.T, random *rand.Rand, kills int, from, to, id string) {
	t.Helper()
	killed := 0
	for {
		p := child.Start(t, "copy", from, to, id)
		after, done := 1+random.IntN(2), false
		for line := range p.Lines() {
			if done = line == "done"; done {
				break
			}
			if after--; after == 0 && killed < kills {
				killed++
				break
			}
		}
		if done {
			if err := p.Wait(); err != nil {
				t.Fatal(err)
			}
			break
		}
		p.End()
		wantUnfinished(t, to)
	}
	if killed < kills {
		t.Errorf("only %d of %d kills: the copy to %s had ended", killed, kills, to)
	}
}

// wantUnfinished fails if a part of a copy can be opened as a store.
func wantUnfinished(t *testing.T, place string) {
	t.Helper()
	b, err := openArchive(t.Context(), place, false)
	if err == nil {
		_, err = b.Resolve(t.Context(), onto.Point{})
		state, _ := b.CopyState(t.Context())
		b.Close()
		if err == nil && !state.Unfinished {
			return // killed after the last batch
		}
	}
	if onto.CodeOf(err) != onto.CopyUnfinished {
		t.Fatalf("an unfinished copy at %s opens: got error %v", place, err)
	}
}

// sameExports fails if two stores export otherwise at some tenth commit.
func sameExports(t *testing.T, a, b archived, head int64) {
	t.Helper()
	one, other := exporterOf(t, a), exporterOf(t, b)
	for commit := int64(1); commit <= head; commit += 10 {
		if x, y := one(commit), other(commit); !bytes.Equal(x, y) {
			t.Fatalf("as of commit %d: the exports differ:\n%s\n%s", commit, x, y)
		}
	}
}

func exporterOf(t *testing.T, b archived) func(commit int64) []byte {
	t.Helper()
	s, err := store.Open(t.Context(), shared{b})
	must(t, err)
	return func(commit int64) []byte {
		var out bytes.Buffer
		_, err := records.Export(t.Context(), s, &out, &records.ExportOptions{At: onto.AtCommit(commit), AsStored: true})
		must(t, err)
		return out.Bytes()
	}
}

// shared is a backend that its store does not close.
type shared struct{ backend.Backend }

func (shared) Close() error              { return nil }
func (s shared) Unwrap() backend.Backend { return s.Backend }

// longStore fills a SQLite file with everything that a log can hold, and returns how many
// commits it has.
func longStore(t *testing.T, path string) int64 {
	t.Helper()
	ctx := t.Context()
	b, err := sqlite.Open(ctx, path, nil)
	must(t, err)
	defer b.Close()
	person := func(fields ...string) onto.Schema {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
		for _, f := range fields {
			s.Fields = append(s.Fields, onto.Field{Name: f, Type: onto.String, Optional: true, Search: f == "name", Index: f == "city"})
		}
		s.SortFields()
		return s
	}
	thing := func(name string) onto.Schema {
		return onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	}
	write := func(rounds int, people, things onto.Schema) {
		knows := onto.Schema{Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person"}
		types := []onto.Type{onto.Untyped(people), onto.Untyped(knows), onto.Untyped(things)}
		s, err := store.OpenWith(ctx, shared{b}, &store.Options{Folds: []store.Folding{jobs(1)}}, append(types, onto.TypeOf[Step]())...)
		must(t, err)
		defer s.Close()
		for i := range rounds {
			id := fmt.Sprint("p", i%11)
			d := onto.Draft{Actor: onto.Operator("ana"), Comment: fmt.Sprint("round ", i), IdempotencyKey: fmt.Sprintf("%s %d", people.Hash()+things.Name, i)}
			d = d.Ensure(onto.Entity{Type: "Person", Key: id, Fields: fmt.Appendf(nil, `{"name":"n %d","city":"c%d"}`, i, i%3)},
				onto.Relation{Type: "Knows", Left: id, Right: fmt.Sprint("p", i%7)})
			switch {
			case i%5 == 3:
				d = onto.Draft{}.Delete(onto.EntityID("Person", id))
			case i%5 == 4:
				d = onto.Draft{}.Assert(step(fmt.Sprint("j", i%4), "taken", fmt.Sprintf("%s-%d", people.Hash()[:6]+things.Name, i), "x"))
			default:
				d = d.Ensure(onto.Entity{Type: things.Name, Key: fmt.Sprint("t", i), Fields: []byte(`{}`)})
			}
			_, err := s.Commit(ctx, d)
			must(t, err)
		}
	}
	first, second := person("name", "city"), person("name", "city", "note")
	write(60, first, thing("Gone"))
	_, _, err = store.DropTypes(ctx, b, &store.Drop{Kind: onto.KindEntity, Type: "Gone", Purge: true}, &store.ApplyOptions{Force: true})
	must(t, err)
	write(60, first, thing("Dropped"))
	_, _, err = store.DropTypes(ctx, b, &store.Drop{Kind: onto.KindEntity, Type: "Dropped"}, &store.ApplyOptions{Force: true})
	must(t, err)
	_, _, err = store.Migrate(ctx, b, &store.Migration{
		Types:     []onto.Type{onto.Untyped(second)},
		Upgraders: []store.Upgrader{{Type: "Person", From: 1, Program: `.note = "from " + .name`}},
	}, &store.ApplyOptions{Force: true})
	must(t, err)
	write(60, second, thing("Old"))
	_, _, err = store.Migrate(ctx, b, &store.Migration{Types: []onto.Type{onto.Untyped(thing("New"))}, Upgraders: []store.Upgrader{store.RenameType("Old", "New")}}, &store.ApplyOptions{Force: true})
	must(t, err)
	write(30, second, thing("New"))
	head, err := b.Resolve(ctx, onto.Point{})
	must(t, err)
	return head.ID
}
