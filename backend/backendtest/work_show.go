package backendtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// itemID is the id of a work item of the tests, like that of an event.
func itemID(n int) string { return eventID(n) }

// itemName is the short form of an id.
func itemName(id string) string {
	if name := eventName(id); strings.HasPrefix(name, "e") {
		return "i" + name[1:]
	}
	return eventName(id)
}

func itemNames(items []onto.WorkItem) string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = itemName(item.ID)
	}
	return strings.Join(names, " ")
}

// showRaw tells no JSON from empty JSON.
func showRaw(j json.RawMessage) string {
	if j == nil {
		return "-"
	}
	return string(j)
}

// showItem shows first what an item was made of and then what has become of it.
func showItem(i onto.WorkItem) string {
	return fmt.Sprintf("%s %s/%s/%s/%s, key %q, %s %q, headers %s, body %q, metadata %s, priority %d, run %q, parent %s, depth %d, not before %s; "+
		"%s, attempt %d, revised %d, created %s, updated %s, error %q, owner %q until %s",
		itemName(i.ID), i.System, i.Source, i.Type, i.Resource, i.Key, i.Method, i.URI, showRaw(i.Headers), i.Body, showRaw(i.Metadata),
		i.Priority, i.Run, itemName(i.Parent), i.Depth, showTime(i.NotBefore),
		i.Status, i.Attempt, i.Revised, showTime(i.Created), showTime(i.Updated), i.Error, i.Owner, showTime(i.Until))
}

// showFate shows only what has become of an item.
func showFate(i onto.WorkItem) string {
	_, fate, _ := strings.Cut(showItem(i), "; ")
	return itemName(i.ID) + " " + fate
}

func showAttempt(a onto.WorkAttempt) string {
	id := a.ID
	if id == fmt.Sprintf("%s:%d", a.Item, a.Number) {
		id = fmt.Sprintf("%s:%d", itemName(a.Item), a.Number)
	}
	return fmt.Sprintf("%s %s by %q in run %q, %s to %s, retry after %s, error %q, class %q, %s", id, a.Status, a.Worker, a.Run,
		showTime(a.Started), showTime(a.Finished), showTime(a.RetryAfter), a.Error, a.Class, showRaw(a.Diagnostic))
}

func showWork(w backend.WorkState) string {
	text := showItem(w.WorkItem)
	for _, a := range w.Attempts {
		text += "\n\t" + showAttempt(a)
	}
	return text
}

func showTaken(t backend.WorkTaken) string {
	text := fmt.Sprintf("%d lost, next %s", t.Lost, showTime(t.Next))
	if len(t.Verdicts) > 0 {
		text = showVerdicts(t.Verdicts) + ", " + text
	}
	for _, i := range t.Items {
		text += "\n\t" + showItem(i)
	}
	for _, w := range t.GivenUp {
		text += "\n\tgiven up: " + showWork(w)
	}
	return text
}

func showVerdicts(list []backend.WorkVerdict) string {
	var text []string
	for _, v := range list {
		if len(v.Fresh) > 0 && v.Err == nil {
			text = append(text, fmt.Sprint("done ", v.Fresh))
		} else {
			text = append(text, outcome("done", v.Err))
		}
	}
	return strings.Join(text, ", ")
}

func showWorkCount(c backend.WorkCount) string {
	return fmt.Sprintf("%s/%s in run %q: %d %s", c.System, c.Source, c.Run, c.Items, c.Status)
}

func showRun(r onto.WorkRun) string {
	return fmt.Sprintf("run %s %s, %s to %s, options %s, counts %s", r.ID, r.Status, showTime(r.Started), showTime(r.Finished),
		showRaw(r.Options), showRaw(r.Counts))
}

func showDo(do backend.WorkDo) string {
	return [...]string{"nothing", "extend", "complete", "fail", "retry", "skip", "return"}[do]
}

func showRevising(do backend.WorkRevising) string {
	return [...]string{"nothing", "retry", "recrawl", "skip"}[do]
}
