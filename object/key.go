package object

import (
	"fmt"
	"hash/crc32"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/gostruct"
)

// Object is a struct that knows its key. DBKey returns texts that are fields of the struct,
// as they are:
//
//	func (m Message) DBKey() object.Key[MessageID, ChatID] { return object.KeyOf(m.ID, m.Chat) }
type Object[I, S ~string] interface {
	DBKey() Key[I, S]
}

// Key is the key of an object: its id, and what decides on which shard it is stored. Both
// may be the same text. Objects with the same shard key can be written in one transaction.
type Key[I, S ~string] struct {
	ID       I
	ShardKey S
}

// KeyOf returns a key.
func KeyOf[I, S ~string](id I, shardKey S) Key[I, S] { return Key[I, S]{id, shardKey} }

// Buckets is the number of buckets that the shards of a tenant share.
const Buckets = 1024

// bucketOf returns the bucket of a shard key.
func bucketOf(shardKey string) int {
	return int(crc32.ChecksumIEEE([]byte(shardKey)) % Buckets)
}

// keyPaths tells which fields of a struct its DBKey returns.
type keyPaths struct {
	id, shardKey        string // paths of fields
	idIndex, shardIndex []int  // the same in Go
}

// single reports whether the id is the shard key as well.
func (k *keyPaths) single() bool { return k.id == k.shardKey }

// entityKey returns the key that the object of an id and a shard key has in its store.
func (k *keyPaths) entityKey(id, shardKey string) string {
	if k.single() {
		return onto.ObjectKey(id)
	}
	return onto.ShardedKey(shardKey, id)
}

// findKey finds out which fields DBKey returns: it gives each text of the struct another value
// and looks at what comes back, twice, so that a constant is not mistaken for a field.
func findKey[T Object[I, S], I, S ~string](t onto.Type) (keyPaths, error) {
	schema, err := t.Schema()
	if t.Binding() == nil { // otherwise err is that no field is marked as the key
		return keyPaths{}, err
	}
	var found [2]keyPaths
	for try := range found {
		var object T
		texts := map[string]text{}
		fill(reflect.ValueOf(&object).Elem(), schema.Fields, t.Binding().Fields, "", nil, fmt.Sprintf("probe-%d-", try), texts)
		key, err := callDBKey(object)
		if err != nil {
			return keyPaths{}, err
		}
		id, okID := texts[string(key.ID)]
		shard, okShard := texts[string(key.ShardKey)]
		if !okID || !okShard {
			what := "ID"
			if okID {
				what = "ShardKey"
			}
			return keyPaths{}, onto.Errorf(onto.Invalid, "%s.DBKey: %s is not a field of %s as it is", schema.Name, what, schema.Name).
				WithHint("return texts that are stored: required string fields, at any depth of structs, with nothing added")
		}
		found[try] = keyPaths{id.path, shard.path, id.index, shard.index}
	}
	if found[0].id != found[1].id || found[0].shardKey != found[1].shardKey {
		return keyPaths{}, onto.Errorf(onto.Invalid, "%s.DBKey returns another field each time", schema.Name)
	}
	return found[0], nil
}

// callDBKey returns the key of an object. A panic is an error: the objects that a program
// makes are not those with which DBKey is tried.
func callDBKey[T Object[I, S], I, S ~string](object T) (key Key[I, S], err error) {
	defer func() {
		if r := recover(); r != nil {
			err = onto.Errorf(onto.Invalid, "%T.DBKey panics when the struct holds only texts: %v", object, r)
		}
	}()
	return object.DBKey(), nil
}

// text is a field that holds a text.
type text struct {
	path  string
	index []int
}

// fill gives each required text of a struct a value of its own, and notes which.
func fill(v reflect.Value, fields []onto.Field, bound []gostruct.Field, path string, index []int, prefix string, texts map[string]text) {
	for i := range bound {
		b := &bound[i]
		f, ok := (&onto.Field{Fields: fields}).Inner(b.Name)
		if !ok || b.Indirect || f.Optional {
			continue
		}
		at := append(index[:len(index):len(index)], b.Index...)
		name := onto.FieldPath(path, b.Name)
		switch field := b.Get(v); {
		case f.Type == onto.String && field.Kind() == reflect.String && !b.Quoted:
			value := fmt.Sprint(prefix, len(texts))
			field.SetString(value)
			texts[value] = text{name, at}
		case f.Type == onto.Object && field.Kind() == reflect.Struct:
			fill(field, f.Fields, b.Value.Fields, name, at, prefix, texts)
		}
	}
}

// keyOf returns the key of an object in its store and its shard key, or what is wrong with
// them.
func (k *keyPaths) keyOf(name string, object reflect.Value, id, shardKey string) (string, error) {
	if object.FieldByIndex(k.idIndex).String() != id || object.FieldByIndex(k.shardIndex).String() != shardKey {
		return "", onto.Errorf(onto.Invalid, "%s.DBKey does not return the fields %s and %s for the object %q", name, k.id, k.shardKey, id)
	}
	return k.check(name, id, shardKey)
}

// check returns the key in the store of what a caller names, or what is wrong with it.
func (k *keyPaths) check(name, id, shardKey string) (string, error) {
	switch {
	case id == "":
		return "", onto.Errorf(onto.Invalid, "%s: the id is empty", name)
	case shardKey == "":
		return "", onto.Errorf(onto.Invalid, "%s %s: the shard key is empty", name, id)
	case k.single() && id != shardKey:
		return "", onto.Errorf(onto.Invalid, "%s %s: the shard key is %q, but that of a %s is its id", name, id, shardKey, name)
	}
	key := k.entityKey(id, shardKey)
	if err := onto.EntityID(name, key).Check(); err != nil {
		return "", err
	}
	return key, nil
}
