package protocol

import (
	"context"
	"time"
)

// A turn is a courtesy among writers. A writer that keeps losing publishes a head
// that changes nothing but asks the others to hold back: that takes no reading of
// manifests and no upload, so it succeeds where a whole attempt is too slow. Its
// next attempt has no rival. A turn saves work and decides nothing: the swap of a
// writer that does not hold back, or not for long enough, counts all the same.

const (
	turnAfter = 3 // lost swaps in a row
	turnTries = 4 // swaps for the turn before it is left be
	turnTime  = 2 * time.Second
)

// turn is the courtesy of one publication.
type turn struct {
	l    *Publisher
	lost int           // swaps in a row
	mine string        // the attempt whose head asks for the own turn
	left time.Duration // to hold back for others
}

func (l *Publisher) newTurn() *turn { return &turn{l: l, left: l.set.Patience / 4} }

// holdBack waits until the writer that has the turn has published, for a while. It returns
// the tip to go on from. That something fails is no reason not to go on.
func (c *turn) holdBack(ctx context.Context, t *Tip) *Tip {
	late := func() error { return context.DeadlineExceeded }
	began := time.Now()
	for t.Head.Turn > 0 && t.Head.Attempt != c.mine && ctx.Err() == nil {
		look := c.l.looker(min(c.left, time.Duration(t.Head.Turn)*time.Millisecond))
		now := t
		for now.Head.Attempt == t.Head.Attempt && look.Pause(ctx, late) == nil {
			if newer, err := c.l.Refresh(ctx); err == nil {
				now = newer
			}
		}
		c.left -= time.Since(began)
		if began = time.Now(); now.Head.Attempt == t.Head.Attempt {
			break
		}
		t = now
	}
	return t
}

// again returns the tip to go on from after a lost swap: after some of them, one
// with the own turn if that can be had.
func (c *turn) again(ctx context.Context) (*Tip, error) {
	if c.lost++; c.lost < turnAfter {
		return c.l.Load(ctx)
	}
	for range turnTries {
		h, body, tag, err := c.l.ReadHead(ctx)
		if err != nil {
			return nil, err
		}
		if h.Turn == 0 {
			h = h.next(body, c.l.set.Attempt(), c.l.set.Runtime, c.l.now())
			h.Turn, c.mine = turnTime.Milliseconds(), h.Attempt
			if err := h.check(); err != nil {
				return nil, Damaged(HeadKey, "no head can follow it: %w", err)
			}
			body = encodeSealed(h)
			if tag, err = c.l.b.Swap(ctx, HeadKey, body, tag); err != nil {
				continue // if it was swapped all the same, the head tells
			}
		}
		return c.l.tipOf(ctx, h, body, tag)
	}
	return c.l.Load(ctx)
}
