package layout

import (
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
