package store_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	bucket "github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// provenance is the provenance of what a view shows of a type, one line for each.
func (l *lineage) provenance(v store.View, typ string) []string {
	l.t.Helper()
	return provenanceOf(l.t, v, found(l.t, v, typ)...)
}

func (l *lineage) wantProvenance(at int64) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(l.past[at])) {
		was := l.past[at][key]
		list = append(list, fmt.Sprint(key, " ", was.born, " ", was.commit))
	}
	return list
}

// found is what a view shows of a type.
func found(t *testing.T, v store.View, typ string) (list []onto.Version) {
	t.Helper()
	for version, err := range v.Find(typ).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, version)
	}
	return list
}

// provenanceOf is the provenance of versions, one line for each.
func provenanceOf(t *testing.T, v store.View, versions ...onto.Version) (list []string) {
	t.Helper()
	all, err := v.Provenance(t.Context(), versions)
	if err != nil || len(all) != len(versions) {
		t.Fatalf("got %d for %d versions, error %v", len(all), len(versions), err)
	}
	for i, p := range all {
		id := versions[i].Identity
		list = append(list, fmt.Sprint(id.Key+id.Left, " ", p.Created.ID, " ", p.Updated.ID))
	}
	return list
}

// onEach runs a test on a backend of each kind.
func onEach(t *testing.T, test func(t *testing.T, b backend.Backend)) {
	for name, open := range map[string]func(t *testing.T) (backend.Backend, error){
		"memory": func(*testing.T) (backend.Backend, error) { return memory.New(nil).Open(), nil },
		"sqlite": func(t *testing.T) (backend.Backend, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), nil)
		},
		"lake": func(t *testing.T) (backend.Backend, error) {
			return lake.Open(t.Context(), bucket.New(nil), &lake.Options{Trusted: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				backendtest.Check(t, b)
				b.Close()
			})
			test(t, b)
		})
	}
}

// named is a person.
func named(key, name string) onto.Entity {
	return onto.Entity{Type: "Person", Key: key, Fields: map[string]any{"name": name}}
}

// A life begins with the first version after a delete, and every version was made by a commit:
// both with who made them.
func TestProvenance(t *testing.T) {
	onEach(t, func(t *testing.T, b backend.Backend) {
		s := keepOpen(t, b, entityOf("Person", "name string"), relationOf("Knows", "Person", "Person"))
		commit := func(actor string, d onto.Draft) onto.Commit {
			d.Actor = onto.Operator(actor)
			return mustCommit(t, s, d).Commit
		}
		knows := onto.Relation{Type: "Knows", Left: "ada", Right: "bob"}
		first := commit("one", onto.Draft{}.Ensure(named("ada", "Ada"), named("bob", "Bob"), knows))
		second := commit("two", onto.Draft{}.Ensure(named("ada", "Ada L")))
		third := commit("three", onto.Draft{}.Delete(onto.EntityID("Person", "bob"), onto.RelationID("Knows", "ada", "bob")))
		commit("four", onto.Draft{}.Ensure(named("bob", "Robert"), knows))
		commit("five", onto.Draft{}.Ensure(named("bob", "Rob")))
		want := map[int64][]string{
			0: nil, 1: {"ada 1 1", "bob 1 1", "ada 1 1"}, 2: {"ada 1 2", "bob 1 1", "ada 1 1"}, 3: {"ada 1 2"},
			4: {"ada 1 2", "bob 4 4", "ada 4 4"}, 5: {"ada 1 2", "bob 4 5", "ada 4 4"},
		}
		for at, lines := range want {
			shown := append(found(t, s.At(at), "Person"), found(t, s.At(at), "Knows")...)
			if got := provenanceOf(t, s.At(at), shown...); !slices.Equal(got, lines) {
				t.Errorf("at %d: got %q, want %q", at, got, lines)
			}
		}
		if timed := s.AsOf(second.Time); second.Time.Before(third.Time) {
			shown := found(t, timed, "Person")
			if got := provenanceOf(t, timed, shown[1], shown[0], shown[1]); !slices.Equal(got, []string{"bob 1 1", "ada 1 2", "bob 1 1"}) {
				t.Errorf("in another order, of a time: got %q", got)
			}
		}
		all, err := s.Now().Provenance(t.Context(), found(t, s.Now(), "Person")[:1])
		if err != nil || all[0].Created.Actor != onto.Operator("one") || all[0].Updated.Actor != onto.Operator("two") || !all[0].Created.Time.Equal(first.Time) {
			t.Errorf("got %+v, error %v; want the actors and times", all, err)
		}
		before := found(t, s.At(1), "Person")
		if got := provenanceOf(t, s.Now(), before...); !slices.Equal(got, []string{"ada 1 1", "bob 1 1"}) {
			t.Errorf("of versions that were shown before, bob in an earlier life: got %q", got)
		}
		commit("six", onto.Draft{}.Delete(onto.EntityID("Person", "ada")))
		if got := provenanceOf(t, s.Now(), before[0]); !slices.Equal(got, []string{"ada 1 1"}) {
			t.Errorf("of a version that was deleted since: got %q", got)
		}
	})
}

// What a view cannot have shown is Invalid.
func TestProvenanceOfWhatWasNotShown(t *testing.T) {
	onEach(t, func(t *testing.T, b backend.Backend) {
		s := keepOpen(t, b, entityOf("Person", "name string"))
		mustCommit(t, s, onto.Draft{}.Ensure(named("ada", "Ada")))
		mustCommit(t, s, onto.Draft{}.Ensure(named("ada", "Ada L")))
		mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Person", "ada")))
		ask := func(v store.View, version onto.Version) error {
			_, err := v.Provenance(t.Context(), []onto.Version{version})
			return err
		}
		version := onto.Version{Identity: onto.EntityID("Person", "ada"), Commit: 2, Op: onto.Put, SchemaVersion: 1}
		if err := ask(s.At(2), version); err != nil {
			t.Error(err)
		}
		wantError(t, ask(s.At(1), version), onto.Invalid, `Person "ada" is of commit 2`, "commit 1")
		wantError(t, ask(s.At(9), version), onto.NotFound)
		other := version
		other.Commit = 4
		wantError(t, ask(s.Now(), other), onto.Invalid, "commit 4")
		other.Commit = 0
		wantError(t, ask(s.Now(), other), onto.Invalid, "no version at commit 0")
		other = version
		other.Key = "bob"
		wantError(t, ask(s.Now(), other), onto.Invalid, `Person "bob" has no version`)
		other.Type = "Nobody"
		wantError(t, ask(s.Now(), other), onto.Invalid, "Nobody")
		gone := version
		gone.Commit, gone.Op = 3, onto.Delete
		wantError(t, ask(s.Now(), gone), onto.Invalid, "is a delete")
		if list, err := s.Now().Provenance(t.Context(), nil); err != nil || len(list) != 0 {
			t.Errorf("of nothing: got %v, error %v", list, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.At(2).Provenance(ctx, []onto.Version{version}); err == nil {
			t.Error("a cancelled context: got no error")
		}
	})
}

// A life goes on under another name of its type, and ends when the type is dropped. A migration
// that rewrites a thing has updated it.
func TestProvenanceOfChangedTypes(t *testing.T) {
	onEach(t, func(t *testing.T, b backend.Backend) {
		s := keepOpen(t, b, entityOf("Person", "name string"))
		mustCommit(t, s, onto.Draft{}.Ensure(named("ada", "Ada"), named("bob", "Bob")))
		mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Person", "bob")))
		mustCommit(t, s, onto.Draft{}.Ensure(named("bob", "Robert")))
		change := func(m *store.Migration) {
			t.Helper()
			if _, err := migrate(t, b, m); err != nil {
				t.Fatal(err)
			}
		}
		change(&store.Migration{Types: []onto.Type{entityOf("Person", "name string", "rank int=1")}}) // commit 4
		rename := func(from, to string) {
			t.Helper()
			change(&store.Migration{Types: []onto.Type{entityOf(to, "name string", "rank int=1")}, Upgraders: []store.Upgrader{store.RenameType(from, to)}})
		}
		rename("Person", "Human") // commit 5
		rename("Human", "Person") // commit 6
		rename("Person", "Being") // commit 7
		s = keepOpen(t, b)
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Being", Key: "eve", Fields: map[string]any{"name": "Eve"}})) // commit 8
		for at, want := range map[int64][]string{
			1: {"ada 1 1", "bob 1 1"}, 2: {"ada 1 1"}, 3: {"ada 1 1", "bob 3 3"}, 4: {"ada 1 4", "bob 3 4"}, 5: {"ada 1 5", "bob 3 5"}, 6: {"ada 1 6", "bob 3 6"},
			7: {"ada 1 7", "bob 3 7"}, 8: {"ada 1 7", "bob 3 7", "eve 8 8"},
		} {
			if got := provenanceOf(t, s.At(at), found(t, s.At(at), "Being")...); !slices.Equal(got, want) {
				t.Errorf("at %d: got %q, want %q", at, got, want)
			}
		}
		if _, err := drop(t, b, &store.Drop{Kind: onto.KindEntity, Type: "Being"}); err != nil { // commit 9
			t.Fatal(err)
		}
		s = keepOpen(t, b, entityOf("Being", "name string"))
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Being", Key: "ada", Fields: map[string]any{"name": "Ada"}})) // commit 10
		if got := provenanceOf(t, s.Now(), found(t, s.Now(), "Being")...); !slices.Equal(got, []string{"ada 10 10"}) {
			t.Errorf("after the type began again: got %q", got)
		}
		if got := provenanceOf(t, s.At(8), found(t, s.At(8), "Being")...); !slices.Equal(got, []string{"ada 1 7", "bob 3 7", "eve 8 8"}) {
			t.Errorf("before the type was dropped: got %q", got)
		}
	})
}

// A type that is renamed while nothing is of it makes no commit: the next one may create a thing.
func TestProvenanceAfterEmptyRenames(t *testing.T) {
	onEach(t, func(t *testing.T, b backend.Backend) {
		s := keepOpen(t, b, entityOf("Person", "name string"))
		mustCommit(t, s, onto.Draft{}.Ensure(named("ada", "Ada")))
		mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Person", "ada")))
		for _, names := range [][2]string{{"Person", "Human"}, {"Human", "Being"}} {
			m := &store.Migration{Types: []onto.Type{entityOf(names[1], "name string")}, Upgraders: []store.Upgrader{store.RenameType(names[0], names[1])}}
			if res, err := migrate(t, b, m); err != nil || res.Changed() {
				t.Fatalf("got %+v, error %v; want no commit", res, err)
			}
		}
		s = keepOpen(t, b)
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Being", Key: "ada", Fields: map[string]any{"name": "Ada"}}))
		if got := provenanceOf(t, s.Now(), found(t, s.Now(), "Being")...); !slices.Equal(got, []string{"ada 3 3"}) {
			t.Errorf("got %q, want the commit after the renames", got)
		}
	})
}

// asked counts questions.
type asked struct {
	backend.Backend
	firsts, commits int
}

func (a *asked) Unwrap() backend.Backend { return a.Backend }

func (a *asked) Firsts(ctx context.Context, q *backend.FirstsQuery) ([]int64, error) {
	a.firsts++
	return a.Backend.Firsts(ctx, q)
}

func (a *asked) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	a.commits++
	return a.Backend.Commits(ctx, q)
}

// Many versions take few questions: one about each kind of thing for a page, and more only for
// thousands.
func TestProvenanceAsksLittle(t *testing.T) {
	onEach(t, func(t *testing.T, b backend.Backend) {
		counted := &asked{Backend: b}
		s := keepOpen(t, counted, entityOf("Person", "name string"))
		d := onto.Draft{}
		for i := range 2500 {
			d = d.Ensure(named(fmt.Sprintf("%04d", i), "x"))
		}
		mustCommit(t, s, d)
		for i := range 20 {
			mustCommit(t, s, onto.Draft{}.Ensure(named(fmt.Sprintf("%04d", i), "y")))
		}
		all := found(t, s.Now(), "Person")
		for _, c := range []struct{ versions, firsts, commits int }{{50, 1, 1}, {1000, 1, 1}, {2500, 3, 1}} {
			counted.firsts, counted.commits = 0, 0
			began := time.Now()
			for i, p := range mustProvenance(t, s.Now(), all[:c.versions]) {
				if want := max(1, min(int64(i)+2, 22)); p.Created.ID != 1 || i < 20 && p.Updated.ID != want || i >= 20 && p.Updated.ID != 1 {
					t.Fatalf("%d: got %d and %d", i, p.Created.ID, p.Updated.ID)
				}
			}
			t.Logf("%d versions: %v", c.versions, time.Since(began))
			if counted.firsts != c.firsts || counted.commits != c.commits {
				t.Errorf("%d versions: got %d and %d questions, want %d and %d", c.versions, counted.firsts, counted.commits, c.firsts, c.commits)
			}
		}
	})
}

func mustProvenance(t *testing.T, v store.View, versions []onto.Version) []store.Provenance {
	t.Helper()
	list, err := v.Provenance(t.Context(), versions)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
