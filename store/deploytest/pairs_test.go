package deploytest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// pair makes the next version of a type out of one, by random changes at any depth, and keeps
// in mind whether one of them stops older programs. A change is never inside another one.
type pair struct {
	*rapid.T
	careful bool // only changes that programs can go on beside
	stops   bool
}

// bad reports whether to make a change that stops older programs.
func (p *pair) bad() bool {
	bad := !p.careful && rapid.IntRange(0, 9).Draw(p.T, "bad") == 0
	p.stops = p.stops || bad
	return bad
}

func (p *pair) some(label string) bool { return rapid.IntRange(0, 2).Draw(p.T, label) == 0 }

// next changes a type.
func (p *pair) next(s onto.Schema) onto.Schema {
	s.Fields = p.fields(s.Fields, drawnTop, 1)
	s.SortFields()
	return s
}

// fields changes the fields of an object.
func (p *pair) fields(fields []onto.Field, names []string, depth int) []onto.Field {
	changed := []onto.Field{}
	for _, f := range fields {
		if f.Name == "id" || !p.some("change") {
			changed = append(changed, f)
		} else if p.some("drop") && p.bad() {
			continue
		} else {
			changed = append(changed, p.field(f, depth))
		}
	}
	for _, name := range names {
		has := func(f onto.Field) bool { return f.Name == name }
		if slices.ContainsFunc(fields, has) || !p.some("add") {
			continue
		}
		f := drawNamed(p.T, name, max(0, 3-depth))
		if !mayMiss(&f) && !p.bad() {
			f.Optional = !p.beginsAsZero(&f)
		} else if !mayMiss(&f) {
			p.stops = true
		}
		changed = append(changed, f)
	}
	slices.SortFunc(changed, func(a, b onto.Field) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return changed
}

// beginsAsZero may give a new required field its zero value as the default.
func (p *pair) beginsAsZero(f *onto.Field) bool {
	zero, _, unfit := modelFit(f, modelZero(f))
	if len(unfit) > 0 || !p.some("zero") {
		return false
	}
	f.Default = modelJSON(zero)
	return true
}

// field changes a field, or something inside it.
func (p *pair) field(f onto.Field, depth int) onto.Field {
	inside := f.Items != nil || f.Values != nil || f.Fields != nil
	switch {
	case p.bad():
		return p.spoiled(f)
	case inside && rapid.IntRange(0, 3).Draw(p.T, "inside") > 0:
		switch {
		case f.Items != nil:
			items := p.field(*f.Items, depth+1)
			f.Items = &items
		case f.Values != nil:
			values := p.field(*f.Values, depth+1)
			f.Values = &values
		default:
			f.Fields = p.fields(f.Fields, drawnNames, depth+1)
		}
		if value, _ := modelParse(f.Default); f.Default != nil {
			if _, _, unfit := modelFit(&f, value); len(unfit) > 0 { // the change inside stops older programs
				f.Default = nil
			}
		}
		return f
	}
	switch rapid.IntRange(0, 3).Draw(p.T, "wider") {
	case 0:
		f.Optional = f.Default == nil
	case 1:
		f.Enum, f.Items, f.Values, f.Fields = nil, nil, nil, nil
	case 2:
		f.Enum, f.Items, f.Values, f.Fields = nil, nil, nil, nil
		if f.Type == onto.Int && p.some("float") {
			f.Type = onto.Float
		} else {
			f.Type = onto.Any
		}
	case 3:
		if f.Enum != nil && f.Type == onto.String {
			f.Enum = append(slices.Clone(f.Enum), json.RawMessage(`"Bronze"`))
		} else if f.Enum != nil {
			f.Enum = append(slices.Clone(f.Enum), json.RawMessage("7"))
		}
	}
	return f
}

// spoiled changes a field so that older programs cannot go on.
func (p *pair) spoiled(f onto.Field) onto.Field {
	kept := onto.Field{Name: f.Name, Type: f.Type, Optional: f.Optional}
	switch {
	case f.Enum != nil && p.some("fewer"):
		kept.Enum = f.Enum[:1]
		return kept
	case f.Enum == nil && f.Type == onto.String && p.some("enum"):
		kept.Enum = []json.RawMessage{[]byte(`"Gold"`)}
		return kept
	case f.Optional && p.some("required"):
		f.Optional = false
		return f
	case f.Default == nil && f.Type == onto.Bool && f.Name != "":
		f.Optional, f.Default = false, []byte("true")
		return f
	case f.Fields == nil && f.Values == nil && f.Type == onto.Object:
		kept.Fields = []onto.Field{}
		return kept
	case f.Fields != nil:
		kept.Values = &onto.Field{Type: onto.String}
		return kept
	}
	kept.Type = onto.Bool
	if f.Type == onto.Bool {
		kept.Type = onto.Int
	}
	return kept
}

// mergeModel is what becomes of an object in which a program that knows these fields writes:
// all of them, or, if it is a part, those that it gives. It reports whether something would be
// lost.
func mergeModel(known []onto.Field, given, present map[string]any, part bool) (merged map[string]any, lost bool) {
	merged = map[string]any{}
	for name, v := range present {
		_, has := given[name]
		if !slices.ContainsFunc(known, func(f onto.Field) bool { return f.Name == name }) || part && !has {
			merged[name] = v
		}
	}
	for _, f := range known {
		v, was := given[f.Name], present[f.Name]
		if v == nil {
			continue
		}
		object, isObject := v.(map[string]any)
		stored, _ := was.(map[string]any)
		if f.Fields != nil && isObject {
			inside, bad := mergeModel(f.Fields, object, stored, part)
			v, lost = inside, lost || bad
		} else if f.Fields == nil {
			v, lost = withoutAbsent(&f, v), lost || losesInside(&f, was)
		}
		merged[f.Name] = v
	}
	return merged, lost
}

// withoutAbsent is a value without what is null in objects whose fields are declared.
func withoutAbsent(f *onto.Field, v any) any {
	v = copied(v)
	switch v := v.(type) {
	case []any:
		for i := range v {
			if f.Items != nil {
				v[i] = withoutAbsent(f.Items, v[i])
			}
		}
	case map[string]any:
		for name := range v {
			i := slices.IndexFunc(f.Fields, func(f onto.Field) bool { return f.Name == name })
			switch {
			case f.Values != nil:
				v[name] = withoutAbsent(f.Values, v[name])
			case i >= 0 && v[name] == nil:
				delete(v, name)
			case i >= 0:
				v[name] = withoutAbsent(&f.Fields[i], v[name])
			}
		}
	}
	return v
}

// losesInside reports whether a list or a map holds fields that a program does not know.
func losesInside(f *onto.Field, was any) bool {
	if object, ok := was.(map[string]any); ok && f.Fields != nil {
		for name, v := range object {
			i := slices.IndexFunc(f.Fields, func(f onto.Field) bool { return f.Name == name })
			if i < 0 || losesInside(&f.Fields[i], v) {
				return true
			}
		}
		return false
	}
	switch was := was.(type) {
	case map[string]any:
		for _, v := range was {
			if f.Values != nil && losesInside(f.Values, v) {
				return true
			}
		}
	case []any:
		for _, v := range was {
			if f.Items != nil && losesInside(f.Items, v) {
				return true
			}
		}
	}
	return false
}

// partOf draws a part of an object, in which some members are taken away by null.
func partOf(t *rapid.T, fields []onto.Field, object map[string]any) map[string]any {
	part := map[string]any{}
	for i := range fields {
		f := &fields[i]
		v := object[f.Name]
		inside, isObject := v.(map[string]any)
		switch {
		case f.Name == "id" || rapid.Bool().Draw(t, "left out"):
		case rapid.IntRange(0, 4).Draw(t, "null") == 0:
			part[f.Name] = nil
		case isObject && f.Fields != nil:
			part[f.Name] = partOf(t, f.Fields, inside)
		case v != nil:
			part[f.Name] = v
		}
	}
	return part
}

// Of random types and their next versions, the verdict whether programs can go on is that of
// the changes between them. Where they can, programs of both versions write in turn, and what
// is stored is what a model says: nothing is lost that one of them does not know.
func TestNestedPairs(t *testing.T) {

	counts := map[string]int{}
	everywhereDrawn(t, 1000, func(w world, t *rapid.T) {
		old := drawType(t)
		p := pair{T: t, careful: rapid.IntRange(0, 3).Draw(t, "careful") > 0}
		next, err := onto.Untyped(p.next(old)).Schema()
		if err == nil {
			old, err = onto.Untyped(old).Schema()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := onto.Compatible(old, next); got == p.stops {
			t.Fatalf("compatible: %v, want %v:\n%s\n%s", got, !p.stops, old.JSON(), next.JSON())
		}
		if p.stops {
			counts["stops"]++
			return
		}
		d := duo{t, w, old, next, counts, nil}
		d.play()
	})
	t.Log(counts)
	for _, what := range []string{"stops", "written", "unfit"} {
		if counts[what] == 0 {
			t.Errorf("nothing is %s: %v", what, counts)
		}
	}
}

// duo is a program of each version, with the model of what they have stored.
type duo struct {
	*rapid.T
	w         world
	old, next onto.Schema
	counts    map[string]int
	stored    map[string]any
}

func (d *duo) play() {
	running, err := store.Open(d.w.Context(), d.w.handle(), onto.Untyped(d.old))
	if err != nil {
		d.Fatal(err)
	}
	d.write(running, d.old, false)
	if _, _, err := store.Migrate(d.w.Context(), d.w.handle(), &store.Migration{Types: []onto.Type{onto.Untyped(d.next)}}, &store.ApplyOptions{Force: true}); err != nil {
		d.Fatalf("migrate: %v\n%s\n%s", err, d.old.JSON(), d.next.JSON())
	}
	d.stored, _ = fitFields(d.next.Fields, d.stored, "")
	d.check(running)
	later, err := store.Open(d.w.Context(), d.w.handle(), onto.Untyped(d.old))
	if err != nil {
		d.Fatal(err)
	}
	newer, err := store.Open(d.w.Context(), d.w.handle(), onto.Untyped(d.next))
	if err != nil {
		d.Fatal(err)
	}
	for range 5 {
		d.write(newer, d.next, rapid.Bool().Draw(d.T, "merge"))
		d.write(rapid.SampledFrom([]*store.Store{running, later}).Draw(d.T, "program"), d.old, rapid.Bool().Draw(d.T, "merge"))
	}
	if found, err := unfit(d.w.Context(), d.w.handle()); err != nil || found != nil {
		d.Fatalf("found %q, %v\n%s\n%s", found, err, d.old.JSON(), d.next.JSON())
	}
}

// write writes as a program that knows a version of the type does.
func (d *duo) write(s *store.Store, known onto.Schema, part bool) {
	fields := drawFields(d.T, &known, "ada")
	if part {
		fields = partOf(d.T, known.Fields, fields)
	}
	fields["id"] = "ada"
	thing := onto.Entity{Type: "Person", Key: "ada", Fields: copied(fields)}
	draft := onto.Draft{}.Ensure(thing)
	if part {
		draft = onto.Draft{}.Merge(thing)
	}
	merged, lost := mergeModel(known.Fields, fields, d.stored, part)
	latest := d.next
	if d.stored == nil {
		latest = d.old
	}
	want, unfit := fitFields(latest.Fields, merged, "")
	_, err := s.Commit(d.w.Context(), draft)
	switch {
	case lost && errors.Is(err, onto.SchemaOutdated):
		d.counts["lost"]++
	case len(unfit) > 0 && errors.Is(err, onto.Invalid):
		d.counts["unfit"]++
	case lost || len(unfit) > 0 || err != nil:
		d.Fatalf("part %v of %s: got %v; lost %v, unfit %q\nold  %s\nnext %s\nstored %s", part, modelJSON(fields), err, lost, unfit, d.old.JSON(), d.next.JSON(), modelJSON(d.stored))
	default:
		d.counts["written"]++
		d.stored = want
	}
	if d.stored != nil {
		d.check(s)
	}
}

// check compares what is stored with the model.
func (d *duo) check(s *store.Store) {
	v, err := s.Now().Get(d.w.Context(), onto.EntityID("Person", "ada"))
	if err != nil {
		d.Fatal(err)
	}
	checkStored(d.T, v.Fields, d.stored)
}

// orderV1 is an order as an old program has it, and orderV2 has more of it at every depth.
type (
	orderV1 struct {
		ID   string              `json:"id" onto:"key"`
		Ship shipV1              `json:"ship"`
		Rows []rowV1             `json:"rows"`
		By   map[string][]rowV1  `json:"by"`
		Free map[string]string   `json:"free"`
		Seen map[int][]time.Time `json:"seen"`
	}
	shipV1 struct {
		To   *placeV1 `json:"to"`
		Days int      `json:"days"`
	}
	placeV1 struct {
		City  string   `json:"city"`
		Lines []string `json:"lines,omitempty"`
	}
	rowV1 struct {
		SKU string `json:"sku"`
	}

	orderV2 struct {
		ID   string              `json:"id" onto:"key"`
		Ship shipV2              `json:"ship"`
		Rows []rowV2             `json:"rows"`
		By   map[string][]rowV2  `json:"by"`
		Free map[string]string   `json:"free"`
		Seen map[int][]time.Time `json:"seen"`
	}
	shipV2 struct {
		To   *placeV2 `json:"to"`
		Days int      `json:"days"`
		Mode string   `json:"mode" onto:"enum=air|sea,default=\"sea\""`
	}
	placeV2 struct {
		City  string   `json:"city"`
		Lines []string `json:"lines,omitempty"`
		Zip   *int     `json:"zip"`
	}
	rowV2 struct {
		SKU  string  `json:"sku"`
		Note *string `json:"note"`
	}
)

// Updates by an old struct change what their function does, and keep what it does not know;
// those that would lose it are refused.
func TestNestedStructPairs(t *testing.T) {
	older, newer := onto.TypeOf[orderV1]().As("Person"), onto.TypeOf[orderV2]().As("Person")
	everywhereDrawn(t, 200, func(w world, t *rapid.T) {
		open := func(typ onto.Type) *store.Store {
			s, err := store.Open(w.Context(), w.handle(), typ)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		old := open(older)
		if _, _, err := store.Migrate(w.Context(), w.handle(), &store.Migration{Types: []onto.Type{newer}}, &store.ApplyOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		new := open(newer)
		for range 4 {
			var whole orderV2
			fill(t, reflect.ValueOf(&whole).Elem(), "", 4)
			if _, err := new.Commit(w.Context(), onto.Draft{}.Ensure(whole)); err != nil {
				t.Fatal(err)
			}
			var change orderV1
			fill(t, reflect.ValueOf(&change).Elem(), "", 4)
			what := rapid.IntRange(0, 4).Draw(t, "what")
			refused := false
			_, err := store.Update(w.Context(), old, onto.Draft{}, store.Key{"ada"}, func(o *orderV1) error {
				before := *o
				switch what {
				case 0:
					o.Ship.Days, whole.Ship.Days = change.Ship.Days, change.Ship.Days
				case 1:
					if o.Ship.To != nil {
						o.Ship.To.City, whole.Ship.To.City = "new", "new"
					}
				case 2:
					o.Free, whole.Free = change.Free, change.Free
				case 3:
					o.Seen, whole.Seen = change.Seen, change.Seen
				case 4:
					if refused = !reflect.DeepEqual(before.Rows, change.Rows) && noted(whole.Rows); !refused && !reflect.DeepEqual(before.Rows, change.Rows) {
						whole.Rows = []rowV2{}
						for _, r := range change.Rows {
							whole.Rows = append(whole.Rows, rowV2{SKU: r.SKU})
						}
					}
					o.Rows = change.Rows
				}
				return nil
			})
			if refused != errors.Is(err, onto.SchemaOutdated) || !refused && err != nil {
				t.Fatalf("change %d: got %v, want refused: %v", what, err, refused)
			}
			got, err := store.Get[orderV2](w.Context(), new.Now(), "ada")
			if err != nil || string(modelJSON(got)) != string(modelJSON(whole)) {
				t.Fatalf("change %d: got %s, %v\nwant %s", what, modelJSON(got), err, modelJSON(whole))
			}
		}
	})
}

// noted reports whether a row has what old programs do not know.
func noted(rows []rowV2) bool {
	return slices.ContainsFunc(rows, func(r rowV2) bool { return r.Note != nil })
}
