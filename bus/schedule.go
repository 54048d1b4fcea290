package bus

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/cron"
)

// Schedule emits an event again and again.
type Schedule struct {
	name, cron, zone string
	event            any
	catchUp          bool
}

// Every emits an event at the times of a cron expression in a time zone, "" for UTC: five
// fields (minute, hour, day of month, month, day of week), or @hourly, @daily, @weekly,
// @monthly, @yearly. The event is as in [onto.Draft.Emit], or a func(time.Time) any that
// makes it for a tick.
//
// An hour field that begins with * fires as time passes. Any other fires once for each
// local time: one that the clock skips at the end of the gap, one that it shows twice at
// the first of the two.
//
// Each tick fires once, however many processes have the schedule. One during which none
// ran is skipped, but see [Schedule.CatchUp].
func Every(name, cron, zone string, event any) *Schedule {
	return &Schedule{name: name, cron: cron, zone: zone, event: event}
}

// CatchUp lets the schedule fire when Run starts, once, if it has missed ticks since it
// last fired: that of the last one. A schedule that never fired has missed none.
func (s *Schedule) CatchUp() *Schedule { s.catchUp = true; return s }

func (s *Schedule) join(p *plan) error {
	if err := onto.CheckBusName("schedule", s.name); err != nil {
		return err
	}
	if _, err := cron.Parse(s.cron, s.zone); err != nil {
		return onto.Errorf(onto.Invalid, "schedule %s: %w", s.name, err)
	}
	if slices.ContainsFunc(p.schedules, func(o *Schedule) bool { return o.name == s.name }) {
		return onto.Errorf(onto.Invalid, "two schedules are named %s", s.name).WithHint("name them differently: each tick of a name fires once")
	}
	if _, made := s.event.(func(time.Time) any); !made {
		if _, err := p.b.rules.Event(s.event); err != nil {
			return onto.Errorf(onto.CodeOf(err), "schedule %s: %w", s.name, err)
		}
	}
	p.schedules = append(p.schedules, s)
	return nil
}

// make is the event of a tick.
func (s *Schedule) make(b *Bus, tick time.Time) (e backend.NewEvent, err error) {
	defer caught(&err)
	thing := s.event
	if f, ok := thing.(func(time.Time) any); ok {
		thing = f(tick)
	}
	return b.rules.Event(thing)
}

// ticker fires a schedule. It belongs to the loop of its run.
type ticker struct {
	*Schedule
	times    *cron.Schedule
	next     time.Time // the tick to come; zero if there is none
	catching bool      // it has passed already
	busy     bool      // it is being emitted
	slept    bool      // the machine has slept meanwhile
	rest     time.Time // nothing is tried before
}

// schedules makes the tickers of a run. Those that catch up begin with the last tick, if
// it was missed.
func (r *run) schedules(list []*Schedule) error {
	wall := r.b.o.Now()
	var last map[string]time.Time
	for _, s := range list {
		times, err := cron.Parse(s.cron, s.zone)
		if err != nil {
			return onto.Errorf(onto.Invalid, "schedule %s: %w", s.name, err)
		}
		t := &ticker{Schedule: s, times: times, next: times.Next(wall)}
		if s.catchUp {
			if last == nil {
				if last, err = r.fired(); err != nil {
					return err
				}
			}
			missed := times.Last(wall)
			if before, ok := last[s.name]; ok && before.Before(missed) {
				t.next, t.catching = missed, true
			}
		}
		r.tickers = append(r.tickers, t)
	}
	return nil
}

// fired returns the last tick of each schedule.
func (r *run) fired() (map[string]time.Time, error) {
	last := map[string]time.Time{}
	list, err := r.b.Namespaces(r.ctx)
	for _, n := range list {
		if n.Name == r.b.o.Namespace {
			for _, t := range n.Schedules {
				last[t.Schedule] = t.Time
			}
		}
	}
	return last, err
}

// skip passes over ticks during which the machine slept.
func (t *ticker) skip(wall time.Time) {
	if t.slept = t.busy; t.busy || t.next.IsZero() || t.next.After(wall) {
		return
	}
	if t.catchUp {
		t.next = t.times.Last(wall)
	} else {
		t.next = t.times.Next(wall)
	}
}

// tick fires the schedules whose time has come. Ticks that a trouble of the store has
// delayed follow one after the other.
func (r *run) tick(wall time.Time) {
	if r.phase >= closing {
		return
	}
	for _, t := range r.tickers {
		if !t.busy && r.fires(t) && !t.next.After(wall) && !time.Now().Before(t.rest) {
			r.fire(t)
		}
	}
}

// fires reports whether this run has to see to the next tick of a ticker.
func (r *run) fires(t *ticker) bool {
	switch {
	case t.next.IsZero():
		return false
	case r.phase != working:
		return !t.next.After(r.drained)
	}
	return t.catching || !r.idle
}

// fire emits the event of a tick. Of the processes that try, one succeeds.
func (r *run) fire(t *ticker) {
	at := t.next
	t.busy = true
	r.background(func() func() {
		e, bad := t.make(r.b, at)
		var made []onto.Event
		var err error
		if bad == nil {
			made, err = r.b.port.Emit(r.ctx, &backend.Emission{
				Events: []backend.NewEvent{e},
				Tick:   &backend.Tick{Namespace: r.b.o.Namespace, Schedule: t.name, Time: at},
			})
		}
		return func() {
			t.busy = false
			switch {
			case err != nil && final(err):
				t.next = time.Time{}
				r.stop(err)
			case err != nil:
				t.rest = time.Now().Add(time.Second)
				r.troubled("", time.Second, err)
			default:
				if bad != nil {
					r.unmade(t, at, bad)
				} else if len(made) > 0 {
					r.ticked(t, &made[0])
					r.wake()
				}
				t.next, t.catching = t.times.Next(at), false
			}
			if t.slept {
				t.skip(r.b.o.Now())
			}
		}
	})
}
