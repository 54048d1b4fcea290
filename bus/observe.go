package bus

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Happening is the closed set of what is observed.
type Happening string

// What is observed.
const (
	Started   Happening = "started"   // a handler was started
	Acked     Happening = "acked"     // it has handled the event, durably
	Failed    Happening = "failed"    // it has failed, and is started again after Delay
	Buried    Happening = "buried"    // the event is a dead letter
	Snoozed   Happening = "snoozed"   // the handler has put the event off for Delay
	Returned  Happening = "returned"  // the event is handled again after Delay, and nothing was counted
	Outdated  Happening = "outdated"  // what the handler read has changed: the event is handled again after Delay, and only the start was counted
	Lost      Happening = "lost"      // the claim was lost: what the handler wanted to commit was refused
	Overdue   Happening = "overdue"   // the handler has not returned at its timeout: its claim is not renewed
	Abandoned Happening = "abandoned" // the handler has not returned at the end of Run
	Ticked    Happening = "ticked"    // a schedule has fired in this process
	Cleaned   Happening = "cleaned"   // old events were removed
	Troubled  Happening = "troubled"  // the store has failed, and is tried again after Delay
	Differs   Happening = "differs"   // the store is not as it was when it was last known to be good
	Behind    Happening = "behind"    // the clock is behind what is stored, by Delay
)

// Observation is one thing that happened in a Run.
type Observation struct {
	What      Happening
	Namespace string
	Handler   string // "" if it is not about one
	Schedule  string // Ticked

	Event      onto.Event // without payload; zero if it is not about one
	Attempts   int        // how often the handler has failed
	Deliveries int        // how often it was started
	Commit     int64      // Acked: the commit that it has made; 0 for none

	Wait     time.Duration // Started: since the event was emitted, or could be handled
	Duration time.Duration // how long the handler took, with its commit
	Delay    time.Duration // until the next attempt; how far Behind
	Count    int64         // Cleaned: events
	Err      error         // Failed, Buried, Returned, Outdated, Lost, Troubled, Differs
}

// observe tells of one thing.
func (r *run) observe(o Observation) {
	if r.b.o.Observe != nil {
		o.Namespace = r.b.o.Namespace
		r.b.o.Observe(o)
	}
}

// about is an observation about a delivery.
func (d *delivery) about(what Happening, c *onto.Claim) Observation {
	e := c.Event
	e.Payload = nil
	return Observation{
		What: what, Handler: c.Handler, Event: e, Attempts: c.Attempts, Deliveries: c.Deliveries,
		Commit: d.commit, Duration: d.took, Delay: d.end.delay, Err: d.end.err,
	}
}

// started tells that a handler was started.
func (r *run) started(d *delivery) {
	if r.b.o.Observe == nil {
		return
	}
	c := started(d.Claim)
	o := d.about(Started, &c)
	since := c.Time
	if c.NotBefore.After(since) {
		since = c.NotBefore
	}
	o.Wait, o.Delay, o.Err = r.b.o.Now().Sub(since), 0, nil
	r.observe(o)
}

// settled tells what became of a delivery.
func (r *run) settled(d *delivery) {
	r.observe(d.about(d.end.what, &d.end.claim))
	level := slog.LevelDebug
	switch d.end.what {
	case Failed, Lost:
		level = slog.LevelWarn
	case Buried, Abandoned:
		level = slog.LevelError
	case Returned:
		if d.end.err != nil {
			level = slog.LevelWarn
		}
	}
	r.log(d, level, string(d.end.what))
}

// overdue tells that a handler has not returned in time.
func (r *run) overdue(d *delivery, now time.Time) {
	c := started(d.Claim)
	o := d.about(Overdue, &c)
	o.Duration = now.Sub(d.began)
	r.observe(o)
	d.end.claim = c
	r.log(d, slog.LevelWarn, "overdue")
}

func (r *run) log(d *delivery, level slog.Level, what string) {
	if !r.b.o.Log.Enabled(r.ctx, level) {
		return
	}
	c := &d.end.claim
	attrs := []slog.Attr{
		slog.String("namespace", c.Namespace), slog.String("handler", c.Handler), slog.String("event", c.ID), slog.String("type", c.Type),
		slog.Int("attempts", c.Attempts), slog.Int("deliveries", c.Deliveries), slog.Duration("duration", d.took),
	}
	if d.commit != 0 {
		attrs = append(attrs, slog.Int64("commit", d.commit))
	}
	if d.end.delay != 0 {
		attrs = append(attrs, slog.Duration("delay", d.end.delay))
	}
	if d.end.err != nil {
		attrs = append(attrs, slog.String("error", text(d.end.err, maxError)))
	}
	r.b.o.Log.LogAttrs(r.ctx, level, "event "+what, attrs...)
}

// troubled tells that the store has failed.
func (r *run) troubled(handler string, delay time.Duration, err error) {
	r.observe(Observation{What: Troubled, Handler: handler, Delay: delay, Err: err})
	r.b.o.Log.Warn("the store has failed", "namespace", r.b.o.Namespace, "handler", handler, "session", r.session.ID, "delay", delay, "error", err)
}

// behind tells that the clock is behind what is stored.
func (r *run) behind(by time.Duration) {
	r.observe(Observation{What: Behind, Delay: by})
	r.b.o.Log.Warn("the clock is behind what is stored", "namespace", r.b.o.Namespace, "session", r.session.ID, "by", by)
}

// differs tells that the store is not as it was. Another goroutine calls it.
func (r *run) differs(f onto.Finding) {
	r.b.o.Log.Error("the store is not as it was when it was last known to be good", "finding", f.Code, "message", f.Message)
	r.mail.Post(func() { r.observe(Observation{What: Differs, Err: errors.New(f.String())}) })
}

// slept tells that the clocks have come apart.
func (r *run) slept(gap time.Duration) {
	r.b.o.Log.Warn("the clock has jumped: claims are renewed before anything else", "namespace", r.b.o.Namespace, "session", r.session.ID, "gap", gap)
}

// ticked tells that a schedule has fired.
func (r *run) ticked(t *ticker, e *onto.Event) {
	about := *e
	about.Payload = nil
	r.observe(Observation{What: Ticked, Schedule: t.name, Event: about})
	r.b.o.Log.Debug("schedule fired", "namespace", e.Namespace, "schedule", t.name, "tick", t.next, "event", e.ID, "type", e.Type)
}

// unmade tells that a tick has no event.
func (r *run) unmade(t *ticker, tick time.Time, err error) {
	r.observe(Observation{What: Troubled, Schedule: t.name, Err: err})
	r.b.o.Log.Error("the event of a tick was refused, and the tick is skipped", "namespace", r.b.o.Namespace, "schedule", t.name, "tick", tick, "error", err)
}

// removed tells that old events were removed.
func (r *run) removed(p backend.CleanPlan) {
	r.observe(Observation{What: Cleaned, Count: p.Events})
	r.b.o.Log.Info("old events were removed", "namespace", r.b.o.Namespace, "events", p.Events, "kept", p.Kept)
}
