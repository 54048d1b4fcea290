package work

import (
	"errors"
	"time"
)

// failure is an error that says what is to become of the item.
type failure struct {
	kind  kind
	err   error
	after time.Duration // the source asks to wait for so long
	class string        // for statistics; "" for what the policy finds
}

// kind is what a failure means.
type kind uint8

const (
	temporary kind = iota + 1
	permanent
	skipped
)

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Temporary is an error that may be gone later: the item is tried again, not before the
// time that the source asks for. A time of zero leaves that to the runner.
func Temporary(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &failure{kind: temporary, err: err, after: after}
}

// Permanent is an error that will be the same next time: the item fails at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &failure{kind: permanent, err: err}
}

// SkipItem says that the item is not to be fetched or written, and why. It is skipped.
func SkipItem(reason string) error { return &failure{kind: skipped, err: errors.New(reason)} }

// classed gives a failure a class.
func classed(err error, class string) error {
	var f *failure
	if !errors.As(err, &f) {
		return &failure{err: err, class: class}
	}
	c := *f
	c.err, c.class = err, class
	return &c
}
