package shape

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

type member struct {
	ID    string  `json:"id" onto:"key"`
	Level int     `json:"level"`
	Mail  *string `json:"mail"`
	Note  string  `json:"note,omitempty"`
	Tier  string  `json:"tier,omitempty" onto:"default=\"Silver\""`
}

func memberType(t *testing.T) *Type {
	t.Helper()
	given := onto.TypeOf[member]().As("Member")
	s, err := given.Schema()
	if err != nil {
		t.Fatal(err)
	}
	m := &Type{Schema: s, Version: 3, Known: backend.Named("id", "level")} // what a program knows does not matter
	m.Bind(given.Binding(), s)
	return m
}

// A merge decides the fields that are given, and no others.
func TestMerge(t *testing.T) {
	m, mail := memberType(t), "m"
	id := onto.EntityID("Member", "ada")
	for _, c := range []struct {
		name   string
		fields any
		want   string
	}{
		{"one field", map[string]any{"level": 2}, `{"id":"ada","level":2} [id level]`},
		{"nothing", nil, `{"id":"ada"} [id]`},
		{"null", []byte(`{"mail":null,"tier":null,"note":""}`), `{"id":"ada","note":""} [id mail note tier]`},
		{"a struct", member{ID: "ada"}, `{"id":"ada","level":0} [id level]`},
		{"a whole struct", member{"ada", 1, &mail, "n", "Gold"}, `{"id":"ada","level":1,"mail":"m","note":"n","tier":"Gold"} [id level mail note tier]`},
	} {
		w, err := m.Merge(id, c.fields)
		if v, ok := c.fields.(member); ok {
			w, err = m.MergeStruct(reflect.ValueOf(v))
		}
		if got := fmt.Sprint(string(w.Fields), " ", w.Known); err != nil || got != c.want || !w.Merge || w.SchemaVersion != 3 || w.Identity != id {
			t.Errorf("%s: got %s, %+v, error %v; want %s", c.name, got, w, err, c.want)
		}
	}
}

func TestMergeTooLarge(t *testing.T) {
	m := memberType(t)
	note := strings.Repeat("x", onto.MaxFields)
	_, err := m.Merge(onto.EntityID("Member", "ada"), map[string]any{"note": note})
	if onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("got %v, want TooLarge", err)
	}
	if _, err = m.MergeStruct(reflect.ValueOf(member{ID: "ada", Note: note})); onto.CodeOf(err) != onto.TooLarge {
		t.Errorf("struct: got %v, want TooLarge", err)
	}
}
