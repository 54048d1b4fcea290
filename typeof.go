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
}

// TypeOf reads the schema of the struct T from its json and onto tags. Mistakes in T
// are reported when the type is used.
func TypeOf[T any]() Type { return typeOf(reflect.TypeFor[T]()) }

// Untyped is a type known only by its schema. Defaults need not be canonical.
func Untyped(s Schema) Type {
	s = s.withCanonicalDefaults().withFactFields()
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
	t := Type{schema: Schema{Name: st.Name()}}
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
	if t.err = r.read(st, nil); t.err != nil {
		return t
	}
	if t.err = r.readFacts(); t.err != nil {
		return t
	}
	t.schema.SortFields()
	r.sort()
	t.schema = t.schema.withFactFields()
	t.bound = r.bound
	t.err = t.schema.Check()
	return t
}

// typeReader walks a struct and fills in schema and binding.
type typeReader struct {
	schema *Schema
	bound  *gostruct.Binding
}

func (r *typeReader) read(st reflect.Type, prefix []int) error {
	for i := range st.NumField() {
		f := st.Field(i)
		index := append(append([]int(nil), prefix...), i)
		if err := r.readField(f, index); err != nil {
			return err
		}
	}
	return nil
}

func (r *typeReader) readField(f reflect.StructField, index []int) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous {
		if left, right, ok := linkOf(f.Type); ok {
			return r.readLink(left, right, index)
		}
		if subject, ok := aboutOf(f.Type); ok {
			return r.readAbout(subject, index)
		}
		if name == "" && f.Type.Kind() == reflect.Struct {
			return r.read(f.Type, index)
		}
		if name == "" && f.Type.Kind() == reflect.Pointer {
			return Errorf(Invalid, "%s.%s: an embedded pointer cannot be stored", r.schema.Name, f.Name).
				WithHint("embed the struct itself, or give the field a json name")
		}
	}
	tag, err := parseTag(f.Tag.Get("onto"))
	if err != nil {
		return Errorf(Invalid, "%s.%s: %w", r.schema.Name, f.Name, err)
	}
	if !f.IsExported() {
		if tag != (fieldTag{}) {
			return Errorf(Invalid, "%s.%s: an unexported field cannot be stored", r.schema.Name, f.Name)
		}
		return nil
	}
	if tag.instance {
		if err := r.readInstance(f, index, name, tag); err != nil {
			return err
		}
	}
	if f.Tag.Get("json") == "-" {
		if tag != (fieldTag{}) && !tag.instance {
			return Errorf(Invalid, "%s.%s: a field with json:\"-\" cannot be stored", r.schema.Name, f.Name)
		}
		return nil
	}
	if name == "" {
		name = f.Name
	}
	return r.addField(f, index, name, options, tag)
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

func (r *typeReader) addField(f reflect.StructField, index []int, name, options string, tag fieldTag) error {
	if !storable(f.Type) {
		return Errorf(Invalid, "%s.%s: a %s cannot be stored", r.schema.Name, name, f.Type).
			WithHint(`leave it out with json:"-"`)
	}
	bound := gostruct.Field{Name: name, Index: index, Type: f.Type}
	readOptions(&bound, options)
	bound.Quoted = bound.Quoted && isScalar(f.Type) // encoding/json ignores it elsewhere
	bound.Many = tag.many
	if tag.many {
		if f.Type.Kind() != reflect.Slice || fieldTypeOf(f.Type) != List || !storable(f.Type.Elem()) {
			return Errorf(Invalid, "%s.%s: an attribute with many values is a slice of what can be stored, not a %s", r.schema.Name, name, f.Type)
		}
		f.Type = f.Type.Elem()
	}
	field := Field{
		Name: name, Type: fieldTypeOf(f.Type), Many: tag.many, Index: tag.index, Search: tag.search,
		Optional: nullable(f.Type) || bound.OmitEmpty || bound.OmitZero,
	}
	if bound.Quoted {
		field.Type = String
	}
	if tag.fallback != "" {
		canonical, err := canonicalDefault(field.Type, []byte(tag.fallback))
		if err != nil {
			return Errorf(Invalid, "%s.%s: %w", r.schema.Name, name, err)
		}
		field.Default, field.Optional = canonical, false
	}
	for _, other := range r.schema.Fields {
		if other.Name == name {
			return Errorf(Invalid, "%s: two struct fields are named %s", r.schema.Name, name)
		}
	}
	if tag.key {
		if r.schema.Key != "" {
			return Errorf(Invalid, "%s: both %s and %s are marked as the key", r.schema.Name, r.schema.Key, name)
		}
		r.schema.Key = name
	}
	r.schema.Fields = append(r.schema.Fields, field)
	r.bound.Fields = append(r.bound.Fields, bound)
	return nil
}

// readOptions reads what follows the name in a json tag.
func readOptions(b *gostruct.Field, options string) {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			b.OmitEmpty = true
		case "omitzero":
			b.OmitZero = true
		case "string":
			b.Quoted = true
		}
	}
}

// isScalar reports whether the JSON form of a Go type is a plain text, number
// or bool.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch fieldTypeOf(t) {
	case String:
		return t.Kind() == reflect.String && !hasMethods(t, textMarshaler)
	case Int, Float, Bool:
		return true
	}
	return false
}

// hasMethods reports whether a type or its pointer implements an interface.
func hasMethods(t, methods reflect.Type) bool {
	return t.Implements(methods) || reflect.PointerTo(t).Implements(methods)
}

// storable reports whether values of this Go type can have a JSON form.
func storable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return t.Implements(jsonMarshaler) || t.Implements(textMarshaler)
	case reflect.Interface: // its contents could not be read back
		return t.NumMethod() == 0
	}
	return true
}

// nullable reports whether a Go value of this type can mean that there is no value. A
// nil slice or map does not: it is an empty one.
func nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessage
}

// sort brings the bound fields into the order of the schema's.
func (r *typeReader) sort() {
	byName := make(map[string]gostruct.Field, len(r.bound.Fields))
	for _, b := range r.bound.Fields {
		byName[b.Name] = b
	}
	for i, f := range r.schema.Fields {
		r.bound.Fields[i] = byName[f.Name]
	}
}

// fieldTag is a parsed onto tag.
type fieldTag struct {
	key, index, search, instance, many bool
	instanceName, fallback             string
}

func parseTag(whole string) (fieldTag, error) {
	var tag fieldTag
	for s := whole; s != ""; {
		if value, ok := strings.CutPrefix(s, "default="); ok {
			if value == "" {
				return tag, Errorf(Invalid, "tag onto:%q has an empty default", whole)
			}
			tag.fallback = value
			return tag, nil
		}
		word, rest, _ := strings.Cut(s, ",")
		switch {
		case word == "key":
			tag.key = true
		case word == "index":
			tag.index = true
		case word == "search":
			tag.search = true
		case word == "many":
			tag.many = true
		case word == "instance":
			tag.instance = true
		case strings.HasPrefix(word, "instance="):
			tag.instance, tag.instanceName = true, strings.TrimPrefix(word, "instance=")
		default:
			return tag, Errorf(Invalid, "tag onto:%q has the unknown word %q", whole, word).
				WithHint("use key, index, search, instance, many or default=JSON")
		}
		s = rest
	}
	return tag, nil
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

// fieldTypeOf maps a Go type to the field type its JSON has.
func fieldTypeOf(t reflect.Type) FieldType {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		return Time
	case t == rawMessage || t == jsonNumber || hasMethods(t, jsonMarshaler):
		return Any
	case hasMethods(t, textMarshaler):
		return String
	}
	switch t.Kind() {
	case reflect.String:
		return String
	case reflect.Bool:
		return Bool
	case reflect.Float32, reflect.Float64:
		return Float
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Int
	case reflect.Struct, reflect.Map:
		return Object
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return String // encoding/json writes bytes as base64
		}
		return List
	case reflect.Array:
		return List
	}
	return Any
}
