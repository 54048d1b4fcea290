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
	Name      string
	Index     []int
	Type      reflect.Type
	OmitEmpty bool // leave out when empty, in the sense of encoding/json
	OmitZero  bool // leave out when zero
	Quoted    bool // the json tag's "string" option
	Many      bool // a slice that holds the values of an attribute
}
