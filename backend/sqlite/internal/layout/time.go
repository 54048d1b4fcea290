package layout

import (
	"math"
	"time"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// TimeAt is the time in column i, zero for NULL.
func TimeAt(r *driver.Rows, i int) time.Time {
	if r.Null(i) {
		return time.Time{}
	}
	return StoredTime(r.Text(i))
}

// OrNullTime is a time as it is stored, or NULL if it is zero.
func OrNullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return codec.FormatTime(t)
}

// CountAt reads a number of things that happened one by one. In a file that was edited it can
// be anything: it is brought to what such a number can be.
func CountAt(r *driver.Rows, i int) int { return int(min(max(r.Int(i), 0), MaxCount)) }

// MaxCount is more than is ever counted.
const MaxCount = math.MaxInt32
