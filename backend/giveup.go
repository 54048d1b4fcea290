package backend

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ontologia/onto"
)

// ClassGivenUp is the class of the failure of an item that was given up, if nothing is known
// of the failures before.
const ClassGivenUp = "given_up"

// Worn reports whether an item has been tried as often as the request allows.
func (r *WorkRequest) Worn(i *onto.WorkItem) bool { return r.MaxTries > 0 && i.Tries() >= r.MaxTries }

// GiveUp returns the attempt by which an item that is worn fails, given the last attempt at
// it, or nil if that is not kept. Nothing is fetched, so the attempt ends at once. Its error
// becomes that of the item. ID and number are left to the queue.
func (r *WorkRequest) GiveUp(i *onto.WorkItem, last *onto.WorkAttempt, now time.Time) onto.WorkAttempt {
	a := onto.WorkAttempt{Worker: r.Worker, Run: r.Run, Started: now, Finished: now, Status: onto.AttemptFailed, Class: ClassGivenUp}
	tries := "1 attempt"
	if n := i.Tries(); n != 1 {
		tries = fmt.Sprintf("%d attempts", n)
	}
	before := ""
	if i.Error != "" {
		before = "; the last failure was: " + i.Error
	}
	if last != nil && last.Status == onto.AttemptLost {
		a.Class = string(onto.AttemptLost)
		a.Error = fmt.Sprintf("given up after %s, the last one lost: the process may have ended during it%s", tries, before)
		return a
	}
	if last != nil {
		a.Class = cmp.Or(last.Class, a.Class)
	}
	a.Error = fmt.Sprintf("given up after %s: this run makes at most %d%s", tries, r.MaxTries, before)
	return a
}
