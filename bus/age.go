package bus

import (
	"context"
	"time"
)

// Today is what the age of events is measured against: the time of the clock, or, if that
// is earlier, the newest time that was stored before the store was opened, and what has
// passed since. A clock that is ahead makes no event old.
func (b *Bus) Today(ctx context.Context) (time.Time, error) {
	return b.ages.Today(ctx, b.s.Backend(), b.o.Now())
}
