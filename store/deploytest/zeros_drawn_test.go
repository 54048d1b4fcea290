package deploytest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// generation is one of the structs that are drawn, with what the model knows of it.
type generation struct {
	typ    onto.Type
	fields []onto.Field
}

func generations() []generation {
	var list []generation
	for _, typ := range []onto.Type{guests[guestV1](), guests[guestV2](), guests[guestV3](), guests[guestX](), guests[guestY]()} {
		s, err := typ.Schema()
		if err != nil {
			panic(err)
		}
		list = append(list, generation{typ, s.Fields})
	}
	return list
}

// modelZero is the value that a new required field begins as.
func modelZero(f *onto.Field) any {
	switch f.Type {
	case onto.Int, onto.Float:
		return int64(0)
	case onto.Bool:
		return false
	case onto.Time:
		return "0001-01-01T00:00:00.000000+00:00"
	case onto.DateOnly:
		return "0001-01-01"
	case onto.List:
		return []any{}
	case onto.Object:
		object := map[string]any{}
		for i := range f.Fields {
			if inner := &f.Fields[i]; !inner.Optional {
				object[inner.Name] = modelZero(inner)
			}
		}
		return object
	}
	return ""
}

// allWithin reports whether all fields are among others, at every depth.
func allWithin(fields, others []onto.Field) bool {
	return !slices.ContainsFunc(fields, func(f onto.Field) bool {
		i := slices.IndexFunc(others, func(o onto.Field) bool { return o.Name == f.Name })
		return i < 0 || !allWithin(insideOf(&f), insideOf(&others[i]))
	})
}

func insideOf(f *onto.Field) []onto.Field {
	for f.Items != nil || f.Values != nil {
		if f.Items != nil {
			f = f.Items
		} else {
			f = f.Values
		}
	}
	return f.Fields
}

// grown is the stored fields of a type after a struct has joined that has all of them.
func grown(stored, given []onto.Field) []onto.Field {
	list := slices.Clone(given)
	for i := range list {
		f := &list[i]
		at := slices.IndexFunc(stored, func(s onto.Field) bool { return s.Name == f.Name })
		was := onto.Field{}
		if at >= 0 {
			was = stored[at]
		}
		if !f.Optional && (at < 0 || was.Default != nil) {
			f.Default = modelJSON(modelZero(f))
		}
		*f = grownInside(was, *f)
	}
	return list
}

func grownInside(was, f onto.Field) onto.Field {
	if f.Items != nil {
		items := onto.Field{}
		if was.Items != nil {
			items = *was.Items
		}
		items = grownInside(items, *f.Items)
		f.Items = &items
	}
	if f.Values != nil {
		values := onto.Field{}
		if was.Values != nil {
			values = *was.Values
		}
		values = grownInside(values, *f.Values)
		f.Values = &values
	}
	f.Fields = grown(was.Fields, f.Fields)
	return f
}

// Programs with random structs join a store in any order, by opening it or later, and write in
// turn: who joins, what a type becomes, and what is stored, is what a model says.
func TestDrawnStructsJoin(t *testing.T) {
	all, counts := generations(), map[string]int{}
	everywhereDrawn(t, 150, func(w world, t *rapid.T) {
		type program struct {
			generation
			s *store.Store
		}
		var programs []program
		var known []onto.Field
		var stored map[string]any
		for range rapid.IntRange(3, 8).Draw(t, "steps") {
			g := all[0]
			if known != nil {
				g = all[rapid.IntRange(0, len(all)-1).Draw(t, "generation")]
			}
			var s *store.Store
			var err error
			if rapid.Bool().Draw(t, "later") {
				if s, err = store.Open(w.Context(), w.handle()); err == nil {
					err = s.Register(w.Context(), g.typ)
				}
			} else {
				s, err = store.Open(w.Context(), w.handle(), g.typ)
			}
			larger, smaller := allWithin(known, g.fields), allWithin(g.fields, known)
			if (larger || smaller) != (err == nil) || err != nil && !errors.Is(err, onto.SchemaOutdated) {
				t.Fatalf("got %v; larger %v, smaller %v", err, larger, smaller)
			}
			switch {
			case err != nil:
				counts["refused"]++
				continue
			case known == nil:
				known = g.fields
			case !smaller:
				counts["joined"]++
				known = grown(known, g.fields)
			default:
				counts["served"]++
			}
			if stored != nil {
				stored, _ = fitFields(known, stored, "")
			}
			programs = append(programs, program{g, s})
			for range rapid.IntRange(0, 2).Draw(t, "writes") {
				p := programs[rapid.IntRange(0, len(programs)-1).Draw(t, "program")]
				thing := reflect.New(p.typ.Binding().Struct)
				fill(t, thing.Elem(), "", 4)
				given, err := modelParse(modelJSON(thing.Interface()))
				if err != nil {
					t.Fatal(err)
				}
				fields := given.(map[string]any)
				merged, lost := mergeModel(p.fields, fields, stored, false)
				_, err = p.s.Commit(w.Context(), onto.Draft{}.Ensure(thing.Elem().Interface()))
				if lost != errors.Is(err, onto.SchemaOutdated) || !lost && err != nil {
					t.Fatalf("write %s over %s: got %v, lost %v", modelJSON(fields), modelJSON(stored), err, lost)
				}
				if lost {
					counts["lost"]++
					continue
				}
				counts["written"]++
				stored, _ = fitFields(known, merged, "")
				v, err := p.s.Now().Get(w.Context(), onto.EntityID("Person", "ada"))
				if err != nil {
					t.Fatal(err)
				}
				checkStored(t, v.Fields, stored)
			}
		}
		if s, err := store.Open(w.Context(), w.handle()); err != nil {
			t.Fatal(err)
		} else if got, err := s.Type("Person"); err != nil || !reflect.DeepEqual(shapes(got.Fields), shapes(known)) {
			t.Fatalf("the type is %v, %v; want %v", shapes(got.Fields), err, shapes(known))
		}
		if found, err := unfit(w.Context(), w.handle()); err != nil || found != nil {
			t.Fatalf("found %q, %v", found, err)
		}
	})
	t.Log(counts)
	for _, what := range []string{"refused", "joined", "served", "written", "lost"} {
		if counts[what] == 0 {
			t.Errorf("nothing is %s: %v", what, counts)
		}
	}
}

// shapes are the names and defaults of fields, at every depth.
func shapes(fields []onto.Field) []string {
	var list []string
	for i := range fields {
		list = append(list, fmt.Sprintf("%s=%s(%s)", fields[i].Name, fields[i].Default, strings.Join(shapes(insideOf(&fields[i])), ",")))
	}
	return list
}
