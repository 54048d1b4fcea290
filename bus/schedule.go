package bus

import "github.com/ontologia/onto"

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
	p.schedules = append(p.schedules, s)
	return nil
}
