package sqlgen

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// SQLite is the dialect of SQLite, for documents that are JSONB or canonical
// JSON text.
//
// The operator ->> gives 1 and 0 for bools, the JSON text of lists and objects, and
// NULL for null, so comparisons check the kind too where a value of another kind could
// match. The kind is checked last, since few rows get that far.
type SQLite struct{}

var _ Dialect = SQLite{}

// Knows implements [Dialect].
func (SQLite) Knows(onto.Operand) bool { return true }

// scalar is the value for SQL.
func (d SQLite) scalar(v Value) Part {
	if v.Element != "" && len(v.Path) == 0 {
		return Part{SQL: v.Element + ".value"}
	}
	return SQL("? ->> ?", v.Document, d.path(v))
}

// kind is the name of the value's JSON type.
func (d SQLite) kind(v Value) Part {
	if v.Element != "" && len(v.Path) == 0 {
		return Part{SQL: v.Element + ".type"}
	}
	return SQL("json_type(?, ?)", v.Document, d.path(v))
}

// path is a JSON path. It is bound, or written if the schema has the name. A name that
// is no valid text is in no document: its path is NULL, and so is its value.
func (SQLite) path(v Value) any {
	if v.Literal != "" {
		return Part{SQL: "'$." + v.Literal + "'"}
	}
	path := []byte{'$'}
	for _, name := range v.Path {
		var err error
		if path, err = codec.AppendString(append(path, '.'), name); err != nil {
			return nil
		}
	}
	return string(path)
}

// isKind is the condition that a value is of a kind.
func (d SQLite) isKind(v Value, k kind) Part { return ofKind(d.kind(v), k) }

// ofKind is the condition that the name of a JSON type is one of a kind.
func ofKind(name Part, k kind) Part {
	switch k {
	case boolean:
		return SQL("? IN ('true', 'false')", name)
	case number:
		return SQL("? IN ('integer', 'real')", name)
	case list:
		return SQL("? = 'array'", name)
	}
	return SQL("? = 'text'", name)
}

// sure adds to a condition that the value is of a kind.
func (d SQLite) sure(v Value, k kind, condition ...Part) Part {
	if !v.holds(k) {
		condition = append(condition, d.isKind(v, k))
	}
	return All(condition...)
}

// Compare implements [Dialect].
func (d SQLite) Compare(v Value, t onto.Test, with any) Part {
	k, bound := kindOf(with), with
	if b, ok := with.(bool); ok {
		bound = int64(0)
		if b {
			bound = int64(1)
		}
	}
	condition := SQL("? ? ?", d.scalar(v), operator(t), bound)
	if t == onto.Equal && !ambiguous(with) {
		return condition
	}
	return d.sure(v, k, condition)
}

// NullOr implements [nullable] for texts: numbers are less than any text, and blobs are
// greater.
func (d SQLite) NullOr(v Value, t onto.Test, with any) (Part, bool) {
	text, ok := with.(string)
	if !ok || v.Type != onto.String && v.Type != onto.Time && v.Type != onto.DateOnly {
		return Part{}, false
	}
	switch t {
	case onto.Less, onto.AtMost:
		return SQL("ifnull(?, 0) ? ?", d.scalar(v), operator(t), text), true
	case onto.Greater, onto.AtLeast:
		return SQL("ifnull(?, x'') ? ?", d.scalar(v), operator(t), text), true
	}
	return Part{}, false
}

// operator is a test in SQL.
func operator(t onto.Test) Part {
	if t == onto.Equal {
		return SQL("=")
	}
	return Part{SQL: string(t)}
}

// ambiguous reports whether a value of another kind can equal this one in SQL.
func ambiguous(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[")
	case int64:
		return v == 0 || v == 1
	case float64:
		return v == 0 || v == 1
	}
	return true
}

// In implements [Dialect].
func (d SQLite) In(v Value, values []any) Part {
	var bools []Part
	array, unsure := []byte{'['}, false
	for _, x := range values {
		if b, ok := x.(bool); ok {
			bools = append(bools, d.Compare(v, onto.Equal, b))
			continue
		}
		var ok bool
		if array, ok = appendElement(array, x); ok {
			unsure = unsure || ambiguous(x)
		}
	}
	if len(array) == 1 {
		return Either(bools...)
	}
	condition := SQL("? IN (SELECT value FROM json_each(?))", d.scalar(v), string(append(array, ']')))
	if unsure && !v.holds(text) && !v.holds(number) {
		condition = All(condition, SQL("? IN ('text', 'integer', 'real')", d.kind(v)))
	}
	return Either(append([]Part{condition}, bools...)...)
}

// appendElement appends a string or a number to a JSON array. It reports false
// for what no document can contain.
func appendElement(array []byte, v any) ([]byte, bool) {
	next := array
	if len(next) > 1 {
		next = append(next, ',')
	}
	var err error
	switch v := v.(type) {
	case string:
		next, err = codec.AppendString(next, v)
	case int64:
		next = strconv.AppendInt(next, v, 10)
	case float64:
		next, err = codec.AppendFloat(next, v)
	default:
		return array, false
	}
	if err != nil {
		return array, false
	}
	return next, true
}

// Among implements [Dialect]. Any number of texts takes one placeholder, so that there
// are few different statements.
func (SQLite) Among(column Part, texts []string) Part {
	if len(texts) == 1 {
		return SQL("? = ?", column, texts[0])
	}
	array := []byte{'['}
	for _, t := range texts {
		array, _ = appendElement(array, t)
	}
	return SQL("? IN (SELECT value FROM json_each(?))", column, string(append(array, ']')))
}

// IsString implements [Dialect].
func (d SQLite) IsString(v Value) Part {
	if v.holds(text) {
		return d.IsNull(v, false)
	}
	return d.isKind(v, text)
}

// Between implements [Dialect]. Numbers are less than any text, and the JSON of
// lists and objects begins with a bracket.
func (d SQLite) Between(v Value, from, below string) Part {
	condition := []Part{SQL("? >= ?", d.scalar(v), from)}
	if below != "" {
		condition = append(condition, SQL("? < ?", d.scalar(v), below))
	}
	if below != "" && !ambiguous(from) {
		return All(condition...)
	}
	return d.sure(v, text, condition...)
}

// EndsWith implements [Dialect].
func (d SQLite) EndsWith(v Value, s string) Part {
	return d.sure(v, text, SQL("substr(?, ?) = ?", d.scalar(v), -int64(utf8.RuneCountInString(s)), s))
}

// Contains implements [Dialect].
func (d SQLite) Contains(v Value, s string) Part {
	return d.sure(v, text, SQL("instr(?, ?) > 0", d.scalar(v), s))
}

// IsNull implements [Dialect].
func (d SQLite) IsNull(v Value, so bool) Part {
	if so {
		return SQL("? IS NULL", d.scalar(v))
	}
	return SQL("? IS NOT NULL", d.scalar(v))
}

// Some implements [Dialect]. For SQLite, a value that is no list has one element,
// itself. An element that is no object has no members.
func (d SQLite) Some(v Value, alias string, condition func(element Value) Part) Part {
	name := Part{SQL: alias}
	element := Value{Element: alias, Document: SQL("CASE WHEN ?.type = 'object' THEN ?.value END", name, name)}
	return All(d.isKind(v, list), SQL("EXISTS (SELECT 1 FROM json_each(?, ?) ? WHERE ?)",
		v.Document, d.path(v), name, condition(element)))
}
