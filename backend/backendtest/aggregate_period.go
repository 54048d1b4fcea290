package backendtest

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

const tBill = "Bill"

// billSchema is a type with times.
func billSchema(indexed bool) onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: tBill, Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "paid", Type: onto.Time, Optional: true, Index: indexed}, {Name: "who", Type: onto.String, Optional: true},
	}}
}

// groupPeriods groups by the day, week, month and year of a time: now, at an earlier
// moment, over a history, and with an index.
func groupPeriods(s *story) {
	bill := func(key string) onto.Identity { return onto.EntityID(tBill, key) }
	types := []onto.Schema{billSchema(false)}
	s.register(types...)
	first := s.commit(
		set(bill("a"), `{"paid":"2026-02-08T23:59:59.999999+00:00","who":"x"}`), // Sunday
		set(bill("b"), `{"paid":"2026-02-09T00:00:00.000000+00:00","who":"x"}`),
		set(bill("c"), `{"paid":"2027-01-01T12:00:00.000000+00:00","who":"y"}`), // week 53 of 2026
		set(bill("d"), `{"who":"y"}`),
	)
	s.commit(
		set(bill("a"), `{"paid":"2024-12-30T00:00:00.000000+00:00","who":"x"}`), // week 1 of 2025
		set(bill("e"), `{"paid":"2026-02-09T23:59:59.999999+00:00","who":"z"}`),
	)
	paid, who := onto.Path("paid"), onto.Path("who")
	by := func(o onto.Operand) backend.Aggregation {
		return backend.Aggregation{
			Query: backend.Query{Kind: onto.KindEntity, Type: tBill, At: backend.Head}, By: []onto.Operand{o},
			Compute: []onto.Operand{onto.Count(), who.CountDistinct()},
		}
	}
	tell := func() {
		s.Helper()
		s.reckonOf(types, by(paid.Day()), `"2024-12-30": 1 1`, `"2026-02-09": 2 2`, `"2027-01-01": 1 1`, `null: 1 1`)
		s.reckonOf(types, by(paid.Week()), `"2024-12-30": 1 1`, `"2026-02-09": 2 2`, `"2026-12-28": 1 1`, `null: 1 1`)
		s.reckonOf(types, by(paid.Month()), `"2024-12-01": 1 1`, `"2026-02-01": 2 2`, `"2027-01-01": 1 1`, `null: 1 1`)
		s.reckonOf(types, by(paid.Year()), `"2024-01-01": 1 1`, `"2026-01-01": 2 2`, `"2027-01-01": 1 1`, `null: 1 1`)
		past := by(paid.Week())
		past.At = first.ID
		s.reckonOf(types, past, `"2026-02-02": 1 1`, `"2026-02-09": 1 1`, `"2026-12-28": 1 1`, `null: 1 1`)
		past.Mode, past.At, past.By = backend.History, backend.Head, []onto.Operand{paid.Month(), who}
		s.reckonOf(types, past, `"2024-12-01" "x": 1 1`, `"2026-02-01" "x": 2 1`, `"2026-02-01" "z": 1 1`, `"2027-01-01" "y": 1 1`, `null "y": 1 1`)
		few := by(paid.Year())
		few.Where, few.Compute = who.Ne("z"), []onto.Operand{paid.Day().CountDistinct(), paid.Max()}
		s.reckonOf(types, few, `"2024-01-01": 1 "2024-12-30T00:00:00.000000+00:00"`, `"2026-01-01": 1 "2026-02-09T00:00:00.000000+00:00"`,
			`"2027-01-01": 1 "2027-01-01T12:00:00.000000+00:00"`, `null: 0 null`)
	}
	tell()
	types[0] = billSchema(true)
	s.register(types...)
	tell()
}

// countDistinct counts values of every kind: equal numbers are one, and null is none.
func countDistinct(s *story) {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	s.reckon(personsBy(nil, n.CountDistinct(), v.CountDistinct()), "0 0")
	s.figures()
	s.reckon(personsBy(nil, n.CountDistinct(), t.CountDistinct(), v.CountDistinct(), onto.Path("v", "k").CountDistinct(), onto.Count()), "5 4 7 1 8")
	s.reckon(personsBy([]onto.Operand{t}, n.CountDistinct(), v.CountDistinct()), `"": 0 0`, `"Y": 1 1`, `"x": 2 2`, `"y": 1 2`, `null: 1 2`)
	s.commit(
		set(person("i"), `{"n":1,"v":1}`), set(person("j"), `{"n":1,"v":"1"}`), set(person("k"), `{"v":1.0}`), set(person("l"), `{"v":true}`),
		set(person("m"), `{"v":[]}`), set(person("o"), `{"v":"S"}`), set(person("p"), `{"v":9007199254740993}`), set(person("q"), `{"v":9007199254740992}`),
	)
	s.reckon(personsBy(nil, n.CountDistinct(), v.CountDistinct()), "5 12")
	past := personsBy(nil, v.CountDistinct())
	past.At = 1
	s.reckon(past, "7")
	past.Mode, past.At = backend.History, backend.Head
	s.reckon(past, "12")
}
