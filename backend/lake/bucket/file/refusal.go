package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// refusal marks an error after which no object has changed, and says whether a retry is
// of use.
func refusal(err error) error {
	switch {
	case noRoom(err):
		return onto.Errorf(onto.Full, "no room left to write: %w", refused{err}).
			WithHint("free disk space; what was committed before is not affected")
	case readOnly(err):
		return onto.Errorf(onto.ReadOnly, "it cannot be written: %w", refused{err}).
			WithHint("let this user write there, or name another directory")
	case anyOf(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR, syscall.EBUSY):
		return fmt.Errorf("%w: %w", bucket.ErrThrottled, err)
	case errors.Is(err, bucket.ErrRefused):
		return err
	}
	return fmt.Errorf("%w: %w", bucket.ErrRefused, err)
}

// refused is an error with its own text after which nothing has changed.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Is makes it bucket.ErrRefused.
func (r refused) Is(target error) bool { return target == bucket.ErrRefused }

// unnamed classifies the failure to link, rename or remove the name of an object. Only
// errors that come before the change prove that there was none.
func unnamed(err error) error {
	if noRoom(err) || readOnly(err) {
		return refusal(err)
	}
	return err
}

// begins fails if the context has ended before any object has changed.
func begins(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return refused{err}
	}
	return nil
}

// unlocked is the error of a write that did not get the lock: it has not begun.
func unlocked(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return onto.Errorf(onto.LockContention, "another process kept the bucket locked: %w", refused{err}).
			WithHint("try again; if a process hangs that writes there, end it")
	case errors.Is(err, context.Canceled), errors.Is(err, errClosed):
		return refused{err}
	}
	return err
}

func noRoom(err error) bool { return anyOf(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG) }

func readOnly(err error) bool { return anyOf(err, syscall.EROFS, fs.ErrPermission) }

func anyOf(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
