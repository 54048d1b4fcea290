package object

import (
	"context"
	"errors"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Tenant is the objects of a set that belong to a tenant. It may be used concurrently. Commits
// of what it writes say who and why as [With] has put it into the context.
type Tenant[T Object[I, S], I, S ~string] struct{ Reader[T, I, S] }

// Insert stores new objects. One that exists is a Conflict, and then nothing is written to its
// shard; one that was deleted is a new object.
//
// The objects of a shard are one commit. If only some shards commit, the error is a
// [*PartialError].
func (t Tenant[T, I, S]) Insert(ctx context.Context, objects ...T) error {
	return t.write(ctx, objects, func(d onto.Draft, p *part) onto.Draft {
		for _, id := range p.ids {
			d = d.ExpectVersion(id, 0)
		}
		return d
	})
}

// Upsert stores objects, whether they exist or not. One that is stored as it is makes no new
// version, so that the time of its update stays. Shards commit as for Insert.
func (t Tenant[T, I, S]) Upsert(ctx context.Context, objects ...T) error {
	return t.write(ctx, objects, func(d onto.Draft, _ *part) onto.Draft { return d })
}

// Update replaces an object, or fails with NotFound. An object cannot get another id or
// shard key: delete the one and insert the other.
func (t Tenant[T, I, S]) Update(ctx context.Context, object T) error {
	_, err := t.Mutate(ctx, object.DBKey(), func(stored *T) error {
		*stored = object
		return nil
	})
	return err
}

// Mutate changes an object: change gets it as it is stored, without what compute functions set,
// and what it leaves is stored and returned. If another writer was first, change is called
// again with what is there then, as in [store.Update]. An error of change is returned as it is,
// and nothing is written. If the idempotency key was used before, change is not called, and the
// object is returned as the first call left it.
func (t Tenant[T, I, S]) Mutate(ctx context.Context, key Key[I, S], change func(object *T) error) (T, error) {
	var none T
	if change == nil {
		return none, onto.Errorf(onto.Invalid, "the mutation of %s %q has no function", t.set.name(), key.ID)
	}
	d, s, k, err := t.prepare(ctx, key)
	if err != nil {
		return none, err
	}
	var last T
	var refused error // of change: about what it knows, and not about the object
	called := false
	res, err := store.Update(ctx, s.store, d, store.Key{k}, func(object *T) error {
		called = true
		if refused = change(object); refused != nil {
			return refused
		}
		last = *object
		_, err := t.set.keyOf(last)
		return err
	})
	switch {
	case refused != nil && err != nil:
		return none, err
	case err != nil && called: // it has been read
		return none, s.explain(err)
	case err != nil:
		return none, t.missing(s, key, err)
	case called:
		return last, nil
	}
	row, err := store.GetRow[T](ctx, s.store.At(res.At), k) // as the first call left it
	if err != nil {
		return none, s.explain(err)
	}
	return row.Value, nil
}

// SafeUpdate replaces an object by another one, provided that it is stored as it was read:
// from is what a read returned. Otherwise it fails with VersionMismatch and changes nothing.
// What compute functions set is not compared.
func (t Tenant[T, I, S]) SafeUpdate(ctx context.Context, from, to T) error {
	key := from.DBKey()
	if key != to.DBKey() {
		return onto.Errorf(onto.Invalid, "the update of %s %q would change its key", t.set.name(), key.ID).
			WithHint("delete the one and insert the other, in a transaction if they have the same shard key")
	}
	if _, err := t.set.keyOf(to); err != nil {
		return err
	}
	d, s, k, err := t.prepare(ctx, key)
	if err != nil {
		return err
	}
	_, err = store.Transact(ctx, s.store, d, func(tx *store.Tx) error {
		row, err := store.GetRow[T](ctx, tx, k)
		if err != nil {
			return t.missing(s, key, err)
		}
		same, err := t.unchanged(ctx, &source{shard: s, view: tx.View()}, row, from)
		if err != nil {
			return err
		}
		if !same {
			return onto.Errorf(onto.VersionMismatch, "%s %q has changed since it was read", t.set.name(), key.ID).
				WithHint("read it again")
		}
		return tx.Ensure(to)
	})
	return s.explain(err)
}

// unchanged reports whether what is stored is what a read returned.
func (t *Tenant[T, I, S]) unchanged(ctx context.Context, at *source, row store.Row[T], read T) (bool, error) {
	given, errGiven := members(read)
	stored, errStored := members(row.Value)
	if err := errors.Join(errGiven, errStored); err != nil {
		return false, err
	}
	shown, err := t.complete(ctx, []found[T]{{from: at, value: row.Value, version: row.Version}, {from: at, value: read, version: row.Version}}, false)
	if err != nil {
		return false, err
	}
	computed, errComputed := members(shown[0].Object)
	recomputed, errRecomputed := members(shown[1].Object)
	return sameBut(given, stored, computed, recomputed), errors.Join(errComputed, errRecomputed)
}

// missing explains that an object does not exist, and names a shard that failed.
func (t *Tenant[T, I, S]) missing(s *shard, key Key[I, S], err error) error {
	if onto.CodeOf(err) == onto.NotFound {
		return onto.Errorf(onto.NotFound, "tenant %s has no %s with the id %q and the shard key %q", t.tenant, t.set.name(), key.ID, key.ShardKey).
			WithHint("insert it; an object cannot get another shard key")
	}
	return s.explain(err)
}

// prepare returns the draft of a write, the shard of a key and the key there.
func (t *Tenant[T, I, S]) prepare(ctx context.Context, key Key[I, S]) (onto.Draft, *shard, string, error) {
	k, err := t.set.key.check(t.set.name(), string(key.ID), string(key.ShardKey))
	if err != nil {
		return onto.Draft{}, nil, "", err
	}
	d, err := header(ctx)
	if err != nil {
		return onto.Draft{}, nil, "", err
	}
	s, err := t.set.shard(ctx, t.tenant, string(key.ShardKey))
	return d, s, k, err
}

// keyOf returns the key of an object in its store.
func (s *Set[T, I, S]) keyOf(object T) (string, error) {
	key := object.DBKey()
	return s.key.keyOf(s.name(), reflect.ValueOf(&object).Elem(), string(key.ID), string(key.ShardKey))
}

// write stores objects as one commit for each shard. Expect adds what must hold.
func (t *Tenant[T, I, S]) write(ctx context.Context, objects []T, expect func(onto.Draft, *part) onto.Draft) error {
	b := bulk{set: t.set.kind, tenant: t.tenant}
	for i := range objects {
		key, err := t.set.keyOf(objects[i])
		if err == nil {
			err = b.add(ctx, string(objects[i].DBKey().ShardKey), key, &objects[i])
		}
		if err != nil {
			return err
		}
	}
	return b.commit(ctx, func(p *part, d onto.Draft) (onto.Result, error) {
		res, err := p.put(ctx, expect(d, p))
		return res, t.exists(err)
	})
}

// exists turns the error about an object that must not exist into a Conflict.
func (t *Tenant[T, I, S]) exists(err error) error {
	var e *onto.Error
	if onto.CodeOf(err) != onto.VersionMismatch || !errors.As(err, &e) || e.Expectation == nil || e.Expectation.Commit != 0 {
		return err
	}
	return t.set.taken(t.tenant, e.Expectation.Identity.Key)
}

// taken is the error for an object that exists.
func (k *kind) taken(tenant, key string) error {
	return onto.Errorf(onto.Conflict, "tenant %s has %s %q already", tenant, k.name(), key).WithHint("use Upsert to replace it")
}
