package schemafile_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

type Customer struct {
	ID      string         `json:"id" onto:"key"`
	Name    string         `json:"name" onto:"search"`
	Tier    string         `json:"tier" onto:"index"`
	Age     *int           `json:"age"`
	Profile map[string]any `json:"profile,omitempty"`
	Events  []string       `json:"events,omitempty"`
}

type Product struct {
	Number  int64           `json:"number" onto:"key"`
	Price   float64         `json:"price" onto:"index,default=1.50"`
	Active  bool            `json:"active" onto:"default=true"`
	Made    time.Time       `json:"made"`
	Sold    *time.Time      `json:"sold" onto:"index"`
	Checked time.Time       `json:"checked" onto:"default=\"2026-01-02T03:04:05+01:00\""`
	Tags    []string        `json:"tags" onto:"default=[]"`
	Limits  map[string]int  `json:"limits" onto:"default={\"b\": 2.0, \"a\": 1e2}"`
	Note    *string         `json:"note" onto:"search"`
	Raw     json.RawMessage `json:"raw"`
	Any     any             `json:"any" onto:"default=\"<&>\u2028\""`
	Label   string          `json:"label" onto:"index,search,default=\"none\""`
}

type Subscription struct {
	onto.Link[Customer, Product]
	Stint string `json:"-" onto:"instance=stint_id"`
	Seats int    `json:"seats" onto:"default=1"`
}

type Rental struct {
	onto.Link[Customer, Product]
	Stint string `json:"stint_id" onto:"instance"`
	Days  *int   `json:"days"`
}

type Likes struct {
	onto.Link[Customer, Product]
}

const structsAsFile = `
entities:
  Customer:
    key: id
    fields:
      id:      {type: string}
      name:    {type: string, search: true}
      tier:    {type: string, index: true}
      age:     {type: int, optional: true}
      profile: {type: object, optional: true}
      events:  {type: list, items: string, optional: true}
  Product:
    key: number
    fields:
      number:  {type: int}
      price:   {type: float, index: true, default: 1.5}
      active:  {type: bool, default: true}
      made:    {type: time}
      sold:    {type: time, optional: true, index: true}
      checked: {type: time, default: 2026-01-02T02:04:05Z}
      tags:    {type: list, items: string, default: []}
      limits:  {type: object, values: int, default: {a: 100, b: 2}}
      note:    {type: string, optional: true, search: true}
      raw:     {type: any, optional: true}
      any:     {type: any, default: "<&>\L"}
      label:   {type: string, index: true, search: true, default: none}
relations:
  Likes:
    left: Customer
    right: Product
  Rental:
    left: Customer
    right: Product
    instance_key: stint_id
    fields:
      stint_id: {type: string}
      days:     {type: int, optional: true}
  Subscription:
    left: Customer
    right: Product
    instance_key: stint_id
    fields:
      seats: {type: int, default: 1}
`

func TestStructAndFileGiveTheSameSchema(t *testing.T) {
	fromFile := parse(t, structsAsFile)
	fromGo := schemas(t, []onto.Type{
		onto.TypeOf[Customer](), onto.TypeOf[Product](),
		onto.TypeOf[Likes](), onto.TypeOf[Rental](), onto.TypeOf[Subscription](),
	})
	if len(fromFile) != len(fromGo) {
		t.Fatalf("got %d types from the file, want %d", len(fromFile), len(fromGo))
	}
	for i, want := range fromGo {
		got := fromFile[i]
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", want.Name, got, want)
		}
		if string(got.JSON()) != string(want.JSON()) {
			t.Errorf("%s as JSON:\ngot  %s\nwant %s", want.Name, got.JSON(), want.JSON())
		}
		if got.Hash() != want.Hash() {
			t.Errorf("%s: got hash %s, want %s", want.Name, got.Hash(), want.Hash())
		}
		if d := onto.DiffSchemas(want, got); !d.Empty() {
			t.Errorf("got the difference %s", d)
		}
	}
}
