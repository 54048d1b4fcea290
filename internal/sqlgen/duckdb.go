package sqlgen

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
)

// DuckDB is the dialect of DuckDB, for documents that are canonical JSON text,
// and for columns that hold the same as their fields.
//
// Text that is taken out of JSON may be that of a value of any kind, so comparisons
// check the kind too where a value of another kind could match. A BIGINT that is
// compared with a DOUBLE is rounded first, so numbers are only compared with those of
// their own type.
type DuckDB struct{}

var _ Dialect = DuckDB{}

// Knows implements [Dialect]. There is no path for empty names and for those that
// the engine takes for a pattern.
func (DuckDB) Knows(o onto.Operand) bool {
	for _, names := range [][]string{o.Path, o.Under} {
		for _, name := range names {
			if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "*\x00") {
				return false
			}
		}
	}
	return true
}

// text is the value as text: that of a string without its quotes, the JSON of
// all others, NULL for null.
func (d DuckDB) text(v Value) Part {
	return SQL("json_extract_string(?, ?)", v.Document, d.path(v, ""))
}

// kind is the name of the value's JSON type.
func (d DuckDB) kind(v Value) Part { return SQL("json_type(?, ?)", v.Document, d.path(v, "")) }

// path is a JSON path and what follows it. It is bound, or written if the schema
// has the name.
func (DuckDB) path(v Value, rest string) any {
	if v.Literal != "" {
		return Part{SQL: "'$." + v.Literal + rest + "'"}
	}
	var path strings.Builder
	path.WriteByte('$')
	for _, name := range v.Path {
		path.WriteString(`."`)
		path.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name))
		path.WriteByte('"')
	}
	return path.String() + rest
}

// integers is the names of the JSON types of integers.
const integers constant = "('BIGINT', 'UBIGINT')"

// Compare implements [Dialect].
func (d DuckDB) Compare(v Value, t onto.Test, with any) Part {
	if v.typed() {
		return d.compareColumn(v, t, with)
	}
	switch with := with.(type) {
	case bool:
		return SQL("(? = ? AND ? = 'BOOLEAN')", d.text(v), strconv.FormatBool(with), d.kind(v))
	case string:
		condition := SQL("? ? ?", d.text(v), operator(t), with)
		if t == onto.Equal && !looksLikeJSON(with) {
			return condition
		}
		return All(SQL("? = 'VARCHAR'", d.kind(v)), condition)
	}
	return d.compareNumber(v, t, with)
}

// looksLikeJSON reports whether a text can be that of a value that is no
// string.
func looksLikeJSON(text string) bool {
	return text == "true" || text == "false" || text != "" && strings.IndexByte("-0123456789[{", text[0]) >= 0
}

// compareNumber compares with integers as integers and with other numbers as doubles.
func (d DuckDB) compareNumber(v Value, t onto.Test, with any) Part {
	n, ok := exactInt(with)
	if t == onto.Equal && ok {
		return SQL("(? = ? AND ? IN ?)", d.text(v), strconv.FormatInt(n, 10), d.kind(v), SQL(integers))
	}
	number := SQL("TRY_CAST(? AS DOUBLE)", d.text(v))
	real := SQL("(? AND ? = 'DOUBLE')", compareDouble(number, t, with), d.kind(v))
	if t == onto.Equal {
		return real
	}
	integer := SQL("TRY_CAST(? AS BIGINT)", d.text(v))
	return SQL("CASE WHEN ? IN ? THEN ? ELSE ? END", d.kind(v), SQL(integers), compareInt(integer, t, with), real)
}

// compareColumn compares what a typed column holds.
func (d DuckDB) compareColumn(v Value, t onto.Test, with any) Part {
	switch {
	case !v.holds(kindOf(with)):
		return SQL("FALSE")
	case v.Type == onto.Int:
		return compareInt(v.Column, t, with)
	case v.Type == onto.Float:
		return compareDouble(v.Column, t, with)
	}
	return SQL("? ? ?", v.Column, operator(t), with)
}

// compareInt compares a BIGINT with any number, exactly.
func compareInt(column Part, t onto.Test, with any) Part {
	if n, ok := exactInt(with); ok {
		return SQL("? ? ?", column, operator(t), n)
	}
	f, _ := with.(float64)
	up := t == onto.Greater || t == onto.AtLeast
	switch {
	case t == onto.Equal:
		return SQL("FALSE")
	case f >= 1<<63 || f < -(1<<63):
		if up == (f < 0) {
			return SQL("? IS NOT NULL", column)
		}
		return SQL("FALSE")
	case up:
		return SQL("? > ?", column, int64(math.Floor(f)))
	}
	return SQL("? <= ?", column, int64(math.Floor(f)))
}

// compareDouble compares a DOUBLE with any number, exactly.
func compareDouble(column Part, t onto.Test, with any) Part {
	f, ok := with.(float64)
	n, isInt := with.(int64)
	if isInt {
		f, ok = exactFloat(n)
	}
	switch {
	case ok:
		return SQL("? ? ?", column, operator(t), f)
	case t == onto.Equal:
		return SQL("FALSE")
	}
	// No double is n. The nearest one is above or below.
	above := f >= 1<<63 || int64(f) > n
	if t == onto.Less || t == onto.AtMost {
		if above {
			return SQL("? < ?", column, f)
		}
		return SQL("? <= ?", column, f)
	}
	if above {
		return SQL("? >= ?", column, f)
	}
	return SQL("? > ?", column, f)
}

// exactInt returns the int64 that a number is, if it is one.
func exactInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && v >= -(1<<63) && v < 1<<63 {
			return int64(v), true
		}
	}
	return 0, false
}

// exactFloat returns the float64 nearest to an integer, and whether it is equal.
func exactFloat(n int64) (float64, bool) {
	f := float64(n)
	return f, f < 1<<63 && int64(f) == n
}

// maxListed is how many values are listed one by one, so that the engine can compare
// them with the bounds of a file.
const maxListed = 50

// In implements [Dialect].
func (d DuckDB) In(v Value, values []any) Part {
	s := sift(values)
	var conditions []Part
	for _, b := range s.bools {
		conditions = append(conditions, d.Compare(v, onto.Equal, b))
	}
	if v.typed() {
		return Either(append(conditions, d.columnIn(v, s)...)...)
	}
	add := func(p Part, kinds constant) {
		conditions = append(conditions, SQL("(? AND ? IN ?)", p, d.kind(v), SQL(kinds)))
	}
	if len(s.texts) > 0 {
		add(among(v, d.text(v), s.texts), "('VARCHAR')")
	}
	if len(s.ints) > 0 {
		written := make([]string, len(s.ints))
		for i, n := range s.ints {
			written[i] = strconv.FormatInt(n, 10)
		}
		add(among(v, d.text(v), written), integers)
	}
	if len(s.fractions) > 0 {
		add(among(v, SQL("TRY_CAST(? AS DOUBLE)", d.text(v)), s.fractions), "('DOUBLE')")
	}
	return Either(conditions...)
}

// sifted is values by what they can equal.
type sifted struct {
	texts     []string
	bools     []bool
	ints      []int64   // also those given as float64
	fractions []float64 // float64 values that are no int64
}

func sift(values []any) sifted {
	var s sifted
	for _, x := range values {
		if n, ok := exactInt(x); ok {
			s.ints = append(s.ints, n)
			continue
		}
		switch x := x.(type) {
		case string:
			s.texts = append(s.texts, x)
		case bool:
			s.bools = append(s.bools, x)
		case float64:
			s.fractions = append(s.fractions, x)
		}
	}
	return s
}

// floats is the numbers that a DOUBLE can be.
func (s *sifted) floats() []float64 {
	list := slices.Clone(s.fractions)
	for _, n := range s.ints {
		if f, ok := exactFloat(n); ok {
			list = append(list, f)
		}
	}
	return list
}

// columnIn is the condition that a column holds one of the values of its type.
func (d DuckDB) columnIn(v Value, s sifted) []Part {
	switch {
	case v.holds(text) && len(s.texts) > 0:
		return []Part{among(v, v.Column, s.texts)}
	case v.Type == onto.Int && len(s.ints) > 0:
		return []Part{among(v, v.Column, s.ints)}
	case v.Type == onto.Float && len(s.floats()) > 0:
		return []Part{among(v, v.Column, s.floats())}
	}
	return nil
}

// among is the condition that an expression is one of some values. The elements of
// lists are compared where there can be no SELECT.
func among[T any](v Value, expression Part, values []T) Part {
	switch {
	case len(values) == 1:
		return SQL("? = ?", expression, values[0])
	case len(values) <= maxListed:
		list := make([]Part, len(values))
		for i, x := range values {
			list[i] = SQL("?", x)
		}
		return SQL("? IN (?)", expression, Join(", ", list...))
	case v.Element != "":
		return SQL("list_contains(?, ?)", values, expression)
	}
	return SQL("? IN (SELECT unnest(?))", expression, values)
}

// Among implements [Dialect].
func (DuckDB) Among(column Part, texts []string) Part {
	if len(texts) == 0 {
		return SQL("FALSE")
	}
	return among(Value{}, column, texts)
}

// IsString implements [Dialect].
func (d DuckDB) IsString(v Value) Part {
	if v.typed() {
		return d.textColumn(v, SQL("? IS NOT NULL", v.Column))
	}
	return SQL("? = 'VARCHAR'", d.kind(v))
}

// textColumn is a condition on a column, which is false if its type is not text.
func (DuckDB) textColumn(v Value, condition Part) Part {
	if !v.holds(text) {
		return SQL("FALSE")
	}
	return condition
}

// Between implements [Dialect].
func (d DuckDB) Between(v Value, from, below string) Part {
	x := d.text(v)
	if v.typed() {
		x = v.Column
	}
	condition := SQL("? >= ?", x, from)
	if below != "" {
		condition = SQL("(? AND ? < ?)", condition, x, below)
	}
	return d.onText(v, condition)
}

// EndsWith implements [Dialect].
func (d DuckDB) EndsWith(v Value, s string) Part {
	if v.typed() {
		return d.onText(v, SQL("suffix(?, ?)", v.Column, s))
	}
	return d.onText(v, SQL("suffix(?, ?)", d.text(v), s))
}

// Contains implements [Dialect].
func (d DuckDB) Contains(v Value, s string) Part {
	if v.typed() {
		return d.onText(v, SQL("contains(?, ?)", v.Column, s))
	}
	return d.onText(v, SQL("contains(?, ?)", d.text(v), s))
}

// onText adds to a condition that the value is a string.
func (d DuckDB) onText(v Value, condition Part) Part {
	if v.typed() {
		return d.textColumn(v, condition)
	}
	return SQL("(? AND ? = 'VARCHAR')", condition, d.kind(v))
}

// IsNull implements [Dialect].
func (d DuckDB) IsNull(v Value, so bool) Part {
	x := v.Column
	if !v.typed() {
		x = d.text(v)
	}
	if so {
		return SQL("? IS NULL", x)
	}
	return SQL("? IS NOT NULL", x)
}

// Some implements [Dialect]. For a value that is no list, the path of all elements
// leads nowhere.
func (d DuckDB) Some(v Value, alias string, condition func(element Value) Part) Part {
	name := Part{SQL: alias}
	return SQL("len(list_filter(json_extract(?, ?)::JSON[], lambda ?: coalesce(?, FALSE))) > 0",
		v.Document, d.path(v, "[*]"), name, condition(Value{Element: alias, Document: name}))
}
