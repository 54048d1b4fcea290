package deploytest

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
)

// guestV1 is a Person as an old program has it; guestV2 has one required field more in each
// place, and guestV3 more of them. guestX and guestY add a field each to guestV1, and no more.
type (
	guestV1 struct {
		ID   string           `json:"id" onto:"key"`
		Name string           `json:"name"`
		Stay []stayV1         `json:"stay"`
		By   map[string]carV1 `json:"by"`
		Home *homeV1          `json:"home"`
	}
	stayV1 struct {
		Room int `json:"room"`
	}
	carV1 struct {
		Plate string `json:"plate"`
	}
	homeV1 struct {
		City string `json:"city"`
	}

	guestV2 struct {
		ID    string           `json:"id" onto:"key"`
		Name  string           `json:"name"`
		Phone string           `json:"phone"`
		Born  onto.Date        `json:"born"`
		Seen  time.Time        `json:"seen"`
		Stay  []stayV2         `json:"stay"`
		By    map[string]carV2 `json:"by"`
		Home  *homeV2          `json:"home"`
		Bill  billV2           `json:"bill"`
	}
	stayV2 struct {
		Room   int  `json:"room"`
		Nights int  `json:"nights"`
		Paid   bool `json:"paid"`
	}
	carV2 struct {
		Plate string   `json:"plate"`
		Size  float64  `json:"size"`
		Tags  []string `json:"tags"`
	}
	homeV2 struct {
		City   string `json:"city"`
		Street string `json:"street"`
	}
	billV2 struct {
		Sum  int  `json:"sum"`
		Note *int `json:"note"`
	}

	guestV3 struct {
		ID    string            `json:"id" onto:"key"`
		Name  string            `json:"name"`
		Phone string            `json:"phone"`
		Born  onto.Date         `json:"born"`
		Seen  time.Time         `json:"seen"`
		Stay  []stayV2          `json:"stay"`
		By    map[string]carV2  `json:"by"`
		Home  *homeV3           `json:"home"`
		Bill  billV3            `json:"bill"`
		Extra map[string]string `json:"extra"`
	}
	homeV3 struct {
		City   string `json:"city"`
		Street string `json:"street"`
		Zip    int    `json:"zip"`
	}
	billV3 struct {
		Sum  int    `json:"sum"`
		Cur  string `json:"cur"`
		Note *int   `json:"note"`
	}

	guestX struct {
		ID   string           `json:"id" onto:"key"`
		Name string           `json:"name"`
		X    string           `json:"x"`
		Stay []stayV1         `json:"stay"`
		By   map[string]carV1 `json:"by"`
		Home *homeV1          `json:"home"`
	}
	guestY struct {
		ID   string           `json:"id" onto:"key"`
		Name string           `json:"name"`
		Stay []stayV1         `json:"stay"`
		By   map[string]carV1 `json:"by"`
		Home *homeY           `json:"home"`
	}
	homeY struct {
		City string `json:"city"`
		Y    int    `json:"y"`
	}
)

func guests[T any]() onto.Type { return onto.TypeOf[T]().As("Person") }

// versions is how many versions of Person there are.
func (w world) versions() int {
	w.Helper()
	all, err := w.handle().Schemas(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return typelist.NextVersion(all, onto.TypeName{Kind: onto.KindEntity, Name: "Person"}) - 1
}

// tryOpen opens the store as a program with these types, which may not be able to.
func (w world) tryOpen(types ...onto.Type) error {
	s, err := store.Open(w.Context(), w.handle(), types...)
	if err == nil {
		s.Close()
	}
	return err
}

// A struct with more required fields, in a list, in a map and in an optional object too, opens
// the store: what is stored gets their zero values, older programs go on, and the newer one
// opens it again without another version.
func TestRequiredFieldsJoin(t *testing.T) {
	everywhere(t, func(w world) {
		old := w.open(guests[guestV1]())
		w.commit(old, guestV1{"ada", "Ada", []stayV1{{1}}, map[string]carV1{"a": {"P"}}, &homeV1{"Oslo"}}, guestV1{"bob", "Bob", nil, nil, nil})
		plan, err := store.PlanTypes(w.Context(), w.handle(), guests[guestV2]())
		if want := "Person: + bill, + born, + by{}.size, + by{}.tags, + home.street, + phone, + seen, + stay[].nights, + stay[].paid"; err != nil ||
			len(plan.Changed) != 1 || plan.Changed[0].String() != want || len(plan.New)+len(plan.Retuned) > 0 {
			w.Errorf("got %+v, %v; want %s", plan, err, want)
		}
		if w.versions() != 1 {
			w.Error("planning has changed the type")
		}
		next := w.open(guests[guestV2]())
		const added = `"bill":{"sum":0},"born":"0001-01-01",`
		w.want(next, "ada", `{`+added+`"by":{"a":{"plate":"P","size":0,"tags":[]}},"home":{"city":"Oslo","street":""},"id":"ada","name":"Ada","phone":"","seen":"0001-01-01T00:00:00.000000+00:00","stay":[{"nights":0,"paid":false,"room":1}]}`)
		got, err := store.Get[guestV2](w.Context(), next.Now(), "ada")
		want := guestV2{"ada", "Ada", "", onto.Date{Year: 1, Month: 1, Day: 1}, time.Time{}, []stayV2{{1, 0, false}}, map[string]carV2{"a": {"P", 0, []string{}}}, &homeV2{"Oslo", ""}, billV2{}}
		if err != nil || string(modelJSON(got)) != string(modelJSON(want)) || !got.Seen.IsZero() {
			w.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if before, err := store.Get[guestV2](w.Context(), next.At(1), "ada"); err != nil || string(modelJSON(before)) != string(modelJSON(want)) {
			w.Errorf("as of commit 1: got %+v, %v", before, err)
		}
		got.Phone, got.Home.Street, got.Bill.Sum = "7", "Main", 3
		w.commit(next, got)

		for name, s := range map[string]*store.Store{"running": old, "restarted": w.open(guests[guestV1]())} {
			ada, err := store.Get[guestV1](w.Context(), s.Now(), "ada")
			if err != nil || ada.Home.City == "" {
				w.Fatalf("%s: got %+v, %v", name, ada, err)
			}
			if _, err := store.Update(w.Context(), s, onto.Draft{}, store.Key{"ada"}, func(g *guestV1) error { g.Home.City = name; return nil }); err != nil {
				w.Error(err)
			}
			w.commit(s, guestV1{name, "New", []stayV1{}, map[string]carV1{}, &homeV1{"Rome"}})
			w.want(s, name, `{`+added+`"by":{},"home":{"city":"Rome","street":""},"id":"`+name+`","name":"New","phone":"","seen":"0001-01-01T00:00:00.000000+00:00","stay":[]}`)
		}
		got, err = store.Get[guestV2](w.Context(), next.Now(), "ada")
		if err != nil || got.Phone != "7" || got.Home.Street != "Main" || got.Bill.Sum != 3 {
			w.Errorf("older programs have left %+v, %v", got, err)
		}

		head, err := next.Head(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for range 2 {
			again := w.open(guests[guestV2]())
			w.open(guests[guestV1]())
			if n, err := store.Find[guestV2](again.Now()).Where(onto.Path("phone").Eq("")).Count(w.Context()); n != 3 || err != nil {
				w.Errorf("got %d, %v; want 3", n, err)
			}
			w.migrate(guests[guestV2]())
		}
		if now, err := next.Head(w.Context()); err != nil || now.ID != head.ID || w.versions() != 2 {
			w.Errorf("opening again has made commit %d and %d versions, %v", now.ID, w.versions(), err)
		}
	})
}

// An object that began as a zero value gets further fields, and what older programs write
// stays valid.
func TestZeroObjectsGrow(t *testing.T) {
	everywhere(t, func(w world) {
		first := w.open(guests[guestV1]())
		w.commit(first, guestV1{ID: "ada", Home: &homeV1{"Oslo"}})
		second := w.open(guests[guestV2]())
		third := w.open(guests[guestV3]())
		w.commit(first, guestV1{ID: "first"})
		w.commit(second, guestV2{ID: "second", Born: onto.Date{Year: 1, Month: 1, Day: 1}, Bill: billV2{Sum: 4}})
		for key, bill := range map[string]billV3{"ada": {}, "first": {}, "second": {4, "", nil}} {
			g, err := store.Get[guestV3](w.Context(), third.Now(), key)
			if err != nil || g.Bill != bill || g.Extra == nil {
				w.Errorf("got %+v, %v; want %+v", g, err, bill)
			}
		}
		w.open(guests[guestV1]())
		w.open(guests[guestV2]())
		w.open(guests[guestV3]())
		if w.versions() != 3 {
			w.Errorf("got %d versions, want 3", w.versions())
		}
	})
}

// A program whose schema has another default for a field that began as its zero value is told
// so; so is one that has no default where another is stored. A schema without a Go struct is
// taken as it is: it needs a default, or an upgrader.
func TestOtherDefaults(t *testing.T) {
	type named struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Tier int64  `json:"tier"`
	}
	type explicit struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Tier int64  `json:"tier" onto:"default=5"`
	}
	required := person("name string", "age int", "tier int")
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(required) }, "Person: + tier", "store.PlanMigration")
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(required) }, "tier is required and new")
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(person("name string", "age int", "tier int=5")) }, "+ tier")
		w.open(guests[named]())
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[explicit]()) }, "~ tier: int default 0 → int default 5")
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(required) }, "~ tier: int default 0 → int")
		w.open(person("name string", "age int", "tier int=0")) // the same in other words
		w.migrate(person("name string", "age int", "tier int=5"), store.Upgrader{Type: "Person", From: 2, Program: ".tier = 5"})
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[named]()) }, "~ tier: int default 5 → int")
		w.want(w.open(guests[explicit]()), "ada", `{"age":36,"id":"ada","name":"Ada","tier":5}`)
	})
}

// What has no zero value is refused with the reason, and nothing of the program is stored.
func TestNoZeroValue(t *testing.T) {
	type moody struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Mood string `json:"mood" onto:"enum=calm|loud"`
	}
	type loose struct {
		ID   string      `json:"id" onto:"key"`
		Name string      `json:"name"`
		Age  int64       `json:"age"`
		Raw  json.Number `json:"raw"`
	}
	everywhere(t, func(w world) {
		w.open(typeV1())
		s := w.open()
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(residents().As("Other"), guests[moody]()) },
			"Person: + mood", `mood is required, and its zero value "" is none of "calm", "loud"`)
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[loose]()) }, "raw is required and can hold anything")
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.PlanTypes(w.Context(), w.handle(), guests[moody]())
			return err
		}, "its zero value")
		w.refused(onto.SchemaOutdated, func() error { return s.Register(w.Context(), residents().As("Other"), guests[loose]()) }, "can hold anything")
	})
}

// Two programs that each add a field which the other lacks: one wins, and the other is told
// that it lacks a field. A program with both goes on, and so do both of them then, if they
// were there before.
func TestFieldsInDifferentPlaces(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(guests[guestV1]()), guestV1{ID: "ada"})
		x := w.open(guests[guestX]())
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[guestY]()) }, "Person: + home.y, - x")
		w.commit(x, guestX{ID: "ada", X: "x"})
	})
	type optionalX struct {
		ID   string  `json:"id" onto:"key"`
		Name string  `json:"name"`
		Age  int64   `json:"age"`
		X    *string `json:"x"`
	}
	type optionalY struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Y    *int   `json:"y"`
	}
	everywhere(t, func(w world) {
		w.open(typeV1())
		w.open(guests[optionalX]())
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[optionalY]()) }, "Person: + y, - x")
	})
}

// Of programs that add different fields at the same moment one wins; those with the same
// struct share a version. So it is for two handles of one SQLite file.
func TestJoinsAtOnce(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(guests[guestV1]()), guestV1{ID: "ada", Home: &homeV1{"Oslo"}})
		types := []onto.Type{guests[guestX](), guests[guestX](), guests[guestY](), guests[guestY]()}
		errs := make([]error, len(types))
		var wg sync.WaitGroup
		for i, typ := range types {
			s := w.open()
			wg.Go(func() { errs[i] = s.Register(w.Context(), typ) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[2] == nil) || (errs[0] == nil) != (errs[1] == nil) || (errs[2] == nil) != (errs[3] == nil) ||
			!errors.Is(errors.Join(errs...), onto.SchemaOutdated) || w.versions() != 2 {
			w.Errorf("got %v and %d versions, want that X or Y won", errs, w.versions())
		}
	})
	everywhere(t, func(w world) { // one has what the other adds
		w.commit(w.open(guests[guestV1]()), guestV1{ID: "ada", Home: &homeV1{"Oslo"}})
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = w.tryOpen([]onto.Type{guests[guestV1](), guests[guestV2](), guests[guestV3]()}[i%3]) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			w.Error(err)
		}
		g, err := store.Get[guestV3](w.Context(), w.open(guests[guestV3]()).Now(), "ada")
		if err != nil || *g.Home != (homeV3{"Oslo", "", 0}) {
			w.Errorf("got %+v, %v", g, err)
		}
	})
}

// A field that a migration has dropped does not come back as zero by a program that still has
// it, and a meaning that a migration has changed is not taken back.
func TestDroppedFieldsStayDropped(t *testing.T) {
	type more struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
		Age  int64  `json:"age"`
		Note string `json:"note"`
	}
	type wide struct {
		ID   string          `json:"id" onto:"key"`
		Name json.RawMessage `json:"name,omitempty"`
	}
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		w.migrate(person("name string"), store.DropField("Person", 1, "age"))
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(typeV1()) }, "Person: + age", "age was in version 1")
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[more]()) }, "Person: + age, + note", "age was in version 1")
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(typeV1()) }, "age is required and new")
		w.migrate(person("name string", "age int=1"))
		w.want(w.open(), "ada", `{"age":1,"id":"ada","name":"Ada"}`)
	})
	everywhere(t, func(w world) {
		w.open(person("name any?"))
		w.commit(w.open(), named("ada", map[string]any{"name": "Ada"}))
		w.migrate(person("name string"), store.Upgrader{Type: "Person", From: 1, Program: `.name |= tostring`})
		w.refused(onto.SchemaOutdated, func() error { return w.tryOpen(guests[wide]()) }, "the program has version 1")
	})
}

// A file that is opened for reading is not changed by a newer program.
func TestReadOnlyStoreIsNotJoined(t *testing.T) {
	path := t.TempDir() + "/store.db"
	open := func(readOnly bool, typ onto.Type) (*store.Store, error) {
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		return store.Open(t.Context(), b, typ)
	}
	for _, readOnly := range []bool{false, true} {
		s, err := open(readOnly, guests[guestV1]())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if _, err := open(true, guests[guestV2]()); onto.CodeOf(err) != onto.ReadOnly {
		t.Errorf("got %v, want read_only", err)
	}
}

// What opens a store with a struct is migrated by that struct, too.
func TestMigrateWithAStruct(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(guests[guestV1]()), guestV1{ID: "ada", Home: &homeV1{"Oslo"}})
		w.migrate(guests[guestV2]())
		w.open(guests[guestV2]())
		w.open(guests[guestV3]())
		w.migrate(guests[guestV2]()) // an earlier version: it stays
		w.migrate(guests[guestV3]())
		if w.versions() != 3 {
			w.Errorf("got %d versions, want 3", w.versions())
		}
	})
}
