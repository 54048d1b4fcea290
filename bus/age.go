package bus

import (
	"context"
	"time"

	"github.com/ontologia/onto/backend"
)

// Today is what the age of events is measured against: the time of the clock, or, if that
// is earlier, the newest time that was stored before the store was opened, and what has
// passed since. A clock that is ahead makes no event old.
func (b *Bus) Today(ctx context.Context) (time.Time, error) {
	now, newest := b.o.Now(), time.Time{}
	if d, ok := backend.As[backend.Dated](b.s.Backend()); ok {
		var err error
		if newest, err = d.Newest(ctx); err != nil {
			return now, err
		}
	}
	if newest.IsZero() {
		newest = b.opened
	}
	if at := newest.Add(time.Since(b.begun)); at.Before(now) {
		return at, nil
	}
	return now, nil
}
