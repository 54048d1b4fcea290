package driver

import (
	"time"

	"github.com/ontologia/onto/internal/backoff"
)

// WaitUntil paces the attempts to get a lock. Short random pauses let processes
// that compete take turns; SQLite's own handler lets some of them starve.
func WaitUntil(until time.Time) backoff.Backoff {
	return backoff.Backoff{First: 200 * time.Microsecond, Longest: 5 * time.Millisecond, Until: until}
}
