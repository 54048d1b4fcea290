package onto

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// Fit checks that a field of type t can have this value, which is canonical
// JSON, and returns it in its stored form. Null is no value.
func (t FieldType) Fit(canonical []byte) (json.RawMessage, error) {
	kind := codec.KindOf(canonical)
	ok := false
	switch t {
	case Any:
		ok = kind != codec.Null
	case String:
		ok = kind == codec.String
	case Int:
		ok = kind == codec.Int
	case Float:
		ok = kind == codec.Int || kind == codec.Float
	case Bool:
		ok = kind == codec.Bool
	case Object:
		ok = kind == codec.Object
	case List:
		ok = kind == codec.List
	case Time:
		if kind == codec.String {
			return fitTime(codec.Unquote(canonical))
		}
	case DateOnly:
		if kind == codec.String {
			return fitDate(codec.Unquote(canonical))
		}
	}
	if !ok {
		return nil, Errorf(Invalid, "expected %s, found %s", t, kind)
	}
	return canonical, nil
}

func fitTime(text string) (json.RawMessage, error) {
	at, err := codec.ParseTime(text)
	if err != nil {
		if d, dateErr := ParseDate(text); dateErr == nil {
			at, err = d.Time(), nil
		}
	}
	if err != nil {
		return nil, Errorf(Invalid, "%w", err)
	}
	return json.RawMessage(`"` + codec.FormatTime(at) + `"`), nil
}

func fitDate(text string) (json.RawMessage, error) {
	d, err := ParseDate(text)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`"` + d.String() + `"`), nil
}

// Fit checks that the field can have this value, which is canonical JSON, and returns it
// in its stored form: in objects whose fields are declared, null is absent and defaults are
// filled in. The error names the path.
func (f *Field) Fit(canonical []byte) (json.RawMessage, error) {
	if f.stored(canonical) {
		return canonical, nil
	}
	return f.fitWith(canonical, 0)
}

// FitPart is Fit for a value of which a part may be given only: in objects whose fields are
// declared, absent ones stay absent.
func (f *Field) FitPart(canonical []byte) (json.RawMessage, error) {
	return f.fitWith(canonical, partial)
}

// Holds checks that what the field declares fits in a stored value, which may have further
// fields that a later declaration has.
func (f *Field) Holds(canonical []byte) error {
	_, err := f.fitWith(canonical, partial|further)
	return err
}

// CheckStored reports why the stored fields of a thing are not in the form that its type says,
// with the path.
func (s *Schema) CheckStored(fields json.RawMessage) error {
	whole := Field{Type: Object, Fields: s.Fields}
	if whole.Fields == nil {
		whole.Fields = []Field{}
	}
	if whole.stored(fields) {
		return nil
	}
	for _, m := range codec.Members(fields) {
		f, ok := whole.Inner(m.Name)
		if !ok {
			return Errorf(Invalid, "field %w", whole.unknown(m.Name))
		}
		fitted, err := f.Fit(m.Value)
		if err != nil {
			return err
		}
		if !bytes.Equal(fitted, m.Value) {
			return Errorf(Invalid, "field %w", codec.At(f.Name, Errorf(Invalid, "%.80s would be stored as %.80s", m.Value, fitted)))
		}
	}
	if _, err := whole.fit(fields, 0); err != nil {
		return Errorf(Invalid, "field %w", err)
	}
	return Errorf(Invalid, "a default is not filled in")
}

// FitValue is Fit for a value alone: its errors name the path inside the value only.
func (f *Field) FitValue(canonical []byte) (json.RawMessage, error) {
	if f.stored(canonical) {
		return canonical, nil
	}
	return f.fit(canonical, 0)
}

func (f *Field) fitWith(canonical []byte, m mode) (json.RawMessage, error) {
	fitted, err := f.fit(canonical, m)
	if err != nil {
		return nil, Errorf(Invalid, "field %w", codec.At(f.Name, err))
	}
	return fitted, nil
}

// mode is how values are fitted.
type mode uint8

const (
	partial mode = 1 << iota // absent fields of objects stay absent
	further                  // objects may have fields that are not declared
)

// stored reports whether a value fits, and is in its stored form already. It allocates
// nothing.
func (f *Field) stored(v []byte) bool {
	kind := codec.KindOf(v)
	switch f.Type {
	case Any:
		return kind != codec.Null
	case Int:
		return kind == codec.Int && f.allows(v)
	case String:
		return kind == codec.String && f.allows(v)
	case List:
		return kind == codec.List && (f.Items == nil || f.Items.storedEach(codec.Elements(v)))
	case Object:
		switch {
		case kind != codec.Object:
			return false
		case f.Values != nil:
			return f.Values.storedEach(func(yield func([]byte) bool) {
				for _, value := range codec.Pairs(v) {
					if !yield(value) {
						return
					}
				}
			})
		}
		return f.Fields == nil || storedFields(f.Fields, v)
	}
	fitted, err := f.Type.Fit(v)
	return err == nil && bytes.Equal(fitted, v)
}

// allows reports whether the enum, if there is one, has the value.
func (f *Field) allows(v []byte) bool {
	return f.Enum == nil || slices.ContainsFunc(f.Enum, func(e json.RawMessage) bool { return bytes.Equal(e, v) })
}

func (f *Field) storedEach(values func(func([]byte) bool)) bool {
	for v := range values {
		if codec.KindOf(v) == codec.Null && f.Optional {
			continue
		}
		if !f.stored(v) {
			return false
		}
	}
	return true
}

// storedFields is stored for the members of an object whose fields are declared.
func storedFields(fields []Field, object []byte) bool {
	i := 0
	for quoted, value := range codec.Pairs(object) {
		if i == len(fields) || fields[i].Name != string(quoted) {
			name := codec.Name(quoted)
			for i < len(fields) && fields[i].Name < name {
				if !fields[i].absent() {
					return false
				}
				i++
			}
			if i == len(fields) || fields[i].Name != name {
				return false
			}
		}
		if !fields[i].stored(value) {
			return false
		}
		i++
	}
	return !slices.ContainsFunc(fields[i:], func(f Field) bool { return !f.absent() })
}

// absent reports whether the stored form of an object can be without the field.
func (f *Field) absent() bool { return f.Optional && f.Default == nil }

// fit returns the stored form of a value. Its errors have the path inside the value.
func (f *Field) fit(v []byte, m mode) (json.RawMessage, error) {
	fitted, err := f.Type.Fit(v)
	switch {
	case err != nil:
		return nil, err
	case !f.allows(fitted):
		return nil, Errorf(Invalid, "%.80s is none of %s", fitted, f.choices())
	case f.Items != nil:
		return f.Items.fitList(fitted, m)
	case f.Values != nil:
		return f.Values.fitMap(fitted, m)
	case f.Fields != nil:
		return f.fitObject(fitted, m)
	}
	return fitted, nil
}

// choices lists the values of the enum.
func (f *Field) choices() string {
	texts := make([]string, len(f.Enum))
	for i, v := range f.Enum {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// fitElement fits an element of a list or a value of a map, which may be null.
func (f *Field) fitElement(v []byte, m mode) ([]byte, error) {
	if f.Optional && codec.KindOf(v) == codec.Null {
		return v, nil
	}
	return f.fit(v, m)
}

func (f *Field) fitList(list []byte, m mode) (json.RawMessage, error) {
	fitted := append(make([]byte, 0, len(list)), '[')
	i := 0
	for v := range codec.Elements(list) {
		element, err := f.fitElement(v, m)
		if err != nil {
			return nil, codec.At("["+strconv.Itoa(i)+"]", err)
		}
		if i++; i > 1 {
			fitted = append(fitted, ',')
		}
		fitted = append(fitted, element...)
	}
	return append(fitted, ']'), nil
}

func (f *Field) fitMap(object []byte, m mode) (json.RawMessage, error) {
	members := codec.Members(object)
	for i := range members {
		value, err := f.fitElement(members[i].Value, m)
		if err != nil {
			return nil, codec.At(codec.Step(members[i].Name), err)
		}
		members[i].Value = value
	}
	return codec.AppendObject(nil, members), nil
}

func (f *Field) fitObject(object []byte, m mode) (json.RawMessage, error) {
	given := codec.Members(object)
	for i := range given {
		if _, ok := fieldIn(f.Fields, given[i].Name); !ok && m&further == 0 {
			return nil, f.unknown(given[i].Name)
		}
	}
	kept := make([]codec.Member, 0, len(f.Fields))
	for i := range f.Fields {
		inner := &f.Fields[i]
		at, ok := slices.BinarySearchFunc(given, inner.Name, func(m codec.Member, name string) int { return strings.Compare(m.Name, name) })
		value := []byte(inner.Default)
		switch {
		case ok && codec.KindOf(given[at].Value) != codec.Null:
			var err error
			if value, err = inner.fit(given[at].Value, m); err != nil {
				return nil, codec.At(codec.Step(inner.Name), err)
			}
		case value == nil && inner.Optional, !ok && m&partial != 0:
			continue
		case value == nil:
			return nil, codec.At(codec.Step(inner.Name), Errorf(Invalid, "it is missing").
				WithHint("give a value of type %s, or make the field optional", inner.Type))
		}
		kept = append(kept, codec.Member{Name: inner.Name, Value: value})
	}
	return codec.AppendObject(nil, kept), nil
}

// unknown is the error for a member that an object cannot have.
func (f *Field) unknown(name string) error {
	err := Errorf(Invalid, "there is no such field")
	names := fieldNames(f.Fields)
	if near := suggest.Name(name, names); near != "" {
		err = err.WithHint("did you mean %s?", near)
	} else if len(names) > 0 {
		err = err.WithHint("its fields are %s", strings.Join(names, ", "))
	}
	return codec.At(codec.Step(name), err)
}

func fieldNames(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// canonicalDefault returns a default in the form in which it is stored, or
// says why it does not fit.
func (f *Field) canonicalDefault(text []byte) (json.RawMessage, error) {
	if !json.Valid(text) {
		return nil, Errorf(Invalid, "default %.80s is not JSON", text).
			WithHint(`a text default needs quotes: default="Silver"`)
	}
	// The brackets stand for the object that the default will be part of:
	// they count as one level of depth.
	inside, err := codec.AppendCanonical(nil, slices.Concat([]byte("["), text, []byte("]")))
	if err != nil {
		return nil, Errorf(Invalid, "default %.80s: %w", text, err)
	}
	canonical := inside[1 : len(inside)-1]
	fitted, err := f.fit(canonical, 0)
	if err != nil {
		return nil, Errorf(Invalid, "default %.80s: %w", canonical, err)
	}
	return fitted, nil
}
