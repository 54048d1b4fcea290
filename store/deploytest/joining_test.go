package deploytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

type (
	place struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
	}
	lives struct {
		onto.Link[Person, place]
		Since int `json:"since"`
	}
	// Person is the name that links refer to.
	Person personV1

	claim struct {
		onto.About[string]
		Points int `json:"points"`
	}
	score struct {
		Who   string `json:"who" onto:"key"`
		Total int    `json:"total"`
	}
)

func placeType() onto.Type { return onto.TypeOf[place]() }

func livesType() onto.Type { return onto.TypeOf[lives]() }

// Types that join an open store are used like those that it was opened with.
func TestTypesJoinAnOpenStore(t *testing.T) {
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		s := w.open()
		if _, err := store.Get[personV2](w.Context(), s.Now(), "ada"); onto.CodeOf(err) != onto.Invalid {
			w.Errorf("before it has joined: got %v", err)
		}
		w.commit(s, named("ada", map[string]any{"name": "Ada L", "age": 37}))
		for range 2 { // the second time changes nothing
			if err := s.Register(w.Context(), typeV2(), placeType(), livesType()); err != nil {
				w.Fatal(err)
			}
		}
		w.commit(s, place{"oslo", "Oslo"}, lives{Link: onto.Link[Person, place]{Left: "ada", Right: "oslo"}, Since: 3})
		got, err := store.Get[personV2](w.Context(), s.Now(), "ada")
		if err != nil || got != (personV2{"ada", "Ada L", 37, nil, 1}) {
			w.Errorf("got %+v, %v", got, err)
		}
		mail := "m@x"
		if _, err := store.Update(w.Context(), s, onto.Draft{}, store.Key{"ada"}, func(p *personV2) error { p.Mail, p.Tier = &mail, 5; return nil }); err != nil {
			w.Error(err)
		}
		if n, err := store.Find[lives](s.Now()).Where(onto.Left("tier").Eq(5), onto.Right("name").Eq("Oslo")).Count(w.Context()); n != 1 || err != nil {
			w.Errorf("got %d, %v; want 1", n, err)
		}
		w.want(w.open(typeV1()), "ada", `{"age":37,"id":"ada","mail":"m@x","name":"Ada L","tier":5}`)
		if w.versions() != 2 || len(s.Types()) != 3 {
			w.Errorf("got %d versions of %v, want 2", w.versions(), s.Types())
		}
		if err := s.Register(w.Context()); err != nil {
			w.Error(err)
		}
	})
}

// Fields of a type that was known by its name are decided by writes once its struct has joined,
// and flags are tuned.
func TestKnownByNameJoins(t *testing.T) {
	type marked struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name" onto:"search"`
		Age  int64  `json:"age" onto:"index"`
	}
	everywhere(t, func(w world) {
		w.open(typeV1())
		s := w.open()
		w.migrate(typeV2())
		mail := "m@x"
		w.commit(w.open(typeV2()), personV2{"ada", "Ada", 36, &mail, 7})
		if err := s.Register(w.Context(), typeV2()); err != nil {
			w.Fatal(err)
		}
		w.commit(s, personV2{"ada", "Ada", 36, nil, 8})
		w.want(s, "ada", `{"age":36,"id":"ada","name":"Ada","tier":8}`)
	})
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		s := w.open()
		if err := s.Register(w.Context(), guests[marked]()); err != nil {
			w.Fatal(err)
		}
		for _, s := range []*store.Store{s, w.open()} {
			if n, err := s.Now().Find("Person").Search("ada").Count(w.Context()); n != 1 || err != nil {
				w.Errorf("a search finds %d, %v; want 1", n, err)
			}
		}
		if w.versions() != 1 {
			w.Errorf("flags have made %d versions", w.versions())
		}
	})
}

// All types join, or none.
func TestNoneJoins(t *testing.T) {
	type text struct {
		ID  string `json:"id" onto:"key"`
		Age string `json:"age"`
	}
	everywhere(t, func(w world) {
		w.commit(w.open(typeV1()), personV1{"ada", "Ada", 36})
		w.migrate(person("name string", "age int", "more string?"))
		s := w.open(typeV1())
		cancelled, cancel := context.WithCancel(w.Context())
		cancel()
		for name, c := range map[string]struct {
			ctx   context.Context
			types []onto.Type
			code  onto.Code
			texts []string
		}{
			"differs":        {w.Context(), []onto.Type{placeType(), onto.TypeOf[text]().As("Other"), person("age string")}, onto.SchemaOutdated, []string{"~ age: int → string"}},
			"lacks a field":  {w.Context(), []onto.Type{placeType(), person("name string", "age int", "x int?")}, onto.SchemaOutdated, []string{"+ x, - more"}},
			"another struct": {w.Context(), []onto.Type{placeType(), typeV2()}, onto.Invalid, []string{"Person", "deploytest.personV1", "deploytest.personV2"}},
			"another name":   {w.Context(), []onto.Type{placeType(), typeV1().As("Human")}, onto.Invalid, []string{"deploytest.personV1", "Person", "Human"}},
			"both new":       {w.Context(), []onto.Type{placeType(), placeType().As("Town")}, onto.Invalid, []string{"deploytest.place", "as place and as Town"}},
			"twice":          {w.Context(), []onto.Type{placeType(), placeType()}, onto.Invalid, []string{"given twice"}},
			"another kind":   {w.Context(), []onto.Type{placeType(), knows, onto.TypeOf[text]().As("Knows")}, onto.Invalid, []string{"Knows is given twice"}},
			"no endpoint":    {w.Context(), []onto.Type{livesType()}, onto.Invalid, []string{"place"}},
			"reserved":       {w.Context(), []onto.Type{placeType().As("onto_x")}, onto.Invalid, []string{"onto_"}},
		} {
			w.refused(c.code, func() error { return s.Register(c.ctx, c.types...) }, c.texts...)
			if _, err := s.Type("place"); err == nil {
				w.Errorf("%s: a type has joined", name)
			}
		}
		err := s.Register(cancelled, placeType())
		if _, known := s.Type("place"); !errors.Is(err, context.Canceled) || known == nil {
			w.Errorf("cancelled: got %v, %v", err, known)
		}
		if _, err := store.Get[place](w.Context(), s.Now(), "x"); onto.CodeOf(err) != onto.Invalid {
			w.Errorf("got %v, want that the struct has not joined", err)
		}
		w.commit(s, personV1{"ada", "Ada", 40}) // the program goes on
		if err := s.Register(w.Context(), placeType()); err != nil {
			w.Error(err)
		}
		w.refused(onto.Invalid, func() error { return s.Register(w.Context(), onto.TypeOf[text]().As("place")) }, "deploytest.place", "deploytest.text")
		w.refused(onto.Conflict, func() error {
			return w.open().Register(w.Context(), onto.Untyped(onto.Schema{Kind: onto.KindRelation, Name: "place", Left: "Person", Right: "Person"}))
		}, "place is taken")
		s.Close()
		if err := s.Register(w.Context(), placeType()); onto.CodeOf(err) != onto.Closed {
			w.Errorf("closed: got %v", err)
		}
	})
}

// Types join also after another program has registered, changed and migrated some.
func TestTypesJoinAfterOthers(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(typeV1())
		w.commit(s, personV1{"ada", "Ada", 36})
		other := w.open(typeV2(), placeType())
		w.commit(other, place{"oslo", "Oslo"})
		if err := s.Register(w.Context(), placeType(), typeV1()); err != nil {
			w.Fatal(err)
		}
		if got, err := store.Get[place](w.Context(), s.Now(), "oslo"); err != nil || got.Name != "Oslo" {
			w.Errorf("got %+v, %v", got, err)
		}
		w.commit(s, personV1{"ada", "Ada", 37})
		w.want(other, "ada", `{"age":37,"id":"ada","name":"Ada","tier":1}`)

		w.migrate(person("called string", "tier int=1"), store.Upgrader{Type: "Person", From: 2, Program: ".called = .name | del(.name, .age, .mail)"})
		w.refused(onto.SchemaOutdated, func() error { return s.Register(w.Context(), typeV1()) }, "+ age, + name, - called")
		w.refused(onto.SchemaOutdated, func() error {
			_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(personV1{"ada", "Ada", 38}))
			return err
		})
		w.migrate(typeV1(), store.Upgrader{Type: "Person", From: 3, Program: ".name = .called | .age = 1 | del(.called, .tier)"})
		if err := s.Register(w.Context(), typeV1()); err != nil { // it fits again
			w.Error(err)
		}
		w.commit(s, personV1{"ada", "Ada", 38})
	})
}

// Goroutines commit and read one type while others let types join, and fields of that type too.
func TestTypesJoinBesideWork(t *testing.T) {
	everywhere(t, func(w world) {
		w.open(typeV1())
		s, other := w.open(typeV1()), w.open()
		const workers, times = 3, 12
		var wg sync.WaitGroup
		fail := make(chan error, 100)
		for g := range workers {
			wg.Go(func() {
				key := fmt.Sprint("p", g)
				for i := range times {
					_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(personV1{key, "Ada", int64(i)}))
					got, getErr := store.Get[personV1](w.Context(), s.Now(), key)
					if err != nil || getErr != nil || got.Age != int64(i) {
						fail <- fmt.Errorf("%d: %+v, %w", i, got, errors.Join(err, getErr))
						return
					}
					if _, err := store.Find[personV1](s.Now()).Where(onto.Path("age").Ge(0)).Count(w.Context()); err != nil {
						fail <- err
					}
				}
			})
		}
		join := func(s *store.Store, types ...onto.Type) {
			wg.Go(func() {
				if err := s.Register(w.Context(), types...); err != nil {
					fail <- err
				}
			})
		}
		join(s, placeType())
		join(s, placeType(), livesType())
		join(s, residents().As("Resident"))
		join(other, typeV2())
		join(other, placeType())
		wg.Wait()
		close(fail)
		for err := range fail {
			w.Error(err)
		}
		w.commit(s, place{"oslo", "Oslo"}, residentV1{ID: "eve"}, lives{Link: onto.Link[Person, place]{Left: "p0", Right: "oslo"}})
		got, err := store.Get[personV2](w.Context(), other.Now(), "p0")
		if err != nil || got.Age != times-1 || got.Tier != 1 {
			w.Errorf("got %+v, %v", got, err)
		}
	})
}

// Types join while folds run, those that folds read and write among them.
func TestTypesJoinBesideFolds(t *testing.T) {
	type scoreV2 struct {
		Who   string `json:"who" onto:"key"`
		Total int    `json:"total"`
		Place string `json:"place"`
	}
	type claimV2 struct {
		onto.About[string]
		Points int `json:"points"`
		Bonus  int `json:"bonus"`
	}
	sum := store.Fold[claim, score]{Name: "sum", Version: 1, Apply: func(s *score, f onto.Fact, _ onto.Draft) error {
		if n, ok := f.Value.(int64); ok && f.Attribute == "points" {
			s.Total += int(n)
		}
		return nil
	}}
	everywhere(t, func(w world) {
		s, err := store.OpenWith(w.Context(), w.handle(), &store.Options{Folds: []store.Folding{sum}})
		if err != nil {
			w.Fatal(err)
		}
		assert := func(id string, points int) error {
			_, err := s.Commit(w.Context(), onto.Draft{}.Assert(onto.Fact{Type: "claim", Subject: "ada", Attribute: "points", ID: id, Value: points}))
			return err
		}
		var wg sync.WaitGroup
		errs := make([]error, 4)
		wg.Go(func() {
			for i := range 10 {
				if err := assert(fmt.Sprint("f", i), 1); err != nil {
					errs[0] = err
				}
			}
		})
		wg.Go(func() { errs[1] = s.Register(w.Context(), placeType(), typeV1()) })
		wg.Go(func() { errs[2] = w.open().Register(w.Context(), onto.TypeOf[scoreV2]().As("score")) })
		wg.Go(func() { errs[3] = w.open().Register(w.Context(), onto.TypeOf[claimV2]().As("claim")) })
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			w.Fatal(err)
		}
		if err := assert("last", 5); err != nil {
			w.Fatal(err)
		}
		if err := errors.Join(s.CatchUp(w.Context()), s.VerifyFolds(w.Context())); err != nil {
			w.Error(err)
		}
		if got, err := store.Get[score](w.Context(), s.Now(), "ada"); err != nil || got.Total != 15 {
			w.Errorf("got %+v, %v; want 15", got, err)
		}
		later := w.open(onto.TypeOf[scoreV2]().As("score"), onto.TypeOf[claimV2]().As("claim"), placeType())
		if got, err := store.Get[scoreV2](w.Context(), later.Now(), "ada"); err != nil || got.Total != 15 || got.Place != "" {
			w.Errorf("got %+v, %v; want 15", got, err)
		}
		if _, err := later.Commit(w.Context(), onto.Draft{}.Ensure(scoreV2{Who: "ada"})); err == nil || !strings.Contains(err.Error(), "fold") {
			w.Errorf("a state was written: %v", err)
		}
	})
}
