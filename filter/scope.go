package filter

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/suggest"
)

// Scope is what a filter may refer to. Without a schema, everything is allowed.
type Scope struct {
	Schema      *onto.Schema
	Left, Right *onto.Schema // of a relation's endpoints; nil otherwise
}

// typeOf checks the path of an operand and returns the declared type of its value; Any
// if it is unknown. It ignores Func.
func (s *Scope) typeOf(o onto.Operand) (onto.FieldType, error) {
	if err := wellFormed(o); err != nil {
		return "", err
	}
	if s == nil || s.Schema == nil {
		return onto.Any, nil
	}
	schema, err := s.schemaOf(o)
	if err != nil {
		return "", err
	}
	f, ok := schema.Field(o.Path[0])
	if !ok {
		return "", s.unknownField(o, schema)
	}
	return typeInside(f, o)
}

// wellFormed checks what needs no schema.
func wellFormed(o onto.Operand) error {
	o.Func = "" // not the mistake
	switch {
	case o.Side != onto.OwnSide && o.Side != onto.LeftSide && o.Side != onto.RightSide:
		return fault(o.Column, "%s: the side %q is unknown", FormatOperand(o), o.Side).WithHint("use left or right")
	case len(o.Path) == 0:
		return fault(o.Column, "a path has no names").WithHint(`name a field: onto.Path("name")`)
	case len(o.Path) > maxNames || len(o.Under) > maxNames:
		return tooManyNames(o.Column)
	case !o.Any && len(o.Under) > 0:
		return fault(o.Column, "%s: Under is set without Any", FormatOperand(o)).WithHint("use Some")
	}
	for _, name := range slices.Concat(o.Path, o.Under) {
		if !utf8.ValidString(name) || strings.Contains(name, "\x00") {
			return fault(o.Column, "the name %s in a path is not valid UTF-8 without U+0000", strconv.QuoteToASCII(shorten(name)))
		}
	}
	return nil
}

// schemaOf finds the schema that a path leads into.
func (s *Scope) schemaOf(o onto.Operand) (*onto.Schema, error) {
	if o.Side == onto.OwnSide {
		return s.Schema, nil
	}
	schema, name := s.Left, s.Schema.Left
	if o.Side == onto.RightSide {
		schema, name = s.Right, s.Schema.Right
	}
	switch {
	case s.Schema.Kind == onto.KindFact && o.Side == onto.RightSide:
		return nil, fault(o.Column, "%s: facts have a subject, which is at their left, and nothing at their right", FormatOperand(o)).
			WithHint("write left.$ for the subject")
	case s.Schema.Kind == onto.KindFact && name == "":
		return nil, fault(o.Column, "%s: the subjects of %s are texts without fields", FormatOperand(o), s.Schema.Name)
	case s.Schema.Kind == onto.KindEntity:
		return nil, fault(o.Column, "%s: %s is an entity and has no endpoints", FormatOperand(o), s.Schema.Name).
			WithHint("%s belongs into queries for relations", o.Side)
	case schema == nil:
		return nil, fault(o.Column, "%s: the %s endpoint of %s is %s, which is not a type of this store",
			FormatOperand(o), o.Side, s.Schema.Name, name)
	}
	return schema, nil
}

func (s *Scope) unknownField(o onto.Operand, schema *onto.Schema) error {
	name := shorten(o.Path[0])
	err := fault(o.Column, "%s has no field %s", schema.Name, segment(name))
	if o.Side != onto.OwnSide {
		err = fault(o.Column, "%s, the %s endpoint of %s, has no field %s", schema.Name, o.Side, s.Schema.Name, segment(name))
	}
	if split := dotted(o, schema); split != nil {
		return err.WithHint("write %s", spell(*split))
	}
	if o.Side == onto.OwnSide {
		if end := s.endpointWith(o); end != nil {
			return err.WithHint("an endpoint has it: write %s", spell(*end))
		}
	}
	if len(o.Path[0]) <= onto.MaxName {
		near := suggest.Name(o.Path[0], schema.FieldNames())
		if near != "" && len(o.Path) > 1 {
			o.Path = slices.Concat([]string{near}, o.Path[1:])
			return err.WithHint("did you mean %s?", spell(o))
		}
		if near != "" {
			return err.WithHint("did you mean %s?", near)
		}
	}
	if path := deeper(schema.Fields, o.Path[0]); path != nil && len(o.Path[0]) <= onto.MaxName {
		o.Path = slices.Concat(path, o.Path[1:])
		return err.WithHint("an object has it: write %s", spell(o))
	}
	if len(schema.Fields) == 0 {
		return err.WithHint("it has no fields")
	}
	return err.WithHint("its fields are %s", shorten(strings.Join(schema.FieldNames(), ", ")))
}

// deeper is the path through objects to a field of that name, the shortest; nil if there is none.
func deeper(fields []onto.Field, name string) []string {
	var found []string
	for _, f := range fields {
		if _, ok := f.Inner(name); ok {
			return []string{f.Name, name}
		}
		if rest := deeper(f.Fields, name); rest != nil && (found == nil || len(rest)+1 < len(found)) {
			found = slices.Concat([]string{f.Name}, rest)
		}
	}
	return found
}

// dotted is the operand that was meant if one name holds a whole path.
func dotted(o onto.Operand, schema *onto.Schema) *onto.Operand {
	names := strings.Split(o.Path[0], ".")
	if _, ok := schema.Field(names[0]); !ok || len(names) == 1 || len(names) > maxNames || slices.Contains(names, "") {
		return nil
	}
	o.Path = slices.Concat(names, o.Path[1:])
	return &o
}

// endpointWith is the operand that was meant if an endpoint has the field.
func (s *Scope) endpointWith(o onto.Operand) *onto.Operand {
	has := func(schema *onto.Schema) bool {
		if schema == nil {
			return false
		}
		_, ok := schema.Field(o.Path[0])
		return ok
	}
	switch {
	case has(s.Left):
		o.Side = onto.LeftSide
	case has(s.Right):
		o.Side = onto.RightSide
	default:
		return nil
	}
	return &o
}

// typeInside returns the known type of the value that an operand leads to in a field.
func typeInside(f onto.Field, o onto.Operand) (onto.FieldType, error) {
	whole := o
	whole.Func, whole.Path, whole.Any, whole.Under = "", o.Path[:1], false, nil
	w := walk{at: &f, operand: whole, column: o.Column}
	for i, name := range o.Path[1:] {
		if err := w.into(name, o.Path[i+1:]); err != nil {
			return "", err
		}
	}
	if !o.Any {
		return w.found(), nil
	}
	if err := w.elements(); err != nil {
		return "", err
	}
	for i, name := range o.Under {
		if err := w.into(name, o.Under[i:]); err != nil {
			return "", err
		}
	}
	return w.found(), nil
}

// walk follows a path through what is declared inside a field.
type walk struct {
	at      *onto.Field  // nil where any value can be
	operand onto.Operand // the way so far
	column  int
}

// found is the type of the value where the walk has come to.
func (w *walk) found() onto.FieldType {
	if w.at == nil {
		return onto.Any
	}
	return w.at.Type
}

// free reports whether anything can be inside.
func (w *walk) free() bool {
	return w.at == nil || w.at.Type == onto.Any || w.at.Type == onto.Object && w.at.Fields == nil && w.at.Values == nil
}

// into goes to a member. The rest of the path begins with its name.
func (w *walk) into(name string, rest []string) error {
	switch {
	case w.free():
		w.at = nil
	case w.at.Type == onto.List && !w.operand.Any:
		some := w.operand
		some.Any, some.Under = true, rest
		return fault(w.column, "%s is a list, which has elements and no names", FormatOperand(w.operand)).
			WithHint("for some element, write %s", spell(some))
	case w.at.Type != onto.Object:
		return fault(w.column, "%s is %s and has nothing inside", FormatOperand(w.operand), w.at.Type)
	case w.at.Values != nil:
		w.at = w.at.Values
	default:
		inner, ok := w.at.Inner(name)
		if !ok {
			return w.unknown(name)
		}
		w.at = inner
	}
	w.operand = step(w.operand, name)
	return nil
}

// elements goes to the elements of a list.
func (w *walk) elements() error {
	switch {
	case w.at == nil:
	case w.at.Type == onto.Any:
		w.at = nil
	case w.at.Type != onto.List:
		return fault(w.column, "%s is %s, and only a list has elements", FormatOperand(w.operand), w.at.Type)
	default:
		w.at = w.at.Items
	}
	w.operand.Any = true
	return nil
}

func (w *walk) unknown(name string) error {
	err := fault(w.column, "%s has no field %s", FormatOperand(w.operand), segment(shorten(name)))
	var names []string
	for _, f := range w.at.Fields {
		names = append(names, f.Name)
	}
	if near := suggest.Name(name, names); near != "" && len(name) <= onto.MaxName {
		return err.WithHint("did you mean %s?", spell(step(w.operand, near)))
	}
	if len(names) == 0 {
		return err.WithHint("it has no fields")
	}
	return err.WithHint("its fields are %s", shorten(strings.Join(names, ", ")))
}

// step is the operand that leads one name further.
func step(o onto.Operand, name string) onto.Operand {
	if o.Any {
		o.Under = slices.Concat(o.Under, []string{name})
	} else {
		o.Path = slices.Concat(o.Path, []string{name})
	}
	return o
}

// spell writes an operand for a hint, as text or as Go, like the original.
func spell(o onto.Operand) string {
	o.Func = ""
	if o.Column > 0 {
		return FormatOperand(o)
	}
	function := "Path"
	switch o.Side {
	case onto.LeftSide:
		function = "Left"
	case onto.RightSide:
		function = "Right"
	}
	call := function + "(" + quoteAll(o.Path) + ")"
	if o.Any {
		call += ".Some(" + quoteAll(o.Under) + ")"
	}
	if o.Per != "" {
		call += "." + strings.ToUpper(string(o.Per[:1])) + string(o.Per[1:]) + "()"
	}
	return call
}

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}
