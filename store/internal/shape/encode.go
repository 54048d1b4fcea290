package shape

import (
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/gostruct"
)

// Bind ties a Go struct to the type, which serves the schema of the struct.
func (t *Type) Bind(b *gostruct.Binding, given onto.Schema) {
	t.given, t.bound = given, b
	t.encode = make([]fieldEncoder, 0, len(b.Fields))
	for i := range b.Fields {
		schema, ok := t.Schema.Field(b.Fields[i].Name)
		if !ok {
			continue // the instance key, which is stored in the identity only
		}
		as, _ := given.Field(schema.Name)
		as.Default, as.Optional = schema.Default, schema.Optional
		t.encode = append(t.encode, newFieldEncoder(&b.Fields[i], as, 1))
	}
	t.decode = newStructDecoder(b.Fields)
}

// WriteStruct makes a write of a struct.
func (t *Type) WriteStruct(v reflect.Value) (backend.Write, error) {
	id := t.structIdentity(v)
	keyField := t.Schema.Key
	fields := append(make([]byte, 0, 256), '{')
	for i := range t.encode {
		e := &t.encode[i]
		start := len(fields)
		if start > 1 {
			fields = append(fields, ',')
		}
		fields = append(fields, e.prefix...)
		value := len(fields)
		var err error
		if fields, err = e.appendField(fields, e.Get(v), false); err != nil {
			return backend.Write{}, fieldError(id, e.field, err)
		}
		if len(fields) == value {
			fallback, err := missing(id, &e.field)
			if err != nil {
				return backend.Write{}, err
			}
			if fallback == nil {
				fields = fields[:start]
				continue
			}
			fields = append(fields, fallback...)
		}
		if e.Name == keyField {
			id.Key = e.field.Type.KeyText(fields[value:])
		}
	}
	fields = append(fields, '}')
	if t.computed.Keyed() {
		var err error
		if id.Key, err = t.computed.Key(fields); err != nil {
			return backend.Write{}, err
		}
	}
	if err := t.CheckIdentity(id); err != nil {
		return backend.Write{}, err
	}
	return t.finish(id, fields, t.Known)
}

// IdentityOf returns the identity of a struct.
func (t *Type) IdentityOf(v reflect.Value) (onto.Identity, error) {
	id := t.structIdentity(v)
	var parts []codec.Member // of a computed key
	for i := range t.encode {
		e := &t.encode[i]
		part := t.computed.OfKey(e.Name)
		if e.Name != t.Schema.Key && !part {
			continue
		}
		text, err := e.appendField(nil, e.Get(v), false)
		switch {
		case err != nil:
			return id, fieldError(id, e.field, err)
		case part && len(text) > 0:
			parts = append(parts, codec.Member{Name: e.Name, Value: text})
		case len(text) > 0:
			id.Key = e.field.Type.KeyText(text)
		}
	}
	if t.computed.Keyed() {
		var err error
		if id.Key, err = t.computed.Key(codec.AppendObject(nil, parts)); err != nil {
			return id, err
		}
	}
	return id, t.CheckIdentity(id)
}

// structIdentity is the identity of a struct, but for an entity's key.
func (t *Type) structIdentity(v reflect.Value) onto.Identity {
	id := onto.Identity{Kind: t.Schema.Kind, Type: t.Schema.Name}
	if t.bound.Link == nil {
		return id
	}
	link := v.FieldByIndex(t.bound.Link)
	id.Left, id.Right = link.FieldByName("Left").String(), link.FieldByName("Right").String()
	if t.bound.Instance != nil {
		id.Instance = v.FieldByIndex(t.bound.Instance).String()
	}
	return id
}

// fieldError says what is wrong with a field, or somewhere inside it.
func fieldError(id onto.Identity, f onto.Field, err error) error {
	return onto.Errorf(onto.Invalid, "%s: field %w", id, codec.At(f.Name, err))
}
