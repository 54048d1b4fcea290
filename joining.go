package onto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// Joining returns the schema with which the type joins a store that has another version of
// it. A Go struct always gives its fields, so one that is required and has no default can
// begin as the zero value of its Go type: at every depth, that becomes the default of each
// field that the stored schema has not, or has with this default. The zero value of an
// object has those of its required fields.
//
// Lacking says, for each such field that the stored schema has not, why it has no zero
// value: its enum does not contain it, or the field can hold anything. A type without a Go
// struct joins as it is.
func (t Type) Joining(stored Schema) (joining Schema, lacking []string) {
	joining = t.schema.LikeStored(stored)
	if t.bound != nil {
		z := zeroing{&lacking}
		joining.Fields = z.fields(joining.Fields, stored.Fields, t.bound.Fields, "")
	}
	return joining, lacking
}

// zeroing gives fields their zero values as defaults.
type zeroing struct{ lacking *[]string }

// fields does it for the fields of an object that stands at a path.
func (z zeroing) fields(fields, stored []Field, bound []gostruct.Field, path string) []Field {
	fields = slices.Clone(fields)
	for i := range fields {
		f, v := &fields[i], boundTo(bound, fields[i].Name)
		if v == nil {
			continue // no struct gives it
		}
		at := FieldPath(path, f.Name)
		was, kept := fieldIn(stored, f.Name)
		if kept {
			z.inside(f, &was, &v.Value, at)
		} else {
			zeroing{new([]string)}.inside(f, &Field{}, &v.Value, at) // what is lacking, zero says
		}
		if f.Optional || f.Default != nil || kept && was.Default == nil {
			continue
		}
		zero, problem := f.zero(v, at)
		switch {
		case !kept && problem != "":
			*z.lacking = append(*z.lacking, problem)
		case problem == "" && (!kept || f.sameDefault(zero, &was)):
			f.Default = zero
		}
	}
	return fields
}

// boundTo returns where a struct has the field of that name; nil if it has none. The value of
// an attribute that has many is one of these.
func boundTo(bound []gostruct.Field, name string) *gostruct.Field {
	i := slices.IndexFunc(bound, func(b gostruct.Field) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	f := bound[i]
	if f.Many && f.Elem != nil {
		f.Value = *f.Elem
	}
	return &f
}

// inside does it for what is inside a field. All of it is new if nothing is stored.
func (z zeroing) inside(f, stored *Field, v *gostruct.Value, path string) {
	switch {
	case f.Items != nil && v.Elem != nil:
		f.Items = z.element(f.Items, stored.Items, v.Elem, path+"[]")
	case f.Values != nil && v.Elem != nil:
		f.Values = z.element(f.Values, stored.Values, v.Elem, path+"{}")
	case f.Fields != nil:
		f.Fields = z.fields(f.Fields, stored.Fields, v.Fields, path)
	}
}

// element does it for what the elements of a list or the values of a map are.
func (z zeroing) element(f, stored *Field, v *gostruct.Value, path string) *Field {
	e := *f
	if stored == nil {
		stored = &Field{}
	}
	z.inside(&e, stored, v, path)
	return &e
}

// sameDefault reports whether a value is the default that the stored field has: in either of
// the two declarations, an object may have got further fields with defaults of their own.
func (f *Field) sameDefault(value json.RawMessage, stored *Field) bool {
	if older, err := stored.FitValue(value); err == nil && bytes.Equal(older, stored.Default) {
		return true
	}
	newer, err := f.FitValue(stored.Default)
	return err == nil && bytes.Equal(newer, value)
}

// zero is the stored form of the zero value that a struct has in a required field, or the
// reason why there is none.
func (f *Field) zero(v *gostruct.Field, path string) (zero json.RawMessage, problem string) {
	switch f.Type {
	case String:
		if zero = f.zeroText(v); zero == nil {
			return nil, fmt.Sprintf("%s is required, and the zero %v is not stored as a text: make it optional", path, v.Type)
		}
	case Int, Float:
		zero = json.RawMessage("0")
	case Bool:
		zero = json.RawMessage("false")
	case Time:
		zero = json.RawMessage(`"` + codec.FormatTime(time.Time{}) + `"`)
	case DateOnly:
		zero = json.RawMessage(`"0001-01-01"`)
	case List:
		zero = json.RawMessage("[]")
	case Object:
		return f.zeroObject(v, path)
	default:
		return nil, path + " is required and can hold anything, so it has no zero value: make it optional"
	}
	if !f.allows(zero) {
		return nil, fmt.Sprintf("%s is required, and its zero value %s is none of %s: give it a default, or make it optional", path, zero, f.choices())
	}
	return zero, ""
}

// zeroText is zero for a text, which a Go type may write in its own way; nil if it cannot.
func (f *Field) zeroText(v *gostruct.Field) json.RawMessage {
	if !v.Quoted && !hasMethods(v.Type, textMarshaler) {
		return json.RawMessage(`""`)
	}
	text, err := codec.AppendValue(nil, reflect.Zero(v.Type))
	if err == nil && v.Quoted {
		text, err = codec.AppendString(nil, string(text))
	}
	if err != nil || codec.KindOf(text) != codec.String {
		return nil
	}
	return text
}

// zeroObject is zero for an object: that of its required fields, and the defaults of others.
func (f *Field) zeroObject(v *gostruct.Field, path string) (zero json.RawMessage, problem string) {
	members := make([]codec.Member, 0, len(f.Fields))
	for i := range f.Fields {
		inner := &f.Fields[i]
		value := inner.Default
		if at := boundTo(v.Fields, inner.Name); at != nil && value == nil && !inner.Optional {
			if value, problem = inner.zero(at, FieldPath(path, inner.Name)); problem != "" {
				return nil, problem
			}
		}
		if value != nil {
			members = append(members, codec.Member{Name: inner.Name, Value: value})
		}
	}
	return codec.AppendObject(nil, members), ""
}
