package onto_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

type Customer struct {
	ID   string `json:"id" onto:"key"`
	Name string `json:"name" onto:"search"`
	Tier string `json:"tier" onto:"index,default=\"Silver\""`
}

type Product struct {
	SKU   string `json:"sku" onto:"key"`
	Title string `json:"title"`
}

type Subscription struct {
	onto.Link[Customer, Product]
	Seats int `json:"seats"`
}

// Color is a number that writes itself as text.
type Color int

func (c Color) MarshalText() ([]byte, error) { return []byte{byte('a' + c)}, nil }

// Pair writes itself as JSON of its own making.
type Pair struct{ a, b int }

func (p *Pair) MarshalJSON() ([]byte, error) { return json.Marshal([]int{p.a, p.b}) }

// schemaOf returns the schema of T, or fails the test.
func schemaOf[T any](t *testing.T) onto.Schema {
	t.Helper()
	s, err := onto.TypeOf[T]().Schema()
	if err != nil {
		t.Fatalf("TypeOf: %v", err)
	}
	return s
}

func TestTypeOfEntity(t *testing.T) {
	want := onto.Schema{
		Kind: onto.KindEntity, Name: "Customer", Key: "id",
		Fields: []onto.Field{
			{Name: "id", Type: onto.String},
			{Name: "name", Type: onto.String, Search: true},
			{Name: "tier", Type: onto.String, Index: true, Default: json.RawMessage(`"Silver"`)},
		},
	}
	if got := schemaOf[Customer](t); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	binding := onto.TypeOf[Customer]().Binding()
	if binding.Struct != reflect.TypeFor[Customer]() || binding.Link != nil || binding.Instance != nil {
		t.Errorf("got binding %+v", binding)
	}
	for i, name := range []string{"id", "name", "tier"} {
		if b := binding.Fields[i]; b.Name != name || !reflect.DeepEqual(b.Index, []int{i}) {
			t.Errorf("bound field %d: got %+v, want %s at %d", i, b, name, i)
		}
	}
}

func TestTypeOfRelation(t *testing.T) {
	want := onto.Schema{
		Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product",
		Fields: []onto.Field{{Name: "seats", Type: onto.Int}},
	}
	if got := schemaOf[Subscription](t); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	binding := onto.TypeOf[Subscription]().Binding()
	value := reflect.ValueOf(Subscription{Link: onto.Between[Customer, Product]("c1", "p1")})
	link := value.FieldByIndex(binding.Link).Interface()
	if got, want := link, onto.Between[Customer, Product]("c1", "p1"); got != want {
		t.Errorf("link: got %+v, want %+v", got, want)
	}
}

func TestTypeOfFieldTypes(t *testing.T) {
	type Everything struct {
		ID       int64             `json:"id" onto:"key"`
		Text     string            `json:"text"`
		Bytes    []byte            `json:"bytes"`
		Flag     bool              `json:"flag"`
		Small    uint8             `json:"small"`
		Wait     time.Duration     `json:"wait"`
		Half     float32           `json:"half"`
		At       time.Time         `json:"at"`
		Map      map[string]int    `json:"map"`
		Nested   Product           `json:"nested"`
		Tags     []string          `json:"tags"`
		Hash     [2]byte           `json:"hash"`
		Whatever any               `json:"whatever"`
		Raw      json.RawMessage   `json:"raw"`
		Address  netip.Addr        `json:"address"`
		Color    Color             `json:"color"`
		Pair     Pair              `json:"pair"`
		Big      *big.Int          `json:"big"`
		Quoted   int               `json:"quoted,string"`
		Twice    **int             `json:"twice"`
		Plain    struct{ X int }   `json:"plain"`
		Lists    [][]string        `json:"lists"`
		ByKey    map[int]time.Time `json:"by_key"`
		Untagged bool
	}
	want := map[string]onto.FieldType{
		"id": onto.Int, "text": onto.String, "bytes": onto.String, "flag": onto.Bool, "small": onto.Int,
		"wait": onto.Int, "half": onto.Float, "at": onto.Time, "map": onto.Object, "nested": onto.Object,
		"tags": onto.List, "hash": onto.List, "whatever": onto.Any, "raw": onto.Any, "address": onto.String,
		"color": onto.String, "pair": onto.Any, "big": onto.Any, "quoted": onto.String, "twice": onto.Any,
		"plain": onto.Object, "lists": onto.List, "by_key": onto.Object, "Untagged": onto.Bool,
	}
	optional := map[string]bool{"whatever": true, "raw": true, "big": true, "twice": true}
	s := schemaOf[Everything](t)
	if len(s.Fields) != len(want) {
		t.Errorf("got fields %v, want %d", s.FieldNames(), len(want))
	}
	for _, f := range s.Fields {
		if f.Type != want[f.Name] || f.Optional != optional[f.Name] {
			t.Errorf("%s: got %s, optional %v, want %s, %v", f.Name, f.Type, f.Optional, want[f.Name], optional[f.Name])
		}
	}
}

func TestTypeOfOptional(t *testing.T) {
	type Thing struct {
		ID       string     `json:"id" onto:"key"`
		Pointer  *string    `json:"pointer"`
		When     *time.Time `json:"when" onto:"index"`
		Empty    int        `json:"empty,omitempty"`
		Zero     time.Time  `json:"zero,omitzero"`
		Slice    []string   `json:"slice"`
		Fallback *int       `json:"fallback" onto:"default=7"`
		OrEmpty  []int      `json:"or_empty,omitempty" onto:"default=[]"`
	}
	want := []onto.Field{
		{Name: "empty", Type: onto.Int, Optional: true},
		{Name: "fallback", Type: onto.Int, Default: json.RawMessage("7")},
		{Name: "id", Type: onto.String},
		{Name: "or_empty", Type: onto.List, Items: &onto.Field{Type: onto.Int}, Default: json.RawMessage("[]")},
		{Name: "pointer", Type: onto.String, Optional: true},
		{Name: "slice", Type: onto.List, Items: &onto.Field{Type: onto.String}},
		{Name: "when", Type: onto.Time, Optional: true, Index: true},
		{Name: "zero", Type: onto.Time, Optional: true},
	}
	if got := schemaOf[Thing](t).Fields; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, b := range onto.TypeOf[Thing]().Binding().Fields {
		if b.OmitEmpty != (b.Name == "empty" || b.Name == "or_empty") || b.OmitZero != (b.Name == "zero") {
			t.Errorf("%s: got OmitEmpty %v, OmitZero %v", b.Name, b.OmitEmpty, b.OmitZero)
		}
	}
}

func TestTypeOfDefaultsAreCanonical(t *testing.T) {
	type Thing struct {
		ID     string         `json:"id" onto:"key"`
		Rate   float64        `json:"rate" onto:"default=1.0"`
		Since  time.Time      `json:"since" onto:"default=\"2026-01-02T03:04:05+01:00\""`
		Limits map[string]int `json:"limits" onto:"index,default={\"b\": 2, \"a\": 1}"`
	}
	want := map[string]string{
		"rate": "1", "since": `"2026-01-02T02:04:05.000000+00:00"`, "limits": `{"a":1,"b":2}`, "id": "",
	}
	for _, f := range schemaOf[Thing](t).Fields {
		if got := string(f.Default); got != want[f.Name] {
			t.Errorf("%s: got %s, want %s", f.Name, got, want[f.Name])
		}
	}
}

func TestTypeOfInstanceKey(t *testing.T) {
	type Among struct {
		onto.Link[Customer, Product]
		Stint string `json:"stint_id" onto:"instance"`
		Seats int    `json:"seats"`
	}
	type Beside struct {
		onto.Link[Customer, Product]
		Stint string `json:"-" onto:"instance=stint_id"`
		Seats int    `json:"seats"`
	}
	type Untagged struct {
		onto.Link[Customer, Product]
		Stint string `onto:"instance"`
	}
	for _, c := range []struct {
		of       onto.Type
		name     string
		fields   []string
		instance []int
	}{
		{onto.TypeOf[Among](), "stint_id", []string{"seats", "stint_id"}, []int{1}},
		{onto.TypeOf[Beside](), "stint_id", []string{"seats"}, []int{1}},
		{onto.TypeOf[Untagged](), "Stint", []string{"Stint"}, []int{1}},
	} {
		s, err := c.of.Schema()
		if err != nil {
			t.Fatal(err)
		}
		if s.InstanceKey != c.name || !reflect.DeepEqual(s.FieldNames(), c.fields) {
			t.Errorf("%s: got %s among %v, want %s among %v", s.Name, s.InstanceKey, s.FieldNames(), c.name, c.fields)
		}
		if got := c.of.Binding().Instance; !reflect.DeepEqual(got, c.instance) {
			t.Errorf("%s: got instance at %v, want %v", s.Name, got, c.instance)
		}
	}
}

type Approved struct {
	By string
}

type Signed struct {
	Who string `json:"By"`
}

type Audited struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

type audited struct {
	Note string `json:"note"`
}

type AuditedLink struct {
	onto.Link[Customer, Product]
	Audited
}

func TestTypeOfEmbedded(t *testing.T) {
	type Order struct {
		ID string `json:"id" onto:"key"`
		Audited
		audited
		*Product `json:"product"`
		hidden   int
	}
	if got, want := schemaOf[Order](t).FieldNames(), []string{"at", "by", "id", "note", "product"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got fields %v, want %v", got, want)
	}
	o := Order{Audited: Audited{By: "ana"}, hidden: 1}
	for _, b := range onto.TypeOf[Order]().Binding().Fields {
		if b.Name == "by" && reflect.ValueOf(o).FieldByIndex(b.Index).String() != o.By {
			t.Errorf("by is bound to %v", b.Index)
		}
	}
}

func TestTypeOfLinkDeepInside(t *testing.T) {
	type Rental struct {
		AuditedLink
		Days int `json:"days"`
	}
	s := schemaOf[Rental](t)
	if s.Kind != onto.KindRelation || s.Left != "Customer" || s.Right != "Product" {
		t.Errorf("got %+v, want a relation from Customer to Product", s)
	}
	if got, want := s.FieldNames(), []string{"at", "by", "days"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got fields %v, want %v", got, want)
	}
	if got, want := onto.TypeOf[Rental]().Binding().Link, []int{0, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("got link at %v, want %v", got, want)
	}
}

func TestTypeAs(t *testing.T) {
	s, err := onto.TypeOf[Customer]().As("Client").Schema()
	if err != nil || s.Name != "Client" || s.Key != "id" {
		t.Errorf("got %+v, %v, want Client", s, err)
	}
	if original := schemaOf[Customer](t); original.Name != "Customer" {
		t.Errorf("As changed the original to %s", original.Name)
	}
	if _, err := onto.TypeOf[Customer]().As("a b").Schema(); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("got %v, want Invalid", err)
	}
}

func TestUntyped(t *testing.T) {
	typ := onto.Untyped(customer())
	s, err := typ.Schema()
	if err != nil || !reflect.DeepEqual(s, customer()) {
		t.Errorf("got %+v, %v, want %+v", s, err, customer())
	}
	if typ.Binding() != nil {
		t.Errorf("got binding %+v, want none", typ.Binding())
	}
}
