package onto_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

type orderLine struct {
	SKU  string  `json:"sku"`
	Qty  int     `json:"qty" onto:"default=1"`
	Note *string `json:"note"`
}

type place struct {
	City string    `json:"city" onto:"index,key"`
	Seen onto.Date `json:"seen,omitzero"`
	Tags []string  `json:"tags" onto:"index"`
}

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children"`
}

type Order struct {
	ID     string         `json:"id" onto:"key"`
	Tier   string         `json:"tier" onto:"enum=Silver|Gold"`
	Levels []int          `json:"levels" onto:"enum=3|1|2"`
	Home   place          `json:"home"`
	Lines  []*orderLine   `json:"lines"`
	Counts map[int]int64  `json:"counts"`
	Free   []any          `json:"free"`
	Any    map[string]any `json:"any"`
	Root   tree           `json:"root"`
	Born   onto.Date      `json:"born"`
}

func TestTypeOfAtEveryDepth(t *testing.T) {
	const want = `{"fields":{` +
		`"any":{"type":"object"},"born":{"type":"date"},"counts":{"type":"object","values":{"type":"int"}},"free":{"type":"list"},` +
		`"home":{"fields":{"city":{"index":true,"type":"string"},"seen":{"optional":true,"type":"date"},"tags":{"items":{"type":"string"},"type":"list"}},"type":"object"},` +
		`"id":{"type":"string"},"levels":{"items":{"enum":[1,2,3],"type":"int"},"type":"list"},` +
		`"lines":{"items":{"fields":{"note":{"optional":true,"type":"string"},"qty":{"default":1,"type":"int"},"sku":{"type":"string"}},"optional":true,"type":"object"},"type":"list"},` +
		`"root":{"fields":{"children":{"type":"list"},"name":{"type":"string"}},"type":"object"},"tier":{"enum":["Gold","Silver"],"type":"string"}},"key":"id","kind":"entity","name":"Order"}`
	s := schemaOf[Order](t)
	if got := string(s.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	parsed, err := onto.ParseSchema(s.JSON())
	if err != nil || parsed.Hash() != s.Hash() || !onto.DiffSchemas(s, parsed).Empty() {
		t.Errorf("parsed: got %s, %v", parsed.JSON(), err)
	}
}

// The fields of embedded structs are those of the struct around it; an outer one comes first,
// and those behind a pointer may be absent.
func TestTypeOfEmbeddedInside(t *testing.T) {
	type Inner struct {
		City string `json:"city"`
		Zip  int    `json:"zip"`
	}
	type Outer struct {
		*Inner
		City int `json:"city"`
	}
	type thing struct {
		ID string `json:"id" onto:"key"`
		In Outer  `json:"in"`
	}
	f, _ := schemaOf[thing](t).Field("in")
	city, _ := f.Inner("city")
	zip, _ := f.Inner("zip")
	if city.Type != onto.Int || city.Optional || zip.Type != onto.Int || !zip.Optional {
		t.Errorf("got %+v and %+v", city, zip)
	}
}

func TestFieldFit(t *testing.T) {
	s := schemaOf[Order](t)
	for _, c := range []struct{ field, value, want string }{
		{"tier", `"Gold"`, `"Gold"`},
		{"tier", `"gold"`, `field tier: "gold" is none of "Gold", "Silver"`},
		{"levels", `[1,4]`, `field levels[1]: 4 is none of 1, 2, 3`},
		{"home", `{"city":"Oslo","seen":null,"tags":[]}`, `{"city":"Oslo","tags":[]}`},
		{"home", `{"city":"Oslo","seen":"2026-02-10","tags":["a"]}`, `{"city":"Oslo","seen":"2026-02-10","tags":["a"]}`},
		{"home", `{"city":"Oslo","seen":"2026-02-30","tags":[]}`, `field home.seen: "2026-02-30" is not a date, write it like 2026-02-10`},
		{"home", `{"ctiy":"Oslo","tags":[]}`, `field home.ctiy: there is no such field`},
		{"home", `{"city":"Oslo"}`, `field home.tags: it is missing`},
		{"home", `{"city":"Oslo","tags":null}`, `field home.tags: it is missing`},
		{"home", `{"city":"Oslo","tags":[null]}`, `field home.tags[0]: expected string, found null`},
		{"home", `"Oslo"`, `field home: expected object, found string`},
		{"lines", `[{"sku":"a"},null,{"note":null,"qty":null,"sku":"b"}]`, `[{"qty":1,"sku":"a"},null,{"qty":1,"sku":"b"}]`},
		{"lines", `[{"qty":"two","sku":"a"}]`, `field lines[0].qty: expected int, found string`},
		{"lines", `[[]]`, `field lines[0]: expected object, found list`},
		{"counts", `{"1":2,"x y":3}`, `{"1":2,"x y":3}`},
		{"counts", `{"x y":1.5}`, `field counts."x y": expected int, found float`},
		{"free", `[null,{"a":null}]`, `[null,{"a":null}]`},
		{"root", `{"children":[1,{"name":null}],"name":""}`, `{"children":[1,{"name":null}],"name":""}`},
		{"born", `"2024-02-29"`, `"2024-02-29"`},
		{"born", `"2024-02-29T00:00:00Z"`, `field born: "2024-02-29T00:00:00Z" is not a date, write it like 2026-02-10`},
	} {
		f, _ := s.Field(c.field)
		fitted, err := f.Fit([]byte(c.value))
		got := string(fitted)
		if err != nil {
			got = message(err)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.value, got, c.want)
		}
		if err == nil {
			if again, err := f.Fit(fitted); err != nil || string(again) != got {
				t.Errorf("%s: fitted again: got %s, %v", c.value, again, err)
			}
		}
	}
}

// A date is the first moment of a time.
func TestTimesTakeDates(t *testing.T) {
	f := onto.Field{Name: "at", Type: onto.Time}
	got, err := f.Fit([]byte(`"2026-02-10"`))
	if err != nil || string(got) != `"2026-02-10T00:00:00.000000+00:00"` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSchemasThatAreRefusedInside(t *testing.T) {
	deep := onto.Field{Type: onto.Int}
	for range 70 {
		items := deep
		deep = onto.Field{Type: onto.List, Items: &items}
	}
	deep.Name = "x"
	var many []onto.Field
	for i := range onto.MaxSchemaFields {
		many = append(many, onto.Field{Name: fmt.Sprintf("f%04d", i), Type: onto.Int})
	}
	object := func(fields ...onto.Field) onto.Field { return onto.Field{Name: "x", Type: onto.Object, Fields: fields} }
	enum := func(values ...string) []json.RawMessage {
		var list []json.RawMessage
		for _, v := range values {
			list = append(list, []byte(v))
		}
		return list
	}
	for _, c := range []struct {
		f    onto.Field
		want string
	}{
		{deep, "declared deeper than 63"},
		{object(many...), "T has more than 1000 fields at all depths; x.f"},
		{object(onto.Field{Name: "a", Type: onto.Int}, onto.Field{Name: "a", Type: onto.Int}), "T.x.a: two fields have this name"},
		{object(onto.Field{Name: "City", Type: onto.Int}, onto.Field{Name: "city", Type: onto.Int}), "T.x.city: its name differs from that of x.City only in case"},
		{object(onto.Field{Name: "a\x00", Type: onto.Int}), "is not valid UTF-8 without U+0000"},
		{object(onto.Field{Name: "a", Type: "number"}), `T.x.a: type "number" is unknown`},
		{object(onto.Field{Name: "a", Type: onto.String, Search: true}), "T.x.a: only fields at the top can be searched"},
		{object(onto.Field{Name: "a", Type: onto.Object, Index: true}), "T.x.a: below the top only a single value can have an index"},
		{object(onto.Field{Name: "a-b", Type: onto.Int, Index: true}), `T.x."a-b": below the top an index needs names that are plain words`},
		{onto.Field{Name: "x", Type: onto.List, Items: &onto.Field{Type: onto.Int, Index: true}}, "T.x[]: there are no indexes inside lists and maps"},
		{onto.Field{Name: "x", Type: onto.Object, Items: &onto.Field{Type: onto.Int}}, "T.x: only a list has items, this is object"},
		{onto.Field{Name: "x", Type: onto.List, Fields: []onto.Field{}}, "T.x: only an object has fields, this is list"},
		{onto.Field{Name: "x", Type: onto.List, Items: &onto.Field{Type: onto.Int, Default: []byte("1")}}, "T.x[]: what each of them is has neither a name nor a default"},
		{onto.Field{Name: "x", Type: onto.Object, Fields: []onto.Field{}, Values: &onto.Field{Type: onto.Int}}, "T.x: an object has either fields or values"},
		{onto.Field{Name: "x", Type: onto.String, Enum: enum(`"a"`, "1")}, "T.x: enum value 1: expected string, found int"},
		{onto.Field{Name: "x", Type: onto.String, Enum: enum(`"a"`, `"\u0061"`)}, `T.x: enum value "a" is given twice`},
		{onto.Field{Name: "x", Type: onto.Float, Enum: enum("1.5")}, "T.x: only a string or an int can have an enum, this is float"},
		{onto.Field{Name: "x", Type: onto.String, Enum: []json.RawMessage{}}, "T.x: an enum needs a value"},
		{onto.Field{Name: "x", Type: onto.String, Enum: enum(`"a"`), Default: []byte(`"b"`)}, `T.x: default "b": "b" is none of "a"`},
		{object(onto.Field{Name: "a", Type: onto.Int, Default: []byte(`"b"`)}), `T.x.a: default "b": expected int, found string`},
		{onto.Field{Name: "x", Type: onto.DateOnly, Default: []byte(`"2026-02-30"`)}, "is not a date"},
	} {
		s := onto.Schema{Kind: onto.KindEntity, Name: "T", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, c.f}}
		if _, err := onto.Untyped(s).Schema(); onto.CodeOf(err) != onto.Invalid || !strings.Contains(message(err), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// changed returns the schema of Order with a change to one of its fields.
func changed(t *testing.T, name string, change func(f *onto.Field)) onto.Schema {
	t.Helper()
	s, err := onto.ParseSchema(schemaOf[Order](t).JSON()) // a copy
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			change(&s.Fields[i])
		}
	}
	whole, err := onto.Untyped(s).Schema()
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func TestDifferencesInside(t *testing.T) {
	stored := schemaOf[Order](t)
	drop := func(name string) func(f *onto.Field) {
		return func(f *onto.Field) {
			for i := range f.Fields {
				if f.Fields[i].Name == name {
					f.Fields = append(f.Fields[:i:i], f.Fields[i+1:]...)
					return
				}
			}
		}
	}
	add := func(added onto.Field) func(f *onto.Field) {
		return func(f *onto.Field) { f.Fields = append(f.Fields, added) }
	}
	for _, c := range []struct {
		field      string
		change     func(f *onto.Field)
		want       string
		compatible bool
	}{
		{"home", func(*onto.Field) {}, "Order: ", true},
		{"home", add(onto.Field{Name: "zip", Type: onto.Int, Optional: true}), "Order: + home.zip", true},
		{"home", add(onto.Field{Name: "zip", Type: onto.Int, Default: []byte("0")}), "Order: + home.zip", true},
		{"home", add(onto.Field{Name: "zip", Type: onto.Int}), "Order: + home.zip", false},
		{"home", drop("seen"), "Order: - home.seen", false},
		{"home", func(f *onto.Field) { f.Fields[0].Optional = true }, "Order: ~ home.city: string index → string optional index", true},
		{"home", func(f *onto.Field) { f.Fields[0].Type, f.Fields[0].Index = onto.Any, false }, "Order: ~ home.city: string index → any", true},
		{"home", func(f *onto.Field) { f.Fields[0].Index = false }, "Order: * home.city: string index → string", true},
		{"home", func(f *onto.Field) { f.Fields = nil }, "Order: ~ home: object {city, seen, tags} → object", true},
		{"any", func(f *onto.Field) { f.Values = &onto.Field{Type: onto.Int} }, "Order: ~ any: object → map of int", false},
		{"lines", func(f *onto.Field) { add(onto.Field{Name: "vat", Type: onto.Float, Optional: true})(f.Items) }, "Order: + lines[].vat", true},
		{"lines", func(f *onto.Field) { f.Items.Optional = false }, "Order: ~ lines[]: object {note, qty, sku} optional → object {note, qty, sku}", false},
		{"lines", func(f *onto.Field) { f.Items.Fields[1].Default = []byte("2") }, "Order: ~ lines[].qty: int default 1 → int default 2", false},
		{"counts", func(f *onto.Field) { f.Values.Type = onto.Float }, "Order: ~ counts{}: int → float", true},
		{"tier", func(f *onto.Field) { f.Enum = append(f.Enum, []byte(`"Iron"`)) }, `Order: ~ tier: string of "Gold", "Silver" → string of "Gold", "Iron", "Silver"`, true},
		{"tier", func(f *onto.Field) { f.Enum = f.Enum[:1] }, `Order: ~ tier: string of "Gold", "Silver" → string of "Gold"`, false},
		{"tier", func(f *onto.Field) { f.Enum = nil }, `Order: ~ tier: string of "Gold", "Silver" → string`, true},
		{"born", func(f *onto.Field) { f.Enum, f.Type = nil, onto.Time }, "Order: ~ born: date → time", false},
		{"levels", func(f *onto.Field) { f.Items.Enum[0], f.Items.Enum[1] = f.Items.Enum[1], f.Items.Enum[0] }, "Order: ", true},
	} {
		given := changed(t, c.field, c.change)
		if d := onto.DiffSchemas(stored, given); d.String() != c.want {
			t.Errorf("got %s, want %s", d, c.want)
		}
		if got := onto.Compatible(stored, given); got != c.compatible {
			t.Errorf("%s: compatible: got %v", c.want, got)
		}
	}
}

func TestDate(t *testing.T) {
	d, err := onto.ParseDate("2024-02-29")
	if err != nil || d != (onto.Date{Year: 2024, Month: time.February, Day: 29}) || d.String() != "2024-02-29" {
		t.Errorf("got %v, %v", d, err)
	}
	if next := d.AddDays(366); next.String() != "2025-03-01" || next.Compare(d) <= 0 || d.Compare(d) != 0 {
		t.Errorf("a year and a day later: got %v", next)
	}
	if at := time.Date(2026, 2, 10, 23, 30, 0, 0, time.FixedZone("", -3600)); onto.DateOf(at).String() != "2026-02-10" || !onto.DateOf(at).Time().Equal(time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", onto.DateOf(at))
	}
	for _, text := range []string{"", "2026-02-30", "2026-2-1", "0000-01-01", "10000-01-01", "2026-02-10T00:00:00Z", " 2026-02-10"} {
		if d, err := onto.ParseDate(text); err == nil {
			t.Errorf("%q: got %v", text, d)
		}
	}
	var zero onto.Date
	if _, err := json.Marshal(zero); err == nil || !zero.IsZero() {
		t.Error("the zero date was written")
	}
	text, err := json.Marshal(map[string]onto.Date{"d": d})
	var back map[string]onto.Date
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back["d"] != d {
		t.Errorf("got %s, %v, %v", text, back, err)
	}
}
