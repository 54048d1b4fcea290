package object

import (
	"context"

	"github.com/ontologia/onto"
)

type draftKey struct{}

// With returns a context for operations that write: their commits get the header of the
// draft: actor, comment, correlation, causation, signature, metadata and idempotency key. With
// the lease of a lock, see [Lock.Current], they fail once it was lost. A draft with anything
// else is refused when it is used.
//
// With an idempotency key, the same operation can be repeated: what was committed before is
// not written again. A key belongs to one operation.
func With(ctx context.Context, d onto.Draft) context.Context {
	return context.WithValue(ctx, draftKey{}, d)
}

// header returns the draft of a context.
func header(ctx context.Context) (onto.Draft, error) {
	d, _ := ctx.Value(draftKey{}).(onto.Draft)
	for range d.Intents() {
		return d, onlyHeader("intents")
	}
	switch {
	case len(d.Emitted()) > 0:
		return d, onlyHeader("events")
	case len(d.Expectations())+len(d.Fences()) > 0:
		return d, onlyHeader("expectations")
	case len(d.Acks) > 0 || d.Advance != nil:
		return d, onlyHeader("acks or a position")
	}
	return d, nil
}

func onlyHeader(has string) error {
	return onto.Errorf(onto.Invalid, "the draft given to object.With has %s: it says only who writes and why", has).
		WithHint("use a transaction for what belongs together: Tenant.Tx")
}
