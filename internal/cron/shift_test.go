package cron

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// shift is a time around a change of a zone's offset, and what fires then: by expression
// the days, times and offsets that the clock shows.
type shift struct {
	about, zone, from, to string
	ticks                 map[string]string
}

var shifts = []shift{
	{"02:00 becomes 03:00", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z", map[string]string{
		"30 2 * * *":      `08T03:00-04:00 09T02:30-04:00`,
		"*/20 2 * * *":    `08T03:00-04:00 09T02:00-04:00 09T02:20-04:00 09T02:40-04:00`,
		"0,30 1-3 8 * *":  `08T01:00-05:00 08T01:30-05:00 08T03:00-04:00 08T03:30-04:00`,
		"0 3 * * *":       `08T03:00-04:00 09T03:00-04:00`,
		"30 */2 8 3 */6":  `08T00:30-05:00 08T04:30-04:00 08T06:30-04:00 08T08:30-04:00 08T10:30-04:00 08T12:30-04:00 08T14:30-04:00 08T16:30-04:00 08T18:30-04:00 08T20:30-04:00 08T22:30-04:00`,
		"30 0-23/2 8 3 *": `08T00:30-05:00 08T03:00-04:00 08T04:30-04:00 08T06:30-04:00 08T08:30-04:00 08T10:30-04:00 08T12:30-04:00 08T14:30-04:00 08T16:30-04:00 08T18:30-04:00 08T20:30-04:00 08T22:30-04:00`,
		"@daily":          `08T00:00-05:00 09T00:00-04:00`,
	}},
	{"02:00 becomes 01:00", "America/New_York", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z", map[string]string{
		"30 1 * * *":     `01T01:30-04:00 02T01:30-05:00`,
		"0,30 1-2 1 * *": `01T01:00-04:00 01T01:30-04:00 01T02:00-05:00 01T02:30-05:00`,
		"0 2 * * *":      `01T02:00-05:00 02T02:00-05:00`,
	}},
	{"02:00 becomes 01:00", "America/New_York", "2026-11-01T04:10:00Z", "2026-11-01T08:00:00Z", map[string]string{
		"*/30 * * * *": `01T00:30-04:00 01T01:00-04:00 01T01:30-04:00 01T01:00-05:00 01T01:30-05:00 01T02:00-05:00 01T02:30-05:00`,
		"@hourly":      `01T01:00-04:00 01T01:00-05:00 01T02:00-05:00`,
	}},
	{"midnight becomes 01:00", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-07T12:00:00Z", map[string]string{
		"@daily":       `06T01:00-03:00 07T00:00-03:00`,
		"59 23 * * *":  `05T23:59-04:00 06T23:59-03:00`,
		"30 0,1 * * *": `06T01:00-03:00 06T01:30-03:00 07T00:30-03:00 07T01:30-03:00`,
		"0 0 6 9 *":    `06T01:00-03:00`,
		"@weekly":      `06T01:00-03:00`,
		"0 */8 6 * *":  `06T08:00-03:00 06T16:00-03:00`,
	}},
	{"midnight becomes 23:00", "America/Santiago", "2026-04-04T12:00:00Z", "2026-04-06T12:00:00Z", map[string]string{
		"@daily":        `05T00:00-04:00 06T00:00-04:00`,
		"30 23 * * *":   `04T23:30-03:00 05T23:30-04:00`,
		"30 */23 * * *": `04T23:30-03:00 04T23:30-04:00 05T00:30-04:00 05T23:30-04:00 06T00:30-04:00`,
	}},
	{"02:00 becomes 02:30", "Australia/Lord_Howe", "2026-10-03T14:00:00Z", "2026-10-03T17:00:00Z", map[string]string{
		"15 2 * * *":     `04T02:30+11:00`,
		"*/15 1-2 * * *": `04T01:00+10:30 04T01:15+10:30 04T01:30+10:30 04T01:45+10:30 04T02:30+11:00 04T02:45+11:00`,
		"15,45 * * * *":  `04T00:45+10:30 04T01:15+10:30 04T01:45+10:30 04T02:45+11:00 04T03:15+11:00 04T03:45+11:00`,
	}},
	{"02:00 becomes 01:30", "Australia/Lord_Howe", "2026-04-04T13:50:00Z", "2026-04-04T16:00:00Z", map[string]string{
		"45 1 * * *":   `05T01:45+11:00`,
		"*/15 1 * * *": `05T01:00+11:00 05T01:15+11:00 05T01:30+11:00 05T01:45+11:00`,
		"15 1,2 * * *": `05T01:15+11:00 05T02:15+10:30`,
		"*/15 * * * *": `05T01:00+11:00 05T01:15+11:00 05T01:30+11:00 05T01:45+11:00 05T01:30+10:30 05T01:45+10:30 05T02:00+10:30 05T02:15+10:30`,
	}},
	{"a day does not exist", "Pacific/Apia", "2011-12-28T12:00:00Z", "2012-01-01T08:00:00Z", map[string]string{
		"0 12 * * *":       `28T12:00-10:00 29T12:00-10:00 31T00:00+14:00 31T12:00+14:00 01T12:00+14:00`,
		"0 12 30 12 *":     `31T00:00+14:00`,
		"@daily":           `29T00:00-10:00 31T00:00+14:00 01T00:00+14:00`,
		"*/30 */1 30 12 *": ``,
		"0 */12 * * *":     `28T12:00-10:00 29T00:00-10:00 29T12:00-10:00 31T00:00+14:00 31T12:00+14:00 01T00:00+14:00 01T12:00+14:00`,
	}},
	{"a day does not exist", "Pacific/Kwajalein", "1993-08-20T12:00:00Z", "1993-08-23T00:00:00Z", map[string]string{
		"0 6,18 * * *": `20T06:00-12:00 20T18:00-12:00 22T00:00+12:00 22T06:00+12:00 22T18:00+12:00 23T06:00+12:00`,
	}},
	{"midnight becomes the midnight of 23 hours ago", "Pacific/Kwajalein", "1969-09-29T00:00:00Z", "1969-10-02T12:00:00Z", map[string]string{
		"0 12 * * *":   `29T12:00+11:00 30T12:00+11:00 01T12:00-12:00`,
		"0 */12 * * *": `29T12:00+11:00 30T00:00+11:00 30T12:00+11:00 30T12:00-12:00 01T00:00-12:00 01T12:00-12:00`,
	}},
	{"01:00 becomes 02:00, which is standard time", "Europe/Dublin", "2026-03-28T12:00:00Z", "2026-03-30T06:00:00Z", map[string]string{
		"30 1 * * *": `29T02:00+01:00 30T01:30+01:00`,
	}},
	{"02:00 becomes 01:00, which is not standard time", "Europe/Dublin", "2026-10-24T23:45:00Z", "2026-10-25T03:00:00Z", map[string]string{
		"30 1 * * *": `25T01:30+01:00`,
		"30 * * * *": `25T01:30+01:00 25T01:30+00:00 25T02:30+00:00`,
	}},
	{"01:00 becomes 03:00", "Antarctica/Troll", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", map[string]string{
		"30 1 * * *":    `29T03:00+02:00 30T01:30+02:00`,
		"30 1,2 * * *":  `29T03:00+02:00 30T01:30+02:00 30T02:30+02:00`,
		"30 0-4 29 * *": `29T00:30+00:00 29T03:00+02:00 29T03:30+02:00 29T04:30+02:00`,
		"30 */8 29 3 *": `29T00:30+00:00 29T08:30+02:00 29T16:30+02:00`,
	}},
	{"03:00 becomes 01:00", "Antarctica/Troll", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z", map[string]string{
		"30 1,2 * * *": `25T01:30+02:00 25T02:30+02:00`,
		"30 */2 * * *": `25T00:30+02:00 25T02:30+02:00 25T02:30+00:00 25T04:30+00:00`,
	}},
	{"23:30 becomes midnight, for good", "Asia/Pyongyang", "2018-05-04T00:00:00Z", "2018-05-05T18:00:00Z", map[string]string{
		"45 23 * * *": `05T00:00+09:00 05T23:45+09:00`,
		"45 23 4 * *": `05T00:00+09:00`,
		"@daily":      `05T00:00+09:00 06T00:00+09:00`,
	}},
	{"midnight becomes 23:30, for good", "Asia/Pyongyang", "2015-08-14T12:00:00Z", "2015-08-16T00:00:00Z", map[string]string{
		"45 23 * * *": `14T23:45+09:00 15T23:45+08:30`,
		"@daily":      `15T00:00+08:30 16T00:00+08:30`,
	}},
	{"02:00 becomes 01:00, by a rule that began in that year", "America/Metlakatla", "2019-01-20T08:00:00Z", "2019-01-20T13:00:00Z", map[string]string{
		"30 1 * * *":  `20T01:30-08:00`,
		"30 * * * *":  `20T00:30-08:00 20T01:30-08:00 20T01:30-09:00 20T02:30-09:00 20T03:30-09:00`,
		"0 */3 * * *": `20T03:00-09:00`,
	}},
	{"midnight becomes 00:44:30", "Africa/Monrovia", "1972-01-06T00:00:00Z", "1972-01-08T12:00:00Z", map[string]string{
		"20 0 * * *":   `06T00:20-00:44 07T00:44:30+00:00 08T00:20+00:00`,
		"45 */9 7 1 *": `07T00:45+00:00 07T09:45+00:00 07T18:45+00:00`,
	}},
}

func TestShifts(t *testing.T) {
	for _, c := range shifts {
		for _, zone := range []*time.Location{load(t, c.zone), loadSlim(t, c.zone)} {
			for expression, ticks := range c.ticks {
				s := parse(t, expression, c.zone)
				s.zone = zone
				c.check(t, s, strings.Fields(ticks))
			}
		}
	}
}

// check follows the ticks, then asks about every half minute: the second pass of an hour,
// for one, has none that leads to it.
func (c shift) check(t *testing.T, s *Schedule, want []string) {
	t.Helper()
	from, to := instant(t, c.from), instant(t, c.to)
	ticks := []time.Time{s.Last(from)}
	var got []string
	for at := s.Next(from); at.Before(to); at = s.Next(at) {
		ticks = append(ticks, at)
		got = append(got, clockOf(at.In(s.zone)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s, %s:\n got %s\nwant %s", c.about, s, got, want)
		return
	}
	ticks = append(ticks, s.Next(to.Add(-1)))
	for at := from; at.Before(to); at = at.Add(30 * time.Second) {
		if !ticks[1].After(at) {
			ticks = ticks[1:]
		}
		if last, next := s.Last(at), s.Next(at); !last.Equal(ticks[0]) || !next.Equal(ticks[1]) {
			t.Errorf("%s, %s: at %s last and next are %s and %s, want %s and %s", c.about, s, at, last, next, ticks[0], ticks[1])
			return
		}
	}
}

// clockOf leaves out what is the same in all ticks of a case.
func clockOf(at time.Time) string {
	if at.Second() != 0 {
		return at.Format("02T15:04:05-07:00")
	}
	return at.Format("02T15:04-07:00")
}
