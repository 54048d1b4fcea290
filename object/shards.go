package object

import (
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Shard is a shard of a tenant as its operators see it.
type Shard struct {
	Name    string       // "" while it is down, unless it was open before
	URI     string       // without user, password and parameters
	Buckets []int        // of the [Buckets] of the tenant
	Store   *store.Store // nil while it is down; not to be closed
	Err     error        // why it is down
}

// Shards opens a tenant and returns its shards, those that are down at the end.
func (v *Vaults) Shards(ctx context.Context, vault, tenant string) ([]Shard, error) {
	t, err := v.tenant(vault, tenant)
	if err != nil {
		return nil, err
	}
	l, err := t.all(ctx)
	if err != nil {
		return nil, err
	}
	var list []Shard
	for _, shards := range [][]*shard{l.shards, l.down} {
		for _, s := range shards {
			list = append(list, Shard{s.placement.Name, withoutSecrets(s.uri), s.placement.Buckets, s.store, s.err})
		}
	}
	return list, nil
}

// Versions reads the objects of a type as versions, for programs that know it by its name only.
type Versions struct{ base[onto.Version] }

// Versions returns the objects of a type that the stores of a tenant have.
func (v *Vaults) Versions(ctx context.Context, vault, tenant, name string) (Versions, error) {
	shards, err := v.Shards(ctx, vault, tenant)
	if err != nil {
		return Versions{}, err
	}
	k := &kind{vaults: v, vault: vault, used: newUses()}
	err = onto.Errorf(onto.Unavailable, "tenant %s of vault %s: all shards are down", tenant, vault)
	for _, s := range shards {
		if s.Store != nil {
			if k.schema, err = s.Store.Type(name); err == nil {
				break
			}
		}
	}
	if err != nil {
		return Versions{}, err
	}
	if rule := k.schema.ComputedKey(); rule != nil {
		k.key.id, k.key.shardKey = rule.ID, rule.ShardKey
	}
	find := func(view store.View) store.Query[onto.Version] { return view.Find(name) }
	return Versions{base[onto.Version]{kind: k, tenant: tenant, find: find}}, nil
}

// AsOf reads the versions as they were at a time.
func (r Versions) AsOf(t time.Time) Versions {
	r.moment = &t
	return r
}

// Each yields the versions that a clause is about, of all shards together.
func (r Versions) Each(ctx context.Context, where Clause) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		q, sources, err := r.start(ctx, where, nil, false)
		if err != nil {
			yield(onto.Version{}, err)
			return
		}
		for f, err := range q.merge(ctx, sources, false) {
			if !yield(f.version, err) {
				return
			}
		}
	}
}

// Page returns the versions up to the limit of a clause.
func (r Versions) Page(ctx context.Context, where Clause) (Page[onto.Version], error) {
	list, next, err := r.page(ctx, where, nil)
	p := Page[onto.Version]{Next: next}
	for _, f := range list {
		p.Objects = append(p.Objects, f.version)
	}
	return p, err
}

// Count returns how many versions a clause is about.
func (r Versions) Count(ctx context.Context, where Clause) (int64, error) {
	return r.count(ctx, where, nil)
}
