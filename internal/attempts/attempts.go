// Package attempts says what the attempts at a work item mean for the item. Backends check
// their items by it, and an import the attempts that come along.
package attempts

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ontologia/onto"
)

// Fate is what attempts make of an item. The zero value is an item without attempts.
//
// An imported item may have attempts of which nothing but their number is kept: those before
// the first one that is. What they had to say about Revised and Error is not known then.
type Fate struct {
	Status    onto.WorkStatus
	Attempt   int
	Revised   int
	Error     string
	Owner     string
	NotBefore time.Time

	anyRevised bool // earlier attempts are not kept, and none since has said what Revised is
	anyError   bool // likewise Error
	said       bool // the last attempt has set or cleared Error
}

// Follow is the fate after another attempt. Attempts are given in order.
func (f Fate) Follow(a *onto.WorkAttempt) Fate {
	unknown := f.Status == "" && a.Number > 1
	next := Fate{
		Status: onto.WorkPending, Attempt: a.Number, Revised: f.Revised, Error: f.Error,
		anyRevised: f.anyRevised || unknown, anyError: f.anyError || unknown,
	}
	switch a.Status {
	case onto.AttemptRunning:
		next.Status, next.Owner = onto.WorkInProgress, a.Worker
	case onto.AttemptCompleted:
		next.Status, next.Error, next.said = onto.WorkCompleted, "", true
	case onto.AttemptFailed:
		next.Error, next.said, next.NotBefore = a.Error, true, a.RetryAfter
		if a.RetryAfter.IsZero() {
			next.Status = onto.WorkFailed
		}
	case onto.AttemptSkipped:
		next.Status, next.Error, next.said = onto.WorkSkipped, a.Error, true
	case onto.AttemptReturned:
		next.Revised++
	case onto.AttemptRevised:
		next.Revised, next.anyRevised, next.Error, next.said = a.Number, false, "", true
	}
	next.anyError = next.anyError && !next.said
	return next
}

// Complete is the fate with what attempts cannot tell as the item has it.
func (f Fate) Complete(i *onto.WorkItem) Fate {
	if f.anyRevised {
		f.Revised = max(f.Revised, i.Revised)
	}
	if f.anyError {
		f.Error = i.Error
	}
	if i.NotBefore.IsZero() { // a dequeue may have seen that the time has come
		f.NotBefore = i.NotBefore
	}
	return f
}

// Differs tells what of an item its attempts do not explain; "" for nothing.
func (f Fate) Differs(i *onto.WorkItem) string {
	f = f.Complete(i)
	if !f.said { // an imported item may have had one before its first attempt
		f.Error = i.Error
	}
	for _, c := range []struct{ column, is, said string }{
		{"status", string(i.Status), string(f.Status)},
		{"attempt", strconv.Itoa(i.Attempt), strconv.Itoa(f.Attempt)},
		{"onto_revised", strconv.Itoa(i.Revised), strconv.Itoa(f.Revised)},
		{"lease_owner", i.Owner, f.Owner},
		{"not_before", stamp(i.NotBefore), stamp(f.NotBefore)},
		{"error_message", i.Error, f.Error},
	} {
		if c.is != c.said {
			return fmt.Sprintf("%s is %q, and its attempts say %q", c.column, c.is, c.said)
		}
	}
	if i.Until.IsZero() != (f.Owner == "") {
		return fmt.Sprintf("lease_until is %q, and its attempts say that it is %s", stamp(i.Until), f.Status)
	}
	return ""
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Fault tells why an attempt cannot be; "" if it can.
func Fault(a *onto.WorkAttempt) string {
	running := a.Status == onto.AttemptRunning
	switch {
	case a.Number < 1:
		return fmt.Sprintf("has the number %d", a.Number)
	case !slices.Contains(statuses(), a.Status):
		return fmt.Sprintf("has the status %q", a.Status)
	case running && !a.Finished.IsZero():
		return "is under way and has ended"
	case !running && a.Finished.IsZero():
		return fmt.Sprintf("is %s and has not ended", a.Status)
	case !a.RetryAfter.IsZero() && a.Status != onto.AttemptFailed:
		return fmt.Sprintf("is %s and is to be repeated", a.Status)
	}
	return ""
}

func statuses() []onto.AttemptStatus {
	return []onto.AttemptStatus{onto.AttemptRunning, onto.AttemptCompleted, onto.AttemptFailed, onto.AttemptSkipped,
		onto.AttemptReturned, onto.AttemptLost, onto.AttemptRevised}
}

// ID is the id of an attempt.
func ID(item string, number int) string { return item + ":" + strconv.Itoa(number) }
