package object

import (
	"context"
	"errors"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Tx is a transaction over the objects of a tenant that have one shard key. It is used by one
// goroutine at a time, and not after the function that got it has returned.
type Tx struct {
	*store.Tx
	shard    *shard
	shardKey string
}

// Tx calls do and commits what it writes as one commit. What do reads is as of one moment, and the
// commit succeeds only if what it read by id is unchanged and, after a Select, if no other commit
// was made. Otherwise do is called again, as in [store.Transact], so it should have no
// effects but those on the transaction. An error of do ends the transaction and is returned
// as it is, and nothing is written.
//
// [In] gives the operations of each set:
//
//	err := accounts.Tenant("acme").Tx(ctx, "ana", func(tx *object.Tx) error {
//		account, err := object.In(tx, accounts).SelectByID(ctx, "savings")
//		…
//		return object.In(tx, transfers).Insert(ctx, transfer)
//	})
//
// All objects have the shard key, so that one shard stores them. In a handler of the event bus,
// a transaction commits by itself, before the event is acknowledged.
func (t Tenant[T, I, S]) Tx(ctx context.Context, shardKey S, do func(tx *Tx) error) error {
	switch {
	case do == nil:
		return onto.Errorf(onto.Invalid, "the transaction has no function")
	case shardKey == "":
		return onto.Errorf(onto.Invalid, "the shard key of the transaction is empty")
	}
	d, err := header(ctx)
	if err != nil {
		return err
	}
	s, err := t.set.shard(ctx, t.tenant, string(shardKey))
	if err != nil {
		return err
	}
	for _, k := range t.set.vaults.kinds(t.set.vault) {
		_ = s.join(ctx, k) // a set that cannot join fails when it is used
	}
	var refused error // by do, about what it knows
	_, err = store.Transact(ctx, s.store, d, func(tx *store.Tx) error {
		refused = do(&Tx{tx, s, string(shardKey)})
		return refused
	})
	if refused != nil && err != nil {
		return err
	}
	return t.exists(s.explain(err))
}

// TxSet is the objects of a set in a transaction.
type TxSet[T Object[I, S], I, S ~string] struct {
	tx  *Tx
	set *Set[T, I, S]
	err error // why the set is of no use in the transaction
}

// In returns the operations of a set in a transaction. They fail with Invalid if the set is of
// another vault than the transaction.
func In[T Object[I, S], I, S ~string](tx *Tx, set *Set[T, I, S]) TxSet[T, I, S] {
	x := TxSet[T, I, S]{tx: tx, set: set}
	if t := tx.shard.tenant; t.vaults != set.vaults || t.vault != set.vault {
		x.err = onto.Errorf(onto.Invalid, "the set %s is of vault %s, and the transaction of vault %s", set.name(), set.vault, t.vault)
	}
	return x
}

// ready returns the key in the store of an id.
func (x *TxSet[T, I, S]) ready(ctx context.Context, key Key[I, S]) (string, error) {
	if x.err != nil {
		return "", x.err
	}
	if string(key.ShardKey) != x.tx.shardKey {
		return "", onto.Errorf(onto.Invalid, "%s %q has the shard key %q, and the transaction %q", x.set.name(), key.ID, key.ShardKey, x.tx.shardKey).
			WithHint("a transaction is about one shard key")
	}
	if err := x.tx.shard.join(ctx, x.set.kind); err != nil {
		return "", err
	}
	return x.set.key.check(x.set.name(), string(key.ID), string(key.ShardKey))
}

// SelectByID returns the object with an id, or NotFound. The transaction is made again if the
// object changes before the commit.
func (x TxSet[T, I, S]) SelectByID(ctx context.Context, id I) (T, error) {
	var none T
	row, err := x.row(ctx, x.key(id))
	if err != nil {
		return none, err
	}
	list := []found[T]{{from: &source{shard: x.tx.shard, view: x.tx.View()}, value: row.Value, version: row.Version}}
	objects, err := x.reader().complete(ctx, list, false)
	if err != nil {
		return none, err
	}
	return objects[0].Object, nil
}

// key is the key of an id with the shard key of the transaction.
func (x *TxSet[T, I, S]) key(id I) Key[I, S] { return Key[I, S]{id, S(x.tx.shardKey)} }

// row returns what is stored with a key, or NotFound.
func (x *TxSet[T, I, S]) row(ctx context.Context, key Key[I, S]) (store.Row[T], error) {
	k, err := x.ready(ctx, key)
	if err != nil {
		return store.Row[T]{}, err
	}
	row, err := store.GetRow[T](ctx, x.tx.Tx, k)
	if onto.CodeOf(err) == onto.NotFound {
		err = onto.Errorf(onto.NotFound, "there is no %s with the id %q and the shard key %q", x.set.name(), key.ID, key.ShardKey)
	}
	return row, x.tx.shard.explain(err)
}

// Exists reports whether an object with the id exists.
func (x TxSet[T, I, S]) Exists(ctx context.Context, id I) (bool, error) {
	_, err := x.row(ctx, x.key(id))
	if onto.CodeOf(err) == onto.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Select returns the objects with the shard key that a clause is about. The transaction is made
// again if anything is committed to the shard before it.
func (x TxSet[T, I, S]) Select(ctx context.Context, where Clause) ([]T, error) {
	if x.err != nil {
		return nil, x.err
	}
	if err := x.tx.shard.join(ctx, x.set.kind); err != nil {
		return nil, err
	}
	r := x.reader()
	q, err := r.question(where, []string{x.tx.shardKey})
	if err != nil {
		return nil, err
	}
	if q.cursor != "" {
		return nil, onto.Errorf(onto.Invalid, "a transaction reads its own moment, not that of a cursor")
	}
	q.find = func(store.View) store.Query[T] { return store.Find[T](x.tx.Tx) } // whose reads are judged
	var list []found[T]
	for f, err := range q.merge(ctx, []*source{{shard: x.tx.shard, view: x.tx.View()}}, false) {
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	shown, err := r.complete(ctx, list, false)
	objects := make([]T, len(shown))
	for i := range shown {
		objects[i] = shown[i].Object
	}
	return objects, err
}

func (x *TxSet[T, I, S]) reader() *Reader[T, I, S] {
	r := x.set.reader(x.tx.shard.tenant.name)
	return &r
}

// Insert stores new objects. One that exists is a Conflict.
func (x TxSet[T, I, S]) Insert(ctx context.Context, objects ...T) error {
	for i := range objects {
		key := objects[i].DBKey()
		_, err := x.row(ctx, key)
		switch {
		case err == nil:
			return x.set.taken(x.tx.shard.tenant.name, string(key.ID))
		case onto.CodeOf(err) != onto.NotFound:
			return err
		}
		if err := x.Upsert(ctx, objects[i]); err != nil {
			return err
		}
	}
	return nil
}

// Upsert stores objects, whether they exist or not. A later write of an object replaces an earlier
// one in the same transaction.
func (x TxSet[T, I, S]) Upsert(ctx context.Context, objects ...T) error {
	for i := range objects {
		_, err := x.ready(ctx, objects[i].DBKey())
		if err == nil {
			_, err = x.set.keyOf(objects[i])
		}
		if err == nil {
			err = x.tx.Ensure(objects[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Update replaces an object, or fails with NotFound.
func (x TxSet[T, I, S]) Update(ctx context.Context, object T) error {
	if _, err := x.row(ctx, object.DBKey()); err != nil {
		return err
	}
	return x.Upsert(ctx, object)
}

// Delete deletes the objects with these ids. What does not exist is not an error.
func (x TxSet[T, I, S]) Delete(ctx context.Context, ids ...I) error {
	var errs []error
	for _, id := range ids {
		key, err := x.ready(ctx, x.key(id))
		if err == nil {
			err = x.tx.Tx.Delete(x.set.id(key))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
