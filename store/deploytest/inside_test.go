package deploytest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// nestedType has objects in objects, of which some are optional.
func nestedType() onto.Schema {
	word := onto.Field{Name: "word", Type: onto.String, Enum: []json.RawMessage{[]byte(`"a"`), []byte(`"b"`)}}
	other := onto.Field{Name: "other", Type: onto.Int, Optional: true}
	four := onto.Field{Name: "four", Type: onto.Object, Fields: []onto.Field{other, word}}
	three := onto.Field{Name: "three", Type: onto.Object, Fields: []onto.Field{four, other}}
	two := onto.Field{Name: "two", Type: onto.Object, Fields: []onto.Field{other, three}}
	return onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String},
		{Name: "one", Type: onto.Object, Optional: true, Fields: []onto.Field{two}},
		{Name: "times", Type: onto.List, Items: &onto.Field{Type: onto.Time}},
	}}
}

func within(names string, v any) map[string]any {
	name, rest, more := strings.Cut(names, ".")
	if more {
		return map[string]any{name: within(rest, v)}
	}
	return map[string]any{name: v}
}

// A merge goes down into objects at any depth, and is checked there.
func TestMergeGoesDown(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(onto.Untyped(nestedType()))
		ada := within("one.two.three.four", map[string]any{"word": "a", "other": 4})
		ada["times"] = []any{}
		w.commit(s, named("ada", ada))
		merge := func(names string, v any) error {
			_, err := s.Commit(w.Context(), onto.Draft{}.Merge(named("ada", within(names, v))))
			return err
		}
		for names, v := range map[string]any{"one.two.other": 2, "one.two.three.other": 3, "one.two.three.four.word": "b"} {
			if err := merge(names, v); err != nil {
				w.Fatal(err)
			}
		}
		stored := `{"id":"ada","one":{"two":{"other":2,"three":{"four":{"other":4,"word":"b"},"other":3}}},"times":[]}`
		w.want(s, "ada", stored)
		for names, v := range map[string]any{"one.two.three.four.word": "c", "one.two.three.four.other": "4", "one.two.three.four": nil, "one.two.more": 1} {
			if err := merge(names, v); !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), "field "+names+": ") {
				w.Errorf("%s: got %v, want an error about it", names, err)
			}
		}
		w.want(s, "ada", stored)
		if err := errors.Join(merge("one.two.three.four.other", nil), merge("one.two.three.other", nil)); err != nil {
			w.Error(err)
		}
		w.want(s, "ada", `{"id":"ada","one":{"two":{"other":2,"three":{"four":{"word":"b"}}}},"times":[]}`)
	})
}

// What is required in an object that is absent is absent, too.
func TestRequiredBelowOptional(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(onto.Untyped(nestedType()))
		ada := within("one.two.three.four.word", "a")
		ada["times"] = []any{}
		w.commit(s, named("ada", ada), named("aaa", map[string]any{"times": []any{}}))
		word := onto.Path("one", "two", "three", "four", "word")
		for _, c := range []struct {
			where onto.Filter
			want  int64
		}{{word.IsNull(), 1}, {word.IsNotNull(), 1}, {word.Ne("a"), 0}, {word.Ne("b"), 1}, {word.Eq("a"), 1}, {onto.Not{Of: word.Eq("a")}, 1}} {
			if n, err := s.Now().Find("Person").Where(c.where).Count(w.Context()); n != c.want || err != nil {
				w.Errorf("%v: got %d, %v; want %d", c.where, n, err, c.want)
			}
		}
		keys, cursor := "", "" // what has no value comes last
		for range 2 {
			page, err := s.Now().Find("Person").OrderBy(word.Asc()).Limit(1).After(cursor).Page(w.Context())
			if err != nil || len(page.Items) != 1 {
				w.Fatalf("got %v, %v; want one", page.Items, err)
			}
			keys, cursor = keys+page.Items[0].Key+" ", page.Next
		}
		if keys != "ada aaa " || cursor != "" {
			w.Errorf("got %s and %q, want ada aaa and no more", keys, cursor)
		}
	})
}

// Two types that differ in what the elements of a list are differ.
func TestItemsArePartOfTheType(t *testing.T) {
	of := func(t onto.FieldType) onto.Type {
		return onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
			{Name: "id", Type: onto.String}, {Name: "list", Type: onto.List, Items: &onto.Field{Type: t}},
		}})
	}
	everywhere(t, func(w world) {
		a, b := of(onto.String), of(onto.Int)
		if x, err := a.Schema(); err != nil {
			w.Error(err)
		} else if y, err := b.Schema(); err != nil || x.Hash() == y.Hash() {
			w.Errorf("got %s twice, %v", x.Hash(), err)
		}
		w.open(a)
		w.refused(onto.SchemaOutdated, func() error {
			_, err := store.Open(w.Context(), w.handle(), b)
			return err
		}, "list[]")
	})
}

// Values have one form at every depth, whichever way they come.
func TestFormsInside(t *testing.T) {
	everywhere(t, func(w world) {
		s := w.open(onto.Untyped(nestedType()))
		w.commit(s, named("ada", map[string]any{"times": []any{"2026-02-10", "2026-02-10T01:00:00+01:00"}}))
		w.want(s, "ada", `{"id":"ada","times":["2026-02-10T00:00:00.000000+00:00","2026-02-10T00:00:00.000000+00:00"]}`)
	})
}

// A field inside an object can be marked for an index after there are data.
func TestIndexInsideLater(t *testing.T) {
	marked := wider(t, func(f *onto.Field) {
		if f.Name == "home" {
			f.Fields[0].Index = true
		}
	})
	everywhere(t, func(w world) {
		w.commit(w.open(residents()), residentV1{ID: "ada", Home: address{"Oslo"}}, residentV1{ID: "bob", Home: address{"Bergen"}})
		s := w.open(marked)
		for _, s := range []*store.Store{s, w.open()} {
			typ, err := w.open().Type("Person")
			if f, _, ok := typ.Lookup([]string{"home", "city"}); err != nil || !ok || !f.Index {
				w.Errorf("got %+v, %v; want an index on home.city", f, err)
			}
			if n, err := s.Now().Find("Person").Where(onto.Path("home", "city").Eq("Oslo")).Count(w.Context()); n != 1 || err != nil {
				w.Errorf("got %d, %v; want 1", n, err)
			}
		}
	})
}

// Attributes of facts have values with declarations inside, one or several at once: they are
// brought into their form, or refused with their path.
func TestFactsWithNestedValues(t *testing.T) {
	part := []onto.Field{{Name: "at", Type: onto.Time, Optional: true}, {Name: "qty", Type: onto.Int}, {Name: "unit", Type: onto.String, Default: []byte(`"kg"`)}}
	claims := onto.Untyped(onto.Schema{Kind: onto.KindFact, Name: "Claim", Left: "Person", Fields: []onto.Field{
		{Name: "load", Type: onto.Object, Optional: true, Fields: part},
		{Name: "loads", Type: onto.Object, Optional: true, Many: true, Fields: part},
	}})
	everywhere(t, func(w world) {
		s := w.open(onto.Untyped(nestedType()), claims)
		w.commit(s, named("ada", map[string]any{"times": []any{}}))
		for _, attribute := range []string{"load", "loads"} {
			fact := func(value any) onto.Fact {
				return onto.Fact{Type: "Claim", Subject: "ada", Attribute: attribute, ID: "x", Value: value}
			}
			for path, value := range map[string]any{
				".qty: expected int, found string": map[string]any{"qty": "two"},
				".qty: it is missing":              map[string]any{"at": "2026-02-10"},
				".zip: there is no such field":     map[string]any{"qty": 1, "zip": 2},
				": expected object, found list":    []any{},
			} {
				_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(fact(value)))
				if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), attribute+path) {
					w.Errorf("got %v, want %s", err, attribute+path)
				}
			}
			w.commit(s, fact(map[string]any{"qty": 1, "at": "2026-02-10"}))
			v, err := s.Now().Get(w.Context(), onto.Identity{Kind: onto.KindFact, Type: "Claim", Left: "ada", Right: attribute, Instance: "x"})
			if want := `"` + attribute + `":{"at":"2026-02-10T00:00:00.000000+00:00","qty":1,"unit":"kg"}`; err != nil || !strings.Contains(string(v.Fields), want) {
				w.Errorf("got %s, %v; want %s", v.Fields, err, want)
			}
		}
	})
}
