package sqlgen

import (
	"encoding/json"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Sorts implements [Dialect].
func (SQLite) Sorts(Value, json.RawMessage) bool { return true }

// Computes implements [Dialect].
func (SQLite) Computes(Value, onto.Func) bool { return true }

// Sort implements [Dialect]. A value of any kind is sorted by the rank of its
// kind first.
func (d SQLite) Sort(v Value) []Key {
	if v.scalar() {
		return []Key{{Expression: d.scalar(v), Nullable: !v.Required}}
	}
	rank := SQL(`CASE ? WHEN 'text' THEN 3 WHEN 'integer' THEN 2 WHEN 'real' THEN 2 WHEN 'true' THEN 1
		WHEN 'false' THEN 1 WHEN 'object' THEN 4 WHEN 'array' THEN 4 END`, d.kind(v))
	value := SQL("CASE WHEN ? NOT IN ('object', 'array') THEN ? END", d.kind(v), d.scalar(v))
	return []Key{{Expression: rank, Nullable: true}, {Expression: value, Nullable: true}}
}

// Place implements [Dialect].
func (d SQLite) Place(v Value, canonical json.RawMessage) []any {
	value, rank := any(nil), any(nil)
	if canonical != nil {
		switch codec.KindOf(canonical) {
		case codec.Bool:
			value, rank = int64(0), int64(1)
			if canonical[0] == 't' {
				value = int64(1)
			}
		case codec.Int:
			n, _ := strconv.ParseInt(string(canonical), 10, 64)
			value, rank = n, int64(2)
		case codec.Float:
			f, _ := strconv.ParseFloat(string(canonical), 64)
			value, rank = f, int64(2)
		case codec.String:
			value, rank = codec.Unquote(canonical), int64(3)
		default:
			rank = int64(4)
		}
	}
	if v.scalar() {
		return []any{value}
	}
	return []any{rank, value}
}

// Beyond implements [Dialect]. An index can start at a row that is compared as a
// whole.
func (SQLite) Beyond(columns []Part, values []any) Part {
	bound := make([]Part, len(values))
	for i, v := range values {
		bound[i] = SQL("?", v)
	}
	return SQL("(?) > (?)", Join(", ", columns...), Join(", ", bound...))
}

// mostWritten is the largest limit that is written into a statement.
const mostWritten = 1001

// Page implements [Dialect]. There is no OFFSET without a LIMIT.
//
// SQLite compiles a statement with a bound limit again each time it is run, since the plan
// depends on the limit. So limits are written out, unless they are so large that compiling does
// not matter; there would be too many statements.
func (SQLite) Page(statement Part, skip, take int) Part {
	limit := SQL("?", int64(take))
	switch {
	case take == 0:
		limit = SQL("-1")
	case take <= mostWritten:
		limit = Part{SQL: strconv.Itoa(take)}
	}
	if skip == 0 {
		return SQL("? LIMIT ?", statement, limit)
	}
	return SQL("? LIMIT ? OFFSET ?", statement, limit, int64(skip))
}

// Group implements [Dialect]. The JSON of a value distinguishes true from 1.
func (d SQLite) Group(v Value) Part {
	if v.Per != "" {
		return d.period(v)
	}
	if v.scalar() {
		return d.scalar(v)
	}
	return SQL("nullif(? -> ?, 'null')", v.Document, d.path(v))
}

// GroupValue implements [Dialect].
func (d SQLite) GroupValue(v Value, column any) json.RawMessage {
	if b, ok := column.([]byte); ok {
		column = string(b)
	}
	if column == nil {
		return nil
	}
	if v.Per != "" {
		return encode(column)
	}
	if v.holds(boolean) {
		column = toInt(column) != 0
	}
	if text, ok := column.(string); ok && !v.scalar() {
		return json.RawMessage(text)
	}
	return encode(column)
}

// Inputs implements [Dialect]: the value, and its kind where that is not known;
// of lists the length.
func (d SQLite) Inputs(v Value, f onto.Func) []Part {
	switch {
	case f == onto.FuncAvgLen:
		return []Part{SQL("CASE WHEN ? THEN json_array_length(?, ?) END", d.isKind(v, list), v.Document, d.path(v))}
	case v.holds(number), v.scalar() && (f == onto.FuncMin || f == onto.FuncMax):
		return []Part{d.scalar(v)}
	}
	return []Part{d.scalar(v), d.kind(v)}
}

// Apart implements [Dialect]. The limit of -1 keeps SQLite from merging the SELECT into
// the outer one: so JSON is read once for each row, and the rows that are sorted to
// form groups are short.
func (SQLite) Apart(inputs Part) Part { return SQL("(? LIMIT -1)", inputs) }

// Sums implements [Dialect].
func (d SQLite) Sums(v Value, inputs []Part) []Part {
	n := inputs[0]
	if v.Type == onto.Int {
		return []Part{SQL("sum(? >> 32)", n), SQL("sum(? & 4294967295)", n), SQL("count(?)", n), SQL("0"), SQL("0")}
	}
	kind := SQL("typeof(?)", n)
	if len(inputs) > 1 {
		kind = inputs[1]
	}
	integer, real := SQL("FILTER (WHERE ? = 'integer')", kind), SQL("FILTER (WHERE ? = 'real')", kind)
	return []Part{
		SQL("sum(? >> 32) ?", n, integer), SQL("sum(? & 4294967295) ?", n, integer), SQL("count(*) ?", integer),
		SQL("total(?) ?", n, real), SQL("count(*) ?", real),
	}
}

// Extremes implements [Dialect].
func (d SQLite) Extremes(v Value, f onto.Func, inputs []Part) []Part {
	end := SQL("min(?)", inputs[0])
	if f == onto.FuncMax {
		end = SQL("max(?)", inputs[0])
	}
	parts := []Part{SQL("NULL"), SQL("NULL"), SQL("NULL")}
	for i, k := range []kind{boolean, number, text} {
		switch {
		case v.holds(k):
			parts[i] = end
		case len(inputs) > 1:
			parts[i] = SQL("? FILTER (WHERE ?)", end, ofKind(inputs[1], k))
		}
	}
	return parts
}

// Lengths implements [Dialect].
func (d SQLite) Lengths(_ Value, inputs []Part) []Part {
	return []Part{SQL("sum(?)", inputs[0]), SQL("count(?)", inputs[0])}
}
