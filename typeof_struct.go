package onto

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ontologia/onto/internal/gostruct"
)

// structReader reads the fields of one struct, with those of the structs embedded in it.
type structReader struct {
	*typeReader
	top       bool   // the fields are those of the type itself
	path      string // of the object that the struct stands for
	indexable bool   // it is reached through objects only
	outside   int    // how many structs it stands in

	found []foundField
}

// foundField is a field of the struct, or of one that is embedded in it.
type foundField struct {
	schema Field
	bound  gostruct.Field
	key    bool // it is marked as the key
}

func (r *structReader) readStruct(st reflect.Type, prefix []int, indirect bool) error {
	r.within = append(r.within, st)
	defer func() { r.within = r.within[:len(r.within)-1] }()
	for i := range st.NumField() {
		index := append(append([]int(nil), prefix...), i)
		if err := r.readField(st.Field(i), index, indirect); err != nil {
			return err
		}
	}
	return nil
}

// name is a field's name in messages.
func (r *structReader) name(field string) string {
	return r.schema.Name + "." + FieldPath(r.path, field)
}

func (r *structReader) readField(f reflect.StructField, index []int, indirect bool) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous {
		if done, err := r.readEmbedded(f, name, index, indirect); done || err != nil {
			return err
		}
	}
	tag, err := parseTag(f.Tag.Get("onto"))
	if err != nil {
		return Errorf(Invalid, "%s: %w", r.name(f.Name), err)
	}
	if !r.top {
		tag = tag.inner()
	}
	if !f.IsExported() {
		if !tag.empty() {
			return Errorf(Invalid, "%s: an unexported field cannot be stored", r.name(f.Name))
		}
		return nil
	}
	if tag.instance {
		if err := r.readInstance(f, index, name, tag); err != nil {
			return err
		}
	}
	if f.Tag.Get("json") == "-" {
		if !tag.empty() && !tag.instance {
			return Errorf(Invalid, "%s: a field with json:\"-\" cannot be stored", r.name(f.Name))
		}
		return nil
	}
	if name == "" || !r.top && !takenName(name) {
		name = f.Name
	}
	bound := gostruct.Field{Name: name, Index: index, Indirect: indirect, Many: tag.many}
	readOptions(&bound, options)
	return r.addField(f.Type, bound, tag)
}

// readEmbedded reads an embedded field. It reports false for one that is a field like
// others.
func (r *structReader) readEmbedded(f reflect.StructField, name string, index []int, indirect bool) (done bool, err error) {
	if left, right, ok := linkOf(f.Type); ok && r.top {
		return true, r.readLink(left, right, index)
	}
	if subject, ok := aboutOf(f.Type); ok && r.top {
		return true, r.readAbout(subject, index)
	}
	st := f.Type
	if st.Kind() == reflect.Pointer && st.Elem().Kind() == reflect.Struct {
		st, indirect = st.Elem(), true
	}
	_, _, isLink := linkOf(st)
	_, isAbout := aboutOf(st)
	switch {
	case r.top && (isLink || isAbout):
		return true, Errorf(Invalid, "%s: what a thing is about cannot be embedded as a pointer", r.name(f.Name)).WithHint("embed the struct itself")
	case name != "" || st.Kind() != reflect.Struct:
		return false, nil
	case indirect && !f.IsExported():
		return true, Errorf(Invalid, "%s: an embedded pointer to an unexported struct cannot be read back", r.name(f.Name)).
			WithHint("embed the struct itself, or give the field an exported type")
	case !r.top && slices.Contains(r.within[r.outside:], st): // its fields are hidden by those that are less deep
		return true, nil
	case r.top && slices.Contains(r.within, st):
		return true, Errorf(Invalid, "%s: %v embeds itself", r.name(f.Name), st).WithHint("give the field a json name")
	}
	return true, r.readStruct(st, index, indirect)
}

func (r *structReader) addField(t reflect.Type, bound gostruct.Field, tag fieldTag) error {
	name := r.name(bound.Name)
	if !storable(t) {
		return Errorf(Invalid, "%s: a %s cannot be stored", name, t).
			WithHint(`leave it out with json:"-"`)
	}
	bound.Quoted = bound.Quoted && isScalar(t) // encoding/json ignores it elsewhere
	bound.Type = t
	if tag.many {
		if t.Kind() != reflect.Slice || fieldTypeOf(t) != List || !storable(t.Elem()) {
			return Errorf(Invalid, "%s: an attribute with many values is a slice of what can be stored, not a %s", name, t)
		}
		t = t.Elem()
	}
	field, value, err := r.valueOf(t, FieldPath(r.path, bound.Name), r.indexable)
	if err != nil {
		return err
	}
	if bound.Quoted {
		field = Field{Type: String}
	}
	if tag.many {
		bound.Value = gostruct.Value{Type: bound.Type, Elem: &value}
	} else {
		bound.Value = value
	}
	field.Name, field.Many, field.Index, field.Search = bound.Name, tag.many, tag.index, tag.search
	if !r.top {
		field.Index = tag.index && r.indexable && field.Type.Scalar()
	}
	field.Optional = nullable(t) || bound.OmitEmpty || bound.OmitZero || bound.Indirect
	if err := field.readEnum(tag.enum); err != nil {
		return Errorf(Invalid, "%s: %w", name, err)
	}
	if tag.fallback != "" {
		canonical, err := field.canonicalDefault([]byte(tag.fallback))
		if err != nil {
			return Errorf(Invalid, "%s: %w", name, err)
		}
		field.Default, field.Optional = canonical, false
	}
	r.found = append(r.found, foundField{field, bound, tag.key})
	return nil
}

// sorted returns the fields in order of their names. Where a struct and one that is
// embedded in it have fields of one name, the field of the outer struct is meant.
func (r *structReader) sorted() ([]Field, []gostruct.Field, error) {
	slices.SortStableFunc(r.found, func(a, b foundField) int {
		if c := strings.Compare(a.schema.Name, b.schema.Name); c != 0 {
			return c
		}
		return len(a.bound.Index) - len(b.bound.Index)
	})
	fields, bound := make([]Field, 0, len(r.found)), make([]gostruct.Field, 0, len(r.found))
	for i, f := range r.found {
		if i > 0 && r.found[i-1].schema.Name == f.schema.Name {
			if last := bound[len(bound)-1]; len(last.Index) == len(f.bound.Index) {
				return nil, nil, Errorf(Invalid, "%s: two struct fields are named %s", r.schema.Name, FieldPath(r.path, f.schema.Name))
			}
			continue
		}
		fields, bound = append(fields, f.schema), append(bound, f.bound)
		switch {
		case !f.key:
		case r.schema.Key != "":
			return nil, nil, Errorf(Invalid, "%s: both %s and %s are marked as the key", r.schema.Name, r.schema.Key, f.schema.Name)
		default:
			r.schema.Key = f.schema.Name
		}
	}
	return fields, bound, nil
}

// takenName reports whether encoding/json takes a name out of a tag: it goes by the name of
// the Go field where there is anything but letters, digits and some signs.
func takenName(name string) bool {
	for _, c := range name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) {
			return false
		}
	}
	return true
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
