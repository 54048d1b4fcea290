package object

import (
	"context"
	"errors"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/parallel"
)

// ShardState tells whether a store serves as a shard of its tenant.
type ShardState string

// The states of a shard.
const (
	ShardOpen        ShardState = "open"
	ShardDown        ShardState = "down"        // it cannot be opened, or its placement cannot be read
	ShardNotMade     ShardState = "not_made"    // there is no store, or nothing is in it yet
	ShardStranger    ShardState = "stranger"    // it is no shard of this tenant
	ShardOverlapping ShardState = "overlapping" // another shard owns some of its buckets, too
)

// Survey is a tenant as its stores are found. It has to be closed.
type Survey struct {
	Shards []SurveyedShard // in the order of the configuration

	Unowned int   // how many buckets no shard owns
	Err     error // about these, if no shard is down or not made that may own them

	opened []*shard
}

// SurveyedShard is a store that the configuration lists. Its Err says what is wrong unless the
// state is ShardOpen; its Store is there for every state in which it could be opened.
type SurveyedShard struct {
	Shard
	State ShardState
}

// Survey opens the stores that the configuration lists for a tenant, as far as that is
// possible. It refuses no layout, but reports what is wrong with it, and makes nothing.
func (v *Vaults) Survey(ctx context.Context, vault, tenant string) (*Survey, error) {
	t, err := v.tenant(vault, tenant)
	if err != nil {
		return nil, err
	}
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	shards := slices.Clone(t.shards)
	t.unlock()
	y := &Survey{opened: make([]*shard, len(shards))}
	states := make([]ShardState, len(shards))
	_ = parallel.Do(len(shards), len(shards), func(i int) error {
		states[i] = ShardOpen
		if shards[i].store != nil { // it has its place in a layout
			return nil
		}
		y.opened[i] = shards[i].open(ctx, false)
		shards[i] = y.opened[i]
		states[i], shards[i].err = shards[i].judge(ctx)
		return nil
	})
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, y.Close())
	}
	errs := y.share(t, shards, states)
	for i, s := range shards {
		y.Shards = append(y.Shards, SurveyedShard{Shard{s.placement.Name, withoutSecrets(s.uri), s.placement.Buckets, s.store, errs[i]}, states[i]})
	}
	return y, nil
}

// judge finds out whether a store that was just opened is a shard of its tenant, and why not.
func (s *shard) judge(ctx context.Context) (ShardState, error) {
	if s.store == nil {
		if onto.CodeOf(s.err) == onto.Uninitialized {
			return ShardNotMade, s.err
		}
		return ShardDown, s.err
	}
	err := s.check(true)
	if err == nil && s.placement.Name == "" {
		var head onto.Commit
		if head, err = s.store.Head(ctx); err == nil {
			err = s.checkUnused(head)
		}
		if err == nil {
			return ShardNotMade, s.notPlaced()
		}
	}
	switch {
	case err == nil:
		return ShardOpen, nil
	case onto.CodeOf(err) == onto.Conflict:
		s.placement = placement{} // its buckets are another tenant's
		return ShardStranger, err
	}
	return ShardDown, err
}

// share finds the buckets that several of the shards own, or none, and returns what is wrong
// with each shard.
func (y *Survey) share(t *tenant, shards []*shard, states []ShardState) []error {
	errs := make([]error, len(shards))
	var owner [Buckets]*shard
	for i, s := range shards {
		errs[i] = s.err
		for _, b := range s.placement.Buckets {
			other := owner[b]
			if owner[b] = s; other == nil {
				continue
			}
			j := slices.Index(shards, other)
			err := t.overlap(other, s, b)
			for _, k := range []int{i, j} {
				if states[k] == ShardOpen {
					states[k], errs[k] = ShardOverlapping, err
				}
			}
		}
	}
	y.Unowned = missing(&owner)
	unknown := func(s ShardState) bool { return s == ShardDown || s == ShardNotMade }
	if y.Unowned > 0 && !slices.ContainsFunc(states, unknown) {
		y.Err = t.gap(&owner, len(shards))
	}
	return errs
}

// Close closes the stores that the survey has opened.
func (y *Survey) Close() error {
	var errs []error
	for _, s := range y.opened {
		if s != nil && s.store != nil {
			errs = append(errs, s.store.Close())
		}
	}
	y.opened = nil
	return errors.Join(errs...)
}
