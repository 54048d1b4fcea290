package object

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Reader reads the objects of a tenant: as they are, or with [Reader.AsOf] as they were. What
// it is given as shard keys limits a read to the shards that store them, and to objects that
// have one of them.
type Reader[T Object[I, S], I, S ~string] struct {
	base[T]
	set *Set[T, I, S]
}

// AsOf reads the objects as they were at a time.
func (r Reader[T, I, S]) AsOf(t time.Time) Reader[T, I, S] {
	r.moment = &t
	return r
}

// Select returns the objects that a clause is about. Process and Each do not hold them all in
// memory.
func (r Reader[T, I, S]) Select(ctx context.Context, where Clause, shardKeys ...S) ([]T, error) {
	var list []T
	for object, err := range r.Each(ctx, where, shardKeys...) {
		if err != nil {
			return nil, err
		}
		list = append(list, object)
	}
	return list, nil
}

// SelectWithMetadata is Select with the metadata of each object.
func (r Reader[T, I, S]) SelectWithMetadata(ctx context.Context, where Clause, shardKeys ...S) ([]WithMetadata[T], error) {
	var list []WithMetadata[T]
	for object, err := range r.EachWithMetadata(ctx, where, shardKeys...) {
		if err != nil {
			return nil, err
		}
		list = append(list, object)
	}
	return list, nil
}

// SelectAll returns all objects, by shard key and id.
func (r Reader[T, I, S]) SelectAll(ctx context.Context, shardKeys ...S) ([]T, error) {
	return r.Select(ctx, All(), shardKeys...)
}

// SelectAllWithMetadata is SelectAll with the metadata of each object.
func (r Reader[T, I, S]) SelectAllWithMetadata(ctx context.Context, shardKeys ...S) ([]WithMetadata[T], error) {
	return r.SelectWithMetadata(ctx, All(), shardKeys...)
}

// SelectByID returns the object with an id, or NotFound. With its shard key one shard is
// asked, and without it all are, by an index. If several objects have the id, with
// other shard keys, one of these keys must be given.
func (r Reader[T, I, S]) SelectByID(ctx context.Context, id I, shardKeys ...S) (T, error) {
	object, err := r.byID(ctx, id, shardKeys, false)
	return object.Object, err
}

// SelectByIDWithMetadata is SelectByID with the metadata of the object.
func (r Reader[T, I, S]) SelectByIDWithMetadata(ctx context.Context, id I, shardKeys ...S) (WithMetadata[T], error) {
	return r.byID(ctx, id, shardKeys, true)
}

// Exists reports whether an object with the id exists.
func (r Reader[T, I, S]) Exists(ctx context.Context, id I, shardKeys ...S) (bool, error) {
	list, err := r.find(ctx, id, shardKeys, false)
	return len(list) > 0, err
}

// Count returns how many objects a clause is about, whatever its limits and offset.
func (r Reader[T, I, S]) Count(ctx context.Context, where Clause, shardKeys ...S) (int64, error) {
	return r.count(ctx, where, texts(shardKeys))
}

// Process calls f for each object that a clause is about, one after the other, and returns how
// many calls succeeded. An error of f ends it and is returned. The objects are read as f goes
// on, with little memory however many they are.
func (r Reader[T, I, S]) Process(ctx context.Context, where Clause, f func(ctx context.Context, object T) error, shardKeys ...S) (int, error) {
	n := 0
	for object, err := range r.Each(ctx, where, shardKeys...) {
		if err == nil {
			err = f(ctx, object)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Each yields the objects that a clause is about, in its order, with little memory however many
// they are. An error is the last.
func (r Reader[T, I, S]) Each(ctx context.Context, where Clause, shardKeys ...S) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r.each(ctx, where, shardKeys, false, func(o WithMetadata[T], err error) bool { return yield(o.Object, err) })
	}
}

// EachWithMetadata is Each with the metadata of each object.
func (r Reader[T, I, S]) EachWithMetadata(ctx context.Context, where Clause, shardKeys ...S) iter.Seq2[WithMetadata[T], error] {
	return func(yield func(WithMetadata[T], error) bool) { r.each(ctx, where, shardKeys, true, yield) }
}

// Page is a part of the objects that a clause is about.
type Page[O any] struct {
	Objects []O
	Next    string // the cursor to go on with; "" if this is the last page
}

// Page returns the objects up to the clause's limit, and the cursor for those that follow.
// All pages show one moment of each shard.
func (r Reader[T, I, S]) Page(ctx context.Context, where Clause, shardKeys ...S) (Page[T], error) {
	p, err := r.pageOf(ctx, where, shardKeys, false)
	page := Page[T]{Next: p.Next}
	for _, o := range p.Objects {
		page.Objects = append(page.Objects, o.Object)
	}
	return page, err
}

// PageWithMetadata is Page with the metadata of each object.
func (r Reader[T, I, S]) PageWithMetadata(ctx context.Context, where Clause, shardKeys ...S) (Page[WithMetadata[T]], error) {
	return r.pageOf(ctx, where, shardKeys, true)
}

// byID returns the only object with an id.
func (r *Reader[T, I, S]) byID(ctx context.Context, id I, shardKeys []S, withMetadata bool) (WithMetadata[T], error) {
	described := withMetadata || len(r.set.compute) > 0
	list, err := r.find(ctx, id, shardKeys, described)
	if err != nil {
		return WithMetadata[T]{}, err
	}
	name := r.set.name()
	switch {
	case len(list) == 0:
		return WithMetadata[T]{}, onto.Errorf(onto.NotFound, "tenant %s has no %s with the id %q", r.tenant, name, id)
	case len(list) == 1 && !described:
		return WithMetadata[T]{Object: list[0].value}, nil
	case len(list) == 1:
		objects, err := r.complete(ctx, list, withMetadata)
		if err != nil {
			return WithMetadata[T]{}, err
		}
		return objects[0], nil
	}
	return WithMetadata[T]{}, onto.Errorf(onto.Conflict, "several objects %s have the id %q, with shard keys %q, %q, …",
		name, id, list[0].value.DBKey().ShardKey, list[1].value.DBKey().ShardKey).WithHint("give the shard key as well")
}

// find returns the objects with an id: by their keys where the shard keys are known, and
// otherwise by an index on each shard.
func (r *Reader[T, I, S]) find(ctx context.Context, id I, shardKeys []S, pin bool) ([]found[T], error) {
	if r.set.key.single() && len(shardKeys) == 0 {
		shardKeys = []S{S(id)}
	}
	if len(shardKeys) == 0 {
		return r.findByIndex(ctx, id)
	}
	var list []found[T]
	for i, shardKey := range shardKeys {
		if slices.Contains(shardKeys[:i], shardKey) {
			continue
		}
		got, exists, err := r.get(ctx, id, shardKey, pin)
		if err != nil {
			return nil, err
		}
		if exists {
			list = append(list, got)
		}
	}
	return list, nil
}

// get returns the object with a key, and whether it exists.
func (r *Reader[T, I, S]) get(ctx context.Context, id I, shardKey S, pin bool) (got found[T], exists bool, err error) {
	key, err := r.set.key.check(r.set.name(), string(id), string(shardKey))
	if err != nil {
		return got, false, err
	}
	s, err := r.set.shard(ctx, r.tenant, string(shardKey))
	if err != nil {
		return got, false, err
	}
	if got.from, err = r.view(ctx, s, pin && r.moment != nil); err != nil {
		return got, false, err
	}
	row, err := store.GetRow[T](ctx, got.from.view, key)
	if onto.CodeOf(err) == onto.NotFound {
		return got, false, nil
	}
	got.value, got.version = row.Value, row.Version
	return got, err == nil, s.explain(err)
}

// findByIndex returns the objects with an id on all shards.
func (r *Reader[T, I, S]) findByIndex(ctx context.Context, id I) ([]found[T], error) {
	if id == "" {
		return nil, onto.Errorf(onto.Invalid, "%s: the id is empty", r.set.name())
	}
	q, sources, err := r.start(ctx, Where().Filter(onto.Path(onto.ComputeID.FieldName()).Eq(string(id))).Limit(2), nil, false)
	if err != nil {
		return nil, err
	}
	var list []found[T]
	for f, err := range q.merge(ctx, sources, false) {
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// texts returns shard keys as texts.
func texts[S ~string](keys []S) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = string(k)
	}
	return list
}

// pageOf returns a page of objects with metadata.
func (r *Reader[T, I, S]) pageOf(ctx context.Context, where Clause, shardKeys []S, withMetadata bool) (Page[WithMetadata[T]], error) {
	list, next, err := r.page(ctx, where, texts(shardKeys))
	if err != nil {
		return Page[WithMetadata[T]]{}, err
	}
	objects, err := r.complete(ctx, list, withMetadata)
	return Page[WithMetadata[T]]{objects, next}, err
}

// Objects are completed in portions, which grow, so that one question for metadata is about many.
const firstPortion, largestPortion = 16, 512

// each calls yield for the objects that a clause is about.
func (r *Reader[T, I, S]) each(ctx context.Context, where Clause, shardKeys []S, withMetadata bool, yield func(WithMetadata[T], error) bool) {
	q, sources, err := r.start(ctx, where, texts(shardKeys), false)
	if err != nil {
		yield(WithMetadata[T]{}, err)
		return
	}
	if !withMetadata && len(r.set.compute) == 0 {
		for f, err := range q.merge(ctx, sources, false) {
			if !yield(WithMetadata[T]{Object: f.value}, err) {
				return
			}
		}
		return
	}
	portion := firstPortion
	var list []found[T]
	flush := func() bool {
		objects, err := r.complete(ctx, list, withMetadata)
		if err != nil {
			yield(WithMetadata[T]{}, err)
			return false
		}
		list = list[:0]
		for _, o := range objects {
			if !yield(o, nil) {
				return false
			}
		}
		return true
	}
	for f, err := range q.merge(ctx, sources, false) {
		if err != nil {
			if flush() {
				yield(WithMetadata[T]{}, err)
			}
			return
		}
		if list = append(list, f); len(list) < portion {
			continue
		}
		if !flush() {
			return
		}
		portion = min(2*portion, largestPortion)
	}
	flush()
}
