package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/store/schemafile"
)

// drawField draws what is declared of a field.
func drawField(t *rapid.T, name string, depth int) onto.Field {
	types := []onto.FieldType{onto.String, onto.Int, onto.Float, onto.Bool, onto.Time, onto.DateOnly, onto.Any, onto.List, onto.Object}
	f := onto.Field{Name: name, Type: rapid.SampledFrom(types).Draw(t, "type"), Optional: rapid.Bool().Draw(t, "optional")}
	if depth > 0 && rapid.Bool().Draw(t, "deeper") {
		f.Type = onto.Object
	}
	if f.Type == onto.Object && depth > 0 {
		f.Fields = drawNested(t, depth-1)
	}
	if f.Type == onto.List && depth > 0 && rapid.Bool().Draw(t, "typed") {
		items := drawField(t, "", 0)
		items.Default = nil
		f.Items = &items
	}
	if !f.Optional && rapid.Bool().Draw(t, "default") {
		value, err := json.Marshal(drawValueOf(t, &f))
		if err == nil {
			value, err = codec.AppendCanonical(nil, value)
		}
		if err == nil { // encoding/json writes large floats like integers
			f.Default = value
		}
	}
	return f
}

func drawNested(t *rapid.T, depth int) []onto.Field {
	names := rapid.SampledFrom([]string{"city", "zip", "a b", "a.b", "", `"`, "0", "é", strings.Repeat("n", 200), strings.Repeat("n", 201), "op", "left_key"})
	fields := []onto.Field{}
	for _, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID[string]).Draw(t, "names") {
		fields = append(fields, drawField(t, name, depth))
	}
	return fields
}

// drawValueOf draws a value of a field.
func drawValueOf(t *rapid.T, f *onto.Field) any {
	switch f.Type {
	case onto.String:
		return drawText(t, "text")
	case onto.Int:
		return rapid.Int64().Draw(t, "int")
	case onto.Float:
		return drawFloat(t)
	case onto.Bool:
		return rapid.Bool().Draw(t, "bool")
	case onto.Time:
		return rapid.SampledFrom([]string{"2026-02-10T12:00:00Z", "1969-12-31T23:59:59.5Z"}).Draw(t, "time")
	case onto.DateOnly:
		return rapid.SampledFrom([]string{"2026-02-10", "0001-01-01", "2024-02-29"}).Draw(t, "date")
	case onto.List:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			if f.Items != nil {
				list = append(list, drawValueOf(t, f.Items))
			} else {
				list = append(list, drawValue(t, 1))
			}
		}
		return list
	case onto.Object:
		if f.Fields == nil {
			return drawObject(t, 1)
		}
		return drawObjectOf(t, f.Fields)
	}
	return drawValue(t, 1)
}

func drawObjectOf(t *rapid.T, fields []onto.Field) map[string]any {
	object := map[string]any{}
	for i := range fields {
		f := &fields[i]
		if !f.Optional && f.Default == nil || rapid.Bool().Draw(t, "given") {
			object[f.Name] = drawValueOf(t, f)
		}
	}
	return object
}

// Whatever is declared of objects at any depth, what was exported as CSV is imported as it was,
// into a store without it and over what is there.
func TestRoundTripOfNestedFields(t *testing.T) {
	effort.Check(t, 1000, func(rt *rapid.T) {
		fields := []onto.Field{drawField(rt, "home", 3), {Name: "id", Type: onto.String}, drawField(rt, "onto", 3), {Name: "op", Type: onto.Bool, Optional: true}, drawField(rt, "work", 3)}
		typ := onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "T", Key: "id", Fields: fields})
		opened := func() *store.Store {
			s, err := store.Open(context.Background(), memory.New(nil).Open(), typ)
			if err != nil {
				rt.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
		s, other := opened(), opened()
		var d, before onto.Draft
		for i := range 3 {
			d = d.Ensure(onto.Entity{Type: "T", Key: fmt.Sprint(i), Fields: drawObjectOf(rt, slices.Concat(fields[:1], fields[2:]))})
			before = before.Ensure(onto.Entity{Type: "T", Key: fmt.Sprint(i), Fields: drawObjectOf(rt, slices.Concat(fields[:1], fields[2:]))})
		}
		for s, d := range map[*store.Store]onto.Draft{s: d, other: before} {
			if _, err := s.Commit(t.Context(), d); err != nil {
				rt.Fatal(err)
			}
		}
		text := mustExport(t, s, &records.ExportOptions{Format: records.CSV})
		for what, target := range map[string]*store.Store{"a new store": opened(), "another store": other} {
			o := &records.ImportOptions{Format: records.CSV, Type: "T", OnConflict: records.Upsert, EmptyClears: true}
			if _, err := records.Import(t.Context(), target, strings.NewReader(text), o); err != nil {
				rt.Fatalf("%s: %v\n%s", what, err, text)
			}
			if got, want := mustExport(t, target, nil), mustExport(t, s, nil); got != want {
				rt.Fatalf("%s: got\n%s\nwant\n%s\nby\n%s", what, got, want, text)
			}
		}
	})
}

const nestedSchema = `
entities:
  Customer:
    key: id
    fields:
      id: {type: string}
      home:
        type: object
        optional: true
        fields:
          city: {type: string}
          zip: {type: int, optional: true}
          since: {type: date, optional: true}
          kind: {type: string, enum: [home, office], default: home}
          geo: {type: object, optional: true, fields: {"lat.x": {type: float, optional: true}}}
          tags: {type: list, items: string, default: []}
      ship: {type: object, fields: {note: {type: string}, days: {type: int, optional: true}}}
`

func withNested(t testing.TB, things ...string) *store.Store {
	t.Helper()
	list, err := schemafile.Read(strings.NewReader(nestedSchema))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), memory.New(nil).Open(), list...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var d onto.Draft
	for _, fields := range things {
		d = d.Ensure(onto.Entity{Type: "Customer", Fields: json.RawMessage(fields)})
	}
	if _, err := s.Commit(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return s
}

const nestedAda = `{"home":{"city":"Oslo","kind":"office","since":"2026-02-10","tags":["a"],"zip":150},"id":"c1","ship":{"days":2,"note":"ring"}}`

func TestExportOfNestedFields(t *testing.T) {
	s := withNested(t, nestedAda, `{"id":"c2","home":{"city":"","geo":{}},"ship":{"note":""}}`, `{"id":"c3","ship":{"note":"x"}}`)
	want := lines(
		`id,home.city,home.geo,"home.geo.""lat.x""",home.kind,home.since,home.tags,home.zip,ship.days,ship.note`,
		`c1,Oslo,,,office,2026-02-10,"[""a""]",150,2,ring`,
		`c2,"""""",{},,home,,[],,,`,
		`c3,,,,,,,,,x`,
	)
	if got := mustExport(t, s, &records.ExportOptions{Format: records.CSV}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An upsert decides the nested fields only that have a value in the row.
func TestUpsertOfNestedColumns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		clears     bool
		want       string
		emptied    int64
	}{
		{"one of them", "id,home.city\nc1,Bergen\n", false, strings.Replace(nestedAda, "Oslo", "Bergen", 1), 0},
		{"an empty cell leaves it", "id,home.city,home.zip\nc1,Bergen,\n", false, strings.Replace(nestedAda, "Oslo", "Bergen", 1), 0},
		{"an empty cell empties it", "id,home.city,home.zip\nc1,Bergen,\n", true, strings.NewReplacer("Oslo", "Bergen", `,"zip":150`, "").Replace(nestedAda), 1},
		{"only empty cells", "id,home.zip,home.since\nc1,,\n", false, nestedAda, 0},
		{"only empty cells empty", "id,home.zip,home.since\nc1,,\n", true, strings.NewReplacer(`"since":"2026-02-10",`, "", `,"zip":150`, "").Replace(nestedAda), 2},
		{"an object without the fields that it needs is none", "id,home.city,home.zip\nc1,,\n", true, `{"id":"c1","ship":{"days":2,"note":"ring"}}`, 1},
		{"deeper", "id,\"home.geo.\"\"lat.x\"\"\"\nc1,59.5\n", false, strings.Replace(nestedAda, `"kind"`, `"geo":{"lat.x":59.5},"kind"`, 1), 0},
		{"an object as a whole", "id,home\nc1,\"{\"\"city\"\":\"\"Rome\"\"}\"\n", false, `{"home":{"city":"Rome","kind":"home","tags":[]},"id":"c1","ship":{"days":2,"note":"ring"}}`, 4},
		{"a text that is empty", "id,ship.note\nc1,\"\"\"\"\"\"\n", false, strings.Replace(nestedAda, "ring", "", 1), 1},
		{"a new one", "id,home.city,home.zip,ship.note,ship.days\nc2,,7,,3\n", false, nestedAda + "\n" + `{"home":{"city":"","kind":"home","tags":[],"zip":7},"id":"c2","ship":{"days":3,"note":""}}`, 0},
		{"a new one without an object", "id,home.city,ship.note\nc2,,\n", false, nestedAda + "\n" + `{"id":"c2","ship":{"note":""}}`, 0},
		{"a date with a time is none", "id,home.since\nc1,2026-03-01\n", false, strings.Replace(nestedAda, "2026-02-10", "2026-03-01", 1), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withNested(t, nestedAda)
			plan, err := records.Plan(t.Context(), s, strings.NewReader(c.text), upserting("Customer", c.clears))
			if err != nil {
				t.Fatal(err)
			}
			out := mustImport(t, s, c.text, upserting("Customer", c.clears))
			if got := fieldsOf(t, s, "Customer"); got != c.want || out.Emptied != c.emptied || plan.Emptied != c.emptied {
				t.Errorf("got\n%s\nwant\n%s\nwith %d and %d emptied, want %d", got, c.want, plan.Emptied, out.Emptied, c.emptied)
			}
		})
	}
}

func TestNestedColumnsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"id,home.ctiy,ship.note\nc1,x,y\n", "type Customer has no column \"home.ctiy\""},
		{"id,home.zip,ship.note\nc1,1,y\n", "column home.city is missing"},
		{"id,home.city\nc1,x\n", "column ship.note is missing"},
		{"id,home.city,home.city,ship.note\n", "column home.city comes twice"},
		{"id,home.city,home.zip,ship.note\nc1,x,two,y\n", `line 2: column home.zip: expected int, found "two"`},
		{"id,home.city,home.since,ship.note\nc1,x,2026-02-30,y\n", "line 2: column home.since: "},
		{"id,home.city,home.kind,ship.note\nc1,x,hut,y\n", "line 2: column home.kind: "},
		{"id,home,ship.note\nc1,\"{\"\"zip\"\":1}\",y\n", "line 2: column home: city: it is missing"},
		{"id,home.city,ship.note,op\nc1,x,,delete\n", "line 2: column home.city: the row deletes"},
		{"id,home,ship.note,op\nc1,{},,delete\n", "line 2: column home: the row deletes"},
		{"id,home,ship\nc1,,\n", "line 2: column ship: there is no value"},
	} {
		s := withNested(t)
		_, err := records.Import(t.Context(), s, strings.NewReader(c.text), &records.ImportOptions{Format: records.CSV, Type: "Customer"})
		if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
		wantHead(t, s, 0)
	}
	_, err := records.Import(t.Context(), withNested(t), strings.NewReader("id,home.ctiy\n"), &records.ImportOptions{Format: records.CSV, Type: "Customer"})
	if hint := onto.HintOf(err); !strings.Contains(fmt.Sprint(hint), "home.city") {
		t.Errorf("got the hint %v, want home.city", hint)
	}
}

// What a new thing lacks is named by its path, by the plan as well.
func TestUpsertThatLacksANestedField(t *testing.T) {
	s := withNested(t, nestedAda)
	text := "id,home.zip,ship.note\nc9,7,x\n"
	plan, err := records.Plan(t.Context(), s, strings.NewReader(text), upserting("Customer", false))
	if err != nil || fmt.Sprint(plan.First) != `[line 2: Customer "c9" does not exist, and there is no home.city to make it]` {
		t.Errorf("the plan has %v, %v", plan.First, err)
	}
	_, err = records.Import(t.Context(), s, strings.NewReader(text), upserting("Customer", false))
	wantError(t, "import", err, onto.Conflict, "there is no home.city to make it")
	wantHead(t, s, 1)
}
