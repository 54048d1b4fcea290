package session

import (
	"context"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/store"
)

// WithQueue opens the store that keeps the work queue, runs f and closes the store. Hints
// are about that store from then on. With access Creating a file is made if there is none; a
// lake, which keeps no queue, is never made.
func (c *Session) WithQueue(ctx context.Context, how place.Access, f func(*store.Store) error) error {
	return c.withQueue(ctx, how, f, func(cfg place.Settings, loc place.Location) (backend.Backend, error) {
		if how != place.Creating {
			return c.OpenAt(ctx, how, loc, cfg)
		}
		b, err := c.OpenAt(ctx, place.Writing, loc, cfg)
		if loc.IsLake() || onto.CodeOf(err) != onto.Uninitialized {
			return b, err
		}
		if err := loc.CheckFolder(); err != nil {
			return nil, err
		}
		b, err = c.OpenAt(ctx, place.Creating, loc, cfg)
		if err == nil && !c.JSON {
			c.Say("made %s", loc)
		}
		return b, err
	})
}

// PlanQueue is WithQueue for the plan of a verb that makes the file if there is none: an
// empty queue in memory stands for one that is missing.
func (c *Session) PlanQueue(ctx context.Context, f func(*store.Store) error) error {
	return c.withQueue(ctx, place.Reading, f, func(cfg place.Settings, loc place.Location) (backend.Backend, error) {
		b, err := c.OpenAt(ctx, place.Reading, loc, cfg)
		if loc.IsLake() || onto.CodeOf(err) != onto.Uninitialized {
			return b, err
		}
		if err := loc.CheckFolder(); err != nil {
			return nil, err
		}
		return place.Location{Path: place.MemoryPath}.Open(ctx, place.Reading, cfg, place.Opener{})
	})
}

func (c *Session) withQueue(ctx context.Context, how place.Access, f func(*store.Store) error, open func(place.Settings, place.Location) (backend.Backend, error)) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	loc, err := cfg.QueueLocation()
	if err != nil {
		return err
	}
	c.here = &loc
	b, err := open(cfg, loc)
	if err != nil {
		return err
	}
	return c.withBackend(ctx, how, b, cfg, f)
}
