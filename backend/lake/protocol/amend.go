package protocol

import (
	"context"
	"errors"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// amendTries is how often a derived object is tried when the storage fails. A swap that
// loses to other writers is retried until the patience is over.
const amendTries = 3

// Amend makes a derived object what it should be. Should is called after the object was
// read, with nil if there is none, and returns nil if the object is to stay, in which
// case the tag is "".
func (l *Publisher) Amend(ctx context.Context, key string, should func(old []byte) ([]byte, error)) (bucket.Tag, error) {
	wait := l.Waiter()
	for failures := 0; ; {
		tag, err := l.amendOnce(ctx, key, should)
		switch {
		case err == nil || Definite(err):
			return tag, err
		case errors.Is(err, bucket.ErrChanged), errors.Is(err, bucket.ErrExists), errors.Is(err, bucket.ErrNotFound), errors.Is(err, bucket.ErrConflict):
		default:
			if failures++; failures == amendTries {
				return "", err
			}
		}
		if late := wait.Wait(ctx); late != nil {
			return "", errors.Join(err, late)
		}
	}
}

func (l *Publisher) amendOnce(ctx context.Context, key string, should func(old []byte) ([]byte, error)) (bucket.Tag, error) {
	o, err := l.b.Get(ctx, key, bucket.Range{Max: MaxDocument}, "")
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
