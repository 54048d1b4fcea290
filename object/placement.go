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
	return p, true, p.check()
}

// check refuses what no tenant was made with.
func (p *placement) check() error {
	switch n := len(p.Buckets); {
	case p.Name == "":
		return onto.Errorf(onto.Corrupt, "its placement gives the shard no name")
	case n == 0 || p.Buckets[0] < 0 || p.Buckets[n-1] >= Buckets:
		return onto.Errorf(onto.Corrupt, "the placement of %s lists no buckets, or some that do not exist", p.Name)
	}
	for i := range p.Buckets[1:] {
		if p.Buckets[i] >= p.Buckets[i+1] {
			return onto.Errorf(onto.Corrupt, "the placement of %s lists bucket %d after %d", p.Name, p.Buckets[i+1], p.Buckets[i])
		}
	}
	return nil
}

// write stores the placement in a store that has none.
func (p placement) write(ctx context.Context, s *store.Store) error {
	if err := registerPlacement(ctx, s); err != nil {
		return err
	}
	ctx = own.Allow(ctx)
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

// registerPlacement makes the type of placements known to a store.
func registerPlacement(ctx context.Context, s *store.Store) error {
	return s.Register(own.Allow(ctx), onto.TypeOf[placement]().As(placementType))
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
	names := map[string]*shard{}
	for _, s := range l.shards {
		if other := names[s.placement.Name]; other != nil {
			return nil, t.wrong("%s and %s have the same name", other, s)
		}
		names[s.placement.Name] = s
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

// of returns the shards that own the buckets of some shard keys; all for none. It reports
// whether they are up.
func (l *layout) of(keys []string) (list []*shard, up bool) {
	if len(keys) == 0 {
		return l.shards, len(l.down) == 0
	}
	for _, key := range keys {
		s := l.owner[bucketOf(key)]
		if s == nil {
			return nil, false
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list, true
}
