package file

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ontologia/onto/internal/flock"
)

// The pause between tries for a lock of another process grows from the shortest to the
// longest.
const (
	firstPause   = 100 * time.Microsecond
	longestPause = 5 * time.Millisecond
)

// lock excludes the other writers of this handle, and then those of other
// handles and processes. It waits until it has both or the context is done.
func (b *Bucket) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case <-b.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := b.lockFiles(ctx); err != nil {
		b.turn <- struct{}{}
		return nil, err
	}
	return func() {
		flock.Release(b.lockFile)
		b.turn <- struct{}{}
	}, nil
}

func (b *Bucket) lockFiles(ctx context.Context) error {
	if err := b.running(ctx); err != nil {
		return err
	}
	if b.lockFile == nil {
		f, _, err := openRegular(b.root, lockName, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return fmt.Errorf("open the bucket's lock %s: %w", lockName, refusal(err))
		}
		b.lockFile = f
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		done, err := flock.Try(b.lockFile)
		if err != nil {
			return fmt.Errorf("take the bucket's lock: %w", err)
		}
		if done {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-b.closed:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
