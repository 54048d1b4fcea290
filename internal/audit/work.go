package audit

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Held collects items that workers hold which are gone.
type Held struct {
	Now      time.Time
	Patience time.Duration // after the end of a lease

	items   int64
	workers map[string]bool
	oldest  time.Time
}

// Add takes an item that is in progress.
func (h *Held) Add(i *onto.WorkItem) {
	if h.Now.Sub(i.Until) <= h.Patience {
		return
	}
	if h.workers == nil {
		h.workers = map[string]bool{}
	}
	h.items++
	h.workers[i.Owner] = true
	if h.oldest.IsZero() || i.Until.Before(h.oldest) {
		h.oldest = i.Until
	}
}

// Finding reports the items, if there are any.
func (h *Held) Finding() (onto.Finding, bool) {
	if h.items == 0 {
		return onto.Finding{}, false
	}
	f := WorkHeld.Finding("%s in progress by %s gone: the first was to be done by %s",
		count(h.items, "work item is", "work items are"), count(int64(len(h.workers)), "worker that is", "workers that are"), codec.FormatTime(h.oldest))
	f.Remedy = onto.NewHint("start a run, which takes them over; list them", "work", "list", "--status", string(onto.WorkInProgress))
	return f, true
}

// OnlyFails reports a source of which items have failed and none was ever completed, by
// the error of one of them.
func OnlyFails(system, source string, failed, completed int64, example string) (onto.Finding, bool) {
	if failed == 0 || completed > 0 {
		return onto.Finding{}, false
	}
	f := WorkOnlyFails.Finding("source %.200q of system %.200q has %s and none that is completed, with the error %.200q",
		source, system, count(failed, "failed item", "failed items"), example)
	if fit(source) {
		f.Remedy = onto.NewHint("mend the cause and retry them, or skip them; list them", "work", "list", "--status", string(onto.WorkFailed), "--source", source)
	}
	return f, true
}
