package session

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

const day = 24 * time.Hour

// ParseLength reads a length of time: as Go has it, or a number of days or weeks.
func ParseLength(flag, text string) (time.Duration, error) {
	wrong := onto.Errorf(onto.Invalid, "--%s %.80q is no length of time", flag, text).WithHint("write 30s, 15m, 12h, 7d or 2w")
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 0 || n > int64(math.MaxInt64/length) {
				return 0, wrong
			}
			return time.Duration(n) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}

// ParseBefore reads a time, or how long ago it is.
func ParseBefore(text string, now time.Time) (time.Time, error) {
	if d, err := ParseLength("before", text); err == nil {
		return now.Add(-d), nil
	}
	p, err := ParsePoint(text)
	if t, ok := p.Time(); err == nil && ok {
		return t.UTC(), nil
	}
	return time.Time{}, onto.Errorf(onto.Invalid, "--before %.80q is neither a time nor a length of time", text).
		WithHint("write 7d, 12h, 2026-02-10 or 2026-02-10T12:34:56Z")
}
