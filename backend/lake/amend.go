package lake

import (
	"context"
	"errors"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// amendTries is how often a derived object is tried for when the storage fails.
// Who loses to others tries for as long as there is patience.
const amendTries = 3

// amend makes a derived object what it should be. Should is asked after the
// object was read, with nil if there is none, and returns nil if it is to stay.
// The tag is "" then.
func (l *publisher) amend(ctx context.Context, key string, should func(old []byte) ([]byte, error)) (bucket.Tag, error) {
	wait := l.waiter()
	for failures := 0; ; {
		tag, err := l.amendOnce(ctx, key, should)
		switch {
		case err == nil || definite(err):
			return tag, err
		case errors.Is(err, bucket.ErrChanged), errors.Is(err, bucket.ErrExists), errors.Is(err, bucket.ErrNotFound), errors.Is(err, bucket.ErrConflict):
		default:
			if failures++; failures == amendTries {
				return "", err
			}
		}
		if late := wait.pause(ctx); late != nil {
			return "", errors.Join(err, late)
		}
	}
}

func (l *publisher) amendOnce(ctx context.Context, key string, should func(old []byte) ([]byte, error)) (bucket.Tag, error) {
	o, err := l.b.Get(ctx, key, bucket.Range{Max: maxDocument}, "")
	missing := errors.Is(err, bucket.ErrNotFound)
	if err != nil && !missing {
		return "", oversized(key, err)
	}
	if !missing && o.Data == nil {
		o.Data = []byte{} // it is there
	}
	body, err := should(o.Data)
	switch {
	case err != nil || body == nil || !missing && string(body) == string(o.Data):
		return "", err
	case missing:
		return l.b.Create(ctx, key, body)
	}
	return l.b.Swap(ctx, key, body, o.Tag)
}
