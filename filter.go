package onto

import "reflect"

// Filter is a condition on a version. It is a closed set: [Condition], [And],
// [Or] and [Not]. A filter is either true or false, never unknown.
//
//	onto.And{
//		onto.Path("tier").Eq("Gold"),
//		onto.Or{onto.Path("age").Ge(21), onto.Not{Of: onto.Path("email").IsNull()}},
//	}
//
// Package filter reads and writes filters as text, checks them against a
// schema and says what they mean.
type Filter interface {
	isFilter()
}

// And is true if all its filters are; an empty one is true.
type And []Filter

// Or is true if one of its filters is; an empty one is false.
type Or []Filter

// Not is true if its filter is false.
type Not struct{ Of Filter }

// Condition tests the value of an operand. A path that leads nowhere, a JSON null and a
// value of another kind fail every test but IsNull and NotEqual; NotEqual holds for a
// value of another kind, and not for null.
type Condition struct {
	Operand Operand
	Test    Test
	Values  []any // what to compare with: one, for In any number, for IsNull and the like none
	Column  int   // where the value stands in the text it was read from; 0 if in none
}

func (And) isFilter()       {}
func (Or) isFilter()        {}
func (Not) isFilter()       {}
func (Condition) isFilter() {}

// Test is the closed set of what a condition can ask, written as in a filter's
// text.
type Test string

// The tests.
const (
	Equal      Test = "=="
	NotEqual   Test = "!="
	Less       Test = "<"
	AtMost     Test = "<="
	Greater    Test = ">"
	AtLeast    Test = ">="
	In         Test = "in_"         // equal to one of the values
	StartsWith Test = "startswith"  // these three are literal and case-sensitive
	EndsWith   Test = "endswith"    //
	Contains   Test = "contains"    //
	IsNull     Test = "is_null"     // missing or JSON null
	IsNotNull  Test = "is_not_null" // neither
	IsTrue     Test = "is_true"     // the bool
	IsFalse    Test = "is_false"    // the bool
)

// Side says whose fields an operand reads.
type Side string

// The sides.
const (
	OwnSide   Side = ""      // the version's own
	LeftSide  Side = "left"  // the left endpoint's, at the same moment as the relation
	RightSide Side = "right" // the right endpoint's
)

// Func is the closed set of aggregates.
type Func string

// The aggregates. All but the counts are null over nothing.
const (
	FuncCount         Func = "count"
	FuncCountDistinct Func = "count_distinct" // of different values, null aside
	FuncSum           Func = "sum"            // of the numbers; of integers it is exact
	FuncAvg           Func = "avg"            // of the numbers
	FuncMin           Func = "min"            // of numbers, strings and bools, in the order of Order
	FuncMax           Func = "max"            //
	FuncAvgLen        Func = "avg_len"        // of the lengths of lists
)

// Period is the closed set of what times are grouped by.
type Period string

// The periods, in UTC. A week begins on Monday.
const (
	PerDay   Period = "day"
	PerWeek  Period = "week"
	PerMonth Period = "month"
	PerYear  Period = "year"
)

// Periods lists the periods, the shortest first.
func Periods() []Period { return []Period{PerDay, PerWeek, PerMonth, PerYear} }

// Operand is what a condition tests, an order sorts by or an aggregate
// computes: a value inside the fields, some element of a list there, or, for
// groups, an aggregate.
type Operand struct {
	Func   Func     // of a group; "" for the value itself
	Side   Side     // whose fields
	Path   []string // the names that lead to the value, from the outside in
	Per    Period   // for groups: the first day of the period that the time there is in; "" for the value itself
	Any    bool     // some element of the list there
	Under  []string // with Any: the names that lead on from the element
	Column int      // where it stands in the text it was read from; 0 if in none
}

// Path is the value that a name leads to, or several names, from the outside
// in: Path("address", "city").
func Path(names ...string) Operand { return Operand{Path: names} }

// Left is Path in the fields of a relation's left endpoint.
func Left(names ...string) Operand { return Operand{Side: LeftSide, Path: names} }

// Right is Path in the fields of a relation's right endpoint.
func Right(names ...string) Operand { return Operand{Side: RightSide, Path: names} }

// Count is the number of versions in a group.
func Count() Operand { return Operand{Func: FuncCount} }

// Some is some element of the list, or, with names, what they lead to in it: in text,
// any() and any_path(). A condition holds if it holds for one of the elements, and
// never for a value that is not a list.
func (o Operand) Some(names ...string) Operand {
	o.Any, o.Under = true, names
	return o
}

// Day is the day of the time that the path leads to, to group by. It is a date in UTC,
// such as 2026-02-10. What is no time belongs to no day.
func (o Operand) Day() Operand { return o.per(PerDay) }

// Week is the week of the time, as the date of its Monday.
func (o Operand) Week() Operand { return o.per(PerWeek) }

// Month is the month of the time, as the date of its first day.
func (o Operand) Month() Operand { return o.per(PerMonth) }

// Year is the year of the time, as the date of its first day.
func (o Operand) Year() Operand { return o.per(PerYear) }

func (o Operand) per(p Period) Operand {
	o.Per = p
	return o
}

// CountDistinct is how many different values a group has.
func (o Operand) CountDistinct() Operand { return o.of(FuncCountDistinct) }

// Sum is the sum of the numbers in a group.
func (o Operand) Sum() Operand { return o.of(FuncSum) }

// Avg is the average of the numbers in a group.
func (o Operand) Avg() Operand { return o.of(FuncAvg) }

// Min is the least value in a group.
func (o Operand) Min() Operand { return o.of(FuncMin) }

// Max is the greatest value in a group.
func (o Operand) Max() Operand { return o.of(FuncMax) }

// AvgLen is the average length of the lists in a group.
func (o Operand) AvgLen() Operand { return o.of(FuncAvgLen) }

func (o Operand) of(f Func) Operand {
	o.Func = f
	return o
}

// Eq tests for equality with a string, a number, a bool or a time.
func (o Operand) Eq(v any) Filter { return o.test(Equal, v) }

// Ne tests that there is a value and that it does not equal v.
func (o Operand) Ne(v any) Filter { return o.test(NotEqual, v) }

// Lt tests for a value of the same kind that is less than v.
func (o Operand) Lt(v any) Filter { return o.test(Less, v) }

// Le tests for a value of the same kind that is at most v.
func (o Operand) Le(v any) Filter { return o.test(AtMost, v) }

// Gt tests for a value of the same kind that is greater than v.
func (o Operand) Gt(v any) Filter { return o.test(Greater, v) }

// Ge tests for a value of the same kind that is at least v.
func (o Operand) Ge(v any) Filter { return o.test(AtLeast, v) }

// In tests for equality with one of the values, or of the elements of a slice.
func (o Operand) In(values ...any) Filter {
	if len(values) == 1 {
		if v := reflect.ValueOf(values[0]); v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
			values = make([]any, v.Len())
			for i := range values {
				values[i] = v.Index(i).Interface()
			}
		}
	}
	return o.test(In, values...)
}

// StartsWith tests for a string that begins with s.
func (o Operand) StartsWith(s string) Filter { return o.test(StartsWith, s) }

// EndsWith tests for a string that ends with s.
func (o Operand) EndsWith(s string) Filter { return o.test(EndsWith, s) }

// Contains tests for a string that s is part of.
func (o Operand) Contains(s string) Filter { return o.test(Contains, s) }

// IsNull tests that there is no value.
func (o Operand) IsNull() Filter { return o.test(IsNull) }

// IsNotNull tests that there is a value.
func (o Operand) IsNotNull() Filter { return o.test(IsNotNull) }

// IsTrue tests for the bool true.
func (o Operand) IsTrue() Filter { return o.test(IsTrue) }

// IsFalse tests for the bool false.
func (o Operand) IsFalse() Filter { return o.test(IsFalse) }

func (o Operand) test(t Test, values ...any) Filter {
	return Condition{Operand: o, Test: t, Values: values}
}

// Order sorts by a value: bools, then numbers, then strings, then lists and objects,
// which are equal. Missing and null values come last in both directions. Ties are
// sorted by identity.
type Order struct {
	Operand Operand
	Desc    bool
}

// Asc sorts by the value, least first.
func (o Operand) Asc() Order { return Order{Operand: o} }

// Desc sorts by the value, greatest first.
func (o Operand) Desc() Order { return Order{Operand: o, Desc: true} }
