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
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time, write it like 2026-02-10T12:34:56.789012+00:00", s)
	}
	if err := CheckTime(t); err != nil {
		return time.Time{}, err
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// CheckTime reports whether t can be stored.
func CheckTime(t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return fmt.Errorf("year %d is outside 1 to 9999", y)
	}
	return nil
}
