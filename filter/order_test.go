package filter_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/effort"
)

// TestCompare has values in ascending order; those of one line are alike.
func TestCompare(t *testing.T) {
	lines := [][]string{
		{`false`}, {`true`},
		{`-1e300`}, {`-9223372036854775808`}, {`-9007199254740993`}, {`-9007199254740992`}, {`-1`}, {`-0.5`}, {`0`}, {`1e-9`},
		{`1`}, {`1.5`}, {`2251799813685248`}, {`2251799813685248.5`}, {`2251799813685249`},
		{`9007199254740992`}, {`9007199254740993`}, {`9223372036854775807`}, {`9.223372036854776e18`}, {`1e300`},
		{`""`}, {`"\n"`}, {`" "`}, {`"\""`}, {`"10"`}, {`"9"`}, {`"Z"`}, {`"\\"`}, {`"a"`}, {`"a\n"`}, {`"ab"`}, {`"é"`}, {"\"\uffff\""}, {`"😀"`},
		{`[]`, `{}`, `[1,2]`, `{"a":1}`},
		{``, `null`},
	}
	for i, a := range lines {
		for j, b := range lines {
			want := min(1, max(-1, i-j))
			for _, x := range a {
				for _, y := range b {
					if got := filter.Compare(value(x), value(y)); min(1, max(-1, got)) != want {
						t.Errorf("Compare(%s, %s): got %d, want %d", x, y, got, want)
					}
				}
			}
		}
	}
}

func value(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// TestCompareNumbersExactly compares with big rationals.
func TestCompareNumbersExactly(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		draw := func(name string) any {
			if rapid.Bool().Draw(t, name+" is an int") {
				return rapid.Int64().Draw(t, name)
			}
			return rapid.Float64Range(-1e19, 1e19).Draw(t, name)
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(t, "near") { // the float nearest to an int
			if i, ok := a.(int64); ok {
				b = float64(i)
			}
		}
		if got, want := filter.Compare(canonical(t, a), canonical(t, b)), rational(a).Cmp(rational(b)); got != want {
			t.Fatalf("Compare(%v, %v): got %d, want %d", a, b, got, want)
		}
	})
}
