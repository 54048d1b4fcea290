package refusal

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// clockEnd is the first year that no clock shows. Years have four digits, and the longest
// [time.Duration] is shorter than what is left of them: whatever is added to the time of a
// clock can be stored.
const clockEnd = 9700

// CheckClock fails if a clock cannot be right. Backends call it before any write.
func CheckClock(now time.Time) error {
	err := codec.CheckTime(now)
	if y := now.UTC().Year(); err == nil && y >= clockEnd {
		err = fmt.Errorf("year %d is not before %d", y, clockEnd)
	}
	if err != nil {
		return onto.Errorf(onto.Invalid, "the clock of this machine cannot be right: %w", err).
			WithHint("set the clock and its date; nothing was written")
	}
	return nil
}

// StoredClock is a time that the clock of a machine has stored; zero if that cannot be.
func StoredClock(at time.Time) time.Time {
	if CheckClock(at) != nil {
		return time.Time{}
	}
	return at
}
