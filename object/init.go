package object

import (
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/parallel"
)

// Init makes a tenant: it makes the stores of the shards that do not exist, and gives each one
// its name and its buckets. A tenant that exists stays as it is, and one that was made in part
// is completed. A store that holds commits already cannot become a shard.
func (v *Vaults) Init(ctx context.Context, vault, name string) error {
	t, err := v.tenant(vault, name)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return onto.Errorf(onto.Closed, "the vaults are closed")
	}
	shards, err := t.openAll(ctx, true)
	if err != nil {
		return err
	}
	if err := t.deal(ctx, shards); err != nil {
		t.discard(shards)
		return err
	}
	_, err = t.settle(shards)
	return err
}

// deal gives each shard without a placement one that no other has.
func (t *tenant) deal(ctx context.Context, shards []*shard) error {
	var free []placement
	for i := range shards {
		free = append(free, placementOf(t.vault, t.name, i, len(shards)))
	}
	var fresh []*shard
	for _, s := range shards {
		if s.store == nil {
			return t.isDown([]*shard{s})
		}
		if s.placement.Name == "" {
			fresh = append(fresh, s)
			continue
		}
		i := slices.IndexFunc(free, func(p placement) bool { return p.equal(&s.placement) })
		if i < 0 {
			return t.wrong("%s has other buckets than one of %d shards", s, len(shards)).
				WithHint("list as many shards as the tenant was made with, each once: their number cannot change yet")
		}
		free = slices.Delete(free, i, i+1)
	}
	for _, s := range fresh { // before anything is written
		if err := s.checkEmpty(ctx); err != nil {
			return err
		}
	}
	return parallel.Do(len(fresh)+1, len(fresh), func(i int) error {
		if err := free[i].write(ctx, fresh[i].store); err != nil {
			return fresh[i].explain(err)
		}
		_, err := fresh[i].place(ctx)
		return err
	})
}

// checkEmpty refuses a store that has been used.
func (s *shard) checkEmpty(ctx context.Context) error {
	head, err := s.store.Head(ctx)
	if err != nil {
		return s.explain(err)
	}
	if head.ID > 0 || len(s.store.Types()) > 0 {
		return s.tenant.wrong("%s is a store of its own: it holds %d commits and %d types", s, head.ID, len(s.store.Types())).
			WithHint("name a place where nothing is stored yet")
	}
	return nil
}
