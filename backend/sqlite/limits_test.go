package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

// largest are filters as large as they may be, all true for some customers.
func largest() map[string]onto.Filter {
	var wide, open []onto.Filter
	for i := range 500 {
		wide = append(wide, onto.Path("city").Eq(fmt.Sprintf("Town %d", i+3)))
		open = append(open, onto.Path("free", fmt.Sprintf("n%d", i)).Ne(true))
	}
	all := make(onto.And, len(open))
	for i, f := range open {
		all[i] = onto.Not{Of: f}
	}
	deep := onto.Path("city").Eq("Town 4")
	for i := range 98 {
		if i%2 == 0 {
			deep = onto.Not{Of: deep}
		} else {
			deep = onto.Or{deep, onto.Path("city").Eq("Nowhere")}
		}
	}
	var values []any
	for i := range 10_000 {
		values = append(values, int64(i+5))
	}
	names := append([]string{"free"}, slices.Repeat([]string{`a "name"`}, 63)...)
	return map[string]onto.Filter{
		"500 conditions, one of them": onto.Or(wide),
		"500 conditions, all of them": all,
		"nested deeply":               deep,
		"10,000 values":               onto.Path("age").In(values...),
		"a long path":                 onto.Path(names...).IsNull(),
		"a long path in a list":       onto.Not{Of: onto.Path("free").Some(names[1:]...).Eq("x")},
		"a long text":                 onto.Not{Of: onto.Path("city").Contains(strings.Repeat("é", 30_000))},
	}
}

// TestLargestFilters requires that they are within SQLite's limits.
func TestLargestFilters(t *testing.T) {
	b := makeShop(t)
	for name, f := range largest() {
		q := about("Customer")
		f, err := filter.Check(f, &filter.Scope{Schema: q.Schema})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		matcher := filter.Compile(f)
		for _, mode := range []backend.Mode{backend.State, backend.History} {
			for _, at := range []int64{backend.Head, 2} {
				q.Mode, q.At, q.Where = mode, at, f
				want := 0
				plain := *q
				plain.Where = nil
				for v, err := range b.Scan(t.Context(), &plain) {
					if err != nil {
						t.Fatal(err)
					}
					if matcher.Match(&filter.Row{Own: v.Fields}) {
						want++
					}
				}
				if got := len(keysOf(t, b, q)); got != want || want == 0 {
					t.Errorf("%s, mode %d, at %d: got %d customers, want %d, and some", name, mode, at, got, want)
				}
			}
		}
	}
}
