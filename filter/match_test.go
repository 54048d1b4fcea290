package filter_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/effort"
)

// truth is the meaning of filters a second time, over decoded objects: slow,
// and without anything that the package itself uses.
type truth struct{ own, left, right map[string]any }

func (w truth) of(f onto.Filter) bool {
	switch f := f.(type) {
	case onto.And:
		for _, part := range f {
			if !w.of(part) {
				return false
			}
		}
		return true
	case onto.Or:
		for _, part := range f {
			if w.of(part) {
				return true
			}
		}
		return false
	case onto.Not:
		return !w.of(f.Of)
	}
	c := f.(onto.Condition)
	object := map[onto.Side]map[string]any{onto.OwnSide: w.own, onto.LeftSide: w.left, onto.RightSide: w.right}[c.Operand.Side]
	v := follow(object, c.Operand.Path)
	if !c.Operand.Any {
		return passes(v, c.Test, c.Values)
	}
	list, _ := v.([]any)
	for _, e := range list {
		if passes(follow(e, c.Operand.Under), c.Test, c.Values) {
			return true
		}
	}
	return false
}

// follow returns nil for what is missing.
func follow(v any, names []string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func passes(v any, test onto.Test, values []any) bool {
	switch test {
	case onto.IsNull:
		return v == nil
	case onto.IsNotNull:
		return v != nil
	case onto.IsTrue:
		return v == true
	case onto.IsFalse:
		return v == false
	case onto.NotEqual:
		return v != nil && !equal(v, values[0])
	case onto.Equal, onto.In:
		for _, other := range values {
			if equal(v, other) {
				return true
			}
		}
		return false
	}
	text, isText := v.(string)
	other, wantsText := values[0].(string)
	if isText != wantsText {
		return false
	}
	sign := 0
	if isText {
		switch test {
		case onto.StartsWith:
			return strings.HasPrefix(text, other)
		case onto.EndsWith:
			return strings.HasSuffix(text, other)
		case onto.Contains:
			return strings.Contains(text, other)
		}
		sign = compareRunes([]rune(text), []rune(other))
	} else {
		a, b := rational(v), rational(values[0])
		if a == nil || b == nil {
			return false
		}
		sign = a.Cmp(b)
	}
	return map[onto.Test]bool{
		onto.Less: sign < 0, onto.AtMost: sign <= 0, onto.Greater: sign > 0, onto.AtLeast: sign >= 0,
	}[test]
}

func equal(a, b any) bool {
	if x, y := rational(a), rational(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}

// rational is the exact value of a number, nil for anything else.
func rational(v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	return nil
}

func compareRunes(a, b []rune) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

type row = filter.Row

func drawRow(t *rapid.T) *row {
	r := &row{Own: canonical(t, drawObject(t, 3))}
	if rapid.Bool().Draw(t, "left") {
		r.Left = canonical(t, drawObject(t, 3))
	}
	if rapid.Bool().Draw(t, "right") {
		r.Right = canonical(t, drawObject(t, 2))
	}
	return r
}

func canonical(t interface{ Fatal(...any) }, v any) json.RawMessage {
	text, err := codec.AppendValue(nil, reflect.ValueOf(v))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t *rapid.T, text json.RawMessage) map[string]any {
	object, err := codec.DecodeObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestMatchIsTheTruth(t *testing.T) {
	seen := map[bool]int{}
	effort.Check(t, 1000, func(t *rapid.T) {
		f, r := drawFilter(t, 2), drawRow(t)
		clean, err := filter.Check(f, nil)
		if err != nil {
			t.Fatalf("Check(%s): %v", filter.Format(f), err)
		}
		want := truth{decode(t, r.Own), decode(t, r.Left), decode(t, r.Right)}.of(f)
		seen[want]++
		if got := filter.Match(clean, r); got != want {
			t.Fatalf("%s on %s: got %v, want %v", filter.Format(f), r.Own, got, want)
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("drawn filters were true %d times and false %d times", seen[true], seen[false])
	}
}

// TestMatchOneConditionIsTheTruth draws operands that lead somewhere.
func TestMatchOneConditionIsTheTruth(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		c := drawCondition(t)
		c.Operand.Side = onto.OwnSide
		v := drawValue(t, 3)
		for i := len(c.Operand.Under) - 1; i >= 0; i-- {
			v = map[string]any{c.Operand.Under[i]: v, "z": 1}
		}
		if c.Operand.Any {
			v = []any{drawValue(t, 1), v}
		}
		for i := len(c.Operand.Path) - 1; i >= 0; i-- {
			v = map[string]any{c.Operand.Path[i]: v, "0": "}"}
		}
		own := canonical(t, v)
		want := truth{own: decode(t, own)}.of(c)
		if got := filter.Match(c, &row{Own: own}); got != want {
			t.Fatalf("%s on %s: got %v, want %v", filter.Format(c), own, got, want)
		}
	})
}

// TestEveryTestOnEveryPair compares all the values that are drawn elsewhere
// with each other.
func TestEveryTestOnEveryPair(t *testing.T) {
	all := append(numbers(), true, false)
	for _, text := range texts() {
		all = append(all, text)
	}
	held := map[onto.Test]int{}
	for _, test := range tests() {
		for _, wanted := range all {
			c := onto.Condition{Operand: onto.Path("v"), Test: test, Values: []any{wanted}}
			clean, err := filter.Check(c, nil)
			if err != nil {
				continue // a test that takes no value, or no value of this kind
			}
			m := filter.Compile(clean)
			for _, v := range append(all, nil, []any{wanted}, map[string]any{"v": wanted}) {
				own := canonical(t, map[string]any{"v": v})
				want := passes(v, test, c.Values)
				if want {
					held[test]++
				}
				if got := m.Match(&row{Own: own}); got != want {
					t.Errorf("%s on %s: got %v, want %v", filter.Format(c), own, got, want)
				}
			}
		}
	}
	if len(held) != 10 {
		t.Errorf("tests with a value that held: got %v, want 10 of them", held)
	}
}

// TestMatchUnchecked matches filters that Check refuses: their meaning is undefined,
// but they do no harm.
func TestMatchUnchecked(t *testing.T) {
	r := &row{Own: json.RawMessage(`{"a":1,"b":true}`)}
	for _, f := range []onto.Filter{
		onto.And{nil}, onto.Not{}, &onto.Or{}, onto.Path().Eq(1), onto.Path("a").Eq([]int{1}), onto.Path("b").Le(true), onto.Path("b").Le(nil),
		onto.Condition{}, onto.Condition{Operand: onto.Path("a"), Test: onto.Equal}, onto.Condition{Operand: onto.Path("a"), Test: "like"},
		onto.Count().Eq(1), onto.Condition{Operand: onto.Operand{Side: "top", Path: []string{"a"}}, Test: onto.IsNull},
	} {
		t.Logf("%s: %v", filter.Format(f), filter.Match(f, r))
		if filter.MatchGroup(f, nil, nil, &onto.Group{}) {
			t.Errorf("%s is true for an empty group", filter.Format(f))
		}
	}
	if !filter.Match(onto.Path("a").Eq(uint8(1)), r) {
		t.Error("a value that is not clean: got false, want true")
	}
}

func TestMatch(t *testing.T) {
	const own = `{"age":21,"big":9007199254740993,"deep":{"a":{"b":"x"}},"email":null,"events":[{"at":{"h":1},"kind":"buy"},` +
		`{"kind":"sell"},"text",null],"flag":true,"name":"50%_é\"","ratio":0.5,"tags":["a","b",1,null],"zero":0}`
	cases := map[string]bool{
		`$.age == 21`:                          true,
		`$.age == 21.0`:                        true,
		`$.age == "21"`:                        false,
		`$.age != "21"`:                        true,
		`$.age < "3"`:                          false,
		`$.age > 20.999`:                       true,
		`$.big == 9007199254740992`:            false,
		`$.big > 9007199254740992.0`:           true,
		`$.zero == false`:                      false,
		`$.flag == 1`:                          false,
		`$.flag != 1`:                          true,
		`$.flag.is_true()`:                     true,
		`~$.zero.is_false()`:                   true,
		`$.email.is_null()`:                    true,
		`$.missing.is_null()`:                  true,
		`$.age.x.is_null()`:                    true,
		`$.email != 1`:                         false,
		`~$.email == 1`:                        true,
		`$.missing < 1`:                        false,
		`~$.missing < 1`:                       true,
		`$.deep.a.b == "x"`:                    true,
		`$.deep.is_not_null()`:                 true,
		`$.name.startswith("50%")`:             true,
		`$.name.startswith("50_")`:             false,
		`$.name.contains("É")`:                 false,
		`$.name.endswith("é\"")`:               true,
		`$.age.contains("2")`:                  false,
		`$.age.in_([])`:                        false,
		`~$.age.in_([])`:                       true,
		`$.age.in_([20, 21.0])`:                true,
		`$.tags.any() == "b"`:                  true,
		`$.tags.any() == 1`:                    true,
		`$.tags.any().is_null()`:               true,
		`$.tags.any() != "a"`:                  true,
		`$.age.any().is_null()`:                false,
		`$.missing.any().is_null()`:            false,
		`$.events.any_path("kind") == "sell"`:  true,
		`$.events.any_path("at.h") >= 1`:       true,
		`$.events.any_path("nope").is_null()`:  true,
		`$.events.any_path("kind").in_(["x"])`: false,
		`$.events.any().startswith("te")`:      true,
		`left.$.age.is_null()`:                 true,
		`true`:                                 true,
		`false`:                                false,
	}
	for text, want := range cases {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("Parse(%s): %v", text, err)
			continue
		}
		if got := filter.Match(f, &row{Own: json.RawMessage(own)}); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if !filter.Match(nil, &row{}) {
		t.Error("no filter is false, want true")
	}
}

func TestMatchGroup(t *testing.T) {
	by := []onto.Operand{onto.Path("tier"), onto.Left("city")}
	compute := []onto.Operand{onto.Count(), onto.Path("seats").Sum()}
	g := &onto.Group{
		By:     []json.RawMessage{json.RawMessage(`"Gold"`), nil},
		Values: []json.RawMessage{json.RawMessage(`3`), json.RawMessage(`10.5`)},
	}
	cases := map[string]bool{
		`count == 3`:                             true,
		`count > 3`:                              false,
		`sum:$.seats > 10 & $.tier == "Gold"`:    true,
		`left.$.city.is_null()`:                  true,
		`left.$.city == "Rome" | ~$.tier == "x"`: true,
		`$."tier".startswith("g")`:               false,
		`avg:$.seats.is_null()`:                  false, // not there; Check refuses it
		`$.tier.any() == "Gold"`:                 false,
	}
	for text, want := range cases {
		f, err := filter.ParseHaving(text)
		if err != nil {
			t.Errorf("ParseHaving(%s): %v", text, err)
			continue
		}
		if got := filter.MatchGroup(f, by, compute, g); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if !filter.MatchGroup(nil, by, compute, g) {
		t.Error("no filter is false, want true")
	}
}

func TestRowValue(t *testing.T) {
	r := &row{Own: json.RawMessage(`{"a":{"b":[1]},"n":null}`), Left: json.RawMessage(`{"a":true}`)}
	cases := []struct {
		o    onto.Operand
		want string // "" for nil
	}{
		{onto.Path("a"), `{"b":[1]}`},
		{onto.Path("a", "b"), `[1]`},
		{onto.Path("a", "b").AvgLen(), `[1]`},
		{onto.Path("n"), ""},
		{onto.Path("a", "x"), ""},
		{onto.Path("a", "b", "c"), ""},
		{onto.Left("a"), `true`},
		{onto.Right("a"), ""},
	}
	for _, c := range cases {
		if got := r.Value(c.o); string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%s: got %s, want %s", filter.FormatOperand(c.o), got, c.want)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	var members []string
	for i := range 20 {
		members = append(members, fmt.Sprintf(`"field%02d":"some text number %d"`, i, i))
	}
	r := &row{Own: json.RawMessage(`{"age":30,` + strings.Join(members, ",") + `,"tier":"Gold"}`)}
	f, err := filter.Parse(`$.tier == "Gold" & ($.age >= 21 | ~$.email.is_null()) & $.field10.contains("10")`)
	if err != nil {
		b.Fatal(err)
	}
	m := filter.Compile(f)
	b.ReportAllocs()
	for b.Loop() {
		if !m.Match(r) {
			b.Fatal("no match")
		}
	}
}
