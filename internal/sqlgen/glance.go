package sqlgen

import (
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Glance is a condition on the canonical JSON text of a document that is true wherever
// a filter is, and cheap: searching for a piece of text costs less than parsing. It
// reports false if there is none that pays.
//
// Canonical JSON has one text for each value. So where $.tier == "Gold" is
// true, the text has "tier":"Gold" in it.
func (d SQLite) Glance(column string, f onto.Filter) (Part, bool) {
	switch f := f.(type) {
	case onto.And:
		var parts []Part
		for _, of := range f {
			if p, ok := d.Glance(column, of); ok {
				parts = append(parts, p)
			}
		}
		return All(parts...), len(parts) > 0
	case onto.Or:
		var parts []Part
		for _, of := range f {
			p, ok := d.Glance(column, of)
			if !ok {
				return Part{}, false
			}
			parts = append(parts, p)
		}
		return Either(parts...), len(parts) > 0
	case onto.Condition:
		return glance(column, &f)
	}
	return Part{}, false
}

const (
	maxGlances = 4    // for how many values of In it pays
	maxPiece   = 1000 // SQLite limits the length of patterns
)

// pattern finds a text anywhere. GLOB is case-sensitive, and faster than instr.
func pattern(piece string) string {
	return "*" + strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(piece) + "*"
}

func glance(column string, c *onto.Condition) (Part, bool) {
	if c.Operand.Side != onto.OwnSide || c.Test == onto.In && len(c.Values) > maxGlances {
		return Part{}, false
	}
	var parts []Part
	for _, piece := range pieces(c) {
		if len(piece) > maxPiece {
			return Part{}, false
		}
		parts = append(parts, SQL("? GLOB ?", Part{SQL: column}, pattern(piece)))
	}
	return Either(parts...), len(parts) > 0
}

// pieces are texts of which one is in the document if the condition is true;
// none if nothing is known.
func pieces(c *onto.Condition) []string {
	name, ok := lastName(c.Operand)
	if !ok {
		return nil
	}
	var list []string
	switch c.Test {
	case onto.Equal, onto.In:
		for _, v := range c.Values {
			text, ok := literal(v)
			if !ok {
				return nil
			}
			list = append(list, name+text)
		}
	case onto.IsTrue:
		list = append(list, name+"true")
	case onto.IsFalse:
		list = append(list, name+"false")
	case onto.StartsWith, onto.EndsWith, onto.Contains:
		text, ok := literal(c.Values[0])
		if !ok || len(text) == 2 {
			return nil
		}
		switch c.Test {
		case onto.StartsWith:
			list = append(list, name+text[:len(text)-1])
		case onto.EndsWith:
			list = append(list, text[1:])
		default:
			list = append(list, text[1:len(text)-1])
		}
	}
	return list
}

// lastName is the name that stands before the value, with its colon; "" before
// an element of a list.
func lastName(o onto.Operand) (string, bool) {
	names := o.Path
	if o.Any {
		names = o.Under
		if len(names) == 0 {
			return "", true
		}
	}
	if len(names) == 0 {
		return "", false
	}
	quoted, err := codec.AppendString(nil, names[len(names)-1])
	return string(quoted) + ":", err == nil
}

// literal is the canonical JSON of a value to compare with.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		text, err := codec.AppendString(nil, v)
		return string(text), err == nil
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		text, err := codec.AppendFloat(nil, v)
		return string(text), err == nil
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
