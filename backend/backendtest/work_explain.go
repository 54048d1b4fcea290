package backendtest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// explanation is what the attempts at a work item say about it.
type explanation struct {
	status    onto.WorkStatus
	attempt   int
	revised   int
	notBefore time.Time
	err       string
	owner     string
}

// explainItem returns what attempts say about their item that was this before.
func explainItem(was onto.WorkItem, attempts []onto.WorkAttempt) explanation {
	e := explanation{cmp.Or(was.Status, onto.WorkPending), was.Attempt, was.Revised, was.NotBefore, was.Error, ""}
	for _, a := range attempts {
		e = explanation{status: onto.WorkPending, attempt: a.Number, revised: e.revised, err: e.err}
		switch a.Status {
		case onto.AttemptRunning:
			e.status, e.owner = onto.WorkInProgress, a.Worker
		case onto.AttemptCompleted:
			e.status, e.err = onto.WorkCompleted, ""
		case onto.AttemptFailed:
			e.err, e.notBefore = a.Error, a.RetryAfter
			if a.RetryAfter.IsZero() {
				e.status = onto.WorkFailed
			}
		case onto.AttemptSkipped:
			e.status, e.err = onto.WorkSkipped, a.Error
		case onto.AttemptReturned:
			e.revised++
		case onto.AttemptRevised:
			e.revised, e.err = a.Number, ""
		}
	}
	return e
}

// unexplained tells what of an item its attempts do not explain; nil for nothing. Was is what
// it was when it was imported; zero if it was enqueued. Latest is the latest time that the
// clock has shown: a NotBefore that has come by then may be gone.
func unexplained(w, was backend.WorkState, latest time.Time) error {
	if len(w.Attempts) < len(was.Attempts) {
		return fmt.Errorf("attempts before the import are gone: %s", showWork(w))
	}
	first := was.Attempt - len(was.Attempts) + 1
	for n, a := range w.Attempts {
		last, running := n == len(w.Attempts)-1, a.Status == onto.AttemptRunning
		if a.Number != first+n || a.Item != w.ID || a.ID != fmt.Sprintf("%s:%d", w.ID, first+n) {
			return fmt.Errorf("attempt %d of %s is %s", first+n, itemName(w.ID), showAttempt(a))
		}
		if running && !last || running != a.Finished.IsZero() || !a.RetryAfter.IsZero() && a.Status != onto.AttemptFailed {
			return fmt.Errorf("this attempt cannot be: %s", showAttempt(a))
		}
	}
	since := w.Attempts[len(was.Attempts):]
	said := explainItem(was.WorkItem, since)
	is := explanation{w.Status, w.Attempt, w.Revised, w.NotBefore, w.Error, w.Owner}
	switch come := !said.notBefore.After(latest); {
	case len(since) == 0: // it has the one that it was added with, or none any more
		said.notBefore = is.notBefore
	case is.notBefore.Equal(said.notBefore), is.notBefore.IsZero() && come:
		said.notBefore = is.notBefore
	}
	if is != said || w.Until.IsZero() != (w.Owner == "") {
		return fmt.Errorf("the attempts say %+v of %s", said, showWork(w))
	}
	return nil
}
