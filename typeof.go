package onto

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/gostruct"
)

// Type is a schema together with the Go struct it was read from, if any. Make
// one with TypeOf or Untyped and hand it to a store.
type Type struct {
	schema Schema
	bound  *gostruct.Binding
	err    error
	broken bool // what is wrong is more than the schema: no further change mends it
}

// TypeOf reads the schema of the struct T from its json and onto tags. Mistakes in T
// are reported when the type is used.
func TypeOf[T any]() Type { return typeOf(reflect.TypeFor[T]()) }

// Untyped is a type known only by its schema. Defaults need not be canonical.
func Untyped(s Schema) Type {
	s = s.normal().withFactFields()
	return Type{schema: s, err: s.Check()}
}

// As returns the type under another name, for example TypeOf[CustomerV2]().As("Customer").
// Relations refer to their endpoints by the Go names of the structs in their [Link], so
// there it must be a struct that is called Customer; otherwise use [Untyped].
func (t Type) As(name string) Type {
	t.schema.Name = name
	if t.err == nil {
		t.err = CheckName("type", name)
	}
	return t
}

// Schema returns the schema, or what is wrong with the type.
func (t Type) Schema() (Schema, error) {
	if t.err == nil && t.schema.Kind == "" {
		return Schema{}, Errorf(Invalid, "the zero onto.Type describes nothing").WithHint("use onto.TypeOf")
	}
	return t.schema, t.err
}

// Binding returns how the Go struct is bound, or nil for a type without one.
func (t Type) Binding() *gostruct.Binding { return t.bound }

func typeOf(st reflect.Type) Type {
	t := Type{schema: Schema{Name: st.Name()}, broken: true}
	if st.Kind() != reflect.Struct || st.Name() == "" || strings.ContainsAny(st.Name(), "[]") {
		t.err = Errorf(Invalid, "type %v is not a named, plain struct", st)
		return t
	}
	for _, methods := range []reflect.Type{jsonMarshaler, textMarshaler, unmarshaler, textReader} {
		if hasMethods(st, methods) {
			t.err = Errorf(Invalid, "type %v has a JSON form of its own, so its fields cannot be stored one by one", st).
				WithHint("it, or a struct embedded in it, has the method %s", methods.Method(0).Name)
			return t
		}
	}
	r := &typeReader{schema: &t.schema, bound: &gostruct.Binding{Struct: st}}
	t.schema.Kind = KindEntity
	if t.err = r.read(st); t.err != nil {
		return t
	}
	if t.err = r.readFacts(); t.err != nil {
		return t
	}
	t.schema = t.schema.normal().withFactFields()
	t.bound = r.bound
	t.err, t.broken = t.schema.Check(), false
	return t
}

// typeReader walks a struct and fills in schema and binding.
type typeReader struct {
	schema *Schema
	bound  *gostruct.Binding

	within []reflect.Type // the structs that are being read, from the outside in
	count  int            // fields so far, at all depths
}

func (r *typeReader) read(st reflect.Type) error {
	w := structReader{typeReader: r, top: true, indexable: true}
	if err := w.readStruct(st, nil, false); err != nil {
		return err
	}
	var err error
	r.schema.Fields, r.bound.Fields, err = w.sorted()
	return err
}

// linkOf returns the endpoints of a type that is a Link.
func linkOf(t reflect.Type) (left, right reflect.Type, ok bool) {
	if t.Kind() != reflect.Struct {
		return nil, nil, false
	}
	l, ok := reflect.Zero(t).Interface().(linked)
	if !ok {
		return nil, nil, false
	}
	link, left, right := l.endpoints()
	return left, right, link == t
}

func (r *typeReader) readLink(left, right reflect.Type, index []int) error {
	switch {
	case r.bound.About != nil:
		return bothEmbedded(r.schema.Name)
	case r.bound.Link != nil:
		return Errorf(Invalid, "%s has two links", r.schema.Name)
	}
	r.bound.Link = index
	r.schema.Kind = KindRelation
	r.schema.Left, r.schema.Right = left.Name(), right.Name()
	return nil
}

func (r *typeReader) readInstance(f reflect.StructField, index []int, name string, tag fieldTag) error {
	if f.Type.Kind() != reflect.String {
		return Errorf(Invalid, "%s.%s: an instance key is a string", r.schema.Name, f.Name)
	}
	if r.bound.Instance != nil {
		return Errorf(Invalid, "%s has two instance keys", r.schema.Name)
	}
	r.bound.Instance = index
	switch {
	case tag.instanceName != "":
		r.schema.InstanceKey = tag.instanceName
	case name == "-":
		return Errorf(Invalid, "%s.%s: the instance key has no name", r.schema.Name, f.Name).
			WithHint(`write onto:"instance=NAME"`)
	case name == "":
		r.schema.InstanceKey = f.Name
	default:
		r.schema.InstanceKey = name
	}
	return nil
}

var (
	rawMessage    = reflect.TypeFor[json.RawMessage]()
	jsonNumber    = reflect.TypeFor[json.Number]()
	unmarshaler   = reflect.TypeFor[json.Unmarshaler]()
	textReader    = reflect.TypeFor[encoding.TextUnmarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)
