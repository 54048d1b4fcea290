// Package backoff paces attempts: the pauses between them grow, are random, and end at
// a deadline.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is the pauses between attempts. Each takes between a half and the whole of a
// bound that doubles.
type Backoff struct {
	First   time.Duration       // bound of the first pause
	Longest time.Duration       // bound of any pause
	Until   time.Time           // no pause goes beyond it; zero for no deadline
	Jitter  func(n int64) int64 // a random number below n; nil for that of math/rand
	Tries   int                 // pauses so far
}

// Pause waits before the next attempt. After the deadline it returns what late returns,
// and the error of the context when that has ended.
func (b *Backoff) Pause(ctx context.Context, late func() error) error {
	left := time.Until(b.Until)
	switch {
	case b.Until.IsZero():
		left = b.Longest
	case left <= 0 && ctx.Err() != nil:
		return ctx.Err()
	case left <= 0:
		return late()
	}
	return Sleep(ctx, min(left, b.next()))
}

// Sleep waits for a time, or until the context ends, whose error it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// next is how long the next pause takes.
func (b *Backoff) next() time.Duration {
	half := b.First / 2 << min(b.Tries, 32)
	if half <= 0 || half > b.Longest/2 {
		half = b.Longest / 2
	}
	b.Tries++
	if b.Jitter == nil {
		return half + rand.N(half)
	}
	return half + time.Duration(b.Jitter(int64(half)))
}
