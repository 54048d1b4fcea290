package exec

import (
	"context"
	"errors"
	"iter"

	"github.com/ontologia/onto"
)

// Ends reports whether a sequence ends with an error. One about a single version that
// cannot be read stands in the place of that version, and others follow.
func Ends(err error) bool { return err != nil && !errors.Is(err, onto.Unreadable) }

// Both is the errors of both ends of a relation, if any.
func Both(left, right error) error {
	if left == nil || Ends(right) {
		return right
	}
	if right == nil {
		return left
	}
	return errors.Join(left, right)
}

// Push passes on a value, or an error in the place of one, see [Ends]. It fails when the
// consumer has stopped.
type Push[T any] = func(v T, err error) error

// Pushed turns a function that pushes into a sequence. An error of the function is
// yielded last. When the consumer stops, push fails and the function returns, with any
// error.
func Pushed[T any](run func(push func(T) error) error) iter.Seq2[T, error] {
	return PushedEach(func(push Push[T]) error {
		return run(func(v T) error { return push(v, nil) })
	})
}

// PushedEach is Pushed where some values cannot be read.
func PushedEach[T any](run func(push Push[T]) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := run(func(v T, err error) error {
			if stopped = stopped || !yield(v, err); stopped {
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

// PushAll pushes a sequence, until the context ends.
func PushAll[T any](ctx context.Context, seq iter.Seq2[T, error], push func(T) error) error {
	return PushEach(ctx, seq, func(v T, err error) error {
		if err != nil {
			return err
		}
		return push(v)
	})
}

// PushEach is PushAll where some values cannot be read.
func PushEach[T any](ctx context.Context, seq iter.Seq2[T, error], push Push[T]) error {
	for v, err := range seq {
		if Ends(err) {
			return err
		}
		if err := ctx.Err(); err != nil { // the sequence may be buffered, so the context is checked here
			return err
		}
		if err := push(v, err); err != nil {
			return err
		}
	}
	return nil
}

var errStopped = errors.New("the consumer has stopped")
