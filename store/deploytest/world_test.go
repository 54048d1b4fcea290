package deploytest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	bucketmemory "github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
)

// world is a store that programs of several versions share, each with a handle of its
// own.
type world struct {
	*testing.T
	handle func() backend.Backend
}

// places make a new store on each backend, which can be opened any number of times.
var places = map[string]func(t *testing.T) func() (backend.Backend, error){
	"memory": func(*testing.T) func() (backend.Backend, error) {
		s := memory.New(nil)
		return func() (backend.Backend, error) { return s.Open(), nil }
	},
	"sqlite": func(t *testing.T) func() (backend.Backend, error) {
		path := filepath.Join(t.TempDir(), "store.db")
		return func() (backend.Backend, error) { return sqlite.Open(t.Context(), path, nil) }
	},
	"lake": func(t *testing.T) func() (backend.Backend, error) {
		b := bucketmemory.New(nil)
		return func() (backend.Backend, error) {
			return lake.Open(t.Context(), shared{b}, &lake.Options{Trusted: true})
		}
	},
}

// everywhere tells a story on each backend.
func everywhere(t *testing.T, story func(w world)) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			open := place(t)
			w := world{t, func() backend.Backend {
				b, err := open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.Close() })
				return b
			}}
			first := w.handle()
			t.Cleanup(func() { backendtest.Check(t, first) })
			story(w)
		})
	}
}

// everywhereDrawn tries a property on each backend, with a new store for each case: full of
// them in memory, and a fifth elsewhere, where they take longer.
func everywhereDrawn(t *testing.T, full int, property func(w world, t *rapid.T)) {
	for name, place := range places {
		n := full
		if name != "memory" {
			n /= 5
		}
		t.Run(name, func(t *testing.T) {
			effort.Check(t, n, func(rt *rapid.T) {
				open := place(t)
				w := world{t, func() backend.Backend {
					b, err := open()
					if err != nil {
						rt.Fatal(err)
					}
					rt.Cleanup(func() { b.Close() })
					return b
				}}
				property(w, rt)
			})
		})
	}
}

// shared is a bucket that outlives the lakes on it.
type shared struct{ bucket.Bucket }

func (shared) Close() error { return nil }

// personV1 is a Person as an old program has it.
type personV1 struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name"`
	Age  int64  `json:"age"`
}

// personV2 has two fields more.
type personV2 struct {
	ID   string  `json:"id" onto:"key"`
	Name string  `json:"name"`
	Age  int64   `json:"age"`
	Mail *string `json:"mail"`
	Tier int64   `json:"tier" onto:"default=1"`
}

func typeV1() onto.Type { return onto.TypeOf[personV1]().As("Person") }
func typeV2() onto.Type { return onto.TypeOf[personV2]().As("Person") }

var knows = onto.Untyped(onto.Schema{Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person"})

// person is a type with the fields given as "name type", "name type?" for optional and
// "name type=default".
func person(fields ...string) onto.Type {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	for _, text := range fields {
		name, typ, _ := strings.Cut(text, " ")
		typ, def, hasDefault := strings.Cut(typ, "=")
		f := onto.Field{Name: name, Type: onto.FieldType(strings.TrimSuffix(typ, "?")), Optional: strings.HasSuffix(typ, "?")}
		if hasDefault {
			f.Default = []byte(def)
		}
		s.Fields = append(s.Fields, f)
	}
	s.SortFields()
	return onto.Untyped(s)
}

// open opens the store as a program with these types.
func (w world) open(types ...onto.Type) *store.Store {
	w.Helper()
	s, err := store.Open(w.Context(), w.handle(), types...)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w world) tryMigrate(t onto.Type, upgraders ...store.Upgrader) error {
	_, _, err := store.Migrate(w.Context(), w.handle(), &store.Migration{Types: []onto.Type{t}, Upgraders: upgraders}, &store.ApplyOptions{Force: true})
	return err
}

func (w world) migrate(t onto.Type, upgraders ...store.Upgrader) {
	w.Helper()
	if err := w.tryMigrate(t, upgraders...); err != nil {
		w.Fatal(err)
	}
}

func (w world) commit(s *store.Store, things ...any) onto.Result {
	w.Helper()
	res, err := s.Commit(w.Context(), onto.Draft{}.Ensure(things...))
	if err != nil {
		w.Fatal(err)
	}
	return res
}

// want fails unless the fields of a person are these.
func (w world) want(s *store.Store, key, fields string) {
	w.Helper()
	v, err := s.Now().Get(w.Context(), onto.EntityID("Person", key))
	if err != nil || string(v.Fields) != fields {
		w.Errorf("%s: got %s, %v; want %s", key, v.Fields, err, fields)
	}
}

// refused fails unless an error has the code and names these things, and the store is
// as it was.
func (w world) refused(code onto.Code, f func() error, texts ...string) {
	w.Helper()
	b := w.handle()
	state := func() (int64, string) {
		head, err := b.Resolve(w.Context(), onto.Point{})
		if err != nil {
			w.Fatal(err)
		}
		all, err := b.Schemas(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		return head.ID, typelist.Hash(all)
	}
	head, types := state()
	err := f()
	if !errors.Is(err, code) {
		w.Errorf("got error %v, want code %s", err, code)
		return
	}
	for _, text := range texts {
		if said := err.Error() + " / " + onto.HintOf(err).String(); !strings.Contains(said, text) {
			w.Errorf("got %q, want it to contain %q", said, text)
		}
	}
	if now, nowTypes := state(); now != head || types != nowTypes {
		w.Errorf("something has changed: head %d → %d", head, now)
	}
}

func named(key string, fields map[string]any) onto.Entity {
	return onto.Entity{Type: "Person", Key: key, Fields: fields}
}
