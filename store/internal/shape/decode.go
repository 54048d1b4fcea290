package shape

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// fieldDecoder reads one struct field out of canonical JSON. Values of plain
// types are read here, all others by encoding/json, one by one: this takes half
// the time of decoding the whole.
type fieldDecoder struct {
	name  string
	index []int
	read  func(v reflect.Value, canonical []byte) bool
}

// bindDecoders prepares the decoding of the struct. Structs that hold values of
// any type, or plain values as text, are left to encoding/json.
func (t *Type) bindDecoders() {
	if t.free {
		return
	}
	decoders := make([]fieldDecoder, len(t.bound.Fields))
	for i, f := range t.bound.Fields {
		if f.Quoted {
			return
		}
		decoders[i] = fieldDecoder{f.Name, f.Index, readerFor(f.Type)}
	}
	t.decoders = decoders
}

// readerFor picks how values of a Go type are read. A reader reports false for values
// that it leaves to encoding/json, if only for its error.
func readerFor(t reflect.Type) func(reflect.Value, []byte) bool {
	if t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "" && t.Elem().Kind() != reflect.Pointer {
		read := readerFor(t.Elem())
		return func(v reflect.Value, canonical []byte) bool {
			p := reflect.New(t.Elem())
			if !read(p.Elem(), canonical) {
				return false
			}
			v.Set(p)
			return true
		}
	}
	if t.PkgPath() != "" { // it may have methods
		return readOther
	}
	switch t.Kind() {
	case reflect.String:
		return readText
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Float64:
		return readFloat
	}
	return readOther
}

func readText(v reflect.Value, canonical []byte) bool {
	if canonical[0] != '"' {
		return false
	}
	v.SetString(codec.Unquote(canonical))
	return true
}

func readBool(v reflect.Value, canonical []byte) bool {
	if codec.KindOf(canonical) != codec.Bool {
		return false
	}
	v.SetBool(canonical[0] == 't')
	return true
}

func readInt(v reflect.Value, canonical []byte) bool {
	n, err := strconv.ParseInt(string(canonical), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func readFloat(v reflect.Value, canonical []byte) bool {
	f, err := strconv.ParseFloat(string(canonical), 64)
	if err != nil {
		return false
	}
	v.SetFloat(f)
	return true
}

func readOther(v reflect.Value, canonical []byte) bool {
	return json.Unmarshal(canonical, v.Addr().Interface()) == nil
}

// decodeCanonical fills in a zero struct. It reports false for what it cannot read:
// then the struct is zero again, and encoding/json can say why. A damaged file can hold
// anything, which may cause a panic here.
func (t *Type) decodeCanonical(fields []byte, s reflect.Value) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
		if !ok {
			s.SetZero()
		}
	}()
	if t.decoders == nil || len(fields) < 2 || fields[0] != '{' || fields[len(fields)-1] != '}' {
		return false
	}
	rest := t.decoders
	for name, value := range codec.Pairs(fields) {
		for len(rest) > 0 && rest[0].name < string(name) {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].name != string(name) {
			if t.Known != nil {
				continue
			}
			return false // an unknown name: encoding/json leaves it out, or finds it in another case
		}
		if value[0] == 'n' {
			continue
		}
		if !rest[0].read(s.FieldByIndex(rest[0].index), value) {
			return false
		}
	}
	return true
}

// Decode fills in the struct that dst points to from a version.
func (t *Type) Decode(v *onto.Version, dst any) error {
	s := reflect.ValueOf(dst).Elem()
	if !t.decodeCanonical(v.Fields, s) {
		if err := t.unmarshal(t.bare(v.Fields), dst); err != nil {
			if wide := t.outgrown(v); wide != nil {
				return wide
			}
			return onto.Errorf(onto.Invalid, "%s at commit %d does not fit the Go type %v: %w", v.Identity, v.Commit, t.bound.Struct, err).
				WithHint("read it by name with View.Get, or widen the Go type")
		}
	}
	if t.bound.About != nil {
		s.FieldByIndex(t.bound.About).FieldByName("Subject").SetString(v.Left)
	}
	if t.bound.Link == nil {
		return nil
	}
	link := s.FieldByIndex(t.bound.Link)
	link.FieldByName("Left").SetString(v.Left)
	link.FieldByName("Right").SetString(v.Right)
	if t.bound.Instance != nil {
		s.FieldByIndex(t.bound.Instance).SetString(v.Instance)
	}
	return nil
}

// bare leaves out the fields that the struct does not have: encoding/json would take one
// whose name differs only in case for another.
func (t *Type) bare(fields []byte) []byte {
	has := func(name string) bool {
		return slices.ContainsFunc(t.bound.Fields, func(f gostruct.Field) bool { return f.Name == name })
	}
	members, err := codec.ParseObject(fields)
	if err != nil || !slices.ContainsFunc(members, func(m codec.Member) bool { return !has(m.Name) }) {
		return fields
	}
	return codec.AppendObject(nil, slices.DeleteFunc(members, func(m codec.Member) bool { return !has(m.Name) }))
}

// outgrown is the error for a value that the field could not hold before its type was
// widened; nil if there is none.
func (t *Type) outgrown(v *onto.Version) error {
	for _, m := range codec.Members(v.Fields) {
		had, known := t.given.Field(m.Name)
		if now, _ := t.Schema.Field(m.Name); !known || now.Type == had.Type {
			continue
		}
		if err := fits(had, m.Value); err != nil {
			return onto.Errorf(onto.SchemaOutdated, "%s at commit %d: field %s holds what Go type %v cannot: %w", v.Identity, v.Commit, m.Name, t.bound.Struct, err).
				WithHint("widen the field in the Go type, or read it by name with View.Get")
		}
	}
	return nil
}

// fits reports whether a field could hold a value, or each of a list if it has many.
func fits(f onto.Field, value []byte) error {
	values := slices.Values([][]byte{value})
	if f.Many {
		values = codec.Elements(value)
	}
	for value := range values {
		if _, err := f.Type.Fit(value); err != nil {
			return err
		}
	}
	return nil
}
