package shape

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// reader reads a value out of canonical JSON that is not null. It reports false for what
// it leaves to encoding/json, if only for its error.
type reader func(v reflect.Value, canonical []byte) bool

// structDecoder reads structs, field by field in the order of the names: this takes half
// the time that encoding/json does. Fields that a struct does not have are left out.
type structDecoder struct {
	fields []fieldDecoder
}

// fieldDecoder reads one struct field.
type fieldDecoder struct {
	*gostruct.Field
	read reader
}

func newStructDecoder(fields []gostruct.Field) structDecoder {
	d := structDecoder{make([]fieldDecoder, len(fields))}
	for i := range fields {
		f := &fields[i]
		d.fields[i] = fieldDecoder{f, readerFor(&f.Value)}
		if f.Quoted {
			d.fields[i].read = readQuoted(d.fields[i].read)
		}
	}
	return d
}

func (d *structDecoder) read(s reflect.Value, object []byte) bool {
	rest := d.fields
	for quoted, value := range codec.Pairs(object) {
		if len(rest) == 0 {
			return true
		}
		if rest[0].Name != string(quoted) {
			if rest = after(rest, quoted); len(rest) == 0 || rest[0].Name != codec.Name(quoted) {
				continue
			}
		}
		f := &rest[0]
		rest = rest[1:]
		if value[0] != 'n' && !f.read(f.Make(s), value) {
			return false
		}
	}
	return true
}

// after leaves out the fields whose names come before that of a member.
func after(fields []fieldDecoder, quoted []byte) []fieldDecoder {
	name := codec.Name(quoted)
	for len(fields) > 0 && fields[0].Name < name {
		fields = fields[1:]
	}
	return fields
}

// readerFor picks how values of a Go type are read.
func readerFor(g *gostruct.Value) reader {
	t := g.Type
	if t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Pointer && !decodesItself(t.Elem()) {
		elem := *g
		elem.Type = t.Elem()
		return readPointer(elem.Type, readerFor(&elem))
	}
	if decodesItself(t) {
		return readOther(t)
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
	case reflect.Struct:
		if g.Fields != nil {
			d := newStructDecoder(g.Fields)
			return func(v reflect.Value, canonical []byte) bool { return canonical[0] == '{' && d.read(v, canonical) }
		}
	case reflect.Slice:
		if g.Elem != nil {
			return readSlice(t, readerFor(g.Elem))
		}
	case reflect.Array:
		if g.Elem != nil {
			return readArray(readerFor(g.Elem))
		}
	case reflect.Map:
		if g.Elem != nil {
			return readMap(t, readerFor(g.Elem))
		}
	case reflect.Interface:
		return readAny
	}
	return readOther(t)
}

// decodesItself reports whether a type, or a pointer to it, has methods that read it.
func decodesItself(t reflect.Type) bool {
	if t.PkgPath() == "" {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func readPointer(t reflect.Type, read reader) reader {
	return func(v reflect.Value, canonical []byte) bool {
		p := reflect.New(t)
		if !read(p.Elem(), canonical) {
			return false
		}
		v.Set(p)
		return true
	}
}

// readQuoted reads a scalar that is written as text.
func readQuoted(read reader) reader {
	return func(v reflect.Value, canonical []byte) bool {
		if canonical[0] != '"' {
			return false
		}
		inner, err := codec.AppendCanonical(nil, []byte(codec.Unquote(canonical)))
		return err == nil && (inner[0] == 'n' || read(v, inner))
	}
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
	if kind := codec.KindOf(canonical); kind != codec.Int && kind != codec.Float {
		return false
	}
	f, err := strconv.ParseFloat(string(canonical), 64)
	if err != nil {
		return false
	}
	v.SetFloat(f)
	return true
}

func readAny(v reflect.Value, canonical []byte) bool {
	plain, err := codec.Plain(canonical)
	if err != nil {
		return false
	}
	v.Set(reflect.ValueOf(plain))
	return true
}

func readSlice(t reflect.Type, read reader) reader {
	return func(v reflect.Value, canonical []byte) bool {
		if canonical[0] != '[' {
			return false
		}
		n := 0
		for range codec.Elements(canonical) {
			n++
		}
		list := reflect.MakeSlice(t, n, n)
		if !readEach(list, canonical, read) {
			return false
		}
		v.Set(list)
		return true
	}
}

// readArray reads as many elements as the array has, as encoding/json does.
func readArray(read reader) reader {
	return func(v reflect.Value, canonical []byte) bool {
		return canonical[0] == '[' && readEach(v, canonical, read)
	}
}

// readEach reads the elements of a list. A null leaves its element zero.
func readEach(list reflect.Value, canonical []byte, read reader) bool {
	i := 0
	for value := range codec.Elements(canonical) {
		if i == list.Len() {
			break
		}
		if value[0] != 'n' && !read(list.Index(i), value) {
			return false
		}
		i++
	}
	return true
}

func readMap(t reflect.Type, read reader) reader {
	return func(v reflect.Value, canonical []byte) bool {
		if canonical[0] != '{' {
			return false
		}
		m := reflect.MakeMap(t)
		for _, member := range codec.Members(canonical) {
			key, ok := readKey(t.Key(), member.Name)
			if !ok {
				return false
			}
			value := reflect.New(t.Elem()).Elem()
			if member.Value[0] != 'n' && !read(value, member.Value) {
				return false
			}
			m.SetMapIndex(key, value)
		}
		v.Set(m)
		return true
	}
}

// readKey reads the key of a map out of the name that stands for it.
func readKey(t reflect.Type, name string) (reflect.Value, bool) {
	key := reflect.New(t)
	if text, ok := key.Interface().(encoding.TextUnmarshaler); ok && t.Kind() != reflect.String {
		return key.Elem(), text.UnmarshalText([]byte(name)) == nil
	}
	switch k := key.Elem(); {
	case k.Kind() == reflect.String:
		k.SetString(name)
	case k.CanInt():
		n, err := strconv.ParseInt(name, 10, 64)
		if err != nil || k.OverflowInt(n) {
			return k, false
		}
		k.SetInt(n)
	case k.CanUint():
		n, err := strconv.ParseUint(name, 10, 64)
		if err != nil || k.OverflowUint(n) {
			return k, false
		}
		k.SetUint(n)
	default:
		return k, false
	}
	return key.Elem(), true
}
