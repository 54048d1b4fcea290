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
			list = append(list, s.shown())
		}
	}
	return list, nil
}

func (s *shard) shown() Shard {
	return Shard{s.placement.Name, withoutSecrets(s.uri), s.placement.Buckets, s.store, s.err}
}

// String names the shard.
func (s Shard) String() string { return nameOf(s.Name, s.URI) }

// Versions reads the objects of a type as versions, for programs that know it by its name only.
type Versions struct{ base[onto.Version] }

// Versions returns the objects of a type that the stores of a tenant have.
func (v *Vaults) Versions(ctx context.Context, vault, tenant, name string) (Versions, error) {
	t, err := v.tenant(vault, tenant)
	if err != nil {
		return Versions{}, err
	}
	l, err := t.opened(ctx)
	if err != nil {
		return Versions{}, err
	}
	k := &kind{vaults: v, vault: vault, used: newUses()}
	err = onto.Errorf(onto.Unavailable, "no shard is open")
	for _, s := range l.shards {
		if k.schema, err = s.store.Type(name); err == nil {
			break
		}
	}
	if err != nil && len(l.down) > 0 {
		err = t.isDown(l.down)
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

// Schema returns the type of the versions.
func (r Versions) Schema() onto.Schema { return r.kind.schema }

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
