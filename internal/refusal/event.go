package refusal

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// ClaimLost is the error for a claim that is not held any more.
func ClaimLost(c *onto.Claim) error {
	return onto.Errorf(onto.LeaseExpired, "handler %s does not hold its claim on event %s (%s) any more", c.Handler, c.ID, c.Type).
		WithHint("nothing was written: the event is or will be handled under another claim, or was settled before")
}

// PositionMoved is the error for a position that is not where its follower left it.
func PositionMoved(a onto.Advance, at int64) error {
	return onto.Errorf(onto.Conflict, "the position %s is at commit %d, and was expected at %d", a.Name, at, a.From).
		WithHint("another follower uses the name, or the position was set: read it again")
}

// NoDeadLetter is the error for a dead letter that does not exist.
func NoDeadLetter(id int64) error {
	return onto.Errorf(onto.NotFound, "dead letter %d does not exist", id).
		WithHint("list the dead letters").WithCommand("events", "dead-letters")
}

// DeadLetterResolved is the error for a dead letter about which something was done
// already.
func DeadLetterResolved(id int64, r onto.Resolution) error {
	return onto.Errorf(onto.Conflict, "dead letter %d was %s already", id, r.Kind).
		WithHint("list those that are left").WithCommand("events", "dead-letters")
}

// NoBus is the error for a draft with events, acks or a position on storage that keeps
// none; nil for other drafts.
func NoBus(d *backend.Draft) error {
	if len(d.Events) == 0 && len(d.Acks) == 0 && d.Advance == nil {
		return nil
	}
	return onto.Errorf(onto.UnsupportedOperation, "this storage keeps no events and no positions").
		WithHint("use a SQLite file for a program that emits or handles events")
}
