package shape

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

type dated struct {
	ID   string       `json:"id" onto:"key"`
	On   onto.Date    `json:"on"`
	Days []onto.Date  `json:"days"`
	Or   *onto.Date   `json:"or"`
	Zero onto.Date    `json:"zero,omitzero"`
	By   map[int]bool `json:"by"`
}

func TestDatesOfStructs(t *testing.T) {
	given := onto.TypeOf[dated]().As("Dated")
	s, err := given.Schema()
	if err != nil {
		t.Fatal(err)
	}
	typ := &Type{Schema: s, Version: 1}
	typ.Bind(given.Binding(), s)
	day := onto.Date{Year: 2026, Month: 2, Day: 10}
	thing := dated{ID: "a", On: day, Days: []onto.Date{day}, By: map[int]bool{10: true, 9: false}}
	w, err := typ.WriteStruct(reflect.ValueOf(thing))
	if want := `{"by":{"10":true,"9":false},"days":["2026-02-10"],"id":"a","on":"2026-02-10"}`; err != nil || string(w.Fields) != want {
		t.Errorf("got %s, %v; want %s", w.Fields, err, want)
	}
	var back dated
	if err := typ.Decode(&onto.Version{Identity: w.Identity, Fields: w.Fields}, &back); err != nil || !reflect.DeepEqual(back, thing) {
		t.Errorf("got %+v, %v; want %+v", back, err, thing)
	}
	for path, spoil := range map[string]func(d *dated){
		"field on: the zero date is none":         func(d *dated) { d.On = onto.Date{} },
		"field days[0]: 2026-02-30 is not a date": func(d *dated) { d.Days = []onto.Date{{Year: 2026, Month: 2, Day: 30}} },
		"field or: the zero date is none":         func(d *dated) { d.Or = &onto.Date{} },
	} {
		d := thing
		spoil(&d)
		if _, err := typ.WriteStruct(reflect.ValueOf(d)); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %s", err, path)
		}
	}
}
