package store_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Profile has a field of each kind that a merge can meet: required, with a default,
// and optional in three ways.
type Profile struct {
	ID    string   `json:"id" onto:"key"`
	Name  string   `json:"name,omitempty" onto:"default=\"nobody\""`
	Level int      `json:"level"`
	Email *string  `json:"email"`
	Tags  []string `json:"tags,omitempty"`
	Score float64  `json:"score,omitzero"`
}

// Spell is a relation whose instance key is a field.
type Spell struct {
	onto.Link[Profile, Profile]
	Year string `json:"year" onto:"instance"`
	Role string `json:"role,omitempty"`
	Days int    `json:"days,omitempty"`
}

func profiles(t *testing.T) *store.Store {
	return newStore(t, onto.TypeOf[Profile](), onto.TypeOf[Spell]())
}

// fieldsOf is what an identity has now; "" if it does not exist.
func fieldsOf(t *testing.T, s *store.Store, id onto.Identity) string {
	t.Helper()
	v, err := s.Now().Get(t.Context(), id)
	if err != nil && onto.CodeOf(err) != onto.NotFound {
		t.Fatal(err)
	}
	return string(v.Fields)
}

func profile(fields string) onto.Entity {
	return onto.Entity{Type: "Profile", Key: "ada", Fields: json.RawMessage(fields)}
}

func TestMerge(t *testing.T) {
	mail := "ada@example.org"
	const full = `{"email":"a@b","id":"ada","level":3,"name":"Ada","score":1.5,"tags":["x"]}`
	for _, c := range []struct {
		name  string
		thing any
		want  string
	}{
		{"a struct leaves out what is empty, zero or nil", Profile{ID: "ada", Level: 4},
			`{"email":"a@b","id":"ada","level":4,"name":"Ada","score":1.5,"tags":["x"]}`},
		{"a struct gives the rest", &Profile{ID: "ada", Level: 3, Email: &mail, Score: 2},
			`{"email":"ada@example.org","id":"ada","level":3,"name":"Ada","score":2,"tags":["x"]}`},
		{"an entity gives one field", profile(`{"name":"Lovelace"}`),
			`{"email":"a@b","id":"ada","level":3,"name":"Lovelace","score":1.5,"tags":["x"]}`},
		{"null removes what is optional", profile(`{"email":null,"tags":null}`), `{"id":"ada","level":3,"name":"Ada","score":1.5}`},
		{"null brings back a default", profile(`{"name":null}`),
			`{"email":"a@b","id":"ada","level":3,"name":"nobody","score":1.5,"tags":["x"]}`},
		{"the key may be among the fields", onto.Entity{Type: "Profile", Fields: map[string]any{"id": "ada", "email": nil}},
			`{"id":"ada","level":3,"name":"Ada","score":1.5,"tags":["x"]}`},
		{"nothing is given", onto.Entity{Type: "Profile", Key: "ada"}, full},
		{"what is given is there", profile(`{"level":3,"score":1.5}`), full},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := profiles(t)
			mustCommit(t, s, onto.Draft{}.Ensure(profile(full)))
			for p, err := range s.Preview(t.Context(), things(onto.Intent{Op: onto.Put, Value: c.thing, Merge: true})) {
				if err != nil || string(p.Fields) != c.want || p.Changes != (c.want != full) {
					t.Errorf("preview: got %s, changes %t, error %v; want %s", p.Fields, p.Changes, err, c.want)
				}
			}
			res := mustCommit(t, s, onto.Draft{}.Merge(c.thing))
			if got := fieldsOf(t, s, onto.EntityID("Profile", "ada")); got != c.want || res.Changed() != (c.want != full) {
				t.Errorf("got %s, changed %t; want %s", got, res.Changed(), c.want)
			}
		})
	}
}

func TestMergeOfRelations(t *testing.T) {
	s := profiles(t)
	id := onto.RelationID("Spell", "ada", "bob").WithInstance("1843")
	spell := Spell{Year: "1843", Role: "author"}
	spell.Left, spell.Right = "ada", "bob"
	mustCommit(t, s, onto.Draft{}.Merge(spell))
	mustCommit(t, s, onto.Draft{}.Merge(onto.Relation{Type: "Spell", Left: "ada", Right: "bob", Instance: "1843", Fields: map[string]any{"days": 7}}))
	if got, want := fieldsOf(t, s, id), `{"days":7,"role":"author","year":"1843"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	mustCommit(t, s, onto.Draft{}.Merge(onto.Relation{Type: "Spell", Left: "ada", Right: "bob", Fields: map[string]any{"year": "1843", "role": nil}}))
	if got, want := fieldsOf(t, s, id), `{"days":7,"year":"1843"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Merging a missing identity creates it, also after it was deleted, if its required
// fields are given.
func TestMergeMakes(t *testing.T) {
	s, id := profiles(t), onto.EntityID("Profile", "ada")
	for range 2 {
		_, err := s.Commit(t.Context(), onto.Draft{}.Merge(profile(`{"email":"a@b"}`)))
		wantError(t, err, onto.Invalid, `Profile "ada"`, "does not exist", "field level is missing", "check the key")
		for p, err := range s.Preview(t.Context(), things(onto.Intent{Op: onto.Put, Value: profile(`{"email":"a@b"}`), Merge: true})) {
			if err != nil || p.Lacks != "level" {
				t.Errorf("a preview says %v, and that it lacks %q, want level", err, p.Lacks)
			}
		}
		mustCommit(t, s, onto.Draft{}.Merge(profile(`{"level":1}`)))
		if got, want := fieldsOf(t, s, id), `{"id":"ada","level":1,"name":"nobody"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		mustCommit(t, s, onto.Draft{}.Delete(id))
	}
}

func TestMergeOfMany(t *testing.T) {
	s := profiles(t)
	levels := func(first, n int) iter.Seq[Profile] {
		return func(yield func(Profile) bool) {
			for i := first; i < first+n && yield(Profile{ID: fmt.Sprint("p", i), Level: i}); i++ {
			}
		}
	}
	mustCommit(t, s, onto.Draft{}.Merge(slices.Collect(levels(0, 3)), levels(3, 3)))
	scores := onto.Draft{}.Merge(func(yield func(onto.Entity) bool) {
		for i := range 3 {
			if !yield(onto.Entity{Type: "Profile", Key: fmt.Sprint("p", i), Fields: map[string]any{"score": 2}}) {
				return
			}
		}
	})
	more := things(
		onto.Intent{Op: onto.Put, Merge: true, Value: []any{onto.Entity{Type: "Profile", Key: "p3", Fields: map[string]any{"score": 3}}}},
		onto.Intent{Op: onto.Delete, Identity: onto.EntityID("Profile", "p4")}, Profile{ID: "p5", Level: 9})
	if res, err := s.CommitStream(t.Context(), scores, more); err != nil || res.Operations != 6 {
		t.Fatalf("got %d operations, error %v; want 6", res.Operations, err)
	}
	got := list(t, store.Find[Profile](s.Now()).All(t.Context()), func(p Profile) string { return fmt.Sprint(p.ID, p.Level, "/", p.Score) })
	if want := "p00/2 p11/2 p22/2 p33/3 p59/0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMergeRefuses(t *testing.T) {
	s := profiles(t)
	mustCommit(t, s, onto.Draft{}.Ensure(profile(`{"level":1}`)))
	bob := onto.Entity{Type: "Profile", Key: "bob", Fields: map[string]any{"level": 1}}
	circle := new(any)
	*circle = circle
	for _, c := range []struct {
		name string
		d    onto.Draft
		code onto.Code
		want string
	}{
		{"an unknown field", onto.Draft{}.Merge(profile(`{"levl":1}`)), onto.Invalid, "did you mean level?"},
		{"another type", onto.Draft{}.Merge(profile(`{"level":"x"}`)), onto.Invalid, "field level: expected int"},
		{"a required field that is null", onto.Draft{}.Merge(profile(`{"level":null}`)), onto.Invalid, "field level is missing"},
		{"a key that is null", onto.Draft{}.Merge(onto.Entity{Type: "Profile", Fields: map[string]any{"id": nil, "level": 1}}), onto.Invalid, "key"},
		{"another key", onto.Draft{}.Merge(profile(`{"id":"eve"}`)), onto.Invalid, `the key is "ada", but field id says "eve"`},
		{"no key", onto.Draft{}.Merge(Profile{Level: 1}), onto.Invalid, "key"},
		{"no object", onto.Draft{}.Merge(profile(`[1]`)), onto.Invalid, `Profile "ada"`},
		{"a text", onto.Draft{}.Merge("ada"), onto.Invalid, "a string cannot be merged"},
		{"nil", onto.Draft{}.Merge(nil), onto.Invalid, "nil"},
		{"a circle", onto.Draft{}.Merge(circle), onto.Invalid, "circle"},
		{"twice with other fields", onto.Draft{}.Merge(profile(`{"level":2}`)).Merge(profile(`{"score":2}`)), onto.Conflict, "comes twice"},
		{"twice, once without a field", onto.Draft{}.Merge(profile(`{"level":2,"email":null}`), profile(`{"level":2}`)), onto.Conflict, "comes twice"},
		{"ensured as well", onto.Draft{}.Merge(profile(`{"level":2}`)).Ensure(profile(`{"level":2}`)), onto.Conflict, "comes twice"},
		{"deleted as well", onto.Draft{}.Merge(profile(`{"level":2}`)).Delete(onto.EntityID("Profile", "ada")), onto.Conflict, "comes twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.Commit(t.Context(), c.d.Ensure(bob))
			wantError(t, err, c.code, c.want)
			_, err = s.CommitStream(t.Context(), c.d, things(bob))
			wantError(t, err, c.code, c.want)
		})
	}
	_, err := s.CommitStream(t.Context(), onto.Draft{}, things(onto.Intent{Op: "putt", Value: bob}))
	wantError(t, err, onto.Invalid, `"putt"`)
	if head, err := s.Head(t.Context()); head.ID != 1 || err != nil {
		t.Errorf("got head %d, error %v; want nothing stored", head.ID, err)
	}
	if res := mustCommit(t, s, onto.Draft{}.Merge(profile(`{"level":2}`), profile(`{"level":2}`))); res.Operations != 1 {
		t.Errorf("got %d operations, want 1 for two equal merges", res.Operations)
	}
}

// An idempotency key stands for which fields were given, not only for their values.
func TestMergeAndIdempotencyKeys(t *testing.T) {
	s := profiles(t)
	mustCommit(t, s, onto.Draft{}.Ensure(profile(`{"level":1,"email":"a@b"}`)))
	d := onto.Draft{IdempotencyKey: "once"}
	first := mustCommit(t, s, d.Merge(profile(`{"level":2}`)))
	mustCommit(t, s, onto.Draft{}.Merge(profile(`{"level":3}`)))
	if res := mustCommit(t, s, d.Merge(profile(`{"level":2}`))); !res.Repeated || res.ID != first.ID {
		t.Errorf("got %+v, want commit %d again", res, first.ID)
	}
	if res, err := s.CommitStream(t.Context(), d.Merge(profile(`{"level":2}`)), nil); err != nil || !res.Repeated {
		t.Errorf("as a stream: got %+v, error %v; want commit %d again", res, err, first.ID)
	}
	for _, other := range []onto.Draft{d.Ensure(profile(`{"level":2}`)), d.Merge(profile(`{"level":2,"email":null}`))} {
		_, err := s.Commit(t.Context(), other)
		wantError(t, err, onto.IdempotencyConflict)
	}
}

// mergePlaces opens stores, several on each backend.
func mergePlaces(t *testing.T, n int, types ...onto.Type) map[string][]*store.Store {
	t.Helper()
	log, path := memory.New(nil), filepath.Join(t.TempDir(), "store.db")
	places := map[string]func() (backend.Backend, error){
		"memory": func() (backend.Backend, error) { return log.Open(), nil },
		"sqlite": func() (backend.Backend, error) { return sqlite.Open(t.Context(), path, nil) },
	}
	opened := map[string][]*store.Store{}
	for name, place := range places {
		for range n {
			b, err := place()
			if err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), b, types...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			opened[name] = append(opened[name], s)
		}
	}
	return opened
}

// A merge without concurrency equals reading, changing and ensuring: two stores are
// given the same random changes, one in each way, and agree after each.
func TestMergeIsReadModifyWrite(t *testing.T) {
	for name, stores := range mergePlaces(t, 1, onto.TypeOf[Profile]()) {
		t.Run(name, func(t *testing.T) {
			merged, written := stores[0], profiles(t)
			r, made, refused := rand.New(rand.NewPCG(1, 14)), 0, 0
			for range 300 {
				key := fmt.Sprint("k", r.IntN(4))
				id := onto.EntityID("Profile", key)
				if r.IntN(8) == 0 {
					mustCommit(t, merged, onto.Draft{}.Delete(id))
					mustCommit(t, written, onto.Draft{}.Delete(id))
					continue
				}
				given := map[string]any{}
				for field, values := range map[string][]any{
					"level": {1, 2}, "name": {"Ada", "Bob", nil}, "email": {"a@b", nil}, "tags": {[]string{"x"}, []string{}, nil}, "score": {1.5, 2, nil},
				} {
					if r.IntN(2) == 0 {
						given[field] = values[r.IntN(len(values))]
					}
				}
				all := map[string]any{}
				if v, err := written.Now().Get(t.Context(), id); err == nil {
					if all, err = v.Map(); err != nil {
						t.Fatal(err)
					}
				}
				for field, value := range given {
					all[field] = value
				}
				res, err := merged.Commit(t.Context(), onto.Draft{}.Merge(onto.Entity{Type: "Profile", Key: key, Fields: given}))
				want, wantErr := written.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Profile", Key: key, Fields: all}))
				if res.ID != want.ID || onto.CodeOf(err) != onto.CodeOf(wantErr) || fieldsOf(t, merged, id) != fieldsOf(t, written, id) {
					t.Fatalf("%s with %v: got commit %d, %s, error %v; want commit %d, %s, error %v",
						key, given, res.ID, fieldsOf(t, merged, id), err, want.ID, fieldsOf(t, written, id), wantErr)
				}
				if err != nil {
					refused++
				}
				if res.Changed() {
					made++
				}
			}
			t.Logf("%d commits, %d refused", made, refused)
			if made == 0 || refused == 0 {
				t.Error("want both commits and refusals")
			}
		})
	}
}

// Programs that merge different fields of one thing at the same time lose nothing:
// each finds its own last value, and each of its commits is in history.
func TestMergersRace(t *testing.T) {
	const rounds = 25
	fields := []string{"a", "b", "c", "d"}
	for name, stores := range mergePlaces(t, len(fields), entityOf("Counter", "a int?", "b int?", "c int?", "d int?")) {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for i, field := range fields {
				wg.Go(func() {
					for n := range rounds {
						d := onto.Draft{}.Merge(onto.Entity{Type: "Counter", Key: "x", Fields: map[string]any{field: n + 1}})
						if res, err := stores[i].Commit(t.Context(), d); err != nil || !res.Changed() {
							t.Errorf("%s: got %+v, error %v", field, res, err)
							return
						}
					}
				})
			}
			wg.Wait()
			id := onto.EntityID("Counter", "x")
			if got, want := fieldsOf(t, stores[0], id), `{"a":25,"b":25,"c":25,"d":25,"id":"x"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			before, versions := map[string]any{}, 0
			for e, err := range stores[0].History(t.Context(), id) {
				if err != nil {
					t.Fatal(err)
				}
				now, err := e.Version.Map()
				if err != nil {
					t.Fatal(err)
				}
				changed := 0
				for _, f := range fields {
					if now[f] != before[f] {
						changed++
					}
				}
				if changed != 1 {
					t.Errorf("commit %d: from %v to %v, want one field to change", e.Commit.ID, before, now)
				}
				before = now
				versions++
			}
			if want := rounds * len(fields); versions != want {
				t.Errorf("got %d versions, want %d", versions, want)
			}
		})
	}
}

// A merge of a program that knows an older type decides what it gives and nothing else.
func TestMergeBesideANewerType(t *testing.T) {
	b := people(t)
	old := keepOpen(t, b, entityOf("Person", "name string", "age int?"), relationOf("Knows", "Person", "Person"))
	if _, err := migrate(t, b, &store.Migration{Types: []onto.Type{
		entityOf("Person", "name string", "age int?", `tier string="Silver"`), relationOf("Knows", "Person", "Person")}}); err != nil {
		t.Fatal(err)
	}
	now := keepOpen(t, b)
	ada := func(fields string) onto.Entity {
		return onto.Entity{Type: "Person", Key: "ada", Fields: json.RawMessage(fields)}
	}
	mustCommit(t, now, onto.Draft{}.Merge(ada(`{"tier":"Gold"}`)))
	mustCommit(t, old, onto.Draft{}.Merge(ada(`{"age":null}`)))
	if got, want := fieldsOf(t, now, onto.EntityID("Person", "ada")), `{"id":"ada","name":"Ada L","tier":"Gold"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
