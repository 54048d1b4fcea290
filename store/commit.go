package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Commit makes a draft true as one commit. If everything is so already, no
// commit is made and the result's ID is 0. After an error nothing of the draft
// is stored, except that OutcomeUnknown says it may be.
func (s *Store) Commit(ctx context.Context, d onto.Draft) (onto.Result, error) {
	draft, err := s.header(d)
	if err != nil {
		return onto.Result{}, err
	}
	for in := range d.Intents() {
		if draft.Writes, err = s.addIntent(draft.Writes, in); err != nil {
			return onto.Result{}, err
		}
	}
	if draft.Writes, err = sortWrites(draft.Writes); err != nil {
		return onto.Result{}, err
	}
	return s.finish(ctx)(s.b.Append(ctx, draft))
}

// CommitStream makes a draft and a sequence of further things true as one
// commit, with little memory however long the sequence is. Things are as in
// Draft.Ensure, and onto.Identity values stand for deletes. The write lock is
// held until the sequence has ended; an error from it leaves nothing stored.
func (s *Store) CommitStream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) (onto.Result, error) {
	draft, err := s.header(d)
	if err != nil {
		return onto.Result{}, err
	}
	return s.finish(ctx)(s.b.AppendStream(ctx, draft, s.stream(d, things)))
}

// stream turns things into writes.
func (s *Store) stream(d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		var writes []backend.Write
		add := func(in onto.Intent) bool {
			var err error
			if writes, err = s.addIntent(writes[:0], in); err != nil {
				yield(backend.Write{}, err)
				return false
			}
			for _, w := range writes {
				if !yield(w, nil) {
					return false
				}
			}
			return true
		}
		for in := range d.Intents() {
			if !add(in) {
				return
			}
		}
		for thing, err := range things {
			if err != nil {
				yield(backend.Write{}, err)
				return
			}
			in := onto.Intent{Op: onto.Put, Value: thing}
			if id, ok := thing.(onto.Identity); ok {
				in = onto.Intent{Op: onto.Delete, Identity: id}
			}
			if !add(in) {
				return
			}
		}
	}
}

// header is the backend's form of everything but the intents.
func (s *Store) header(d onto.Draft) (*backend.Draft, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	draft := &backend.Draft{
		Commit: onto.Commit{
			Runtime: s.opts.Runtime, Actor: d.Actor, Causation: d.Causation, Correlation: d.Correlation,
			Signature: d.Signature, Comment: d.Comment, IdempotencyKey: d.IdempotencyKey,
		},
		Expect: d.Expectations(),
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

// finish notes the head and explains drift.
func (s *Store) finish(ctx context.Context) func(onto.Result, error) (onto.Result, error) {
	return func(res onto.Result, err error) (onto.Result, error) {
		if err == nil {
			s.seen(res.ID)
			return res, nil
		}
		var e *onto.Error
		if errors.As(err, &e) && e.Code == onto.SchemaOutdated && e.Differences == nil {
			e.Differences = s.drift(ctx)
		}
		return onto.Result{}, err
	}
}

// drift compares the types of this program with those stored now.
func (s *Store) drift(ctx context.Context) []onto.Difference {
	stored, err := s.b.Schemas(ctx)
	if err != nil {
		return nil
	}
	var diffs []onto.Difference
	for _, v := range backend.Newest(stored) {
		t, ok := s.types[typeName{v.Schema.Kind, v.Schema.Name}]
		if !ok {
			continue
		}
		if d := onto.Compare(v.Schema, t.schema); !d.Empty() {
			diffs = append(diffs, d)
		}
	}
	return diffs
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

// addIntent appends the writes that an intent stands for.
func (s *Store) addIntent(writes []backend.Write, in onto.Intent) ([]backend.Write, error) {
	if len(writes) >= s.opts.MaxBatch {
		return nil, onto.Errorf(onto.TooLarge, "the draft has more than %d intents", s.opts.MaxBatch).
			WithHint("use CommitStream, or split the draft")
	}
	if in.Op == onto.Delete {
		w, err := s.deletion(in.Identity)
		return append(writes, w), err
	}
	switch thing := in.Value.(type) {
	case onto.Entity:
		w, err := s.entity(thing)
		return append(writes, w), err
	case *onto.Entity:
		w, err := s.entity(*thing)
		return append(writes, w), err
	case onto.Relation:
		w, err := s.relation(thing)
		return append(writes, w), err
	case *onto.Relation:
		w, err := s.relation(*thing)
		return append(writes, w), err
	}
	return s.addValue(writes, reflect.ValueOf(in.Value))
}

// addValue appends the writes of a struct, or of each element of a slice,
// array or iterator.
func (s *Store) addValue(writes []backend.Write, v reflect.Value) ([]backend.Write, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, onto.Errorf(onto.Invalid, "the draft has a nil %v", v.Type())
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil, onto.Errorf(onto.Invalid, "the draft has a nil value")
	case v.Kind() == reflect.Struct:
		w, err := s.structWrite(v)
		return append(writes, w), err
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array, v.Kind() == reflect.Func && v.Type().CanSeq():
		if v.Kind() == reflect.Func && v.IsNil() {
			return nil, onto.Errorf(onto.Invalid, "the draft has a nil %v", v.Type())
		}
		return s.addEach(writes, v)
	}
	return nil, onto.Errorf(onto.Invalid, "a %v cannot be ensured", v.Type()).
		WithHint("give a struct of a registered type, an onto.Entity, an onto.Relation, or a slice or iterator of these")
}

func (s *Store) addEach(writes []backend.Write, list reflect.Value) ([]backend.Write, error) {
	add := func(v reflect.Value) (err error) {
		writes, err = s.addIntent(writes, onto.Intent{Op: onto.Put, Value: v.Interface()})
		return err
	}
	if list.Kind() == reflect.Func {
		for v := range list.Seq() {
			if err := add(v); err != nil {
				return nil, err
			}
		}
		return writes, nil
	}
	for i := range list.Len() {
		if err := add(list.Index(i)); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

func (s *Store) deletion(id onto.Identity) (backend.Write, error) {
	t, err := s.typ(id.Kind, id.Type)
	if err == nil {
		err = t.checkIdentity(id)
	}
	if err != nil {
		return backend.Write{}, err
	}
	return backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: t.version}, nil
}

func (s *Store) entity(e onto.Entity) (backend.Write, error) {
	t, err := s.typ(onto.KindEntity, e.Type)
	if err != nil {
		return backend.Write{}, err
	}
	return t.write(onto.EntityID(e.Type, e.Key), e.Fields)
}

func (s *Store) relation(r onto.Relation) (backend.Write, error) {
	t, err := s.typ(onto.KindRelation, r.Type)
	if err != nil {
		return backend.Write{}, err
	}
	return t.write(onto.RelationID(r.Type, r.Left, r.Right).WithInstance(r.Instance), r.Fields)
}

func (s *Store) structWrite(v reflect.Value) (backend.Write, error) {
	t, err := s.structType(v.Type())
	if err != nil {
		return backend.Write{}, err
	}
	return t.structWrite(v)
}

// sortWrites brings writes into the order of identity. An identity that comes
// twice is kept once if both are equal.
func sortWrites(writes []backend.Write) ([]backend.Write, error) {
	order := func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) }
	sorted := true
	for i := 1; i < len(writes) && sorted; i++ {
		sorted = writes[i-1].Identity.Compare(writes[i].Identity) < 0
	}
	if sorted {
		return writes, nil
	}
	slices.SortStableFunc(writes, order)
	kept := writes[:1]
	for i := 1; i < len(writes); i++ {
		last := &kept[len(kept)-1]
		if last.Identity != writes[i].Identity {
			kept = append(kept, writes[i])
			continue
		}
		if err := backend.SameTwice(last, &writes[i]); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// rawFields is the JSON text of untyped fields, or nil if they are given as a
// Go value.
func rawFields(fields any) []byte {
	switch f := fields.(type) {
	case nil:
		return []byte("{}")
	case json.RawMessage:
		return f
	case []byte:
		return f
	}
	return nil
}
