package protocol

import (
	"context"
	"time"
)

// Turns give a writer that keeps losing a chance. It publishes a head that changes
// nothing but asks the other writers to hold back: that takes no reading of manifests
// and no upload, so it succeeds where a whole attempt is too slow. Its next attempt
// then has no rival. A turn saves work and decides nothing: the swap of a writer that
// does not hold back, or not for long enough, counts all the same.

const (
	turnAfter = 3 // lost swaps in a row
	turnTries = 4 // swaps for the turn before giving up on it
	turnTime  = 2 * time.Second
)

// turn is the state of turns of one publication.
type turn struct {
	l    *Publisher
	lost int           // swaps in a row
	mine string        // the attempt whose head asks for this writer's turn
	left time.Duration // time to hold back for others
}

func (l *Publisher) newTurn() *turn { return &turn{l: l, left: l.set.Patience / 4} }

// holdBack waits, for a limited time, until the writer that has the turn has published.
// It returns the tip to continue from. Errors are ignored.
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

// again returns the tip to continue from after a lost swap: after several of them, one
// with this writer's turn if it can be had.
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
				continue // if it was applied all the same, the head shows it
			}
		}
		return c.l.tipOf(ctx, h, body, tag)
	}
	return c.l.Load(ctx)
}
