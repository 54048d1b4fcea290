package refusal

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// WorkLost is the error for an attempt at a work item that is not under way any more.
func WorkLost(o *backend.WorkOutcome) error {
	return onto.Errorf(onto.LeaseExpired, "worker %s does not hold work item %s under attempt %d any more", o.Worker, o.Item, o.Attempt).
		WithHint("nothing of the outcome was written: the item is or will be worked on under another attempt, or was finished before")
}

// RunExists is the error for a run that is started under an id that another run has.
func RunExists(id string) error {
	return onto.Errorf(onto.Conflict, "run %s exists already", id).WithHint("resume it, or start one with another id")
}
