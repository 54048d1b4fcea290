package filter_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

func customer() *onto.Schema {
	s := &onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "tier", Type: onto.String}, {Name: "age", Type: onto.Int},
		{Name: "score", Type: onto.Float}, {Name: "active", Type: onto.Bool}, {Name: "joined", Type: onto.Time},
		{Name: "profile", Type: onto.Object}, {Name: "events", Type: onto.List}, {Name: "extra", Type: onto.Any},
	}}
	s.SortFields()
	return s
}

// customers is the scope of a query for an entity, subscriptions for a relation.
func customers() *filter.Scope { return &filter.Scope{Schema: customer()} }

func subscriptions() *filter.Scope {
	return &filter.Scope{
		Schema: &onto.Schema{Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product", Fields: []onto.Field{
			{Name: "plan", Type: onto.String}, {Name: "seats", Type: onto.Int},
		}},
		Left: customer(),
		Right: &onto.Schema{Kind: onto.KindEntity, Name: "Product", Key: "sku", Fields: []onto.Field{
			{Name: "sku", Type: onto.String}, {Name: "title", Type: onto.String},
		}},
	}
}

func TestCheckText(t *testing.T) {
	cases := []struct{ text, message, hint string }{
		{`$.tier == "Gold" & ($.age >= 21 | ~$.extra.email.is_null())`, ``, ``},
		{`$.age > 1.5 & $.score == 1 & $.score < 0.5`, ``, ``},
		{`$.active == true | $.active.is_false() | $.active.in_([true, false])`, ``, ``},
		{`$.profile.city == "Rome" & $.profile.tags.any() == 1 & $.profile.is_not_null()`, ``, ``},
		{`$.events.any() == 1 | $.events.any_path("kind") == "x" | $.events.is_null()`, ``, ``},
		{`$.extra == 1 | $.extra.any() == "x" | $.extra.a.b.any_path("c") == true | $.extra.in_([1, "x"])`, ``, ``},
		{`true & ~false`, ``, ``},

		{`$.tier == "Gold" & $.teir == "x"`, `column 20: Customer has no field teir`, `did you mean tier?`},
		{`$.zzzzzzzzz == 1`, `column 1: Customer has no field zzzzzzzzz`, `its fields are active, age, events, extra, id, joined, profile, score, tier`},
		{`$."profile.city" == 1`, `column 1: Customer has no field "profile.city"`, `write $.profile.city`},
		{`$.tier.x == 1`, `column 1: $.tier is string and has nothing inside`, ``},
		{`$.joined.year == 1`, `column 1: $.joined is time and has nothing inside`, ``},
		{`$.tier.x.any() == 1`, `column 1: $.tier is string and has nothing inside`, ``},
		{`$.events.kind == "x"`, `column 1: $.events is a list, which has elements and no names`, `for some element, write $.events.any_path("kind")`},
		{`$.events.a.b.any() == "x"`, `column 1: $.events is a list, which has elements and no names`, `for some element, write $.events.any_path("a.b")`},
		{`$.tier.any() == "x"`, `column 1: $.tier is string, and only a list has elements`, ``},
		{`$.profile.any_path("x") == "x"`, `column 1: $.profile is object, and only a list has elements`, ``},
		{`left.$.tier == "x"`, `column 1: left.$.tier: Customer is an entity and has no endpoints`, `left belongs into queries for relations`},

		{`$.age == "old"`, `column 10: "old" does not fit $.age, which is int`, ``},
		{`$.age.in_([1, "old"])`, `column 11: "old" does not fit $.age, which is int`, ``},
		{`$.score < "x"`, `column 11: "x" does not fit $.score, which is float`, ``},
		{`$.tier == 5`, `column 11: 5 does not fit $.tier, which is string`, `put it in quotes: "5"`},
		{`$.tier != true`, `column 11: true does not fit $.tier, which is string`, `put it in quotes: "true"`},
		{`$.active == 1`, `column 13: 1 does not fit $.active, which is bool`, ``},
		{`$.age > "3"`, `column 9: "3" does not fit $.age, which is int`, `write 3 without quotes`},
		{`$.score.in_([1, "-2.50"])`, `column 13: "-2.50" does not fit $.score, which is float`, `write -2.50 without quotes`},
		{`$.active == "true"`, `column 13: "true" does not fit $.active, which is bool`, `write true without quotes`},
		{`$.active == "1"`, `column 13: "1" does not fit $.active, which is bool`, ``},
		{`$.age == "null"`, `column 10: "null" does not fit $.age, which is int`, ``},
		{`$.age == "[1]"`, `column 10: "[1]" does not fit $.age, which is int`, ``},
		{`$.tier.in_(["a", 3])`, `column 12: 3 does not fit $.tier, which is string`, `put it in quotes: "3"`},
		{`$.joined > 5`, `column 12: 5 does not fit $.joined, which is time`, `write a time like 2026-02-10T12:34:56Z or a date like 2026-02-10`},
		{`$.joined > "2026-02-30"`, `column 12: "2026-02-30" does not fit $.joined, which is time`, `write a time like 2026-02-10T12:34:56Z or a date like 2026-02-10`},
		{`$.joined > "0000-01-01"`, `column 12: "0000-01-01" does not fit $.joined, which is time`, `write a time like 2026-02-10T12:34:56Z or a date like 2026-02-10`},
		{`$.profile == "x"`, `column 1: $.profile is object and cannot be compared with a value`, `compare something inside it, as in $.profile.name`},
		{`$.events.in_([1])`, `column 1: $.events is list and cannot be compared with a value`, `compare its elements by $.events.any(), or what is inside them by $.events.any_path("name")`},
		{`$.age.startswith("2")`, `column 1: $.age is int, and startswith() is for strings`, ``},
		{`$.joined.startswith("2026")`, `column 1: $.joined is time, and startswith() is for strings`, `compare times and dates with >= and <`},
		{`$.events.contains("x")`, `column 1: $.events is list, and contains() is for strings`, `write $.events.any() == "x"`},
		{`$.events.startswith("x")`, `column 1: $.events is list, and startswith() is for strings`, `test its elements by $.events.any()`},
		{`$.tier.is_true()`, `column 1: $.tier is string, and is_true() is for bools`, ``},
		{`$.profile.is_false()`, `column 1: $.profile is object, and is_false() is for bools`, ``},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%s): %v", c.text, err)
			continue
		}
		_, err = filter.Check(f, customers())
		expect(t, c.text, err, c.message, c.hint)
	}
}

// expect compares an error with a message and a hint; no message is no error.
func expect(t *testing.T, what string, err error, message, hint string) {
	t.Helper()
	if message == "" {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if err == nil || err.Error() != message || onto.HintOf(err).String() != hint || onto.CodeOf(err) != onto.Invalid {
		t.Errorf("%s:\ngot  %v hint %q code %q\nwant %s hint %q", what, err, onto.HintOf(err), onto.CodeOf(err), message, hint)
	}
}

func TestCheckRelation(t *testing.T) {
	cases := []struct{ text, message, hint string }{
		{`$.seats > 1 & left.$.tier == "Gold" & right.$.title.startswith("L")`, ``, ``},
		{`left.$.profile.city == 1 & left.$.events.any_path("x") == 1`, ``, ``},
		{`left.$.titel == "x"`, `column 1: Customer, the left endpoint of Subscription, has no field titel`, `did you mean tier?`},
		{`right.$.titel == "x"`, `column 1: Product, the right endpoint of Subscription, has no field titel`, `did you mean title?`},
		{`left.$.age == "x"`, `column 15: "x" does not fit left.$.age, which is int`, ``},
		{`$.tier == "x"`, `column 1: Subscription has no field tier`, `an endpoint has it: write left.$.tier`},
		{`$.sku == "x"`, `column 1: Subscription has no field sku`, `an endpoint has it: write right.$.sku`},
		{`left.$.events.kind == "x"`, `column 1: left.$.events is a list, which has elements and no names`, `for some element, write left.$.events.any_path("kind")`},
	}
	for _, c := range cases {
		f, err := filter.Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%s): %v", c.text, err)
			continue
		}
		_, err = filter.Check(f, subscriptions())
		expect(t, c.text, err, c.message, c.hint)
	}
	_, err := filter.Check(onto.Right("title").Eq(1), subscriptions())
	expect(t, "a built filter", err, "1 does not fit right.$.title, which is string", `put it in quotes: "1"`)
	_, err = filter.Check(onto.Left("events", "kind").Eq(1), subscriptions())
	expect(t, "a built filter", err, "left.$.events is a list, which has elements and no names", `for some element, write Left("events").Some("kind")`)
	_, err = filter.Check(onto.Path("title", "x").Eq(1), subscriptions())
	expect(t, "a built filter", err, "Subscription has no field title", `an endpoint has it: write Right("title", "x")`)
	twins := subscriptions()
	twins.Right = twins.Left
	_, err = filter.Check(onto.Path("tier").Eq("x"), twins)
	expect(t, "both endpoints have it", err, "Subscription has no field tier", `an endpoint has it: write Left("tier")`)
	lonely := subscriptions()
	lonely.Right = nil
	_, err = filter.Check(onto.Right("sku").Eq("x"), lonely)
	expect(t, "an endpoint without a schema", err, "right.$.sku: the right endpoint of Subscription is Product, which is not a type of this store", "")
	lonely.Schema.Fields = nil
	_, err = filter.Check(onto.Path("nothing").Eq("x"), lonely)
	expect(t, "no fields", err, "Subscription has no field nothing", "it has no fields")
}

func TestCheckBuilt(t *testing.T) {
	type list []string
	age := onto.Path("age")
	in := func(values ...any) onto.Filter {
		return onto.Condition{Operand: onto.Path("tier"), Test: onto.In, Values: values}
	}
	cases := []struct {
		f             onto.Filter
		message, hint string
	}{
		{age.Eq(nil), `nothing can be compared with null`, `use IsNull`},
		{age.Eq((*int)(nil)), `nothing can be compared with null`, `use IsNull`},
		{age.Ne(nil), `nothing can be compared with null`, `use IsNotNull`},
		{age.In(1, nil), `null cannot be among the values of in_`, `add a condition with onto.Or and IsNull`},
		{onto.Path("active").Lt(true), `true and false have no order`, `use Eq or IsTrue`},
		{onto.Path("extra").Ge(false), `true and false have no order`, `use Eq or IsTrue`},
		{age.Eq(list{"x"}), `$.age: a value of type filter_test.list cannot be compared with`, `use a string, a number, a bool or a time`},
		{in([]string{"a", "b"}), `$.tier: a value of type []string cannot be compared with`, `give the values one by one`},
		{in("a", [2]any{"b", 1}), `$.tier: a value of type [2]interface {} cannot be compared with`, `give the values one by one`},
		{in([]byte("a")), `$.tier: a value of type []uint8 cannot be compared with`, `use a string, a number, a bool or a time`},
		{in(map[string]int{}), `$.tier: a value of type map[string]int cannot be compared with`, `use a string, a number, a bool or a time`},
		{age.Eq([]byte("x")), `$.age: a value of type []uint8 cannot be compared with`, `use a string, a number, a bool or a time`},
		{age.Eq(struct{}{}), `$.age: a value of type struct {} cannot be compared with`, `use a string, a number, a bool or a time`},
		{age.Eq(make(chan int)), `$.age: a value of type chan int cannot be compared with`, `use a string, a number, a bool or a time`},
		{age.Eq(1i), `$.age: a value of type complex128 cannot be compared with`, `use a string, a number, a bool or a time`},
		{age.Eq(uint64(math.MaxUint64)), `$.age: integer 18446744073709551615 is outside int64`, ``},
		{age.Eq(math.NaN()), `$.age: number is not finite`, ``},
		{age.Eq(math.Inf(-1)), `$.age: number is not finite`, ``},
		{age.Eq(json.Number("1e999")), `$.age: number 1e999 is outside float64`, ``},
		{onto.Path("tier").Eq("\xff"), `$.tier: text is not valid UTF-8`, ``},
		{onto.Path("tier").StartsWith("\x00"), `$.tier: text contains U+0000`, ``},
		{age.Eq(time.Time{}), `"0001-01-01T00:00:00.000000+00:00" does not fit $.age, which is int`, ``},

		{onto.Path().Eq(1), `a path has no names`, `name a field: onto.Path("name")`},
		{onto.Path("teir").Eq(1), `Customer has no field teir`, `did you mean tier?`},
		{onto.Path("profile.city").Eq(1), `Customer has no field "profile.city"`, `write Path("profile", "city")`},
		{onto.Path("profile.city", "zip").Some("x").Eq(1), `Customer has no field "profile.city"`, `write Path("profile", "city", "zip").Some("x")`},
		{onto.Path("extra", "\xff").Eq(1), `the name "\xff" in a path is not valid UTF-8 without U+0000`, ``},
		{onto.Path("extra").Some("\x00").Eq(1), `the name "\x00" in a path is not valid UTF-8 without U+0000`, ``},
		{onto.Path("events", "kind").Eq(1), `$.events is a list, which has elements and no names`, `for some element, write Path("events").Some("kind")`},
		{onto.Path("events").Eq(1), `$.events is list and cannot be compared with a value`, `compare its elements by Path("events").Some(), or what is inside them by Path("events").Some("name")`},
		{onto.Path("events").Contains("new"), `$.events is list, and contains() is for strings`, `write Path("events").Some().Eq("new")`},
		{onto.Path("events").EndsWith("x"), `$.events is list, and endswith() is for strings`, `test its elements by Path("events").Some()`},
		{onto.Path("profile").Eq(1), `$.profile is object and cannot be compared with a value`, `compare something inside it, as in Path("profile", "name")`},
		{onto.Path(make([]string, 65)...).Eq(1), `the path has more than 64 names`, `no value lies that deep`},
		{onto.Count().Gt(1), `count is an aggregate, and a condition on single versions cannot use it`, `aggregates are for having: put it there`},
		{age.Sum().Gt(1), `sum is an aggregate, and a condition on single versions cannot use it`, `aggregates are for having: put it there`},

		{onto.And{nil}, `a part of the filter is nil`, `leave it out`},
		{onto.Not{}, `a part of the filter is nil`, `leave it out`},
		{&onto.And{}, `*onto.And is no filter`, `use onto.And, onto.Or, onto.Not and onto.Condition, not pointers to them`},
		{onto.Condition{Operand: age}, `$.age: the test "" is unknown`, ``},
		{onto.Condition{Operand: age, Test: "like", Values: []any{1}}, `$.age: the test "like" is unknown`, ``},
		{onto.Condition{Operand: age, Test: onto.Equal}, `$.age: the test == takes 1 values, not 0`, ``},
		{onto.Condition{Operand: age, Test: onto.IsNull, Values: []any{1}}, `$.age: the test is_null takes 0 values, not 1`, ``},
		{onto.Condition{Operand: onto.Path("tier"), Test: onto.Contains, Values: []any{1}}, `$.tier: contains() takes a string, not 1`, ``},
		{onto.Condition{Operand: onto.Operand{Side: "top", Path: []string{"age"}}, Test: onto.IsNull}, `top.$.age: the side "top" is unknown`, `use left or right`},
		{onto.Condition{Operand: onto.Operand{Path: []string{"age"}, Under: []string{"x"}}, Test: onto.IsNull}, `$.age: Under is set without Any`, `use Some`},
		{age.In(make([]any, 10_001)...), `in_ has more than 10000 values`, `ask in several queries`},
		{onto.Or(make([]onto.Filter, 1)), `a part of the filter is nil`, `leave it out`},
	}
	for _, c := range cases {
		got, err := filter.Check(c.f, customers())
		expect(t, filter.Format(c.f), err, c.message, c.hint)
		if got != nil {
			t.Errorf("%s: got a filter with its error: %#v", filter.Format(c.f), got)
		}
	}
}

type level int

func (l level) MarshalText() ([]byte, error) { return []byte{'L', '0' + byte(l)}, nil }

func TestCheckCleansValues(t *testing.T) {
	n := 7
	type years uint16
	type flag bool
	at := time.Date(2026, 2, 10, 0, 30, 0, 123456789, time.FixedZone("", 3600))
	cases := []struct {
		field string
		value any
		want  any
	}{
		{"tier", "Gold", "Gold"},
		{"tier", tier("Gold"), "Gold"},
		{"tier", level(2), "L2"},
		{"age", 7, int64(7)},
		{"age", int8(-7), int64(-7)},
		{"age", years(7), int64(7)},
		{"age", uint64(math.MaxInt64), int64(math.MaxInt64)},
		{"age", &n, int64(7)},
		{"age", 7.0, int64(7)},
		{"age", 7.5, 7.5},
		{"age", json.Number("7"), int64(7)},
		{"score", json.Number("7.50"), 7.5},
		{"score", float32(0.1), 0.1},
		{"score", 1e300, 1e300},
		{"active", true, true},
		{"active", flag(true), true},
		{"joined", at, "2026-02-09T23:30:00.123456+00:00"},
		{"joined", &at, "2026-02-09T23:30:00.123456+00:00"},
		{"joined", "2026-02-10T00:30:00.1+01:00", "2026-02-09T23:30:00.100000+00:00"},
		{"joined", "2026-02-10", "2026-02-10T00:00:00.000000+00:00"},
		{"extra", at, "2026-02-09T23:30:00.123456+00:00"},
		{"extra", "2026-02-10", "2026-02-10"},
		{"extra", json.RawMessage(`"x"`), "x"},
	}
	for _, c := range cases {
		f, err := filter.Check(onto.And{onto.Not{Of: onto.Path(c.field).In(c.value)}}, customers())
		if err != nil {
			t.Errorf("%s, %#v: %v", c.field, c.value, err)
			continue
		}
		got := f.(onto.And)[0].(onto.Not).Of.(onto.Condition).Values[0]
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %#v: got %#v, want %#v", c.field, c.value, got, c.want)
		}
	}
}

func TestCheckCopies(t *testing.T) {
	c := onto.Path("events").Some("kind").In("x").(onto.Condition)
	list := onto.Or{c}
	got, err := filter.Check(list, customers())
	if err != nil {
		t.Fatal(err)
	}
	c.Operand.Path[0], c.Operand.Under[0], c.Values[0], list[0] = "tier", "y", "y", onto.And{}
	if text := filter.Format(got); text != `$.events.any_path("kind").in_(["x"])` {
		t.Errorf("got %s", text)
	}
	if f, err := filter.Check(nil, customers()); f != nil || err != nil {
		t.Errorf("Check(nil): got %v, %v", f, err)
	}
}

func TestCheckLimits(t *testing.T) {
	many := make(onto.And, 500)
	for i := range many {
		many[i] = onto.Path("age").Eq(i)
	}
	_, err := filter.Check(many, customers())
	expect(t, "500 conditions", err, "", "")
	_, err = filter.Check(append(many, onto.Or{}), customers())
	expect(t, "501 conditions", err, "the filter has more than 500 conditions", "to compare with many values, use in_")

	values := make([]any, 5000)
	for i := range values {
		values[i] = i
	}
	in := onto.Path("age").In(values...)
	_, err = filter.Check(onto.Or{in, in}, customers())
	expect(t, "10,000 values", err, "", "")
	_, err = filter.Check(onto.Or{in, in, onto.Path("age").In(1)}, customers())
	expect(t, "10,001 values", err, "in_ has more than 10000 values", "ask in several queries")
}
