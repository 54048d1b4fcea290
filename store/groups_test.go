package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func showGroup(g onto.Group) string {
	var cells []string
	for _, v := range append(g.By, g.Values...) {
		if v == nil {
			v = []byte("-")
		}
		cells = append(cells, string(v))
	}
	return strings.Join(cells, ":")
}

func TestGroups(t *testing.T) {
	s := shop(t)
	seats := onto.Path("seats")
	tier := onto.Left("tier")
	subs := func(v store.View) store.Query[onto.Version] { return v.Find("Subscription") }
	for _, c := range []struct {
		name string
		g    store.Groups
		want string
	}{
		{"count", subs(s.Now()).GroupBy(tier).Compute(onto.Count()), `"Gold":3`},
		{"in the past", subs(s.At(1)).GroupBy(tier).Compute(onto.Count(), seats.Sum()), `"Gold":2:13 "Silver":1:2`},
		{"all functions", subs(s.Now()).GroupBy().Compute(onto.Count(), seats.Sum(), seats.Avg(), seats.Min(), seats.Max()), `3:16:5.333333333333333:2:9`},
		{"missing values", subs(s.Now()).GroupBy(onto.Right("title")).Compute(onto.Count()), `"Lamp":2 -:1`},
		{"having", subs(s.Now()).GroupBy(onto.Right("title")).Compute(onto.Count()).Having(onto.Count().Gt(1)), `"Lamp":2`},
		{"having what is grouped by", subs(s.At(1)).GroupBy(tier).Compute(onto.Count()).Having(tier.Eq("Silver")), `"Silver":1`},
		{"order", subs(s.At(1)).GroupBy(tier).Compute(seats.Sum()).OrderBy(seats.Sum().Asc()), `"Silver":2 "Gold":13`},
		{"page", subs(s.At(1)).GroupBy(tier).Compute(seats.Sum()).Offset(1).Limit(1), `"Silver":2`},
		{"versions", subs(s.Now()).GroupBy().Compute(onto.Count()).OfVersions(0), `4`},
		{"later versions", subs(s.Now()).GroupBy().Compute(onto.Count(), seats.Max()).OfVersions(1), `1:5`},
		{"nothing", subs(s.At(0)).GroupBy().Compute(onto.Count(), seats.Sum()), `0:-`},
		{"no groups", subs(s.At(0)).GroupBy(tier).Compute(onto.Count()), ``},
		{"filtered", subs(s.Now()).Where(seats.Gt(3)).GroupBy().Compute(onto.Count()), `2`},
	} {
		if got := list(t, c.g.All(t.Context()), showGroup); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	g, err := store.Find[Subscription](s.Now()).Compute(t.Context(), seats.Sum(), onto.Count())
	if err != nil || fmt.Sprintf("%s", g.Values) != "[16 3]" {
		t.Errorf("got %s, error %v; want 16 and 3", g.Values, err)
	}
}

type Bill struct {
	ID   string     `json:"id" onto:"key"`
	Paid *time.Time `json:"paid,omitempty"`
	Who  string     `json:"who"`
}

// Groups of the months in which something was paid, now and before; a zone other than
// UTC does not matter.
func TestGroupsOfPeriods(t *testing.T) {
	s := newStore(t, onto.TypeOf[Bill]())
	zone := time.FixedZone("", 2*60*60)
	at := func(month time.Month, day, hour int) *time.Time {
		paid := time.Date(2026, month, day, hour, 0, 0, 0, zone)
		return &paid
	}
	mustCommit(t, s, onto.Draft{}.Ensure(Bill{"a", at(2, 1, 1), "x"}).Ensure(Bill{"b", at(2, 1, 2), "x"}).Ensure(Bill{"c", nil, "y"}))
	mustCommit(t, s, onto.Draft{}.Ensure(Bill{"c", at(2, 28, 0), "y"}).Ensure(Bill{"d", at(2, 3, 0), "x"}))
	paid, who := onto.Path("paid"), onto.Path("who")
	for _, c := range []struct {
		name string
		g    store.Groups
		want string
	}{
		{"now", store.Find[Bill](s.Now()).GroupBy(paid.Month()).Compute(onto.Count(), who.CountDistinct()), `"2026-01-01":1:1 "2026-02-01":3:2`},
		{"before", store.Find[Bill](s.At(1)).GroupBy(paid.Month()).Compute(onto.Count()), `"2026-01-01":1 "2026-02-01":1 -:1`},
		{"having", store.Find[Bill](s.Now()).GroupBy(paid.Week()).Compute(onto.Count()).Having(paid.Week().Ge("2026-02-01")), `"2026-02-02":1 "2026-02-23":1`},
		{"the last first", store.Find[Bill](s.Now()).GroupBy(paid.Day()).Compute(onto.Count()).OrderBy(paid.Day().Desc()).Limit(1), `"2026-02-27":1`},
		{"days", store.Find[Bill](s.Now()).GroupBy().Compute(paid.Day().CountDistinct(), paid.Year().CountDistinct()), `4:1`},
	} {
		if got := list(t, c.g.All(t.Context()), showGroup); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	_, err := store.Find[Bill](s.Now()).OrderBy(paid.Month().Asc()).Page(t.Context())
	wantError(t, err, onto.Invalid, "month() makes groups", "group by it")
	_, err = store.Find[Bill](s.Now()).GroupBy(who.Month()).Explain(t.Context())
	wantError(t, err, onto.Invalid, "the field is string", `Path("paid").Month()`)
}

func TestGroupMistakes(t *testing.T) {
	s := shop(t)
	q := s.Now().Find("Subscription")
	seats := onto.Path("seats")
	for _, c := range []struct {
		g    store.Groups
		want []string
	}{
		{q.GroupBy(onto.Path("saets")).Compute(onto.Count()), []string{"saets", "seats"}},
		{q.GroupBy(), []string{"nothing to compute"}},
		{q.GroupBy().Compute(seats), []string{"$.seats is not an aggregate"}},
		{q.GroupBy(seats.Sum()), []string{"sum:$.seats is an aggregate"}},
		{q.GroupBy(seats).Compute(onto.Count()).Having(seats.Sum().Gt(1)), []string{"sum:$.seats"}},
		{q.GroupBy(seats).Compute(onto.Count()).OrderBy(seats.Sum().Desc()), []string{"sum:$.seats", "compute it"}},
		{q.GroupBy(seats).Compute(onto.Count()).Limit(-1), []string{"negative"}},
		{q.After("x").GroupBy(seats).Compute(onto.Count()), []string{"cursor"}},
		{q.GroupBy().Compute(onto.Path("seats").Some().Sum()), []string{"seats"}},
		{q.GroupBy().Compute(onto.Path("seats").AvgLen()), []string{"avg_len takes lists"}},
	} {
		for _, err := range c.g.All(t.Context()) {
			wantError(t, err, onto.Invalid, c.want...)
		}
	}
}

func TestSumOverflow(t *testing.T) {
	type Big struct {
		ID string `json:"id" onto:"key"`
		N  int64  `json:"n"`
	}
	s := newStore(t, onto.TypeOf[Big]())
	mustCommit(t, s, onto.Draft{}.Ensure(Big{"a", 1<<63 - 1}, Big{"b", 1}, Big{"c", -1}))
	sum := func(keys ...any) (onto.Group, error) {
		return store.Find[Big](s.Now()).Where(onto.Path("id").In(keys...)).Compute(t.Context(), onto.Path("n").Sum())
	}
	if _, err := sum("a", "b"); err == nil {
		t.Error("got no error beyond int64")
	}
	if g, err := sum("a", "b", "c"); err != nil || string(g.Values[0]) != "9223372036854775807" {
		t.Errorf("got %s, error %v; want the exact sum", g.Values, err)
	}
}
