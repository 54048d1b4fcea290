package cron

import (
	"math/bits"
	"time"
)

const none = 64 // no bit

// firstFrom returns the first matching local time that is not before the given one.
func (s *Schedule) firstFrom(local int64) (int64, bool) {
	t := time.Unix(local+59, 0).UTC() // a minute that has begun is over
	year, month, day := t.Date()
	hour, minute, _ := t.Clock()
	if s.daysOf(year, month)>>day&1 == 1 {
		if m := bitFrom(s.minutes, minute); m != none && s.hours>>hour&1 == 1 {
			return local1970(year, month, day, hour, m), true
		}
		if h := bitFrom(s.hours, hour+1); h != none {
			return local1970(year, month, day, h, bitFrom(s.minutes, 0)), true
		}
	}
	for day++; year <= latest.Year()+1; year++ {
		for m := bitFrom(s.months, int(month)); m != none; m = bitFrom(s.months, m+1) {
			if m != int(month) {
				day = 1
			}
			if d := bitFrom(s.daysOf(year, time.Month(m)), day); d != none {
				return local1970(year, time.Month(m), d, bitFrom(s.hours, 0), bitFrom(s.minutes, 0)), true
			}
		}
		month, day = time.January, 1
	}
	return 0, false
}

// lastUpTo returns the last matching local time that is not after the given one.
func (s *Schedule) lastUpTo(local int64) (int64, bool) {
	t := time.Unix(local, 0).UTC()
	year, month, day := t.Date()
	hour, minute, _ := t.Clock()
	if s.daysOf(year, month)>>day&1 == 1 {
		if m := bitUpTo(s.minutes, minute); m != none && s.hours>>hour&1 == 1 {
			return local1970(year, month, day, hour, m), true
		}
		if h := bitUpTo(s.hours, hour-1); h != none {
			return local1970(year, month, day, h, bitUpTo(s.minutes, 59)), true
		}
	}
	for day--; year >= earliest.Year()-1; year-- {
		for m := bitUpTo(s.months, int(month)); m != none; m = bitUpTo(s.months, m-1) {
			if m != int(month) {
				day = 31
			}
			if d := bitUpTo(s.daysOf(year, time.Month(m)), day); d != none {
				return local1970(year, time.Month(m), d, bitUpTo(s.hours, 23), bitUpTo(s.minutes, 59)), true
			}
		}
		month, day = time.December, 31
	}
	return 0, false
}

// daysOf returns the matching days of a month as bits; none if the month does not match.
func (s *Schedule) daysOf(year int, month time.Month) uint64 {
	if s.months>>month&1 == 0 {
		return 0
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday()
	byWeekday := s.weekdays >> first << 1
	all := uint64(1)<<(daysIn(year, month)+1) - 2
	if s.eitherDay {
		return all & (s.days | byWeekday)
	}
	return all & s.days & byWeekday
}

func daysIn(year int, month time.Month) int {
	switch month {
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

func local1970(year int, month time.Month, day, hour, minute int) int64 {
	return time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix()
}

// bitFrom returns the lowest bit that is set at or above one.
func bitFrom(set uint64, from int) int {
	if set = set >> from; set == 0 {
		return none
	}
	return from + bits.TrailingZeros64(set)
}

// bitUpTo returns the highest bit that is set at or below one.
func bitUpTo(set uint64, to int) int {
	if set &= 1<<(to+1) - 1; set == 0 {
		return none
	}
	return bits.Len64(set) - 1
}
