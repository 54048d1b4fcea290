// Package gostruct tells where in a Go struct the fields of a type are.
package gostruct

import "reflect"

// Binding ties a Go struct to a schema.
type Binding struct {
	Struct   reflect.Type
	Fields   []Field // sorted by name
	Link     []int   // index of the embedded Link; nil if there is none
	About    []int   // index of the embedded About; nil if there is none
	Instance []int   // index of the field that holds the instance key; nil if there is none
}

// Field is a struct field that holds a schema field.
type Field struct {
	Name  string
	Index []int
	Value
	Indirect  bool // an embedded pointer leads to it
	OmitEmpty bool // leave out when empty, in the sense of encoding/json
	OmitZero  bool // leave out when zero
	Quoted    bool // the json tag's "string" option
	Many      bool // a slice that holds the values of an attribute
}

// Value tells how a Go type, or what it points to, holds values.
type Value struct {
	Type   reflect.Type
	Fields []Field // of a struct that is stored field by field, sorted by name; nil otherwise
	Elem   *Value  // of the elements of a list or the values of a map; nil if they can be anything
}

// Get returns the field of a struct; the zero Value if an embedded pointer on the way to it
// is nil.
func (f *Field) Get(s reflect.Value) reflect.Value {
	switch {
	case len(f.Index) == 1:
		return s.Field(f.Index[0])
	case !f.Indirect:
		return s.FieldByIndex(f.Index)
	}
	v, err := s.FieldByIndexErr(f.Index)
	if err != nil {
		return reflect.Value{}
	}
	return v
}

// Make returns the field of a struct that can be set. It makes what embedded pointers on
// the way to it point to.
func (f *Field) Make(s reflect.Value) reflect.Value {
	switch {
	case len(f.Index) == 1:
		return s.Field(f.Index[0])
	case !f.Indirect:
		return s.FieldByIndex(f.Index)
	}
	for _, i := range f.Index {
		if s.Kind() == reflect.Pointer {
			if s.IsNil() {
				s.Set(reflect.New(s.Type().Elem()))
			}
			s = s.Elem()
		}
		s = s.Field(i)
	}
	return s
}
