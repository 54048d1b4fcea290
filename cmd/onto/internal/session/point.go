package session

import (
	"strconv"
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
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return onto.AtTime(t), nil
		}
	}
	return onto.Point{}, onto.Errorf(onto.Invalid, "%.80q is neither a commit id nor a time", s).
		WithHint("write 12, head, 2026-02-10, or 2026-02-10T12:34:56Z")
}

// MomentUsage is the help of a flag that takes a moment.
const MomentUsage = "the moment: a commit `ID`, head, a date or a time, in UTC unless it says otherwise"

// AsStoredUsage is the help of a flag that shows fields as they are stored.
const AsStoredUsage = "fields as they were written, not as the present types have them"
