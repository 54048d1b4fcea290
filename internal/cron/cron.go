// Package cron tells at which instants a schedule fires: five fields of cron, read on the
// clock of a time zone.
//
// # Expressions
//
//	minute        0-59
//	hour          0-23
//	day-of-month  1-31
//	month         1-12 or jan-dec
//	day-of-week   0-7 or sun-sat; 0 and 7 are Sunday
//
// A field is a list of members with commas between them. A member is * (every value), a
// value, or a range such as 1-5 or mon-fri, and may have a step: */5 is every fifth value,
// 1-30/2 every second of a range, 5/10 every tenth from 5 on. A range does not wrap, but
// may end with sun, as fri-sun does. Names are read in any case. A step that is longer
// than its range is refused: */90 would not mean every 90 minutes.
//
// A day matches if day-of-month and day-of-week both match. If both are restricted, which
// is to say that neither begins with *, one of the two is enough: 0 0 13 * fri fires each
// 13th and each Friday.
//
//	@hourly              0 * * * *
//	@daily, @midnight    0 0 * * *
//	@weekly              0 0 * * 0
//	@monthly             0 0 1 * *
//	@yearly, @annually   0 0 1 1 *
//
// # Clocks that are set forward and back
//
// Zones change their offset: for daylight saving, or for good. The hour field says what a
// schedule makes of it.
//
// If the hour field begins with *, the schedule fires as time passes: at each matching time
// that the clock shows. A time that is skipped does not fire, a time that is shown twice
// fires twice. So */5 * * * * fires every five minutes, through any change of an hour.
//
// Any other hour field fires once for each matching time of the calendar, when the clock
// first shows that time or a later one. A time that is skipped fires at the end of the gap;
// times that fire at one instant are one tick. Of a time that is shown twice the first
// counts. So 30 2 * * * fires every day, at 03:00 if 02:00 to 03:00 is skipped.
//
// # Zones
//
// A zone is a name of the IANA database, "" is UTC. The database comes from the system and,
// where that has none, from the program, which carries a copy. The system's own zone
// ("Local") is refused: processes on several machines must agree about ticks. So keep the
// database alike on all machines when a zone gets new rules.
package cron

import "time"

// Schedule is a parsed expression in a zone. It does not change, and may be shared by
// goroutines.
type Schedule struct {
	text string
	zone *time.Location

	// The values of each field, as bits. Weekdays are repeated to six weeks.
	minutes, hours, days, months, weekdays uint64

	eitherDay bool // a day matches by day-of-month or by day-of-week
	passing   bool // fires as time passes, not once for each local time
}

// Ticks lie between these two: before any change of a zone that is on record, and where
// RFC 3339 ends.
var (
	earliest = time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// String returns the expression and the zone.
func (s *Schedule) String() string { return s.text + " " + s.zone.String() }

// Next returns the first tick after an instant, in UTC; the zero time if there is none
// before the year 10000.
func (s *Schedule) Next(after time.Time) time.Time {
	if after.Before(earliest) {
		after = earliest.Add(-time.Second)
	}
	if after.After(latest) {
		return time.Time{}
	}
	next := s.nextOnce
	if s.passing {
		next = s.nextPassing
	}
	return tick(next(after.Unix()))
}

// Last returns the newest tick that is not after an instant, in UTC; the zero time if there
// is none since the year 1800.
func (s *Schedule) Last(at time.Time) time.Time {
	if at.After(latest) {
		at = latest
	}
	if at.Before(earliest) {
		return time.Time{}
	}
	last := s.lastOnce
	if s.passing {
		last = s.lastPassing
	}
	return tick(last(at.Unix()))
}

func tick(instant int64, found bool) time.Time {
	t := time.Unix(instant, 0).UTC()
	if !found || t.Before(earliest) || t.After(latest) {
		return time.Time{}
	}
	return t
}

// Below, an instant is in seconds of Unix time; a local time is what the clock of the zone
// shows, in seconds since it showed 1970-01-01 00:00. They differ by the offset.

func (s *Schedule) nextPassing(after int64) (int64, bool) {
	for at := after + 1; ; {
		offset, end := s.span(at)
		local, ok := s.firstFrom(at + offset)
		if !ok {
			return 0, false
		}
		if local-offset < end {
			return local - offset, true
		}
		at = end
	}
}

func (s *Schedule) lastPassing(at int64) (int64, bool) {
	for {
		offset, start := s.spanBefore(at)
		local, ok := s.lastUpTo(at + offset)
		if !ok {
			return 0, false
		}
		if local-offset >= start {
			return local - offset, true
		}
		at = start - 1
	}
}

// nextOnce relies on this: a later local time never fires earlier. So those that fire after
// an instant are those that the clock has not reached by then.
func (s *Schedule) nextOnce(after int64) (int64, bool) {
	local, ok := s.firstFrom(s.reached(after) + 1)
	return s.reachedAt(local), ok
}

func (s *Schedule) lastOnce(at int64) (int64, bool) {
	local, ok := s.lastUpTo(s.reached(at))
	return s.reachedAt(local), ok
}
