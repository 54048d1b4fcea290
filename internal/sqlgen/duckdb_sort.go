package sqlgen

import (
	"encoding/json"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Sorts implements [Dialect]. Rows are sorted by columns only: mixed integers and
// doubles have no common sort key that distinguishes all of them.
func (DuckDB) Sorts(v Value, place json.RawMessage) bool {
	return v.typed() && (isNull(place) || v.comparable(place))
}

// comparable reports whether a canonical value can be compared with a column of
// the value's type exactly.
func (v Value) comparable(canonical json.RawMessage) bool {
	kind := codec.KindOf(canonical)
	switch v.Type {
	case onto.Int:
		return kind == codec.Int
	case onto.Float:
		return kind == codec.Float || kind == codec.Int && len(canonical) <= exactDigits
	case onto.Bool:
		return kind == codec.Bool
	}
	return kind == codec.String
}

// exactDigits is up to how many digits an integer is exact as float64.
const exactDigits = 15

// Computes implements [Dialect].
func (DuckDB) Computes(v Value, f onto.Func) bool {
	return v.typed() || f != onto.FuncMin && f != onto.FuncMax
}

// Sort implements [Dialect].
func (DuckDB) Sort(v Value) []Key { return []Key{{Expression: v.Column, Nullable: true}} }

// Place implements [Dialect].
func (DuckDB) Place(v Value, canonical json.RawMessage) []any {
	if canonical == nil {
		return []any{nil}
	}
	switch codec.KindOf(canonical) {
	case codec.Bool:
		return []any{canonical[0] == 't'}
	case codec.Int:
		n, _ := strconv.ParseInt(string(canonical), 10, 64)
		if v.Type == onto.Float {
			return []any{float64(n)}
		}
		return []any{n}
	case codec.Float:
		f, _ := strconv.ParseFloat(string(canonical), 64)
		return []any{f}
	case codec.String:
		return []any{codec.Unquote(canonical)}
	}
	return []any{nil}
}

// Beyond implements [Dialect]: one column after the other, since row comparisons are
// not pushed down to files.
func (DuckDB) Beyond(columns []Part, values []any) Part {
	keys := make([]Key, len(columns))
	for i, c := range columns {
		keys[i] = Key{Expression: c}
	}
	return After(keys, values, SQL("FALSE"))
}

// Page implements [Dialect].
func (DuckDB) Page(statement Part, skip, take int) Part {
	if take > 0 {
		statement = SQL("? LIMIT ?", statement, int64(take))
	}
	return SQL("? OFFSET ?", statement, int64(skip))
}

// Group implements [Dialect].
func (d DuckDB) Group(v Value) Part {
	if v.Per != "" {
		return d.period(v)
	}
	if v.typed() {
		return v.Column
	}
	return SQL("nullif(CAST(json_extract(?, ?) AS VARCHAR), 'null')", v.Document, d.path(v, ""))
}

// GroupValue implements [Dialect]. The engine writes JSON in its own way.
func (DuckDB) GroupValue(v Value, column any) json.RawMessage {
	if column == nil {
		return nil
	}
	if written, ok := column.(string); ok && !v.typed() && v.Per == "" {
		canonical, err := codec.AppendCanonical(nil, []byte(written))
		if err != nil {
			return json.RawMessage(written)
		}
		return canonical
	}
	return encode(column)
}

// Inputs implements [Dialect]: the column, or the text and the kind; of lists
// the length.
func (d DuckDB) Inputs(v Value, f onto.Func) []Part {
	switch {
	case f == onto.FuncAvgLen && v.typed():
		return []Part{SQL("CAST(NULL AS BIGINT)")}
	case f == onto.FuncAvgLen:
		return []Part{SQL("CASE WHEN ? = 'ARRAY' THEN CAST(json_array_length(?, ?) AS BIGINT) END", d.kind(v), v.Document, d.path(v, ""))}
	case v.typed():
		return []Part{v.Column}
	}
	return []Part{d.text(v), d.kind(v)}
}

// Apart implements [Dialect].
func (DuckDB) Apart(inputs Part) Part { return SQL("(?)", inputs) }

// Sums implements [Dialect]. A sum of BIGINT is a HUGEINT.
func (d DuckDB) Sums(v Value, inputs []Part) []Part {
	n := inputs[0]
	switch {
	case len(inputs) > 1:
		integer, real := SQL("? IN ?", inputs[1], SQL(integers)), SQL("? = 'DOUBLE'", inputs[1])
		return sumsOf(SQL("CASE WHEN ? THEN TRY_CAST(? AS BIGINT) END", integer, n), SQL("CASE WHEN ? THEN TRY_CAST(? AS DOUBLE) END", real, n))
	case v.Type == onto.Int:
		return sumsOf(n, SQL("CAST(NULL AS DOUBLE)"))
	case v.Type == onto.Float: // integral doubles have no fraction in JSON either
		whole := SQL("(? = trunc(?) AND ? >= -9223372036854775808 AND ? < 9223372036854775808)", n, n, n, n)
		return sumsOf(SQL("CASE WHEN ? THEN TRY_CAST(? AS BIGINT) END", whole, n), SQL("CASE WHEN NOT ? THEN ? END", whole, n))
	}
	return sumsOf(SQL("CAST(NULL AS BIGINT)"), SQL("CAST(NULL AS DOUBLE)"))
}

// sumsOf is the columns of sums of integers and of others, NULL where there is
// none.
func sumsOf(integer, real Part) []Part {
	return []Part{
		SQL("CAST(sum(?) >> 32 AS BIGINT)", integer), SQL("CAST(sum(?) & 4294967295 AS BIGINT)", integer),
		SQL("count(?)", integer), SQL("sum(?)", real), SQL("count(?)", real),
	}
}

// Extremes implements [Dialect], for columns.
func (d DuckDB) Extremes(v Value, f onto.Func, inputs []Part) []Part {
	column := inputs[0]
	if v.holds(boolean) {
		column = SQL("CAST(? AS BIGINT)", column)
	}
	end := SQL("min(?)", column)
	if f == onto.FuncMax {
		end = SQL("max(?)", column)
	}
	parts := []Part{SQL("NULL"), SQL("NULL"), SQL("NULL")}
	for i, k := range []kind{boolean, number, text} {
		if v.holds(k) {
			parts[i] = end
		}
	}
	return parts
}

// Lengths implements [Dialect].
func (DuckDB) Lengths(_ Value, inputs []Part) []Part {
	return []Part{SQL("CAST(sum(?) AS BIGINT)", inputs[0]), SQL("count(?)", inputs[0])}
}
