package attempts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/attempts"
)

// A list of attempts is written as their statuses, the first with a number if that is not 1.
func fate(first int, statuses ...onto.AttemptStatus) attempts.Fate {
	var f attempts.Fate
	for n, s := range statuses {
		a := onto.WorkAttempt{Number: first + n, Worker: "w", Status: s}
		if s == onto.AttemptFailed || s == onto.AttemptSkipped {
			a.Error = "no"
		}
		f = f.Follow(&a)
	}
	return f
}

// Attempts explain an item, and what is known of it only from attempts that are not kept is
// taken from the item.
func TestFate(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const running, lost, returned, revised, failed, completed = onto.AttemptRunning, onto.AttemptLost, onto.AttemptReturned, onto.AttemptRevised, onto.AttemptFailed, onto.AttemptCompleted
	for name, c := range map[string]struct {
		fate attempts.Fate
		item onto.WorkItem
		says string
	}{
		"completed":             {fate(1, failed, completed), onto.WorkItem{Status: onto.WorkCompleted, Attempt: 2}, ""},
		"another status":        {fate(1, failed, completed), onto.WorkItem{Status: onto.WorkFailed, Attempt: 2}, "status"},
		"failed":                {fate(1, failed), onto.WorkItem{Status: onto.WorkFailed, Attempt: 1, Error: "no"}, ""},
		"another error":         {fate(1, failed), onto.WorkItem{Status: onto.WorkFailed, Attempt: 1, Error: "yes"}, "error_message"},
		"held":                  {fate(1, running), onto.WorkItem{Status: onto.WorkInProgress, Attempt: 1, Owner: "w", Until: at}, ""},
		"held for ever":         {fate(1, running), onto.WorkItem{Status: onto.WorkInProgress, Attempt: 1, Owner: "w"}, "lease_until"},
		"held by another":       {fate(1, running), onto.WorkItem{Status: onto.WorkInProgress, Attempt: 1, Owner: "v", Until: at}, "lease_owner"},
		"returned":              {fate(1, lost, returned), onto.WorkItem{Status: onto.WorkPending, Attempt: 2, Revised: 1}, ""},
		"returned as a try":     {fate(1, lost, returned), onto.WorkItem{Status: onto.WorkPending, Attempt: 2}, "onto_revised"},
		"waits":                 {fate(1, lost), onto.WorkItem{Status: onto.WorkPending, Attempt: 1, NotBefore: at}, "not_before"},
		"imported":              {fate(4, lost), onto.WorkItem{Status: onto.WorkPending, Attempt: 4, Revised: 2, Error: "old"}, ""},
		"imported and returned": {fate(4, returned), onto.WorkItem{Status: onto.WorkPending, Attempt: 4, Revised: 0}, "onto_revised"},
		"imported and revised":  {fate(4, revised, lost), onto.WorkItem{Status: onto.WorkPending, Attempt: 5, Revised: 3}, "onto_revised"},
		"imported and counted":  {fate(4, lost), onto.WorkItem{Status: onto.WorkPending, Attempt: 3}, "attempt"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.fate.Differs(&c.item)
			if (c.says == "") != (got == "") || !strings.HasPrefix(got, c.says) {
				t.Errorf("got %q, want something about %q", got, c.says)
			}
		})
	}
	if f := fate(4, lost).Complete(&onto.WorkItem{Error: "old", Revised: 2}); f.Error != "old" || f.Revised != 2 {
		t.Errorf("got %+v", f)
	}
	if f := fate(1, failed, lost).Complete(&onto.WorkItem{Error: "x", Revised: 2}); f.Error != "no" || f.Revised != 0 {
		t.Errorf("got %+v", f)
	}
}
