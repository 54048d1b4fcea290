package object

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Init makes a tenant: it makes the stores of the shards that do not exist, and gives each one
// its name and its buckets. A tenant that exists stays as it is, and one that was made in part
// is completed. A store that holds commits already cannot become a shard.
func (v *Vaults) Init(ctx context.Context, vault, name string) error {
	t, err := v.tenant(vault, name)
	if err != nil {
		return err
	}
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
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

// deal gives each shard without a placement one that no other has. Programs that make the same tenant
// go through its stores in the same order, whatever the order of their lists. So each
// knows all placements that were given before it gives one.
func (t *tenant) deal(ctx context.Context, shards []*shard) error {
	inTurn, err := t.distinct(ctx, shards)
	if err != nil {
		return err
	}
	for _, s := range inTurn { // before anything is written
		if err := s.checkEmpty(ctx); err != nil {
			return err
		}
	}
	for _, s := range inTurn {
		p, err := t.free(shards, s)
		if err != nil {
			return err
		}
		if s.placement.Name != "" {
			continue
		}
		failed := p.write(ctx, s.store)
		if err := errors.Join(s.place(ctx), s.check(true)); err != nil {
			return s.explain(err)
		}
		if s.placement.Name == "" { // otherwise another program was first
			return s.explain(failed)
		}
	}
	_, err = t.free(shards, nil)
	return err
}

// distinct returns the shards in the order of the identities of their stores. It refuses a shard
// that is down, and a store that is there twice.
func (t *tenant) distinct(ctx context.Context, shards []*shard) ([]*shard, error) {
	byOrigin := map[string]*shard{}
	for i, s := range shards {
		if s.store == nil {
			return nil, t.isDown([]*shard{s})
		}
		origin := fmt.Sprintf("%s#%d", s.uri, i) // where the backend does not tell
		if log, ok := backend.As[backend.LogSource](s.store.Backend()); ok {
			var err error
			if origin, err = log.Origin(ctx); err != nil {
				return nil, s.explain(err)
			}
		}
		if other := byOrigin[origin]; other != nil {
			return nil, t.wrong("%s and %s are the same store, or one is a copy of the other", other, s).WithHint("list each shard once")
		}
		byOrigin[origin] = s
	}
	inTurn := make([]*shard, 0, len(shards))
	for _, origin := range sortedKeys(byOrigin) {
		inTurn = append(inTurn, byOrigin[origin])
	}
	return inTurn, nil
}

// free returns the placement for a shard that has none: those without one get what is free, in the
// order of the list. It refuses shards of which another number was made.
func (t *tenant) free(shards []*shard, of *shard) (p placement, err error) {
	var free []placement
	for i := range shards {
		free = append(free, placementOf(t.vault, t.name, i, len(shards)))
	}
	at := 0
	for i, s := range shards {
		if s.placement.Name == "" {
			if slices.Index(shards, of) > i {
				at++
			}
			continue
		}
		taken := slices.IndexFunc(free, func(p placement) bool { return p.equal(&s.placement) })
		if taken < 0 {
			return p, t.wrong("%s has other buckets than one of %d shards", s, len(shards)).
				WithHint("list as many shards as the tenant was made with, each once: their number cannot change yet")
		}
		free = slices.Delete(free, taken, taken+1)
	}
	if at < len(free) {
		p = free[at]
	}
	return p, nil
}

// checkEmpty refuses a store that has been used, unless it has become a shard since it was opened. One
// that knows the type of placements and has none is one that was not finished.
func (s *shard) checkEmpty(ctx context.Context) error {
	head, err := s.store.Head(ctx)
	var types []onto.SchemaVersion
	if err == nil {
		types, err = s.store.Schemas(ctx)
	}
	if err == nil && slices.ContainsFunc(types, func(v onto.SchemaVersion) bool { return v.Schema.Name == placementType }) {
		err = registerPlacement(ctx, s.store)
	}
	if err == nil {
		err = errors.Join(s.place(ctx), s.check(true))
	}
	if err != nil {
		return s.explain(err)
	}
	if s.placement.Name != "" {
		return nil
	}
	return s.checkUnused(head)
}

// checkUnused refuses a store without a placement that holds something else.
func (s *shard) checkUnused(head onto.Commit) error {
	if head.ID > 0 || len(s.store.Types()) > 0 {
		return s.tenant.wrong("%s is a store of its own: it holds %d commits and %d types", s, head.ID, len(s.store.Types())).
			WithHint("name a place where nothing is stored yet")
	}
	return nil
}
