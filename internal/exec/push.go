package exec

import (
	"context"
	"errors"
	"iter"
)

// Pushed turns a function that pushes into a sequence. An error of the function is
// yielded last. When the consumer stops, push fails and the function returns, with any
// error.
func Pushed[T any](run func(push func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := run(func(v T) error {
			if stopped = stopped || !yield(v, nil); stopped {
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
	for v, err := range seq {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // the sequence may be buffered, so the context is checked here
			return err
		}
		if err := push(v); err != nil {
			return err
		}
	}
	return nil
}

var errStopped = errors.New("the consumer has stopped")
