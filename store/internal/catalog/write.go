package catalog

import (
	"cmp"
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/own"
	"github.com/ontologia/onto/internal/uuid"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/shape"
)

// Stream yields the writes of a draft's intents and of further things, which
// may be nil. A revocation is a write with the op [Revoke], to be replaced by one that
// follows from the fact.
func (c *Catalog) Stream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
	return c.Drafting(d.IdempotencyKey).Stream(ctx, d, things)
}

// Imported is Stream for facts that come from elsewhere, as versions. Their writes say
// when they were asserted there: [Ranked] makes their order of it.
func (c *Catalog) Imported(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
	return (&Drafting{Catalog: c, key: d.IdempotencyKey, imports: true}).Stream(ctx, d, things)
}

// Drafting makes the writes of a draft with an idempotency key, "" for none, that comes in
// several parts.
func (c *Catalog) Drafting(key string) *Drafting { return &Drafting{Catalog: c, key: key} }

// Stream is [Catalog.Stream] for one more part of the draft. Its facts come after those of
// the parts before.
func (c *Drafting) Stream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error]) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		yield = c.checked(ctx, yield)
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

// checked passes on writes that a caller may want, and an error for others.
func (c *Catalog) checked(ctx context.Context, yield func(backend.Write, error) bool) func(backend.Write, error) bool {
	return func(w backend.Write, err error) bool {
		if err == nil {
			err = c.Writable(ctx, w.Identity)
		}
		if err == nil && w.Op == onto.Put {
			err = c.checkNew(&w.Identity)
		}
		return yield(w, err)
	}
}

// checkNew refuses an identity that is well formed and should not be stored.
func (c *Catalog) checkNew(id *onto.Identity) error {
	t, err := c.Get(id.Kind, id.Type)
	if err == nil {
		err = t.CheckNew(*id)
	}
	if err != nil {
		return err
	}
	return c.checkEnds(id)
}

// checkEnds refuses a relation with a key that nothing of an endpoint's type can have.
// Such relations that are stored already can be read and deleted.
func (c *Catalog) checkEnds(id *onto.Identity) error {
	if !c.strict || id.Kind != onto.KindRelation {
		return nil
	}
	t, err := c.Get(id.Kind, id.Type)
	if err != nil {
		return err
	}
	for _, end := range [...]struct{ side, key, name string }{{"left", id.Left, t.Schema.Left}, {"right", id.Right, t.Schema.Right}} {
		e, ok := c.Present[onto.TypeName{Kind: onto.KindEntity, Name: end.name}]
		if !ok {
			continue
		}
		if err := e.CheckKey(end.key); err != nil {
			return onto.Errorf(onto.Invalid, "%s: the %s key %q cannot be a key of %s: %w", id, end.side, end.key, end.name, err).
				WithHint("%s", cmp.Or(onto.HintOf(err).String(), e.KeyHint(end.key)))
		}
	}
	return nil
}

// Writable refuses an identity that only the store itself writes: a state that a fold
// makes, what the store keeps about folds, and what other packages of this module keep,
// which write it with a context that allows that.
func (c *Catalog) Writable(ctx context.Context, id onto.Identity) error {
	switch {
	case !c.own || !c.Own(id.TypeName()):
		return nil
	case id.Type == fold.Guards || !fold.IsReserved(id.Type):
		return fold.Written(id)
	case own.Allowed(ctx):
		return nil
	}
	return onto.Errorf(onto.Invalid, "%s is the store's own: no program writes what has a type whose name begins with %s", id, fold.Reserved).
		WithHint("leave it alone; it can be read")
}

// Own reports whether only the store itself writes things of a type.
func (c *Catalog) Own(name onto.TypeName) bool {
	t, ok := c.Present[name]
	return ok && (fold.IsReserved(name.Name) || fold.Keeps(&t.Schema))
}

// Revoke is the op of a write that stands for a revocation.
const Revoke = shape.Revoke

// Drafting makes the writes of one draft.
type Drafting struct {
	*Catalog
	key     string // the draft's idempotency key
	facts   int64  // that the draft has asserted so far
	imports bool   // versions of facts come from elsewhere
}

// fact makes a write of a fact. The id that it is given is the same when the draft is
// repeated with its idempotency key.
func (c *Drafting) fact(f onto.Fact) (backend.Write, error) {
	t, err := c.Get(onto.KindFact, f.Type)
	if err != nil {
		return backend.Write{}, err
	}
	seq := c.number(&f.ID)
	return t.WriteFact(&f, seq)
}

// number is the place of the next fact, which gets an id if it has none.
func (c *Drafting) number(id *string) int64 {
	seq := c.facts
	c.facts++
	switch {
	case *id == "" && c.key != "":
		*id = uuid.Placed(seq, c.key)
	case *id == "":
		*id = uuid.V7()
	}
	return seq
}

// revocation makes a write that stands for a revocation.
func (c *Drafting) revocation(id onto.Identity, r *onto.Revocation) (backend.Write, error) {
	t, err := c.Get(onto.KindFact, id.Type)
	if err != nil {
		return backend.Write{}, err
	}
	if id.Kind != onto.KindFact {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s is no fact, so it cannot be revoked", id)
	}
	return t.Revocation(id, r)
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
func (c *Drafting) writes(in onto.Intent, yield func(backend.Write, error) bool) bool {
	switch {
	case in.Revoke != nil:
		return yield(c.revocation(in.Identity, in.Revoke))
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
	case v.Type() == reflect.TypeFor[onto.Fact]() && !in.Merge:
		return yield(c.fact(v.Interface().(onto.Fact)))
	case v.Type() == reflect.TypeFor[onto.Version]() && !in.Merge && c.imports:
		return yield(c.imported(v.Interface().(onto.Version)))
	case v.Kind() == reflect.Struct:
		w, err := c.StructWrite(v, in.Merge)
		if err == nil && in.Merge && in.Initial != nil {
			w, err = c.initially(w, in.Initial)
		}
		return yield(w, err)
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
		WithHint("give a struct of a registered type, an onto.Entity, an onto.Relation, an onto.Fact, or a slice or iterator of these"))
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
	case onto.Fact:
		return c.deletion(thing.Identity())
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

// initially adds to a merge what the identity gets besides if it does not exist.
func (c *Catalog) initially(w backend.Write, fields any) (backend.Write, error) {
	t, err := c.Get(w.Kind, w.Type)
	if err != nil {
		return backend.Write{}, err
	}
	return t.Initially(w, fields)
}

// version makes a write that brings back a version. It was read with the present types
// and so has all their fields, also those that the program does not know. A fact is
// believed again as of when it was asserted.
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
		return c.untyped(v.Identity, computed.Strip(v.Fields), true)
	}
	t, err := c.Get(v.Kind, v.Type)
	if err != nil {
		return backend.Write{}, err
	}
	whole := t.Type
	whole.Known, v.Fields = nil, computed.Strip(v.Fields)
	if v.Kind == onto.KindFact {
		v.Fields = shape.WithAsserted(&v)
	}
	return whole.Write(v.Identity, v.Fields)
}

// imported makes a write of a version of a fact that comes from elsewhere, which may have
// no id: it is one that no version may be of yet.
func (c *Drafting) imported(v onto.Version) (backend.Write, error) {
	if v.Kind != onto.KindFact || v.Op != onto.Put {
		return c.version(v, false)
	}
	seq := c.number(&v.Instance)
	v.Commit = 0
	w, err := c.version(v, false)
	if err != nil {
		return w, err
	}
	w.Once, w.Fields = true, shape.Placed(w.Fields, seq)
	return w, nil
}

func (c *Catalog) StructWrite(v reflect.Value, merge bool) (backend.Write, error) {
	t, ok := c.structs[v.Type()]
	if ok && t.Schema.Kind == onto.KindFact {
		return backend.Write{}, notEnsured(v.Type())
	}
	if ok && merge {
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
	case onto.Fact:
		return backend.Write{}, notEnsured(v.Type())
	}
	_, err := c.OfStruct(v.Type())
	return backend.Write{}, err
}

func notEnsured(t reflect.Type) error {
	return onto.Errorf(onto.Invalid, "facts are asserted: a %v is neither ensured nor merged", t).
		WithHint("give each fact to Draft.Assert, as an onto.Fact")
}
