package exec_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
)

// crowd is a state of many persons.
func crowd(n int) *source {
	s := &source{}
	for i := range n {
		fields := fmt.Sprintf(`{"age":%d,"id":"p%06d","name":"Person number %d","tier":"%s"}`, i*7919%90, i, i, []string{"Gold", "Silver", "Tin"}[i%3])
		s.versions = append(s.versions, onto.Version{Identity: onto.EntityID("Person", fmt.Sprintf("p%06d", i)), Op: onto.Put, Fields: json.RawMessage(fields)})
	}
	return s
}

func BenchmarkSelect(b *testing.B) {
	s := crowd(10_000)
	gold := onto.Path("tier").Eq("Gold")
	for _, bench := range []struct {
		name string
		q    backend.Query
	}{
		{"filter", backend.Query{Where: gold}},
		{"filter and sort", backend.Query{Where: gold, Order: []onto.Order{onto.Path("age").Desc()}}},
		{"sort for a page", backend.Query{Order: []onto.Order{onto.Path("age").Desc()}, Limit: 50}},
		{"search", backend.Query{Search: []backend.Word{{Text: "number"}}, Schema: &onto.Schema{Fields: []onto.Field{{Name: "name", Search: true}}}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range exec.Select(&bench.q, s.rows(), nil) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAggregate(b *testing.B) {
	s := crowd(10_000)
	age := onto.Path("age")
	a := &backend.Aggregation{By: []onto.Operand{onto.Path("tier")}, Compute: []onto.Operand{onto.Count(), age.Avg(), age.Max()}}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range exec.Aggregate(a, s.rows(), nil) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
