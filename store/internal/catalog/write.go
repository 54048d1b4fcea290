package catalog

import (
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Stream yields the writes of a draft's intents and of further things, which
// may be nil.
func (c *Catalog) Stream(d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for in := range d.Intents() {
			if !c.writes(in, yield) {
				return
			}
		}
		if things == nil {
			return
		}
		for thing, err := range things {
			if err != nil {
				yield(backend.Write{}, err)
				return
			}
			if !c.writes(intentOf(thing), yield) {
				return
			}
		}
	}
}

// intentOf is what a thing of a stream stands for.
func intentOf(thing any) onto.Intent {
	switch thing := thing.(type) {
	case onto.Intent:
		return thing
	case onto.Identity:
		return onto.Intent{Op: onto.Delete, Identity: thing}
	}
	return onto.Intent{Op: onto.Put, Value: thing}
}

// writes yields the writes that an intent stands for: one, or those of each
// element of a slice, array or iterator. It reports whether to go on.
func (c *Catalog) writes(in onto.Intent, yield func(backend.Write, error) bool) bool {
	switch {
	case in.Op == onto.Delete && in.Value == nil && in.Identity != (onto.Identity{}):
		return yield(c.deletion(in.Identity))
	case in.Op != onto.Put && in.Op != onto.Delete:
		return yield(backend.Write{}, onto.Errorf(onto.Invalid, "the op %q of an intent is unknown", in.Op).WithHint("use onto.Put or onto.Delete"))
	}
	v := reflect.ValueOf(in.Value)
	for hops := 0; (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil(); hops++ {
		if hops > codec.MaxDepth {
			return yield(backend.Write{}, onto.Errorf(onto.Invalid, "the draft has a pointer that leads round in a circle"))
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return yield(backend.Write{}, onto.Errorf(onto.Invalid, "the draft has a nil value"))
	case v.Kind() == reflect.Pointer, v.Kind() == reflect.Func && v.IsNil():
		return yield(backend.Write{}, onto.Errorf(onto.Invalid, "the draft has a nil %v", v.Type()))
	case v.Kind() == reflect.Struct && in.Op == onto.Delete:
		return yield(c.structDeletion(v))
	case v.Kind() == reflect.Struct:
		return yield(c.StructWrite(v, in.Merge))
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		for i := range v.Len() {
			if in.Value = v.Index(i).Interface(); !c.writes(in, yield) {
				return false
			}
		}
		return true
	case v.Kind() == reflect.Func && v.Type().CanSeq():
		for item := range v.Seq() {
			if in.Value = item.Interface(); !c.writes(in, yield) {
				return false
			}
		}
		return true
	}
	if in.Op == onto.Delete {
		return yield(backend.Write{}, notDeletable(v.Type()))
	}
	verb := "ensured"
	if in.Merge {
		verb = "merged"
	}
	return yield(backend.Write{}, onto.Errorf(onto.Invalid, "a %v cannot be %s", v.Type(), verb).
		WithHint("give a struct of a registered type, an onto.Entity, an onto.Relation, or a slice or iterator of these"))
}

func notDeletable(t reflect.Type) error {
	return onto.Errorf(onto.Invalid, "a %v cannot be deleted", t).
		WithHint("give an onto.Identity, a struct of a registered type, or a slice or iterator of these")
}

// structDeletion makes a delete of what a struct stands for.
func (c *Catalog) structDeletion(v reflect.Value) (backend.Write, error) {
	if t, ok := c.structs[v.Type()]; ok {
		id, err := t.IdentityOf(v)
		if err != nil {
			return backend.Write{}, err
		}
		return c.deletion(id)
	}
	switch thing := v.Interface().(type) {
	case onto.Identity:
		return c.deletion(thing)
	case onto.Version:
		return c.deletion(thing.Identity)
	case onto.Entity, onto.Relation:
		return backend.Write{}, notDeletable(v.Type())
	}
	_, err := c.OfStruct(v.Type())
	return backend.Write{}, err
}

func (c *Catalog) deletion(id onto.Identity) (backend.Write, error) {
	t, err := c.Get(id.Kind, id.Type)
	if err == nil {
		err = t.CheckIdentity(id)
	}
	if err != nil {
		return backend.Write{}, err
	}
	return backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: t.Version}, nil
}

// untyped makes a write of the fields of an identity.
func (c *Catalog) untyped(id onto.Identity, fields any, merge bool) (backend.Write, error) {
	t, err := c.Get(id.Kind, id.Type)
	switch {
	case err != nil:
		return backend.Write{}, err
	case merge:
		return t.Merge(id, fields)
	}
	return t.Write(id, fields)
}

// version makes a write that brings back a version. It was read with the present types
// and so has all their fields, also those that the program does not know.
func (c *Catalog) version(v onto.Version, merge bool) (backend.Write, error) {
	switch {
	case v.Op == onto.Delete && merge:
		return backend.Write{}, onto.Errorf(onto.Invalid, "the version of %s is a delete, which has no fields to merge", v.Identity)
	case v.Op == onto.Delete:
		return c.deletion(v.Identity)
	case v.Op != onto.Put:
		return backend.Write{}, onto.Errorf(onto.Invalid, "the version of %s has the op %q", v.Identity, v.Op).
			WithHint("use versions as they were read, or an onto.Entity or onto.Relation")
	case merge:
		return c.untyped(v.Identity, v.Fields, true)
	}
	t, err := c.Get(v.Kind, v.Type)
	if err != nil {
		return backend.Write{}, err
	}
	whole := t.Type
	whole.Known = nil
	return whole.Write(v.Identity, v.Fields)
}

func (c *Catalog) StructWrite(v reflect.Value, merge bool) (backend.Write, error) {
	if t, ok := c.structs[v.Type()]; ok && merge {
		return t.MergeStruct(v)
	} else if ok {
		return t.WriteStruct(v)
	}
	switch thing := v.Interface().(type) {
	case onto.Entity:
		return c.untyped(onto.EntityID(thing.Type, thing.Key), thing.Fields, merge)
	case onto.Relation:
		return c.untyped(onto.RelationID(thing.Type, thing.Left, thing.Right).WithInstance(thing.Instance), thing.Fields, merge)
	case onto.Version:
		return c.version(thing, merge)
	}
	_, err := c.OfStruct(v.Type())
	return backend.Write{}, err
}
