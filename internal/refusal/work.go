package refusal

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// WorkLost is the error for an item that a worker does not hold any more.
func WorkLost(o *backend.WorkOutcome) error {
	return onto.Errorf(onto.LeaseExpired, "worker %s does not hold item %s under attempt %d any more", o.Worker, o.Item, o.Attempt).
		WithHint("nothing was written: the item is or will be worked on again, or was finished before")
}

// RunExists is the error for a run that is started twice.
func RunExists(id string) error {
	return onto.Errorf(onto.Conflict, "run %s exists already", id).WithHint("choose another id, or resume the run").WithCommand("work", "runs")
}

// WorkIDTaken is the error for an item of another queue whose id another item has.
func WorkIDTaken(i *onto.WorkItem) error {
	return onto.Errorf(onto.Conflict, "another work item has the id %.80q, that of %.200q", i.ID, i.Key).WithHint("import it again: it is given another id")
}
