package object

import (
	"context"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/own"
	"github.com/ontologia/onto/store"
)

// placement is the entity by which a store knows which shard it is.
type placement struct {
	ID      string `json:"id" onto:"key"` // always placementID
	Vault   string `json:"vault"`
	Tenant  string `json:"tenant"`
	Name    string `json:"name"`    // of the shard, within the tenant
	Buckets []int  `json:"buckets"` // that the shard owns, in order
}

const (
	placementType = "onto_placement"
	placementID   = "placement"
)

// placementOf returns the placement of a shard out of so many, from 0 on: buckets are dealt in
// turn, so that crc32 modulo the number of shards stays the same where that number divides 1024.
func placementOf(vault, tenant string, i, shards int) placement {
	p := placement{ID: placementID, Vault: vault, Tenant: tenant, Name: fmt.Sprintf("shard-%d", i+1)}
	for b := i; b < Buckets; b += shards {
		p.Buckets = append(p.Buckets, b)
	}
	return p
}

func (p *placement) equal(other *placement) bool {
	return p.Vault == other.Vault && p.Tenant == other.Tenant && p.Name == other.Name && slices.Equal(p.Buckets, other.Buckets)
}

// readPlacement returns the placement that a store holds, and whether it holds one.
func readPlacement(ctx context.Context, s *store.Store) (placement, bool, error) {
	p := placement{}
	if _, err := s.Type(placementType); err != nil {
		return p, false, nil
	}
	v, err := s.Now().Get(ctx, onto.EntityID(placementType, placementID))
	if onto.CodeOf(err) == onto.NotFound {
		return p, false, nil
	}
	if err == nil {
		err = v.Decode(&p)
	}
	if err != nil {
		return p, false, err
	}
	if len(p.Buckets) == 0 || !slices.IsSorted(p.Buckets) || p.Buckets[0] < 0 || p.Buckets[len(p.Buckets)-1] >= Buckets {
		return p, false, onto.Errorf(onto.Corrupt, "its placement lists no buckets, or some that do not exist")
	}
	return p, true, nil
}

// write stores the placement in a store that has none.
func (p placement) write(ctx context.Context, s *store.Store) error {
	ctx = own.Allow(ctx)
	if err := s.Register(ctx, onto.TypeOf[placement]().As(placementType)); err != nil {
		return err
	}
	d, err := header(ctx)
	if err != nil {
		return err
	}
	if d.Comment == "" {
		d.Comment = "a shard of tenant " + p.Tenant + " of vault " + p.Vault
	}
	d.IdempotencyKey = ""
	_, err = s.Commit(ctx, d.Ensure(p).ExpectVersion(onto.EntityID(placementType, placementID), 0))
	return err
}

// layout is which shard owns which bucket. It does not change: a tenant gets another one
// when a shard comes up.
type layout struct {
	shards []*shard        // that are open, by their first buckets
	owner  [Buckets]*shard // nil for a bucket of a shard that is down
	down   []*shard
}

// newLayout puts shards in their places. It refuses two that own the same bucket, and buckets
// that no shard owns unless some are down.
func newLayout(t *tenant, shards []*shard) (*layout, error) {
	l := &layout{}
	for _, s := range shards {
		if s.store == nil {
			l.down = append(l.down, s)
			continue
		}
		l.shards = append(l.shards, s)
		for _, b := range s.placement.Buckets {
			if other := l.owner[b]; other != nil {
				return nil, t.overlap(other, s, b)
			}
			l.owner[b] = s
		}
	}
	slices.SortFunc(l.shards, func(a, b *shard) int { return a.placement.Buckets[0] - b.placement.Buckets[0] })
	if missing(&l.owner) > 0 && len(l.down) == 0 {
		return nil, t.gap(&l.owner, len(shards))
	}
	return l, nil
}

// overlap is the error for a bucket that two shards own.
func (t *tenant) overlap(a, b *shard, bucket int) error {
	return t.wrong("%s and %s both own bucket %d", a, b, bucket).
		WithHint("list each shard once; a store and its copy cannot both be shards")
}

// gap is the error for buckets that none of the shards that are listed owns.
func (t *tenant) gap(owner *[Buckets]*shard, listed int) error {
	return t.wrong("no shard owns bucket %d and %d more", slices.Index(owner[:], nil), missing(owner)-1).
		WithHint("list all shards of the tenant; %d are listed", listed)
}

func missing(owner *[Buckets]*shard) int {
	n := 0
	for _, s := range owner {
		if s == nil {
			n++
		}
	}
	return n
}

// of returns the shards that own the buckets of some shard keys; all for none.
func (l *layout) of(t *tenant, keys []string) ([]*shard, error) {
	if len(keys) == 0 {
		if len(l.down) > 0 {
			return nil, t.isDown(l.down)
		}
		return l.shards, nil
	}
	var list []*shard
	for _, key := range keys {
		s := l.owner[bucketOf(key)]
		if s == nil {
			return nil, t.isDown(l.down)
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, nil
}
