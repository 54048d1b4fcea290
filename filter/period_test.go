package filter_test

import (
	"encoding/json"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// TestPeriods are times, and the first days of what they are in.
func TestPeriods(t *testing.T) {
	at := onto.Path("at")
	for _, test := range []struct{ at, day, week, month, year string }{
		{`"2026-02-10T12:34:56.789012+00:00"`, "2026-02-10", "2026-02-09", "2026-02-01", "2026-01-01"}, // a Tuesday
		{`"2026-02-09T00:00:00.000000+00:00"`, "2026-02-09", "2026-02-09", "2026-02-01", "2026-01-01"}, // Monday
		{`"2026-02-08T23:59:59.999999+00:00"`, "2026-02-08", "2026-02-02", "2026-02-01", "2026-01-01"}, // Sunday
		{`"2027-01-01T00:00:00.000000+00:00"`, "2027-01-01", "2026-12-28", "2027-01-01", "2027-01-01"}, // week 53 of the year before
		{`"2024-12-30T08:00:00.000000+00:00"`, "2024-12-30", "2024-12-30", "2024-12-01", "2024-01-01"}, // week 1 of the next
		{`"2024-02-29T12:00:00.000000+00:00"`, "2024-02-29", "2024-02-26", "2024-02-01", "2024-01-01"},
		{`"0001-01-01T00:00:00.000000+00:00"`, "0001-01-01", "0001-01-01", "0001-01-01", "0001-01-01"},
		{`"9999-12-31T23:59:59.999999+00:00"`, "9999-12-31", "9999-12-27", "9999-12-01", "9999-01-01"},
		{`"2026-02-30T12:00:00.000000+00:00"`, "", "", "", ""},
		{`"2026-02-10T24:00:00.000000+00:00"`, "", "", "", ""},
		{`"2026-02-10T12:34:56Z"`, "", "", "", ""},                               // no stored form
		{`"2026-02-10"`, "2026-02-10", "2026-02-09", "2026-02-01", "2026-01-01"}, // a date
		{`"2026-02-30"`, "", "", "", ""},
		{`"0000-01-01"`, "", "", "", ""},
		{`20260210`, "", "", "", ""},
		{`null`, "", "", "", ""},
	} {
		row := filter.Row{Own: json.RawMessage(`{"at":` + test.at + `}`)}
		for o, want := range map[*onto.Operand]string{ptr(at.Day()): test.day, ptr(at.Week()): test.week, ptr(at.Month()): test.month, ptr(at.Year()): test.year} {
			if want != "" {
				want = `"` + want + `"`
			}
			if got := string(row.Value(*o)); got != want {
				t.Errorf("%s of %s: got %s, want %s", filter.FormatOperand(*o), test.at, got, want)
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// TestPeriodsAreForGroups are places where a period cannot stand.
func TestPeriodsAreForGroups(t *testing.T) {
	use := `to group by it, use --group-by; to find times, compare $.at >= "2026-02-01"`
	for _, c := range []struct{ text, message, hint string }{
		{`$.at.month() == "2026-02-01"`, `column 6: month() makes groups, and is for nothing else`, use},
		{`$.at.day().is_null()`, `column 6: day() makes groups, and is for nothing else`, use},
		{`$.month() == 1`, `column 3: expected a field before month()`, ``},
	} {
		_, err := filter.Parse(c.text)
		expect(t, c.text, err, c.message, c.hint)
	}
	for _, c := range []struct{ text, message, hint string }{
		{`$.at.month().x`, `column 14: no path can follow month()`, ``},
		{`$.at.month().day()`, `column 14: day() follows a field, and nothing else`, ``},
		{`$.at.any().day()`, `column 12: day() follows a field, and nothing else`, ``},
		{`$.at.month(1)`, `column 12: expected ), found 1`, ``},
	} {
		_, err := filter.ParseOperand(c.text)
		expect(t, c.text, err, c.message, c.hint)
	}
	schema := &filter.Scope{Schema: &onto.Schema{Kind: onto.KindEntity, Name: "Bill", Key: "id", Fields: []onto.Field{{Name: "at", Type: onto.Time}}}}
	_, err := filter.Check(onto.Path("at").Month().Eq("2026-02-01"), schema)
	expect(t, "a condition", err, `month() makes groups, and is for nothing else`, `group by it; to find times, compare Path("at")`)
	_, err = filter.CheckOrder(onto.Path("at").Month(), schema)
	expect(t, "an order", err, `month() makes groups, and is for nothing else`, `group by it; to find times, compare Path("at")`)
	_, err = filter.CheckOrder(onto.Path("at").CountDistinct(), schema)
	expect(t, "an aggregate", err, `count_distinct:$.at is an aggregate; only groups are sorted by it`, `use GroupBy`)
	by := []onto.Operand{onto.Path("at").Month()}
	having, err := filter.CheckHaving(onto.Path("at").Month().Ge("2026-02-01"), schema, by, nil)
	if err != nil || !filter.MatchGroup(having, by, nil, &onto.Group{By: []json.RawMessage{[]byte(`"2026-03-01"`)}}) {
		t.Errorf("a filter on groups: %v, error %v", having, err)
	}
}
