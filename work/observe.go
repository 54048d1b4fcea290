package work

import (
	"log/slog"
	"time"

	"github.com/ontologia/onto"
)

// Happening is the closed set of what is observed.
type Happening string

// What is observed.
const (
	Started   Happening = "started"   // an attempt has begun
	Completed Happening = "completed" // the item is fetched and written
	Retried   Happening = "retried"   // the attempt has failed, and the item is tried again after Delay
	Failed    Happening = "failed"    // the item is given up
	Skipped   Happening = "skipped"   // the item is skipped
	Returned  Happening = "returned"  // the item was given back, and nothing was counted
	Lost      Happening = "lost"      // the lease was lost: what the attempt wanted to tell was refused
	Abandoned Happening = "abandoned" // the attempt has not ended when the Run did
	Troubled  Happening = "troubled"  // the queue's store has failed, and is tried again after Delay
	Differs   Happening = "differs"   // the store is not as it was when it was last known to be good
	Behind    Happening = "behind"    // the clock is behind what is stored, by Delay
	Stopping  Happening = "stopping"  // nothing is taken any more; attempts under way may go on for Delay
)

// Observation is one thing that happened in a Run.
type Observation struct {
	What Happening
	Run  string
	Item onto.WorkItem // zero for Troubled, Behind and Stopping

	Duration   time.Duration // of the attempt
	Delay      time.Duration // until the next one, or the end of Stopping; how far Behind
	Bytes      int           // that were fetched
	Discovered int           // items that are new
	Class      string        // of the failure
	Err        error
}

func (r *run) observe(o Observation) {
	if r.o.Observe != nil {
		o.Run = r.id
		r.o.Observe(o)
	}
}

// settled counts and tells what became of an attempt.
func (r *run) settled(j *job, fresh []bool) {
	found := 0
	for _, f := range fresh {
		if f {
			found++
		}
	}
	r.sum.add(j, found, len(fresh)-found)
	e := &j.end
	r.observe(Observation{
		What: e.what, Item: j.item, Duration: j.took, Delay: e.delay, Bytes: j.did.bytes, Discovered: found, Class: e.class, Err: e.err,
	})
	level := slog.LevelDebug
	switch e.what {
	case Retried, Lost:
		level = slog.LevelWarn
	case Failed, Abandoned:
		level = slog.LevelError
	}
	if !r.o.Log.Enabled(r.ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("run", r.id), slog.String("item", j.item.ID), slog.String("system", j.item.System), slog.String("source", j.item.Source),
		slog.String("resource", j.item.Resource), slog.Int("attempt", j.item.Attempt), slog.Duration("duration", j.took),
	}
	if e.delay != 0 {
		attrs = append(attrs, slog.Duration("delay", e.delay))
	}
	if found > 0 {
		attrs = append(attrs, slog.Int("discovered", found))
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("class", e.class), slog.String("error", text(e.err, maxError)))
	}
	r.o.Log.LogAttrs(r.ctx, level, "work item "+string(e.what), attrs...)
}

// troubled tells that the queue's store has failed.
func (r *run) troubled(delay time.Duration, err error) {
	r.observe(Observation{What: Troubled, Delay: delay, Err: err})
	r.o.Log.Warn("the store of the work queue has failed", "run", r.id, "delay", delay, "error", err)
}
