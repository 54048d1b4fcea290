package bus

import (
	"context"

	"github.com/ontologia/onto"
)

// plan is the parts of a Run.
type plan struct {
	handlers  []*Handler
	schedules []*Schedule
}

// newPlan checks parts before anything starts.
func newPlan(parts []Part) (*plan, error) {
	p := &plan{}
	for _, part := range parts {
		if err := part.join(p); err != nil {
			return nil, err
		}
	}
	if len(parts) == 0 {
		return nil, onto.Errorf(onto.Invalid, "there is nothing to run").WithHint("give handlers or schedules")
	}
	return p, nil
}

// Run handles events and fires schedules until the context ends. Then it claims nothing
// more, returns what was not started, waits for handlers that run, for as long as
// Options.Drain says, and returns nil.
//
// Parts that are not well formed fail with Invalid before anything starts. SchemaOutdated
// of a handler's commit ends Run with that error, as does a store that is closed, damaged
// or read-only: the claims are returned. Other troubles of the store are waited for.
func (b *Bus) Run(ctx context.Context, parts ...Part) error {
	_, err := newPlan(parts)
	return err
}

// RunUntilIdle is Run that also ends when nothing can be claimed now and no handler runs.
// It does not wait for retries, snoozed and delayed events, ticks, or events that another
// process has claimed; schedules fire only what [Schedule.CatchUp] asks for. It returns
// the context's error if that ends first.
func (b *Bus) RunUntilIdle(ctx context.Context, parts ...Part) error {
	_, err := newPlan(parts)
	return err
}
