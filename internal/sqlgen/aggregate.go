package sqlgen

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Aggregates is a statement that groups and computes:
//
//	SELECT Columns FROM (SELECT Inputs FROM … WHERE …) GROUP BY GroupBy
//
// Without Inputs there are only counts, and one SELECT is enough. Columns are
// first what is grouped by, then those of each aggregate. More of both may be
// added.
type Aggregates struct {
	Inputs, Columns, GroupBy []Part

	dialect Dialect
	by      []Value
	compute []onto.Operand
	names   map[string][]Part // of inputs, by their SQL and arguments
}

// Aggregates prepares a statement that groups and computes.
func (s *Scope) Aggregates(by, compute []onto.Operand) *Aggregates {
	a := &Aggregates{dialect: s.Dialect, compute: compute, names: map[string][]Part{}}
	for _, o := range by {
		v := s.value(o)
		a.by = append(a.by, v)
		a.GroupBy = append(a.GroupBy, a.input(s.Dialect.Group(v))...)
	}
	a.Columns = append(a.Columns, a.GroupBy...)
	for _, o := range compute {
		a.Columns = append(a.Columns, a.columns(s.value(o), o.Func)...)
	}
	return a
}

func (a *Aggregates) columns(v Value, f onto.Func) []Part {
	switch f {
	case onto.FuncCount:
		return []Part{SQL("count(*)")}
	case onto.FuncCountDistinct:
		return []Part{SQL("count(DISTINCT ?)", a.input(a.dialect.Group(v))[0])}
	}
	inputs := a.input(a.dialect.Inputs(v, f)...)
	switch f {
	case onto.FuncMin, onto.FuncMax:
		return a.dialect.Extremes(v, f, inputs)
	case onto.FuncAvgLen:
		return a.dialect.Lengths(v, inputs)
	}
	return a.dialect.Sums(v, inputs)
}

// input adds expressions to the inputs, unless they are among them, and returns
// their names.
func (a *Aggregates) input(expressions ...Part) []Part {
	same := fmt.Sprint(expressions)
	if names, ok := a.names[same]; ok {
		return names
	}
	var names []Part
	for _, e := range expressions {
		name := Part{SQL: "v" + strconv.Itoa(len(a.Inputs)+1)}
		a.Inputs = append(a.Inputs, SQL("? AS ?", e, name))
		names = append(names, name)
	}
	a.names[same] = names
	return names
}

// Statement groups and computes the rows of tables that fulfil conditions.
func (a *Aggregates) Statement(from Part, where []Part) Part {
	from = SQL("? WHERE ?", from, All(where...))
	if len(a.Inputs) > 0 {
		from = a.dialect.Apart(SQL("SELECT ? FROM ?", Join(", ", a.Inputs...), from))
	}
	sql := SQL("SELECT ? FROM ?", Join(", ", a.Columns...), from)
	if len(a.GroupBy) > 0 {
		sql = SQL("? GROUP BY ?", sql, Join(", ", a.GroupBy...))
	}
	return sql
}

// Read makes a group out of a row's columns. Overflow gives the error for an
// aggregate that is outside the range of numbers; then the group has only By.
func (a *Aggregates) Read(row []any, overflow func(onto.Operand) error) (onto.Group, error) {
	g := onto.Group{By: make([]json.RawMessage, len(a.by)), Values: make([]json.RawMessage, len(a.compute))}
	for i, v := range a.by {
		g.By[i] = a.dialect.GroupValue(v, row[i])
	}
	row = row[len(a.by):]
	for i, o := range a.compute {
		var fits bool
		if g.Values[i], fits = read(o.Func, row); !fits {
			return onto.Group{By: g.By}, overflow(o)
		}
		row = row[width(o.Func):]
	}
	return g, nil
}

// width is how many columns an aggregate has.
func width(f onto.Func) int {
	switch f {
	case onto.FuncSum, onto.FuncAvg:
		return 5
	case onto.FuncMin, onto.FuncMax:
		return 3
	case onto.FuncAvgLen:
		return 2
	}
	return 1
}

// read makes the value of an aggregate out of its columns, if it is within the
// range of numbers.
func read(f onto.Func, row []any) (v json.RawMessage, fits bool) {
	switch f {
	case onto.FuncSum:
		return readSums(row).sum()
	case onto.FuncAvg:
		return readSums(row).average()
	case onto.FuncMin, onto.FuncMax:
		return extreme(row, f), true
	case onto.FuncAvgLen:
		return quotient(toFloat(row[0]), toInt(row[1]))
	}
	return encode(toInt(row[0])), true
}

// sums is the sum of numbers: of the integers, which are exact, and of the
// others.
type sums struct {
	integers     *big.Int
	floats       float64
	ints, others int64 // how many of each
}

// readSums reads the columns of Dialect.Sums.
func readSums(row []any) *sums {
	high := new(big.Int).Lsh(big.NewInt(toInt(row[0])), 32)
	return &sums{high.Add(high, big.NewInt(toInt(row[1]))), toFloat(row[3]), toInt(row[2]), toInt(row[4])}
}

func (s *sums) total() float64 {
	f, _ := new(big.Float).SetInt(s.integers).Float64()
	return f + s.floats
}

func (s *sums) sum() (json.RawMessage, bool) {
	switch {
	case s.others > 0:
		return finite(s.total())
	case s.ints == 0:
		return nil, true
	}
	return s.integers.Append(nil, 10), s.integers.IsInt64()
}

func (s *sums) average() (json.RawMessage, bool) { return quotient(s.total(), s.ints+s.others) }

// quotient is null if there is nothing to divide by.
func quotient(total float64, n int64) (json.RawMessage, bool) {
	if n == 0 {
		return nil, true
	}
	return finite(total / float64(n))
}

func finite(f float64) (json.RawMessage, bool) {
	text, err := codec.AppendFloat(nil, f)
	return text, err == nil
}

// extreme is the least of the first columns of Dialect.Extremes that has any. The
// greatest is searched from the other end.
func extreme(row []any, f onto.Func) json.RawMessage {
	for i := range 3 {
		if f == onto.FuncMax {
			i = 2 - i
		}
		switch {
		case row[i] == nil:
		case i == 0:
			return encode(toInt(row[0]) != 0)
		default:
			return encode(row[i])
		}
	}
	return nil
}

// encode is the canonical JSON of a scalar.
func encode(v any) json.RawMessage {
	var text []byte
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(nil, v)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case float64:
		text, _ = codec.AppendFloat(nil, v)
	case string:
		text, _ = codec.AppendString(nil, v)
	}
	return text
}

func toInt(v any) int64 {
	n, _ := v.(int64)
	return n
}

func toFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}
