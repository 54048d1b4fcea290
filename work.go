package onto

import (
	"encoding/json"
	"time"
)

// DefaultWorkPriority is the priority of work items that name none.
const DefaultWorkPriority = 100

// WorkItem is a unit of ingestion work: a resource of a source to be fetched. Items are in
// order of priority, lower numbers first, then of creation.
type WorkItem struct {
	ID       string
	System   string // the kind of source, which chooses the connector
	Source   string // the source
	Type     string // of the resource
	Resource string // the resource's id at the source
	Key      string // tells equal items apart from others; see package work

	URI      string
	Method   string          // of the request
	Headers  json.RawMessage // JSON object; nil for none
	Body     string
	Metadata json.RawMessage // JSON object; nil for none

	Priority  int
	Run       string    // the run that it belongs to; "" for none
	Parent    string    // the item it was discovered from; "" for none
	Depth     int       // how many items led to it
	NotBefore time.Time // it is not worked on before; zero for at once, and once a worker saw that the time has come

	Status  WorkStatus
	Attempt int       // the number of the last attempt
	Revised int       // how many attempts count as no tries: those up to the last revision, and those returned since
	Created time.Time // items that are enqueued later have later times
	Updated time.Time
	Error   string    // of the last failure
	Owner   string    // the worker that holds it; "" for none
	Until   time.Time // when its lease ends
}

// Tries is how often the item was tried since it was made, or made pending again by an
// operator, with the attempt under way. An attempt that was lost is a try, one that was
// returned is none.
func (i *WorkItem) Tries() int { return i.Attempt - i.Revised }

// WorkStatus is the closed set of what has become of a work item.
type WorkStatus string

// What can have become of a work item.
const (
	WorkPending    WorkStatus = "pending"
	WorkInProgress WorkStatus = "in_progress"
	WorkCompleted  WorkStatus = "completed"
	WorkFailed     WorkStatus = "failed"
	WorkSkipped    WorkStatus = "skipped"
)

// WorkStatuses lists every status.
func WorkStatuses() []WorkStatus {
	return []WorkStatus{WorkPending, WorkInProgress, WorkCompleted, WorkFailed, WorkSkipped}
}

// WorkAttempt is one attempt at a work item. The attempts of an item explain its status;
// of those before an import nothing may be known but how many they were.
type WorkAttempt struct {
	ID         string // the item's, a colon, and the number
	Item       string
	Number     int // 1, 2, 3, … for each item
	Worker     string
	Run        string
	Started    time.Time
	Finished   time.Time // zero while it is under way
	Status     AttemptStatus
	RetryAfter time.Time       // the item waits until then; zero if it does not
	Error      string          // why it failed or was skipped; "" for neither
	Class      string          // of the failure: timeout, status, …; "" for none
	Diagnostic json.RawMessage // JSON object; nil for none
}

// AttemptStatus is the closed set of how an attempt ended.
type AttemptStatus string

// How an attempt ended.
const (
	AttemptRunning   AttemptStatus = "running"   // it has not: the item is in progress
	AttemptCompleted AttemptStatus = "completed" // the item is completed
	AttemptFailed    AttemptStatus = "failed"    // the item is failed, or pending if there is a RetryAfter
	AttemptSkipped   AttemptStatus = "skipped"   // the item is skipped
	AttemptReturned  AttemptStatus = "returned"  // given back: the item is pending
	AttemptLost      AttemptStatus = "lost"      // its lease ran out: the item is pending
	AttemptRevised   AttemptStatus = "revised"   // the item was made pending again by an operator
)

// WorkRun is one run of a program that works on items.
type WorkRun struct {
	ID       string
	Started  time.Time
	Finished time.Time       // zero while it is under way
	Status   string          // running, finished, stopped or failed
	Options  json.RawMessage // JSON object; nil for none
	Counts   json.RawMessage // JSON object; nil for none
}
