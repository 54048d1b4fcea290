package decide

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// ClaimName names the claim of a handler on an event.
type ClaimName struct{ Event, Handler string }

// NameOf is the name of a claim.
func NameOf(c *onto.Claim) ClaimName { return ClaimName{c.ID, c.Handler} }

// Holder is the holder of a claim.
type Holder struct {
	Session string
	Claimed time.Time
}

// checkBus fails if an ack is not held, or a position is not where the draft expects it.
func (r *Round) checkBus(d *backend.Draft) error {
	for i := range d.Acks {
		if !r.holds(&d.Acks[i]) {
			return refusal.ClaimLost(&d.Acks[i])
		}
	}
	if d.Advance != nil {
		return r.checkPosition(*d.Advance)
	}
	return nil
}

// checkPosition fails if a position is not where a follower left it.
func (r *Round) checkPosition(a onto.Advance) error {
	if at := r.Positions[a.Name]; at != a.From {
		return refusal.PositionMoved(a, at)
	}
	return nil
}

// Advance moves a position without a draft.
func (r *Round) Advance(a onto.Advance) error {
	if err := r.checkPosition(a); err != nil {
		return err
	}
	r.move(a)
	return nil
}

func (r *Round) move(a onto.Advance) {
	r.Positions[a.Name] = a.To
	r.Moved = append(r.Moved, onto.Position{Name: a.Name, Commit: a.To})
}

// holds reports whether a claim is held.
func (r *Round) holds(c *onto.Claim) bool {
	h, ok := r.Claims[NameOf(c)]
	return ok && h.Session == c.Session && h.Claimed.Equal(c.Claimed)
}

// settle adds the acks and the position of a draft to the round, as far as they are held
// and stand where it expects them. All of them do, unless the draft is a repetition.
func (r *Round) settle(d *backend.Draft) {
	for i := range d.Acks {
		if c := &d.Acks[i]; r.holds(c) {
			delete(r.Claims, NameOf(c))
			r.Acks = append(r.Acks, *c)
		}
	}
	if a := d.Advance; a != nil && r.Positions[a.Name] == a.From {
		r.move(*a)
	}
}

// Emit adds events to the round, riding in a commit or in none, and returns them.
func (r *Round) Emit(events []backend.NewEvent, commit int64) []onto.Event {
	from := len(r.Events)
	for i := range events {
		r.Events = append(r.Events, r.emitted(&events[i], commit))
	}
	return r.Events[from:len(r.Events):len(r.Events)]
}

// emitted is an event as it is stored. Its time is now, but later than that of the
// event before.
func (r *Round) emitted(n *backend.NewEvent, commit int64) onto.Event {
	e := n.Event
	e.Commit = commit
	e.Time = r.now
	if !e.Time.After(r.LastEvent) {
		e.Time = r.LastEvent.Add(time.Microsecond)
	}
	r.LastEvent = e.Time
	if n.Delay > 0 {
		e.NotBefore = r.now.Add(n.Delay).Truncate(time.Microsecond)
	}
	if e.Root == "" {
		e.Root = e.ID
	}
	return e
}
