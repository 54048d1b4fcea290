package codec

import (
	"fmt"
	"strings"
	"time"
)

// TimeLayout is the stored form of a time: UTC, microseconds, fixed width, so
// that the order of the texts is the order of the times.
const TimeLayout = "2006-01-02T15:04:05.000000-07:00"

// FormatTime returns the stored form of t.
func FormatTime(t time.Time) string { return string(AppendTime(nil, t)) }

// AppendTime appends the stored form of t.
func AppendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, TimeLayout)
}

// ParseTime reads a time: the stored form, or any RFC 3339 time. The result is
// in UTC, cut to microseconds. Years outside 1 to 9999 are refused.
func ParseTime(s string) (time.Time, error) {
	if t, ok := parseStored(s); ok {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time, write it like 2026-02-10T12:34:56Z", s)
	}
	if err := CheckTime(t); err != nil {
		return time.Time{}, err
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// ParseTimeLoosely reads a time as other programs write it: like ParseTime, but the offset may
// be missing, and stands for UTC then, and a space may be in the place of the T.
func ParseTimeLoosely(s string) (time.Time, error) {
	t, err := ParseTime(s)
	if err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00"} {
		if t, e := time.Parse(layout, s); e == nil && CheckTime(t) == nil {
			return t.UTC().Truncate(time.Microsecond), nil
		}
	}
	return time.Time{}, err
}

// parseStored reads the stored form of a time, and leaves all else to the general way.
func parseStored(s string) (time.Time, bool) {
	const form = "dddd-dd-ddTdd:dd:dd.dddddd+00:00"
	if len(s) != len(form) {
		return time.Time{}, false
	}
	var parts [7]int // year, month, day, hour, minute, second, microsecond
	at := 0
	for i := range len(form) {
		switch {
		case form[i] == 'd' && '0' <= s[i] && s[i] <= '9':
			parts[at] = parts[at]*10 + int(s[i]-'0')
		case form[i] == 'd' || form[i] != s[i]:
			return time.Time{}, false
		case at < len(parts)-1:
			at++
		}
	}
	t := time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], parts[6]*1000, time.UTC)
	sound := parts[0] > 0 && t.Month() == time.Month(parts[1]) && t.Day() == parts[2] && parts[3] < 24 && parts[4] < 60 && parts[5] < 60
	return t, sound
}

// CheckTime reports whether t can be stored.
func CheckTime(t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return fmt.Errorf("year %d is outside 1 to 9999", y)
	}
	return nil
}
