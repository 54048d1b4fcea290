package onto

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto/internal/codec"
)

// FieldType is the closed set of types a field can have.
type FieldType string

// The field types.
const (
	String FieldType = "string"
	Int    FieldType = "int" // int64
	Float  FieldType = "float"
	Bool   FieldType = "bool"
	Time   FieldType = "time" // UTC, microseconds
	Object FieldType = "object"
	List   FieldType = "list"
	Any    FieldType = "any"

	DateOnly FieldType = "date" // a day of the calendar, see [Date]
)

// FieldTypes lists every field type.
func FieldTypes() []FieldType {
	return []FieldType{String, Int, Float, Bool, Time, DateOnly, Object, List, Any}
}

// Within reports whether each value of this type is one of the other as well.
func (t FieldType) Within(other FieldType) bool {
	return t == other || other == Any || t == Int && other == Float
}

// Scalar reports whether values of this type have nothing inside.
func (t FieldType) Scalar() bool { return t != Object && t != List && t != Any }

// Field describes a field of a type, or of an object at any depth in one. It also describes
// the elements of a list and the values of a map, and has no name then.
type Field struct {
	Name     string
	Type     FieldType
	Optional bool            // may be absent; null is the same as absent. An element or a value may be null
	Default  json.RawMessage // canonical JSON that stands in when absent; nil for none
	Index    bool            // worth an index
	Search   bool            // its words can be searched; strings at the top only
	Many     bool            // facts: an attribute that has several values at once
	Compute  *Compute        // the rule by which the store computes the field; nil if it is given

	Enum   []json.RawMessage // strings and ints: the values that it can have, sorted, in canonical JSON; nil for any
	Items  *Field            // lists: what each element is; nil for any values
	Fields []Field           // objects: what they have, sorted by name; nil for any members
	Values *Field            // objects with any names, which are maps: what each value is; nil if they are none
}

// Limits of schemas.
const (
	MaxSchemaFields = 1000 // fields of one type, at all depths
	MaxInnerName    = 1024 // bytes in the name of a field below the top
)

// identifies reports whether the field can be an instance key.
func (f Field) identifies() bool {
	return f.Type == String && !f.Optional && f.Default == nil && f.Enum == nil
}

// fieldIn returns the field of that name.
func fieldIn(fields []Field, name string) (Field, bool) {
	i, ok := slices.BinarySearchFunc(fields, name, func(f Field, n string) int { return strings.Compare(f.Name, n) })
	if !ok {
		return Field{}, false
	}
	return fields[i], true
}

// Inner returns the field of that name of an object whose fields are declared.
func (f *Field) Inner(name string) (*Field, bool) {
	i, ok := slices.BinarySearchFunc(f.Fields, name, func(f Field, n string) int { return strings.Compare(f.Name, n) })
	if !ok {
		return nil, false
	}
	return &f.Fields[i], true
}

// FieldPath is the path of a field below another one: names are separated by dots, and
// quoted where they are no plain words.
func FieldPath(path, name string) string {
	step := codec.Step(name)
	if path == "" {
		return strings.TrimPrefix(step, ".")
	}
	return path + step
}

// normal returns the schema with what is inside its fields in canonical form, as far as
// that is possible: Check tells about the rest.
func (s Schema) normal() Schema {
	s.Fields = append([]Field(nil), s.Fields...)
	for i := range s.Fields {
		s.Fields[i] = s.Fields[i].normal(1)
	}
	return s
}

func (f Field) normal(depth int) Field {
	if depth > codec.MaxDepth {
		return f
	}
	inner := func(f *Field) *Field {
		if f == nil || f.Type == Any && f.Name == "" && f.plain() { // lists and maps of any values need no declaration
			return nil
		}
		n := f.normal(depth + 1)
		return &n
	}
	f.Items, f.Values = inner(f.Items), inner(f.Values)
	if f.Fields != nil {
		f.Fields = append([]Field{}, f.Fields...)
		for i := range f.Fields {
			f.Fields[i] = f.Fields[i].normal(depth + 1)
		}
		sortFields(f.Fields)
	}
	f.Enum = sortedEnum(f.Enum)
	if f.Default != nil {
		if canonical, err := f.canonicalDefault(f.Default); err == nil {
			f.Default = canonical
		}
	}
	return f
}

// plain reports whether the field says nothing but its type, and whether it is optional.
func (f *Field) plain() bool {
	return !f.Index && !f.Search && !f.Many && f.Compute == nil && f.Default == nil && f.Enum == nil && f.Items == nil && f.Fields == nil && f.Values == nil
}

// sortedEnum brings the values of an enum into canonical form and order.
func sortedEnum(values []json.RawMessage) []json.RawMessage {
	if len(values) == 0 {
		return values
	}
	sorted := make([]json.RawMessage, len(values))
	for i, v := range values {
		sorted[i] = v
		if canonical, err := codec.AppendCanonical(nil, v); err == nil {
			sorted[i] = canonical
		}
	}
	slices.SortFunc(sorted, func(a, b json.RawMessage) int {
		n, err := strconv.ParseInt(string(a), 10, 64)
		m, other := strconv.ParseInt(string(b), 10, 64)
		if err == nil && other == nil {
			return cmp.Compare(n, m)
		}
		return bytes.Compare(a, b)
	})
	return sorted
}

// fieldChecker checks the fields of a schema, at all depths.
type fieldChecker struct {
	schema *Schema
	count  int
}

func (s Schema) checkFields() error {
	c := fieldChecker{schema: &s}
	for i, f := range s.Fields {
		if err := CheckName(s.Name+": field", f.Name); err != nil {
			return err
		}
		if i > 0 && s.Fields[i-1].Name >= f.Name {
			return Errorf(Invalid, "%s: field %s is given twice or out of order", s.Name, f.Name)
		}
		if err := c.check(&f, f.Name, place{depth: 1, indexable: true, words: true}); err != nil {
			return err
		}
	}
	return nil
}

// place is where a field is declared.
type place struct {
	depth     int
	indexable bool // it is reached through objects only
	words     bool // by names that are plain words
}

func (p place) top() bool { return p.depth == 1 }

func (c *fieldChecker) fault(path, format string, args ...any) *Error {
	return Errorf(Invalid, "%s.%.400s: %w", c.schema.Name, path, fmt.Errorf(format, args...))
}

func (c *fieldChecker) check(f *Field, path string, at place) error {
	if c.count++; c.count > MaxSchemaFields {
		return Errorf(Invalid, "%s has more than %d fields at all depths; %s is one too many", c.schema.Name, MaxSchemaFields, path)
	}
	if at.depth >= codec.MaxDepth {
		return Errorf(Invalid, "%s.%.200s…: declared deeper than %d", c.schema.Name, path, codec.MaxDepth-1)
	}
	if !slices.Contains(FieldTypes(), f.Type) {
		return c.fault(path, "type %q is unknown", f.Type).
			WithHint("use string, int, float, bool, time, date, object, list or any")
	}
	if err := c.checkFlags(f, path, at); err != nil {
		return err
	}
	if err := c.checkCompute(f, path, at); err != nil {
		return err
	}
	if err := c.checkEnum(f, path); err != nil {
		return err
	}
	if err := c.checkInside(f, path, at); err != nil {
		return err
	}
	return c.checkDefault(f, path)
}

func (c *fieldChecker) checkFlags(f *Field, path string, at place) error {
	switch {
	case f.Search && !at.top():
		return c.fault(path, "only fields at the top can be searched")
	case f.Search && f.Type != String:
		return c.fault(path, "only strings can be searched, this is %s", f.Type)
	case f.Many && (c.schema.Kind != KindFact || !at.top()):
		return c.fault(path, "only attributes of facts have several values at once").WithHint("use a list")
	case f.Index && !at.indexable:
		return c.fault(path, "there are no indexes inside lists and maps")
	case f.Index && !at.top() && !f.Type.Scalar():
		return c.fault(path, "below the top only a single value can have an index, this is %s", f.Type)
	case f.Index && !at.words:
		return c.fault(path, "below the top an index needs names that are plain words")
	case f.Optional && f.Default != nil:
		return c.fault(path, "a field with a default is never absent, so it cannot be optional").
			WithHint("leave out optional")
	}
	return nil
}

func (c *fieldChecker) checkEnum(f *Field, path string) error {
	if f.Enum == nil {
		return nil
	}
	switch {
	case f.Type != String && f.Type != Int:
		return c.fault(path, "only a string or an int can have an enum, this is %s", f.Type)
	case len(f.Enum) == 0:
		return c.fault(path, "an enum needs a value")
	}
	for i, v := range f.Enum {
		canonical, err := codec.AppendCanonical(nil, v)
		if err == nil {
			_, err = f.Type.Fit(canonical)
		}
		switch {
		case err != nil:
			return c.fault(path, "enum value %.80s: %w", v, err)
		case i > 0 && bytes.Equal(f.Enum[i-1], v):
			return c.fault(path, "enum value %.80s is given twice", v)
		}
	}
	if !slices.EqualFunc(f.Enum, sortedEnum(f.Enum), func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return c.fault(path, "the enum is not sorted, or its values are not canonical").WithHint("make the type with onto.Untyped")
	}
	return nil
}

// checkInside checks what is declared inside a field.
func (c *fieldChecker) checkInside(f *Field, path string, at place) error {
	switch {
	case f.Items != nil && f.Type != List:
		return c.fault(path, "only a list has items, this is %s", f.Type)
	case f.Fields != nil && f.Type != Object:
		return c.fault(path, "only an object has fields, this is %s", f.Type)
	case f.Values != nil && f.Type != Object:
		return c.fault(path, "only an object has values, this is %s", f.Type)
	case f.Fields != nil && f.Values != nil:
		return c.fault(path, "an object has either fields or values").
			WithHint("fields are known by name; values are those of a map, with any names")
	case f.Items != nil:
		return c.checkElement(f.Items, path+"[]", at)
	case f.Values != nil:
		return c.checkElement(f.Values, path+"{}", at)
	}
	return c.checkInner(f.Fields, path, at)
}

// checkElement checks what the elements of a list or the values of a map are.
func (c *fieldChecker) checkElement(f *Field, path string, at place) error {
	if f.Name != "" || f.Default != nil {
		return c.fault(path, "what each of them is has neither a name nor a default")
	}
	return c.check(f, path, place{depth: at.depth + 1})
}

// checkInner checks the fields of an object below the top.
func (c *fieldChecker) checkInner(fields []Field, path string, at place) error {
	folded := make(map[string]string, len(fields))
	for i := range fields {
		f := &fields[i]
		inside := FieldPath(path, f.Name)
		if len(f.Name) > MaxInnerName || !utf8.ValidString(f.Name) || strings.Contains(f.Name, "\x00") {
			return c.fault(path, "the name %.80q is not valid UTF-8 without U+0000 of at most %d bytes", f.Name, MaxInnerName)
		}
		lower := strings.ToLower(f.Name)
		switch other, taken := folded[lower]; {
		case taken && other == f.Name:
			return c.fault(inside, "two fields have this name")
		case taken:
			return c.fault(inside, "its name differs from that of %s only in case", FieldPath(path, other))
		case i > 0 && fields[i-1].Name > f.Name:
			return c.fault(inside, "the field is out of order").WithHint("make the type with onto.Untyped")
		}
		folded[lower] = f.Name
		_, word := codec.WordPath([]string{f.Name})
		if err := c.check(f, inside, place{depth: at.depth + 1, indexable: at.indexable, words: at.words && word}); err != nil {
			return err
		}
	}
	return nil
}

func (c *fieldChecker) checkDefault(f *Field, path string) error {
	if f.Default == nil {
		return nil
	}
	canonical, err := f.canonicalDefault(f.Default)
	if err != nil {
		return c.fault(path, "%w", err)
	}
	if !bytes.Equal(canonical, f.Default) {
		return c.fault(path, "default %s is not canonical, write %s", f.Default, canonical)
	}
	return nil
}
