package document

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// WorkItem is a work item, with the names of the columns that keep it.
type WorkItem struct {
	WorkItemID     string          `json:"work_item_id"`
	SourceSystem   string          `json:"source_system"`
	SourceName     string          `json:"source_name"`
	ResourceType   string          `json:"resource_type"`
	ResourceID     string          `json:"resource_id"`
	RequestURI     string          `json:"request_uri"`
	RequestMethod  string          `json:"request_method"`
	RequestHeaders json.RawMessage `json:"request_headers"` // null for none
	RequestBody    *string         `json:"request_body"`
	Metadata       json.RawMessage `json:"metadata"` // null for none
	Priority       int             `json:"priority"`
	Status         onto.WorkStatus `json:"status"`
	Attempt        int             `json:"attempt"`
	RunID          *string         `json:"run_id"`
	DiscoveredFrom *string         `json:"discovered_from"`
	Depth          int             `json:"depth"`
	CreatedAt      string          `json:"created_at"`
	UpdatedAt      string          `json:"updated_at"`
	NotBefore      *string         `json:"not_before"`
	LeaseOwner     *string         `json:"lease_owner"`
	LeaseUntil     *string         `json:"lease_until"`
	ErrorMessage   *string         `json:"error_message"`
	DedupeKey      string          `json:"dedupe_key"`
}

// NewWorkItem describes a work item.
func NewWorkItem(w backend.WorkState) WorkItem {
	return WorkItem{
		WorkItemID: w.ID, SourceSystem: w.System, SourceName: w.Source, ResourceType: w.Type, ResourceID: w.Resource,
		RequestURI: w.URI, RequestMethod: w.Method, RequestHeaders: objectOrNull(w.Headers), RequestBody: OrNull(w.Body), Metadata: objectOrNull(w.Metadata),
		Priority: w.Priority, Status: w.Status, Attempt: w.Attempt, RunID: OrNull(w.Run), DiscoveredFrom: OrNull(w.Parent), Depth: w.Depth,
		CreatedAt: codec.FormatTime(w.Created), UpdatedAt: codec.FormatTime(w.Updated), NotBefore: storedTime(w.NotBefore),
		LeaseOwner: OrNull(w.Owner), LeaseUntil: storedTime(w.Until), ErrorMessage: OrNull(w.Error), DedupeKey: w.Key,
	}
}

func objectOrNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return nil
	}
	return payload(text)
}

// WorkNode is a work item in a tree.
type WorkNode struct {
	Level int `json:"level"` // below the root of the tree, which has 0
	WorkItem
}

// InspectedWork is all that is known about a work item.
type InspectedWork struct {
	WorkItem
	Attempts []WorkAttempt `json:"attempts"`
}

// NewInspectedWork describes all that is known about a work item.
func NewInspectedWork(w backend.WorkState) InspectedWork {
	doc := InspectedWork{NewWorkItem(w), []WorkAttempt{}}
	for _, a := range w.Attempts {
		doc.Attempts = append(doc.Attempts, NewWorkAttempt(a))
	}
	return doc
}

// WorkAttempt is one attempt at a work item.
type WorkAttempt struct {
	AttemptID    string             `json:"attempt_id"`
	Number       int                `json:"number"`
	Worker       string             `json:"worker"`
	RunID        *string            `json:"run_id"`
	StartedAt    string             `json:"started_at"`
	FinishedAt   *string            `json:"finished_at"`
	Status       onto.AttemptStatus `json:"status"`
	RetryAfter   *string            `json:"retry_after"`
	Error        *string            `json:"error"`
	FailureClass *string            `json:"failure_class"`
	Diagnostic   json.RawMessage    `json:"diagnostic"` // null for none
}

// NewWorkAttempt describes an attempt.
func NewWorkAttempt(a onto.WorkAttempt) WorkAttempt {
	return WorkAttempt{
		a.ID, a.Number, a.Worker, OrNull(a.Run), codec.FormatTime(a.Started), storedTime(a.Finished), a.Status,
		storedTime(a.RetryAfter), OrNull(a.Error), OrNull(a.Class), objectOrNull(a.Diagnostic),
	}
}

// WorkCounts is how many items have each status.
type WorkCounts struct {
	Pending    int64 `json:"pending"`
	InProgress int64 `json:"in_progress"`
	Completed  int64 `json:"completed"`
	Failed     int64 `json:"failed"`
	Skipped    int64 `json:"skipped"`
}

// Add counts items of a status. One that does not exist, which is damage, counts nowhere.
func (c *WorkCounts) Add(s onto.WorkStatus, items int64) {
	switch s {
	case onto.WorkPending:
		c.Pending += items
	case onto.WorkInProgress:
		c.InProgress += items
	case onto.WorkCompleted:
		c.Completed += items
	case onto.WorkFailed:
		c.Failed += items
	case onto.WorkSkipped:
		c.Skipped += items
	}
}

// WorkSource is how many items of a source have each status.
type WorkSource struct {
	SourceSystem string `json:"source_system"`
	SourceName   string `json:"source_name"`
	WorkCounts
}

// WorkOfRun is how many items of a run have each status.
type WorkOfRun struct {
	RunID *string `json:"run_id"` // null for items of no run
	WorkCounts
}

// WorkRun is one run of a program that works on items.
type WorkRun struct {
	RunID      string          `json:"run_id"`
	Status     string          `json:"status"`
	StartedAt  string          `json:"started_at"`
	FinishedAt *string         `json:"finished_at"`
	Options    json.RawMessage `json:"options"` // null for none
	Counts     json.RawMessage `json:"counts"`  // null for none
}

// NewWorkRun describes a run.
func NewWorkRun(r onto.WorkRun) WorkRun {
	return WorkRun{r.ID, r.Status, codec.FormatTime(r.Started), storedTime(r.Finished), objectOrNull(r.Options), objectOrNull(r.Counts)}
}

// Enqueued is how many items were added.
type Enqueued struct {
	Items int64 `json:"items"`
	New   int64 `json:"new"`
	Known int64 `json:"known"`
}

// AddedWork is an item that was added, or was there.
type AddedWork struct {
	New bool `json:"new"`
	WorkItem
}

// RevisedWork is what a revision of items did, or would do.
type RevisedWork struct {
	Planned []WorkSource `json:"planned"` // the items it is about, by what they are now
	Applied bool         `json:"applied"`
	Changed int64        `json:"changed"`
}

// ImportedWork is what an import of items does, or has done.
type ImportedWork struct {
	Items    int64      `json:"items"`
	New      int64      `json:"new"`
	Known    int64      `json:"known"`
	ByStatus WorkCounts `json:"by_status"` // the new ones, by what they are here
	Released int64      `json:"released"`  // of those new: in progress there, and pending here
	Counted  int64      `json:"counted"`   // of those new: only the number of their attempts is kept
	Renamed  int64      `json:"renamed"`   // of those new: with another id
	Runs     int64      `json:"runs"`      // that are new
	Refused  int64      `json:"refused"`   // then nothing is imported
	Applied  bool       `json:"applied"`
}

// ExportedWork is all of a work item that another queue needs to go on with it.
type ExportedWork struct {
	WorkItem
	Revised  int           `json:"onto_revised"`
	Attempts []WorkAttempt `json:"attempts"`
}

// NewExportedWork describes all of a work item.
func NewExportedWork(w backend.WorkState) ExportedWork {
	doc := NewInspectedWork(w)
	return ExportedWork{doc.WorkItem, w.Revised, doc.Attempts}
}

// WorkCleanup is what a cleaning of work removes, or has removed.
type WorkCleanup struct {
	Before   *string             `json:"updated_before"` // null for any time
	Keep     *int                `json:"keep"`           // null for none
	Items    int64               `json:"items"`
	Attempts int64               `json:"attempts"`
	Runs     int64               `json:"runs"`
	Sources  []WorkCleanupSource `json:"sources"`
	Applied  bool                `json:"applied"`
}

// WorkCleanupSource is what is removed of items of one source and status.
type WorkCleanupSource struct {
	SourceSystem string          `json:"source_system"`
	SourceName   string          `json:"source_name"`
	Status       onto.WorkStatus `json:"status"`
	Items        int64           `json:"items"`
	Attempts     int64           `json:"attempts"`
}

// NewWorkCleanup describes a cleaning.
func NewWorkCleanup(c *backend.WorkCleaning, p backend.WorkCleanPlan) WorkCleanup {
	doc := WorkCleanup{Before: storedTime(c.Before), Items: p.Items, Attempts: p.Attempts, Runs: p.Runs, Sources: []WorkCleanupSource{}, Applied: c.Apply}
	if c.Keep > 0 {
		doc.Keep = &c.Keep
	}
	for _, s := range p.Sources {
		doc.Sources = append(doc.Sources, WorkCleanupSource{s.System, s.Source, s.Status, s.Items, s.Attempts})
	}
	return doc
}
