package sqlgen

import (
	"encoding/json"

	"github.com/ontologia/onto"
)

// Dialect is what an engine does in its own way. A condition that it returns
// may be NULL in place of false, except that of IsNull. Values to compare with
// are string, int64, float64 and bool.
type Dialect interface {
	// Knows reports whether conditions and groups can use what an operand refers to.
	// Otherwise they are left for the process.
	Knows(o onto.Operand) bool
	// Compare is the condition that a value is of the same kind as the other
	// and stands in the relation to it: onto.Equal, Less, AtMost, Greater or
	// AtLeast.
	Compare(v Value, t onto.Test, with any) Part
	// In is the condition that a value equals one of the others.
	In(v Value, values []any) Part
	// IsString is the condition that a value is a string.
	IsString(v Value) Part
	// Between is the condition that a value is a string, at least from and less
	// than below, which is "" if there is no bound.
	Between(v Value, from, below string) Part
	// EndsWith and Contains are about strings; the text is not empty.
	EndsWith(v Value, text string) Part
	Contains(v Value, text string) Part
	// IsNull is the condition that a value is missing or null, or the opposite of that.
	IsNull(v Value, so bool) Part
	// Some is the condition that a value is a list and that one of its elements fulfils
	// a condition. The alias is unused elsewhere.
	Some(v Value, alias string, condition func(element Value) Part) Part

	// Among is the condition that a column of text, which is not part of a JSON
	// document, holds one of the texts.
	Among(column Part, texts []string) Part

	// Sorts reports whether the rows can be sorted by a value exactly, and compared
	// with the canonical value of a place, if there is one.
	Sorts(v Value, place json.RawMessage) bool
	// Sort is what to sort by, one column after the other, so that values come
	// in the order of onto.Order. What is null comes last if NULL does.
	Sort(v Value) []Key
	// Place is what the columns of Sort hold for a canonical value.
	Place(v Value, canonical json.RawMessage) []any
	// Beyond is the condition that columns, which are never NULL, hold more than
	// these values, the first ones first.
	Beyond(columns []Part, values []any) Part
	// Page adds OFFSET and LIMIT to a statement; a limit of 0 takes all rows.
	Page(statement Part, skip, take int) Part

	// Computes reports whether an aggregate of a value can be computed exactly.
	Computes(v Value, f onto.Func) bool
	// Group is an expression that is equal for equal values and NULL for null. Of a
	// period it is the first day, as a text.
	Group(v Value) Part
	// GroupValue is the canonical form of a value of Group.
	GroupValue(v Value, column any) json.RawMessage

	// Inputs is what an aggregate needs of each row, computed once.
	Inputs(v Value, f onto.Func) []Part
	// Apart is the SELECT of all inputs as a table, so that they are computed once
	// for each row.
	Apart(inputs Part) Part
	// Sums is the columns of sum and avg, given the names of the inputs: of the
	// integers the sum of the upper halves (n >> 32), that of the lower 32 bits,
	// and how many there are; of the other numbers the sum, and how many.
	Sums(v Value, inputs []Part) []Part
	// Extremes is the columns of min and max: the end that is asked for among
	// the bools, as 1 and 0, among the numbers and among the texts.
	Extremes(v Value, f onto.Func, inputs []Part) []Part
	// Lengths is the columns of avg_len: the sum of the lists' lengths, and how
	// many lists there are.
	Lengths(v Value, inputs []Part) []Part
}

// Value is a JSON value in a row.
type Value struct {
	Document Part           // what the path starts from: a JSON object, or NULL
	Path     []string       // the names that lead to the value
	Literal  string         // the path as it can stand in the statement, if the schema has it; "" to bind it
	Type     onto.FieldType // the type of the value if it is not null; "" if that is not known
	Required bool           // it is never missing and never null
	Per      onto.Period    // groups are made of the period that it is in; "" for itself
	Column   Part           // a column of that type that holds the same; the zero Part if there is none

	// Element is the alias of a list's element, which is the value itself if
	// there is no Path.
	Element string
}

// typed reports whether there is a column that holds the value.
func (v Value) typed() bool { return v.Column.SQL != "" }

// holds reports whether a value is known to be of a kind, if it is not null.
func (v Value) holds(k kind) bool {
	switch v.Type {
	case onto.String, onto.Time, onto.DateOnly:
		return k == text
	case onto.Int, onto.Float:
		return k == number
	case onto.Bool:
		return k == boolean
	}
	return false
}

// scalar reports whether a value is known to be neither list nor object, and its kind.
func (v Value) scalar() bool { return v.holds(text) || v.holds(number) || v.holds(boolean) }

type kind uint8

const (
	boolean kind = iota + 1
	number
	text
	list
)

func kindOf(v any) kind {
	switch v.(type) {
	case bool:
		return boolean
	case string:
		return text
	}
	return number
}
