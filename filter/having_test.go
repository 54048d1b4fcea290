package filter_test

import (
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

func TestCheckOperand(t *testing.T) {
	cases := []struct{ text, message, hint string }{
		{`$.seats`, ``, ``},
		{`left.$.profile.city`, ``, ``},
		{`left.$.events`, ``, ``},
		{`count`, ``, ``},
		{`sum:$.seats`, ``, ``},
		{`avg:left.$.score`, ``, ``},
		{`sum:left.$.extra`, ``, ``},
		{`avg:left.$.profile.n`, ``, ``},
		{`min:left.$.joined`, ``, ``},
		{`max:left.$.active`, ``, ``},
		{`avg_len:left.$.events`, ``, ``},
		{`avg_len:left.$.extra.list`, ``, ``},
		{`count_distinct:left.$.tier`, ``, ``},
		{`count_distinct:left.$.profile`, ``, ``},
		{`left.$.joined.day()`, ``, ``},
		{`left.$.joined.week()`, ``, ``},
		{`left.$.joined.month()`, ``, ``},
		{`left.$.joined.year()`, ``, ``},
		{`count_distinct:left.$.joined.day()`, ``, ``},
		{`left.$.tier.month()`, `column 1: left.$.tier.month(): the field is string, and only times and dates have a month`, `the times are left.$.joined.month()`},
		{`left.$.extra.month()`, `column 1: left.$.extra.month(): its field is not declared as time or date, and only these have a month`, `the times are left.$.joined.month()`},
		{`$.seats.day()`, `column 1: $.seats.day(): the field is int, and only times and dates have a day`, `no field of Subscription is declared as time`},
		{`max:left.$.joined.day()`, `column 1: max:left.$.joined.day(): max takes no period`, `only count_distinct takes one, or group by it`},

		{`$.seat`, `column 1: Subscription has no field seat`, `did you mean seats?`},
		{`sum:$.seat`, `column 1: Subscription has no field seat`, `did you mean seats?`},
		{`left.$.events.any()`, `column 1: left.$.events.any(): any belongs into conditions, a list has many elements`, `to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; avg_len:left.$.events is the average length of the list`},
		{`left.$.events.kind`, `column 1: left.$.events.kind: left.$.events is a list, and groups and orders take one value of each version, not those of its elements`, `to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; avg_len:left.$.events is the average length of the list`},
		{`sum:left.$.events.qty`, `column 1: sum:left.$.events.qty: left.$.events is a list, and sum takes one value of each version, not those of its elements`, `to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; avg_len:left.$.events is the average length of the list`},
		{`sum:left.$.events.any_path("qty")`, `column 1: sum:left.$.events.any_path("qty"): any belongs into conditions, a list has many elements`, `to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; avg_len:left.$.events is the average length of the list`},
		{`sum:left.$.tier`, `column 1: sum:left.$.tier: the field is string, and sum takes numbers`, `it can take left.$.age, left.$.extra, left.$.score`},
		{`avg:left.$.joined`, `column 1: avg:left.$.joined: the field is time, and avg takes numbers`, `it can take left.$.age, left.$.extra, left.$.score`},
		{`max:left.$.profile`, `column 1: max:left.$.profile: the field is object, and max takes numbers, strings, bools and times`, `it can take left.$.active, left.$.age, left.$.extra, left.$.id, left.$.joined, left.$.score,…`},
		{`avg_len:left.$.tier`, `column 1: avg_len:left.$.tier: the field is string, and avg_len takes lists`, `it can take left.$.events, left.$.extra`},
		{`sum:$.plan`, `column 1: sum:$.plan: the field is string, and sum takes numbers`, `it can take $.seats`},
		{`avg_len:$.plan`, `column 1: avg_len:$.plan: the field is string, and avg_len takes lists`, `no field of Subscription can be taken`},
	}
	for _, c := range cases {
		o, err := filter.ParseOperand(c.text)
		if err != nil {
			t.Errorf("ParseOperand(%s): %v", c.text, err)
			continue
		}
		got, err := filter.CheckOperand(o, subscriptions())
		expect(t, c.text, err, c.message, c.hint)
		if text := filter.FormatOperand(got); err == nil && text != c.text {
			t.Errorf("%s came back as %s", c.text, text)
		}
	}
	built := []struct {
		o             onto.Operand
		message, hint string
	}{
		{onto.Operand{}, `a path has no names`, `name a field: onto.Path("name")`},
		{onto.Path().Sum(), `a path has no names`, `name a field: onto.Path("name")`},
		{onto.Left("tier").Week(), `left.$.tier.week(): the field is string, and only times and dates have a week`, `the times are Left("joined").Week()`},
		{onto.Operand{Side: onto.LeftSide, Path: []string{"joined"}, Per: "fortnight"}, `left.$.joined: the period "fortnight" is unknown`, `use day, week, month or year`},
		{onto.Left("events", "qty").Sum(), `sum:left.$.events.qty: left.$.events is a list, and sum takes one value of each version, not those of its elements`, `to compute over elements, make each one an entity or a relation, or keep the result in a field of its own; Left("events").AvgLen() is the average length of the list`},
		{onto.Left("tier").Sum(), `sum:left.$.tier: the field is string, and sum takes numbers`, `it can take Left("age"), Left("extra"), Left("score")`},
		{onto.Operand{Func: onto.FuncCount, Path: []string{"seats"}}, `count takes no path`, `use onto.Count()`},
		{onto.Operand{Func: onto.FuncCount, Side: onto.LeftSide}, `count takes no path`, `use onto.Count()`},
		{onto.Operand{Func: "median", Path: []string{"seats"}}, `the aggregate "median" is unknown`, `use count, count_distinct, sum, avg, min, max or avg_len`},
	}
	for _, c := range built {
		_, err := filter.CheckOperand(c.o, subscriptions())
		expect(t, filter.FormatOperand(c.o), err, c.message, c.hint)
	}
}

func TestCheckHaving(t *testing.T) {
	by := []onto.Operand{onto.Path("plan"), onto.Left("joined")}
	compute := []onto.Operand{onto.Count(), onto.Path("seats").Sum(), onto.Left("joined").Max()}
	cases := []struct{ text, want, message, hint string }{
		{`count > 3 & sum:$.seats >= 1.5 | $.plan == "pro"`, ``, ``, ``},
		{`$."plan".startswith("p") & sum:$.seats.is_null()`, `$.plan.startswith("p") & sum:$.seats.is_null()`, ``, ``},
		{
			`left.$.joined > "2026-01-01" & max:left.$.joined < "2026-02-01"`,
			`left.$.joined > "2026-01-01T00:00:00.000000+00:00" & max:left.$.joined < "2026-02-01T00:00:00.000000+00:00"`, ``, ``,
		},
		{`count == 1 & $.seats == 1`, ``, `column 14: $.seats is neither grouped by nor computed`, `there are $.plan, left.$.joined, count, sum:$.seats, max:left.$.joined`},
		{`avg:$.seats == 1`, ``, `column 1: avg:$.seats is neither grouped by nor computed`, `compute it as well`},
		{`$.plan.any() == "x"`, ``, `column 1: $.plan.any() is neither grouped by nor computed`, `there are $.plan, left.$.joined, count, sum:$.seats, max:left.$.joined`},
		{`count == "3"`, ``, `column 10: "3" does not fit count, which is int`, `write 3 without quotes`},
		{`sum:$.seats.startswith("3")`, ``, `column 1: sum:$.seats is float, and startswith() is for strings`, ``},
		{`$.plan == 3`, ``, `column 11: 3 does not fit $.plan, which is string`, `put it in quotes: "3"`},
		{`max:left.$.joined == "soon"`, ``, `column 22: "soon" does not fit max:left.$.joined, which is time`, `write a time like 2026-02-10T12:34:56Z or a date like 2026-02-10`},
	}
	for _, c := range cases {
		f, err := filter.ParseHaving(c.text)
		if err != nil {
			t.Errorf("ParseHaving(%s): %v", c.text, err)
			continue
		}
		got, err := filter.CheckHaving(f, subscriptions(), by, compute)
		expect(t, c.text, err, c.message, c.hint)
		if c.want == "" {
			c.want = c.text
		}
		if text := filter.Format(got); err == nil && text != c.want {
			t.Errorf("%s: got %s, want %s", c.text, text, c.want)
		}
	}
	_, err := filter.CheckHaving(onto.Count().Gt(1), subscriptions(), nil, nil)
	expect(t, "no groups", err, "count is neither grouped by nor computed", "compute it as well")
	_, err = filter.CheckHaving(onto.Path("plan").Eq("x"), subscriptions(), nil, nil)
	expect(t, "no groups", err, "$.plan is neither grouped by nor computed", "the groups have no values")
}
