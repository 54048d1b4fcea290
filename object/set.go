package object

import (
	"context"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Setup describes a set of objects before it is ready. Its methods change it and return it.
type Setup[T Object[I, S], I, S ~string] struct {
	vaults  *Vaults
	vault   string
	name    string
	indexes []string
	text    bool
	compute []func(context.Context, Metadata, *T) error
}

// NewSet begins a set of objects: the T of each tenant of a vault. T is a struct whose fields
// are stored as those of an entity type; it needs no field that is marked as the key. The types
// of id and shard key follow from T:
//
//	messages := object.NewSet[Message](vaults, "chat").WithIndexes("sender").Ready()
func NewSet[T Object[I, S], I, S ~string](v *Vaults, vault string) *Setup[T, I, S] {
	return &Setup[T, I, S]{vaults: v, vault: vault}
}

// As names the type of the objects in the store; without it, it has the name of T.
func (s *Setup[T, I, S]) As(name string) *Setup[T, I, S] {
	s.name = name
	return s
}

// WithIndexes makes indexes of the fields at some paths, such as "sender" and "address.city".
// Fields with the tag onto:"index" have one as well.
func (s *Setup[T, I, S]) WithIndexes(paths ...string) *Setup[T, I, S] {
	s.indexes = append(s.indexes, paths...)
	return s
}

// WithTextSearch lets Search find words in all texts of an object, at every depth.
func (s *Setup[T, I, S]) WithTextSearch() *Setup[T, I, S] {
	s.text = true
	return s
}

// WithCompute adds a function that completes each object that is read, in the order in which
// they are added. It gets the metadata of the object and can set fields from them. An error
// ends the read. What it sets is not stored, unless the program writes the object back.
func (s *Setup[T, I, S]) WithCompute(compute func(ctx context.Context, md Metadata, object *T) error) *Setup[T, I, S] {
	s.compute = append(s.compute, compute)
	return s
}

// Ready returns the set. It panics with an [*onto.Error] if the set cannot be: T is no struct
// that can be stored, its DBKey does not return two stored texts, a path leads to no field, or
// the vault has another set of that name. These are mistakes in the program, not in its data.
func (s *Setup[T, I, S]) Ready() *Set[T, I, S] {
	set, err := s.ready()
	if err != nil {
		panic(err)
	}
	return set
}

func (s *Setup[T, I, S]) ready() (*Set[T, I, S], error) {
	typ := onto.TypeOf[T]()
	if s.name != "" {
		typ = typ.As(s.name)
	}
	key, err := findKey[T, I, S](typ)
	if err != nil {
		return nil, err
	}
	typ = typ.Keyed(key.id, key.shardKey).Indexed(s.indexes...)
	if s.text {
		typ = typ.TextSearch()
	}
	schema, err := typ.Schema()
	if err != nil {
		return nil, err
	}
	set := &Set[T, I, S]{kind: &kind{
		vaults: s.vaults, vault: s.vault, typ: typ, schema: schema, goType: reflect.TypeFor[T](), key: key,
		used: newUses(),
	}, compute: s.compute}
	return set, s.vaults.add(set.kind)
}

// Set is the objects of a Go type in a vault. It may be used concurrently.
type Set[T Object[I, S], I, S ~string] struct {
	*kind
	compute []func(context.Context, Metadata, *T) error
}

// Tenant returns the objects of a tenant. Whether the tenant exists is found out when it is
// used.
func (s *Set[T, I, S]) Tenant(name string) Tenant[T, I, S] {
	return Tenant[T, I, S]{s.reader(name)}
}

func (s *Set[T, I, S]) reader(tenant string) Reader[T, I, S] {
	return Reader[T, I, S]{base[T]{kind: s.kind, tenant: tenant, find: store.Find[T, store.View]}, s}
}

// kind is what is known of a set apart from its Go types.
type kind struct {
	vaults *Vaults
	vault  string
	typ    onto.Type
	schema onto.Schema
	goType reflect.Type // nil for a type that is known by name only
	key    keyPaths
	used   *uses
}

// name is the name of the type of the objects.
func (k *kind) name() string { return k.schema.Name }

// id returns the identity of an entity key.
func (k *kind) id(key string) onto.Identity { return onto.EntityID(k.name(), key) }

// lacking reports whether a store does not have the type, which only happens to one that is known
// by name: others are made known to it.
func (k *kind) lacking(s *shard) bool {
	if k.goType != nil {
		return false
	}
	return !s.has(k.name())
}

// add notes a set that is ready. One Go type is one set of a vault, and so is one name.
func (v *Vaults) add(k *kind) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	sets := v.sets[k.vault]
	if sets == nil {
		sets = map[string]*kind{}
		v.sets[k.vault] = sets
	}
	for name, other := range sets {
		switch {
		case name == k.name() && other.goType != k.goType:
			return onto.Errorf(onto.Conflict, "vault %s has two types named %s: %v and %v", k.vault, name, other.goType, k.goType).
				WithHint("give one of them another name with As")
		case name != k.name() && other.goType == k.goType:
			return onto.Errorf(onto.Conflict, "vault %s has %v under two names: %s and %s", k.vault, k.goType, name, k.name())
		case name == k.name() && !reflect.DeepEqual(other.schema, k.schema):
			return onto.Errorf(onto.Conflict, "vault %s has the set %s twice, with different indexes or search", k.vault, name).
				WithHint("make it ready once and share it")
		}
	}
	if sets[k.name()] == nil {
		sets[k.name()] = k
	}
	return nil
}

// kinds returns the sets of a vault that are ready, by name.
func (v *Vaults) kinds(vault string) []*kind {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []*kind
	for _, name := range sortedKeys(v.sets[vault]) {
		list = append(list, v.sets[vault][name])
	}
	return list
}

// shards returns the shards of a tenant that store some shard keys; all for none.
func (k *kind) shards(ctx context.Context, tenant string, shardKeys []string) ([]*shard, error) {
	t, err := k.vaults.tenant(k.vault, tenant)
	if err != nil {
		return nil, err
	}
	return t.of(ctx, shardKeys)
}

// shard returns the shard of a tenant that stores a shard key, ready for the objects.
func (k *kind) shard(ctx context.Context, tenant, shardKey string) (*shard, error) {
	t, err := k.vaults.tenant(k.vault, tenant)
	if err != nil {
		return nil, err
	}
	s := t.owner(shardKey)
	if s == nil {
		list, err := t.of(ctx, []string{shardKey})
		if err != nil {
			return nil, err
		}
		s = list[0]
	}
	return s, s.join(ctx, k)
}
