package backend_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func TestEnds(t *testing.T) {
	own, left, right := onto.Path("n"), onto.Left("n"), onto.Right("n")
	none, both := backend.Ends{}, backend.Ends{Left: true, Right: true}
	for _, test := range []struct {
		name string
		q    backend.Query
		of   []onto.Operand // grouped by and computed
		want backend.Ends
	}{
		{"nothing", backend.Query{}, nil, none},
		{"its own fields", backend.Query{Where: own.IsNull(), Order: []onto.Order{own.Asc()}}, []onto.Operand{own, onto.Count()}, none},
		{"a filter", backend.Query{Where: onto.Not{Of: onto.Or{own.IsNull(), right.Some().Eq("x")}}}, nil, backend.Ends{Right: true}},
		{"an order", backend.Query{Where: own.IsNull(), Order: []onto.Order{own.Asc(), left.Desc()}}, nil, backend.Ends{Left: true}},
		{"a filter and an order", backend.Query{Where: left.IsNull(), Order: []onto.Order{right.Asc()}}, nil, both},
		{"operands", backend.Query{}, []onto.Operand{right}, backend.Ends{Right: true}},
		{"a filter and operands", backend.Query{Where: left.IsNull()}, []onto.Operand{own, right}, both},
	} {
		test.q.Kind = onto.KindRelation
		for _, a := range []backend.Aggregation{{Query: test.q, By: test.of}, {Query: test.q, Compute: test.of}} {
			if got := a.Ends(); got != test.want {
				t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
			}
			if a.Kind = onto.KindEntity; a.Ends().Any() {
				t.Errorf("%s: an entity has endpoints: %+v", test.name, a.Ends())
			}
		}
		if got := test.q.Ends(); test.of == nil && got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestEndTypes(t *testing.T) {
	relation := &onto.Schema{Left: "L", Right: "R"}
	for _, test := range []struct {
		q        backend.Query
		relation *onto.Schema
		want     string
	}{
		{backend.Query{}, nil, " "},
		{backend.Query{}, relation, "L R"},
		{backend.Query{Left: &onto.Schema{Name: "A"}}, relation, "A R"},
		{backend.Query{Right: &onto.Schema{Name: "B"}}, nil, " B"},
		{backend.Query{Left: &onto.Schema{Name: "A"}, Right: &onto.Schema{Name: "B"}}, relation, "A B"},
	} {
		if left, right := test.q.EndTypes(test.relation); left+" "+right != test.want {
			t.Errorf("got %q and %q, want %q", left, right, test.want)
		}
	}
}
