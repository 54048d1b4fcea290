package exec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
)

// show puts a group on one line.
func show(g onto.Group) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", g.By, g.Values))
}

// groups lists what an aggregation computes, or ends with its error.
func groups(a *backend.Aggregation, s *source) ([]string, error) {
	var list []string
	for g, err := range exec.Aggregate(a, s.rows(), nil) {
		if err != nil {
			return list, err
		}
		list = append(list, show(g))
	}
	return list, nil
}

func TestAggregate(t *testing.T) {
	s := people(
		`a {"n":1,"t":"x","v":[1,"],[",{"k":[2,3]}]}`, `b {"n":2.5,"t":"x","v":[]}`, `c {"n":"2","v":"s"}`,
		`d {"n":null,"t":null,"v":true}`, `e {"n":-7,"t":"X","v":{"k":[]}}`, `f {"t":[2],"v":"\\\"["}`, `g {"t":[1,2]}`, `h {"t":{}}`)
	n, by, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	for _, test := range []struct {
		name string
		a    backend.Aggregation
		want []string
	}{
		{"no groups", backend.Aggregation{Compute: []onto.Operand{onto.Count(), n.Sum(), n.Avg(), n.Min(), n.Max(), v.AvgLen()}},
			[]string{`[] [8 -3.5 -1.1666666666666667 -7 "2" 1.5]`}},
		{"nothing", backend.Aggregation{Query: backend.Query{Where: onto.Or{}}, Compute: []onto.Operand{onto.Count(), n.Sum(), n.Avg(), n.Min(), n.Max(), v.AvgLen()}},
			[]string{"[] [0     ]"}},
		{"no groups of nothing", backend.Aggregation{Query: backend.Query{Where: onto.Or{}}, By: []onto.Operand{by}, Compute: []onto.Operand{onto.Count()}}, nil},
		{"groups", backend.Aggregation{By: []onto.Operand{by}, Compute: []onto.Operand{onto.Count(), n.Sum()}},
			[]string{`["X"] [1 -7]`, `["x"] [2 3.5]`, `[[1,2]] [1 ]`, `[[2]] [1 ]`, `[{}] [1 ]`, `[] [2 ]`}},
		{"two groupings", backend.Aggregation{Query: backend.Query{Where: onto.Path("n").IsNotNull()}, By: []onto.Operand{by, n}, Compute: []onto.Operand{onto.Count()}},
			[]string{`["X" -7] [1]`, `["x" 1] [1]`, `["x" 2.5] [1]`, `[ "2"] [1]`}},
		{"least and greatest", backend.Aggregation{Compute: []onto.Operand{v.Min(), v.Max(), by.Min(), by.Max()}}, []string{`[] [true "s" "X" "x"]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := groups(&test.a, s)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q and error %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestSums(t *testing.T) {
	const tooLarge = "too large"
	for _, test := range []struct{ values, sum, avg string }{
		{"1 2 3", "6", "2"},
		{"9007199254740993 9007199254740993", "18014398509481986", "9007199254740992"},
		{"9223372036854775807", "9223372036854775807", "9.223372036854776e18"},
		{"9223372036854775807 1", tooLarge, "4611686018427387904"},
		{"9223372036854775807 1 -1", "9223372036854775807", "3074457345618258432"},
		{"9223372036854775807 9223372036854775807 -9223372036854775807 -9223372036854775807", "0", "0"},
		{"-9223372036854775808 -1", tooLarge, "-4611686018427387904"},
		{"-9223372036854775808 -1 2", "-9223372036854775807", "-3074457345618258432"},
		{"0.5 1", "1.5", "0.75"},
		{"0.5 0.5", "1", "0.5"},
		{"9223372036854775807 9223372036854775807 0.5", "1.8446744073709552e19", "6148914691236516864"},
		{"1e308 1e308", tooLarge, tooLarge},
		{"true", "", ""},
	} {
		s := &source{}
		for v := range strings.FieldsSeq(test.values) {
			s.versions = append(s.versions, onto.Version{Fields: json.RawMessage(`{"n":` + v + `}`)})
		}
		for _, compute := range []struct {
			operand onto.Operand
			want    string
		}{{onto.Path("n").Sum(), test.sum}, {onto.Path("n").Avg(), test.avg}} {
			got, err := groups(&backend.Aggregation{Compute: []onto.Operand{compute.operand}}, s)
			if compute.want == tooLarge {
				if !errors.Is(err, onto.TooLarge) || !strings.Contains(err.Error(), "$.n") || onto.HintOf(err).Text == "" {
					t.Errorf("%s of %s: got %q and error %v, want code %q, the path and a hint", compute.operand.Func, test.values, got, err, onto.TooLarge)
				}
				continue
			}
			if err != nil || !sameNumber(got, compute.want) {
				t.Errorf("%s of %s: got %q and error %v, want %s", compute.operand.Func, test.values, got, err, compute.want)
			}
		}
	}
}

// sameNumber compares the only value of the only group.
func sameNumber(got []string, want string) bool {
	return len(got) == 1 && got[0] == "[] ["+want+"]"
}

func TestAggregateRefusesWhatDoesNotExist(t *testing.T) {
	_, err := groups(&backend.Aggregation{Compute: []onto.Operand{{Func: "median", Path: []string{"n"}}}}, numbers())
	if !errors.Is(err, onto.Invalid) {
		t.Errorf("got error %v, want code %q", err, onto.Invalid)
	}
}

func TestAggregateEndsWithItsError(t *testing.T) {
	s := numbers()
	s.err = errors.New("the source broke")
	got, err := groups(&backend.Aggregation{By: []onto.Operand{onto.Path("n")}, Compute: []onto.Operand{onto.Count()}}, s)
	if err != s.err || got != nil {
		t.Errorf("got %q and error %v, want only the error of the source", got, err)
	}
}

func TestSelectGroups(t *testing.T) {
	by, count, sum := onto.Path("t"), onto.Count(), onto.Path("n").Sum()
	var list []onto.Group
	for _, line := range []string{`"a" 2 5`, `"b" 1 null`, `"c" 2 7`, `null 3 5`} {
		f := strings.Fields(line)
		g := onto.Group{By: []json.RawMessage{json.RawMessage(f[0])}, Values: []json.RawMessage{json.RawMessage(f[1]), json.RawMessage(f[2])}}
		for _, values := range [][]json.RawMessage{g.By, g.Values} {
			for i, v := range values {
				if string(v) == "null" {
					values[i] = nil
				}
			}
		}
		list = append(list, g)
	}
	for _, test := range []struct {
		q    exec.GroupQuery
		want string
	}{
		{exec.GroupQuery{}, `["a"] ["b"] ["c"] []`},
		{exec.GroupQuery{Having: count.Ge(int64(2))}, `["a"] ["c"] []`},
		{exec.GroupQuery{Having: by.IsNull()}, `[]`},
		{exec.GroupQuery{Having: onto.And{sum.Eq(int64(5)), onto.Not{Of: by.Eq("a")}}}, `[]`},
		{exec.GroupQuery{Order: []onto.Order{count.Desc()}}, `[] ["a"] ["c"] ["b"]`},
		{exec.GroupQuery{Order: []onto.Order{sum.Asc()}}, `["a"] [] ["c"] ["b"]`},
		{exec.GroupQuery{Order: []onto.Order{sum.Desc(), by.Desc()}}, `["c"] ["a"] [] ["b"]`},
		{exec.GroupQuery{Order: []onto.Order{by.Desc()}, Offset: 1, Limit: 2}, `["b"] ["a"]`},
		{exec.GroupQuery{Offset: 3}, `[]`},
		{exec.GroupQuery{Limit: 1}, `["a"]`},
	} {
		test.q.By, test.q.Compute = []onto.Operand{by}, []onto.Operand{count, sum}
		var got []string
		for g, err := range exec.SelectGroups(&test.q, sequence(list)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s", g.By))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: got %s, want %s", test.q, strings.Join(got, " "), test.want)
		}
	}
	q := exec.GroupQuery{By: []onto.Operand{by}, Order: []onto.Order{onto.Path("x").Max().Asc()}}
	for _, err := range exec.SelectGroups(&q, sequence(list)) {
		if !errors.Is(err, onto.Invalid) || !strings.Contains(err.Error(), "max:$.x") {
			t.Errorf("an order by what is not there: got error %v, want code %q and the path", err, onto.Invalid)
		}
	}
}

func sequence(list []onto.Group) func(yield func(onto.Group, error) bool) {
	return func(yield func(onto.Group, error) bool) {
		for _, g := range list {
			if !yield(g, nil) {
				return
			}
		}
	}
}
