package refusal

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// CheckClock fails if a time cannot be stored: years have four digits. Backends call it
// before any write.
func CheckClock(now time.Time) error {
	if err := codec.CheckTime(now); err != nil {
		return onto.Errorf(onto.Invalid, "the clock of this machine cannot be right: %w", err).
			WithHint("set the clock and its date; nothing was written")
	}
	return nil
}

// LeaseEnd is when a lease that is taken or renewed now ends, in the precision
// that is stored.
func LeaseEnd(now time.Time, ttl time.Duration) (time.Time, error) {
	end := now.Add(ttl).Truncate(time.Microsecond)
	if err := codec.CheckTime(end); err != nil {
		return time.Time{}, onto.Errorf(onto.Invalid, "the lease cannot end then: %w", err).
			WithHint("set the clock and its date, or take the lease for a shorter time")
	}
	return end, nil
}
