package memory

import (
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// checkDraft fails if an ack of a draft is not held, or its position is not where it is
// expected.
func (b *bus) checkDraft(d *backend.Draft) error {
	for i := range d.Acks {
		if b.held(&d.Acks[i]) == nil {
			return refusal.ClaimLost(&d.Acks[i])
		}
	}
	return b.checkPosition(d.Advance)
}

// applyDraft applies the acks and the position of a draft, as far as they are held and
// where it expects them. All of them are, unless the draft is a repetition.
func (b *bus) applyDraft(d *backend.Draft, now time.Time) (changed bool) {
	for _, a := range d.Acks {
		if c := b.held(&a); c != nil {
			b.change(c, &backend.Settlement{Claim: a, Do: backend.Ack}, now)
			changed = true
		}
	}
	if d.Advance != nil && b.checkPosition(d.Advance) == nil {
		b.advance(d.Advance)
		changed = true
	}
	return changed
}
