package store

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Commit makes a draft true as one commit. If everything is so already, no
// commit is made and the result's ID is 0; its At views a state in which the draft
// is true either way. After an error nothing of the draft is stored, except that
// OutcomeUnknown says it may be.
func (s *Store) Commit(ctx context.Context, d onto.Draft) (onto.Result, error) {
	types := s.catalog()
	draft, err := s.draft(types, d)
	if err != nil {
		return onto.Result{}, err
	}
	if draft.IdempotencyKey != "" {
		draft.Digest = backend.DigestOf(draft)
	}
	res, err := s.b.Append(ctx, draft)
	return s.finish(ctx, types, res, err)
}

// draft is the backend's form of a draft, without its digest, made with a catalog.
func (s *Store) draft(types *catalog, d onto.Draft) (*backend.Draft, error) {
	draft, err := s.header(d)
	if err != nil {
		return nil, err
	}
	for w, err := range types.stream(d, nil) {
		if err != nil {
			return nil, err
		}
		if len(draft.Writes) == s.opts.MaxBatch {
			return nil, onto.Errorf(onto.TooLarge, "the draft has more than %d intents", s.opts.MaxBatch).
				WithHint("use CommitStream, or split the draft")
		}
		draft.Writes = append(draft.Writes, w)
	}
	draft.Writes, err = backend.SortWrites(draft.Writes)
	return draft, err
}

// stream yields the writes of a draft's intents and of further things, which
// may be nil.
func (c *catalog) stream(d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
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

// header is the backend's form of everything but the intents.
func (s *Store) header(d onto.Draft) (*backend.Draft, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	for _, e := range d.Expectations() {
		if e.Head {
			continue
		}
		t, err := s.catalog().get(e.Identity.Kind, e.Identity.Type)
		if err == nil {
			err = t.CheckIdentity(e.Identity)
		}
		if err != nil {
			return nil, err
		}
	}
	draft := &backend.Draft{
		Header: backend.Header{
			Runtime: s.opts.Runtime, Actor: d.Actor, Causation: d.Causation, Correlation: d.Correlation,
			Signature: d.Signature, Comment: d.Comment, IdempotencyKey: d.IdempotencyKey,
		},
		Expect: d.Expectations(), Lease: d.Lease,
	}
	if len(d.Metadata) > 0 {
		text, err := codec.AppendValue(nil, reflect.ValueOf(d.Metadata))
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "metadata: %w", err)
		}
		if len(text) > onto.MaxMetadata {
			return nil, onto.Errorf(onto.TooLarge, "metadata is %d bytes of JSON, the limit is %d", len(text), onto.MaxMetadata)
		}
		draft.Metadata = text
	}
	return draft, nil
}

// finish notes the head, and explains how types differ from those that writes were made
// with.
func (s *Store) finish(ctx context.Context, types *catalog, res onto.Result, err error) (onto.Result, error) {
	if err == nil {
		s.seen(res.At)
		return res, nil
	}
	var e *onto.Error
	if errors.As(err, &e) && e.Code == onto.SchemaOutdated && e.Differences == nil {
		explained := *e
		types.explain(ctx, s.b, &explained)
		err = &explained
		_, _ = s.relearn(ctx) // so that types known by name are up to date the next time
	}
	return onto.Result{}, err
}

// seen notes that a commit exists.
func (s *Store) seen(id int64) {
	for {
		known := s.head.Load()
		if id <= known || s.head.CompareAndSwap(known, id) {
			return
		}
	}
}

// writes yields the writes that an intent stands for: one, or those of each
// element of a slice, array or iterator. It reports whether to go on.
func (c *catalog) writes(in onto.Intent, yield func(backend.Write, error) bool) bool {
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
		return yield(c.structWrite(v, in.Merge))
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
func (c *catalog) structDeletion(v reflect.Value) (backend.Write, error) {
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
	_, err := c.ofStruct(v.Type())
	return backend.Write{}, err
}

func (c *catalog) deletion(id onto.Identity) (backend.Write, error) {
	t, err := c.get(id.Kind, id.Type)
	if err == nil {
		err = t.CheckIdentity(id)
	}
	if err != nil {
		return backend.Write{}, err
	}
	return backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: t.Version}, nil
}

// untyped makes a write of the fields of an identity.
func (c *catalog) untyped(id onto.Identity, fields any, merge bool) (backend.Write, error) {
	t, err := c.get(id.Kind, id.Type)
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
func (c *catalog) version(v onto.Version, merge bool) (backend.Write, error) {
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
	t, err := c.get(v.Kind, v.Type)
	if err != nil {
		return backend.Write{}, err
	}
	whole := t.Type
	whole.Known = nil
	return whole.Write(v.Identity, v.Fields)
}

func (c *catalog) structWrite(v reflect.Value, merge bool) (backend.Write, error) {
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
	_, err := c.ofStruct(v.Type())
	return backend.Write{}, err
}
