package session

import (
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// ParsePoint reads a moment: a commit id, head, or a time. A time without a
// zone is UTC; a date is its first moment.
func ParsePoint(s string) (onto.Point, error) {
	if s == "head" {
		return onto.Point{}, nil
	}
	if id, err := strconv.ParseInt(s, 10, 64); err == nil {
		return onto.AtCommit(id), nil
	}
	if t, ok := parseTime(s); ok {
		return onto.AtTime(t), nil
	}
	return onto.Point{}, onto.Errorf(onto.Invalid, "%.80q is neither a commit id nor a time", s).
		WithHint("write 12, head, 2026-02-10, or 2026-02-10T12:34:56Z")
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly,
		"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04Z07:00",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ParseTime reads the time that a flag gives, as ParsePoint does. "" is the zero time.
// Nothing else is: that would stand for no bound.
func ParseTime(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, ok := parseTime(s)
	if !ok {
		return t, onto.Errorf(onto.Invalid, "--%s %.80q is no time", flag, s).WithHint("write 2026-02-10, or 2026-02-10T12:34:56Z")
	}
	if t.IsZero() {
		return t, onto.Errorf(onto.Invalid, "--%s %.80q is the first moment there is", flag, s).WithHint("leave the bound out")
	}
	return t, nil
}

// ParseSpan reads FROM..UNTIL, of which either may be left out for no bound.
func ParseSpan(flag, s string) (from, until time.Time, err error) {
	first, second, ok := strings.Cut(s, "..")
	if !ok || first == "" && second == "" {
		return from, until, onto.Errorf(onto.Invalid, "--%s %.80q is no time from one moment until another", flag, s).
			WithHint("write 2026-01-01..2026-07-01, 2026-01-01.. or ..2026-07-01")
	}
	if from, err = ParseTime(flag, first); err == nil {
		until, err = ParseTime(flag, second)
	}
	if err == nil && !from.IsZero() && !until.IsZero() && !until.After(from) {
		err = onto.Errorf(onto.Invalid, "--%s %.80s ends before it has begun", flag, s).WithHint("the end must be after the start, and is not part of the time")
	}
	return from, until, err
}

// MomentUsage is the help of a flag that takes a moment.
const MomentUsage = "the `MOMENT`: a commit id, head, a date or a time, in UTC unless it says otherwise"

// AsStoredUsage is the help of a flag that shows fields as they are stored.
const AsStoredUsage = "fields as they were written, not as the present types have them"
