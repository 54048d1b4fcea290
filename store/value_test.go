package store_test

import (
	"encoding/json"
	"math"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Level is a named string type.
type Level string

// Address is a nested object.
type Address struct {
	Street string `json:"street"`
	Number int    `json:"number"`
}

// Base is embedded.
type Base struct {
	Note string `json:"note"`
}

// Everything has a field of every Go kind that can be stored.
type Everything struct {
	Base
	ID       int64             `json:"id" onto:"key"`
	Text     string            `json:"text"`
	Level    Level             `json:"level"`
	Small    int8              `json:"small"`
	Unsigned uint64            `json:"unsigned"`
	Float    float64           `json:"float"`
	Single   float32           `json:"single"`
	Flag     bool              `json:"flag"`
	At       time.Time         `json:"at"`
	Maybe    *int              `json:"maybe"`
	MaybeAt  *time.Time        `json:"maybe_at"`
	Zero     int               `json:"zero,omitzero"`
	Empty    string            `json:"empty,omitempty"`
	Default  *string           `json:"default" onto:"default=\"Silver\""`
	Place    Address           `json:"place"`
	Labels   map[string]string `json:"labels"`
	Tags     []string          `json:"tags"`
	Bytes    []byte            `json:"bytes"`
	Grid     [2][]int          `json:"grid"`
	Free     any               `json:"free"`
	Raw      json.RawMessage   `json:"raw"`
	Host     netip.Addr        `json:"host"`
	Quoted   int               `json:"quoted,string"`
	Hidden   string            `json:"-"`
	private  string            //lint:ignore U1000 it must be left out
}

func TestEveryKindRoundTrips(t *testing.T) {
	s := newStore(t, onto.TypeOf[Everything]())
	seven, silver := 7, "Silver"
	at := time.Date(2026, 2, 10, 12, 34, 56, 789012000, time.UTC)
	full := Everything{
		Base: Base{"n"}, ID: -42, Text: "<&>\u2028\t\"é😀", Level: "high", Small: -8, Unsigned: math.MaxInt64,
		Float: 1e300, Single: 0.5, Flag: true, At: at, Maybe: &seven, MaybeAt: &at, Zero: 1, Empty: "x",
		Default: &silver, Place: Address{"Main", 5}, Labels: map[string]string{"b": "2", "a": "1"}, Tags: []string{"x"},
		Bytes: []byte{0, 255}, Grid: [2][]int{{1}, {2, 3}}, Free: map[string]any{"k": []any{"v", true}},
		Raw: json.RawMessage(`{"z":1,"a":[1.5]}`), Host: netip.MustParseAddr("::1"), Quoted: 12,
	}
	mustCommit(t, s, onto.Draft{}.Ensure(full))
	got, err := store.Get[Everything](t.Context(), s.Now(), "-42")
	if err != nil {
		t.Fatal(err)
	}
	want := full
	want.Raw = json.RawMessage(`{"a":[1.5],"z":1}`)
	got.At, *got.MaybeAt = got.At.UTC(), got.MaybeAt.UTC()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if again := mustCommit(t, s, onto.Draft{}.Ensure(got)); again.Changed() {
		t.Errorf("what was read makes a new version when it is written again")
	}
}

func TestZeroStruct(t *testing.T) {
	s := newStore(t, onto.TypeOf[Everything]())
	mustCommit(t, s, onto.Draft{}.Ensure(Everything{}))
	v, err := s.Now().Get(t.Context(), onto.EntityID("Everything", "0"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"0001-01-01T00:00:00.000000+00:00","bytes":"","default":"Silver","flag":false,"float":0,"grid":[[],[]],` +
		`"host":"","id":0,"labels":{},"level":"","note":"","place":{"number":0,"street":""},"quoted":"0","single":0,"small":0,` +
		`"tags":[],"text":"","unsigned":0}`
	if string(v.Fields) != want {
		t.Errorf("got  %s\nwant %s", v.Fields, want)
	}
}

func TestRefusedGoValues(t *testing.T) {
	s := newStore(t, onto.TypeOf[Everything]())
	deep := any("x")
	for range 70 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		value Everything
		want  string
	}{
		"NaN":      {Everything{Float: math.NaN()}, "float: "},
		"infinity": {Everything{Single: float32(math.Inf(1))}, "single: "},
		"uint64":   {Everything{Unsigned: math.MaxUint64}, "outside int64"},
		"year":     {Everything{At: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)}, "year 12345"},
		"depth":    {Everything{Free: deep}, "deeper than 64"},
		"raw":      {Everything{Raw: json.RawMessage(`{"a":1,"a":2}`)}, "duplicate"},
		"utf8":     {Everything{Tags: []string{"\xff"}}, "UTF-8"},
		"map key":  {Everything{Labels: map[string]string{"\xff": ""}}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(c.value))
			wantError(t, err, onto.Invalid, c.want)
		})
	}
}

// Stint is keyed by a field; Visit by a name that is not among its fields.
type Stint struct {
	onto.Link[Product, Product]
	Key   string `json:"stint_id" onto:"instance"`
	Hours int    `json:"hours"`
}

type Visit struct {
	onto.Link[Product, Product]
	Key string `json:"-" onto:"instance=visit_id"`
}

func TestKeyedRelations(t *testing.T) {
	s := newStore(t, onto.TypeOf[Product](), onto.TypeOf[Stint](), onto.TypeOf[Visit]())
	ab := onto.Between[Product, Product]("a", "b")
	mustCommit(t, s, onto.Draft{}.Ensure(Stint{ab, "one", 1}, Stint{ab, "two", 2}, Visit{ab, "v"},
		onto.Relation{Type: "Stint", Left: "a", Right: "b", Instance: "three", Fields: map[string]any{"hours": 3}},
		onto.Relation{Type: "Stint", Left: "a", Right: "b", Fields: map[string]any{"hours": 4, "stint_id": "four"}}))
	for key, hours := range map[string]int{"one": 1, "two": 2, "three": 3, "four": 4} {
		got, err := store.Get[Stint](t.Context(), s.Now(), "a", "b", key)
		if want := (Stint{ab, key, hours}); err != nil || got != want {
			t.Errorf("got %+v, error %v; want %+v", got, err, want)
		}
	}
	v, err := s.Now().Get(t.Context(), onto.RelationID("Visit", "a", "b").WithInstance("v"))
	if err != nil || string(v.Fields) != `{}` {
		t.Errorf("got %s, error %v; want {}", v.Fields, err)
	}
	_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(Stint{Link: ab, Hours: 1}))
	wantError(t, err, onto.Invalid, "needs its instance key stint_id")
	_, err = store.Get[Stint](t.Context(), s.Now(), "a", "b")
	wantError(t, err, onto.Invalid, "3 parts")
}

func TestUntypedValues(t *testing.T) {
	s := newStore(t, onto.Untyped(onto.Schema{Kind: onto.KindEntity, Name: "Doc", Key: "id", Fields: []onto.Field{
		{Name: "at", Type: onto.Time, Optional: true}, {Name: "big", Type: onto.Int, Optional: true},
		{Name: "id", Type: onto.String}, {Name: "seats", Type: onto.Int, Default: json.RawMessage(`1`)}}}))
	put := func(fields any) string {
		t.Helper()
		mustCommit(t, s, onto.Draft{}.Ensure(onto.Entity{Type: "Doc", Key: "d", Fields: fields}))
		v, err := s.Now().Get(t.Context(), onto.EntityID("Doc", "d"))
		if err != nil {
			t.Fatal(err)
		}
		return string(v.Fields)
	}
	for _, c := range []struct {
		fields any
		want   string
	}{
		{map[string]any{}, `{"id":"d","seats":1}`},
		{map[string]any{"big": int64(1)<<53 + 1}, `{"big":9007199254740993,"id":"d","seats":1}`},
		{json.RawMessage(`{"big":9223372036854775807, "seats": 2.0}`), `{"big":9223372036854775807,"id":"d","seats":2}`},
		{map[string]any{"at": "2026-02-10T13:00:00.1+01:00", "big": nil}, `{"at":"2026-02-10T12:00:00.100000+00:00","id":"d","seats":1}`},
		{map[string]any{"at": time.Date(2026, 1, 1, 0, 0, 0, 999, time.UTC)}, `{"at":"2026-01-01T00:00:00.000000+00:00","id":"d","seats":1}`},
	} {
		if got := put(c.fields); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.fields, got, c.want)
		}
	}
}

// Cents has its JSON form at its pointer.
type Cents struct{ n int }

func (c *Cents) MarshalJSON() ([]byte, error) { return json.Marshal(c.n) }

func (c *Cents) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &c.n) }

// Odd has fields whose JSON form is easy to get wrong.
type Odd struct {
	ID     string         `json:"id" onto:"key"`
	Price  Cents          `json:"price"`
	Prices []Cents        `json:"prices"`
	Text   string         `json:"text,string"`
	List   []int          `json:"list,string"` //lint:ignore SA5008 encoding/json ignores the option here
	Number json.Number    `json:"number"`
	Free   any            `json:"free"`
	Map    map[string]any `json:"map"`
	Deep   [][]any        `json:"deep"`
}

func TestOddValuesRoundTrip(t *testing.T) {
	s := newStore(t, onto.TypeOf[Odd]())
	const big = int64(1)<<53 + 1
	odd := Odd{"o", Cents{5}, []Cents{{6}, {7}}, "abc", []int{1, 2}, "12.5", big, map[string]any{"n": big, "f": 0.5}, [][]any{{big, "x"}}}
	mustCommit(t, s, onto.Draft{}.Ensure(odd))
	got, err := store.Get[Odd](t.Context(), s.Now(), "o")
	if err != nil || !reflect.DeepEqual(got, odd) {
		t.Errorf("got  %+v, error %v\nwant %+v", got, err, odd)
	}
	if again := mustCommit(t, s, onto.Draft{}.Ensure(got)); again.Changed() {
		t.Errorf("what was read makes a new version when it is written again")
	}
}

// Nesting is limited alike on every path.
func TestDepthIsExact(t *testing.T) {
	s := newStore(t, onto.TypeOf[Odd]())
	nested := func(levels int) (v any) {
		for range levels {
			v = []any{v}
		}
		return v
	}
	for levels, ok := range map[int]bool{63: true, 64: false} {
		_, err := s.Commit(t.Context(), onto.Draft{}.Ensure(Odd{ID: "typed", Number: "1", Free: nested(levels)}))
		if (err == nil) != ok {
			t.Errorf("%d levels in a struct: got error %v", levels, err)
		}
		_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(onto.Entity{Type: "Odd", Key: "untyped", Fields: map[string]any{
			"price": 1, "prices": []any{}, "text": "", "list": []any{}, "number": 1, "map": map[string]any{}, "deep": []any{}, "free": nested(levels)}}))
		if (err == nil) != ok {
			t.Errorf("%d levels in a map: got error %v", levels, err)
		}
	}
}

type ownForm struct {
	ID string `json:"id" onto:"key"`
}

func (ownForm) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

type stamped struct {
	time.Time
	ID string `json:"id" onto:"key"`
}

type narrow struct {
	ID string           `json:"id" onto:"key"`
	X  interface{ M() } `json:"x"`
}

func TestStructsThatCannotBeReadBack(t *testing.T) {
	for want, typ := range map[string]onto.Type{
		"ownForm": onto.TypeOf[ownForm](),
		"stamped": onto.TypeOf[stamped](),
		"narrow":  onto.TypeOf[narrow](),
	} {
		_, err := tryOpen(t.Context(), ":memory:", typ)
		wantError(t, err, onto.Invalid, want)
	}
	_, err := tryOpen(t.Context(), ":memory:", onto.TypeOf[Product](), onto.TypeOf[Product]().As("Archived"))
	wantError(t, err, onto.Invalid, "Product", "Archived")
}
