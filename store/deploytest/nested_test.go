package deploytest

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

type address struct {
	City string `json:"city"`
}

type line struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// residentV1 is a Person with a home, as an old program has it.
type residentV1 struct {
	ID    string            `json:"id" onto:"key"`
	Name  string            `json:"name"`
	Home  address           `json:"home"`
	Lines []line            `json:"lines"`
	Tags  map[string]string `json:"tags"`
}

func residents() onto.Type { return onto.TypeOf[residentV1]().As("Person") }

// A nested field that has another name in the next program is not taken for a new one: the
// program is refused, and a migration of one line carries the values over.
func TestRenamedInside(t *testing.T) {
	type town struct {
		Town string `json:"town"`
	}
	type residentV2 struct {
		ID    string            `json:"id" onto:"key"`
		Name  string            `json:"name"`
		Home  town              `json:"home"`
		Lines []line            `json:"lines"`
		Tags  map[string]string `json:"tags"`
	}
	next := onto.TypeOf[residentV2]().As("Person")
	everywhere(t, func(w world) {
		w.commit(w.open(residents()), residentV1{ID: "ada", Name: "Ada", Home: address{"Oslo"}})
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.Open(w.Context(), w.handle(), next)
			return err
		}, "+ home.town", "- home.city")
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(next) }, "home.city is gone", "home.town is required and new")
		w.migrate(next, store.RenameField("Person", 1, "home.city", "home.town"))
		s := w.open(next)
		if _, err := store.Update(w.Context(), s, onto.Draft{}, store.Key{"ada"}, func(r *residentV2) error {
			r.Name = "Ada L."
			return nil
		}); err != nil {
			w.Fatal(err)
		}
		w.want(s, "ada", `{"home":{"town":"Oslo"},"id":"ada","lines":[],"name":"Ada L.","tags":{}}`)
	})
}

// wider returns the type of residents with a change to it.
func wider(t *testing.T, change func(f *onto.Field)) onto.Type {
	t.Helper()
	s, err := residents().Schema()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		f.Fields = append([]onto.Field(nil), f.Fields...)
		if len(f.Fields) == 0 {
			f.Fields = nil
		}
		change(f)
	}
	return onto.Untyped(s)
}

// What an old program does not know inside an object stays when it writes.
func TestInnerFieldsStay(t *testing.T) {
	next := wider(t, func(f *onto.Field) {
		if f.Name == "home" {
			f.Fields = append(f.Fields, onto.Field{Name: "zip", Type: onto.Int, Optional: true},
				onto.Field{Name: "country", Type: onto.String, Default: []byte(`"NO"`)})
		}
	})
	everywhere(t, func(w world) {
		old := w.open(residents())
		w.commit(old, residentV1{ID: "ada", Home: address{"Oslo"}})
		w.migrate(next)
		new := w.open()
		w.want(new, "ada", `{"home":{"city":"Oslo","country":"NO"},"id":"ada","lines":[],"name":"","tags":{}}`)
		w.commit(new, named("ada", map[string]any{"name": "Ada", "home": map[string]any{"city": "Oslo", "zip": 150, "country": "SE"}, "lines": []any{}, "tags": map[string]any{}}))
		w.commit(old, residentV1{ID: "ada", Name: "Ada", Home: address{"Bergen"}})
		w.want(new, "ada", `{"home":{"city":"Bergen","country":"SE","zip":150},"id":"ada","lines":[],"name":"Ada","tags":{}}`)
		w.commit(old, residentV1{ID: "bob", Home: address{"Voss"}})
		w.want(new, "bob", `{"home":{"city":"Voss","country":"NO"},"id":"bob","lines":[],"name":"","tags":{}}`)
		got, err := store.Get[residentV1](w.Context(), old.Now(), "ada")
		if err != nil || got.Home.City != "Bergen" {
			w.Errorf("got %+v, %v", got, err)
		}
		// A merge decides what it gives, at every depth.
		if _, err := new.Commit(w.Context(), onto.Draft{}.Merge(named("ada", map[string]any{"home": map[string]any{"zip": nil, "city": "Oslo"}}))); err != nil {
			w.Fatal(err)
		}
		w.want(new, "ada", `{"home":{"city":"Oslo","country":"SE"},"id":"ada","lines":[],"name":"Ada","tags":{}}`)
	})
}

// A list is written whole, so a program that does not know all fields of its elements cannot
// write it in place of one that has them; what else it changes, it can.
func TestElementsAreNotLost(t *testing.T) {
	next := wider(t, func(f *onto.Field) {
		if f.Name == "lines" {
			items := *f.Items
			items.Fields = append(append([]onto.Field(nil), items.Fields...), onto.Field{Name: "note", Type: onto.String, Optional: true})
			f.Items = &items
		}
	})
	everywhere(t, func(w world) {
		old := w.open(residents())
		w.commit(old, residentV1{ID: "ada", Lines: []line{{"p1", 1}}}, residentV1{ID: "bob", Lines: []line{{"p1", 1}}})
		w.migrate(next)
		new := w.open()
		w.commit(new, named("ada", map[string]any{"name": "Ada", "home": map[string]any{"city": ""}, "lines": []any{map[string]any{"sku": "p1", "qty": 1, "note": "gift"}}, "tags": map[string]any{}}))
		noted := `{"home":{"city":""},"id":"ada","lines":[{"note":"gift","qty":1,"sku":"p1"}],"name":"Ada","tags":{}}`
		w.refused(onto.SchemaOutdated, func() error {
			_, err := old.Commit(w.Context(), onto.Draft{}.Ensure(residentV1{ID: "ada", Lines: []line{{"p1", 2}}}))
			return err
		}, `Person "ada"`, "lines[].note")
		w.want(new, "ada", noted)
		if _, err := store.Update(w.Context(), old, onto.Draft{}, store.Key{"ada"}, func(r *residentV1) error {
			r.Name = "Ada L."
			return nil
		}); err != nil {
			w.Fatal(err)
		}
		w.want(new, "ada", strings.Replace(noted, `"Ada"`, `"Ada L."`, 1))
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.Update(w.Context(), old, onto.Draft{}, store.Key{"ada"}, func(r *residentV1) error {
				r.Lines[0].Qty = 5
				return nil
			})
			return err
		}, "lines[].note")
		w.commit(old, residentV1{ID: "bob", Lines: []line{{"p1", 3}}}) // nothing is lost by it
		w.want(new, "bob", `{"home":{"city":""},"id":"bob","lines":[{"qty":3,"sku":"p1"}],"name":"","tags":{}}`)
	})
}

// From values of any kind to declared ones: rows that fit are brought into their form, and one
// that does not fit stops the migration.
func TestDeclaredLater(t *testing.T) {
	loose := wider(t, func(f *onto.Field) { f.Fields, f.Items, f.Values = nil, nil, nil })
	everywhere(t, func(w world) {
		s := w.open(loose)
		ada := map[string]any{"name": "Ada", "home": map[string]any{"city": "Oslo"}, "lines": []any{}, "tags": map[string]any{}}
		w.commit(s, named("ada", ada), named("bob", map[string]any{"name": "Bob", "home": map[string]any{"city": 5}, "lines": []any{}, "tags": map[string]any{}}))
		w.refused(onto.UpgraderMissing, func() error { return w.tryMigrate(residents()) }, "1 thing does not fit")
		plan, err := store.PlanMigration(w.Context(), w.handle(), &store.Migration{Types: []onto.Type{residents()}})
		if err != nil {
			w.Fatal(err)
		}
		step := plan.Types[0].Steps[0]
		if want := []store.Unfit{{Identity: onto.EntityID("Person", "bob"), Problem: "field home.city: expected string, found int"}}; !reflect.DeepEqual(step.Unfit, want) || step.Unfits != 1 {
			w.Errorf("got %+v, want %+v", step, want)
		}
		w.commit(s, named("bob", ada))
		w.migrate(residents())
		w.want(w.open(residents()), "bob", `{"home":{"city":"Oslo"},"id":"bob","lines":[],"name":"Ada","tags":{}}`)
	})
}

// Values of the wrong kind are refused at every depth, with their path, whoever gives them.
func TestUnfitInside(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(residents())
		fit := func() map[string]any {
			return map[string]any{"name": "", "home": map[string]any{"city": ""}, "lines": []any{}, "tags": map[string]any{}}
		}
		for path, spoil := range map[string]func(f map[string]any){
			"field lines[1].qty: expected int, found string": func(f map[string]any) {
				f["lines"] = []any{map[string]any{"sku": "a", "qty": 1}, map[string]any{"sku": "b", "qty": "two"}}
			},
			"field lines[0]: expected object, found null": func(f map[string]any) { f["lines"] = []any{nil} },
			"field home.city: it is missing":              func(f map[string]any) { f["home"] = map[string]any{} },
			"field home.ctiy: there is no such field":     func(f map[string]any) { f["home"] = map[string]any{"ctiy": "a"} },
			"field tags.env: expected string, found int":  func(f map[string]any) { f["tags"] = map[string]any{"env": 1} },
			`field tags."a b": expected string`:           func(f map[string]any) { f["tags"] = map[string]any{"a b": true} },
		} {
			fields := fit()
			spoil(fields)
			_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(named("ada", fields)))
			if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), path) {
				w.Errorf("got %v, want %q", err, path)
			}
			_, err = s.CommitStream(w.Context(), onto.Draft{}, func(yield func(any, error) bool) { yield(named("ada", fields), nil) })
			if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), path) {
				w.Errorf("stream: got %v, want %q", err, path)
			}
		}
	})
}

// A program goes on with its own declaration after the type has lost it: a merge decides the
// fields that it gives, null takes them away, and what it gives besides is stored.
func TestDeclarationIsTakenAway(t *testing.T) {
	open := wider(t, func(f *onto.Field) { f.Fields, f.Items, f.Values = nil, nil, nil })
	loose := wider(t, func(f *onto.Field) {
		if f.Name == "home" {
			f.Fields[0].Optional = true
			f.Fields = append(f.Fields, onto.Field{Name: "zip", Type: onto.Int, Optional: true})
		}
	})
	everywhere(t, func(w world) {
		old := w.open(loose)
		ada := func(home map[string]any) onto.Entity {
			return named("ada", map[string]any{"name": "", "home": home, "lines": []any{}, "tags": map[string]any{}})
		}
		w.commit(old, ada(map[string]any{"city": "Oslo", "zip": 150}))
		w.migrate(open)
		w.commit(w.open(), ada(map[string]any{"city": "Oslo", "zip": 150, "x": nil}))
		want := func(home string) {
			w.Helper()
			w.want(old, "ada", `{"home":`+home+`,"id":"ada","lines":[],"name":"","tags":{}}`)
		}
		want(`{"city":"Oslo","x":null,"zip":150}`)
		merge := func(home map[string]any) {
			w.Helper()
			if _, err := old.Commit(w.Context(), onto.Draft{}.Merge(named("ada", map[string]any{"home": home}))); err != nil {
				w.Fatal(err)
			}
		}
		merge(map[string]any{"city": "Bergen"})
		want(`{"city":"Bergen","x":null,"zip":150}`)
		merge(map[string]any{"zip": nil, "y": 5})
		want(`{"city":"Bergen","x":null,"y":5}`)
		w.commit(old, ada(map[string]any{"city": nil, "zip": 7, "z": []any{}}))
		want(`{"x":null,"y":5,"z":[],"zip":7}`)
	})
}
