package backend

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// WorkQueue is a backend that keeps ingestion work. Its arguments are clean like those of
// a [Backend]; ids of items are UUIDs that nothing else has.
//
// Times are those of the backend's clock, truncated to the precision that is stored, also
// where a delay or a lease was added. An item is created now, but later than the last item
// that was enqueued, and is updated when its status changes. Items are in order of Priority, then Created,
// then ID. A holder of the write lease stops drafts, and nothing here.
//
// The lease of an item is at most MaxLease long, and so is Burst times Every of a limit.
// What is further ahead than that is of a clock that was wrong, see [Ahead]: such a lease
// has ended, and such a rate allows items again. The delay of a retry has ended if Updated
// is so far ahead.
type WorkQueue interface {
	// Enqueue adds items that are pending, and reports for each whether it is new: one
	// that is known, also by one earlier in the list, changes nothing, see KnownWork. Of an item, what the
	// queue decides (Status, Attempt, Revised, Created, Updated, Error, Owner, Until) is
	// ignored.
	Enqueue(ctx context.Context, items []onto.WorkItem) (fresh []bool, err error)

	// ImportItems adds items of another queue as they are, with Status, Attempt, Revised,
	// Created, Updated and Error, and with the attempts that are given. It reports for each
	// whether it is new: one that is known, also by one earlier in the list, changes nothing. A
	// new item whose ID another one has is refused with Conflict, and then nothing is added.
	//
	// None is in progress. The attempts of an item have consecutive numbers up to its
	// Attempt, and explain it; earlier ones, or all, may be missing, and then nothing is known of them but
	// their number. Created says nothing about the items that are enqueued later.
	ImportItems(ctx context.Context, items []WorkState) (fresh []bool, err error)

	// Dequeue finishes attempts, and then takes items that are pending and not before their
	// time, in their order, for a worker: each is in progress under a lease, with a new
	// attempt that is running. Before that, items whose leases have ended return, whatever the request is for: their
	// attempts are lost. Then every pending item whose NotBefore has come, or whose delay
	// has ended, has none any more; that is no update.
	//
	// A source at its limit gives nothing: as many of its items are in progress as it may
	// have at once, or its rate is used up. Items of other sources are taken all the same.
	//
	// An item that has been tried MaxTries times is given up where it would be taken: it
	// has failed, by an attempt that ends at once, see [WorkRequest.GiveUp]. It counts for
	// the Limit of the request, and not for the limits of its source.
	Dequeue(ctx context.Context, r *WorkRequest) (WorkTaken, error)

	// Finish ends attempts, and returns a verdict for each: LeaseExpired if the item is
	// not held under that attempt by that worker any more; then nothing of the outcome
	// counts. An item is held also after its lease has ended, until it returns. Outcomes are
	// applied one after the other. What was discovered is enqueued in the same transaction.
	Finish(ctx context.Context, list []WorkOutcome) ([]WorkVerdict, error)

	// Revise changes what has become of items, and returns how many. Each leaves an
	// attempt that is revised or skipped at once, by the actor as worker and in the run of
	// the revision, with its Note. An item that is made pending has no tries, no error and
	// no NotBefore; one that is skipped has the reason as the error, and no NotBefore. Items
	// in progress are left alone.
	Revise(ctx context.Context, r *WorkRevision) (int64, error)

	// WorkItems yields items in their order.
	WorkItems(ctx context.Context, q *WorkQuery) iter.Seq2[WorkState, error]

	// WorkStats counts items, by system, source, run and status, in that order of bytes.
	// Limit and Attempts of the query do not count.
	WorkStats(ctx context.Context, q *WorkQuery) ([]WorkCount, error)

	// WorkRuns returns runs by Started, then ID.
	WorkRuns(ctx context.Context) ([]onto.WorkRun, error)

	// SaveRun stores a run. With start set it fails with Conflict if the run exists.
	SaveRun(ctx context.Context, r onto.WorkRun, start bool) error

	// CleanWork removes what is over, as the cleaning says, and returns what that was;
	// without Apply it only returns what it would be. It calls progress, unless that is
	// nil, with how many items, attempts and runs it has removed of how many. What is pending
	// or in progress stays, with all attempts at it.
	//
	// An item is over since Updated. It goes with its attempts; then its key is free, so that
	// the resource can be enqueued again. What was discovered from it stays. Items of which
	// only attempts are removed lose the first ones, and are explained by those that stay, as
	// imported ones are; an attempt is over since Finished. A run is over since Finished, or
	// since Started if it has no end, and stays as long as an item that is pending or in
	// progress belongs to it, or an attempt that is under way.
	CleanWork(ctx context.Context, c *WorkCleaning, progress func(done, total int64)) (WorkCleanPlan, error)
}

// WorkSource names a source.
type WorkSource struct{ System, Source string }

// WorkLimit bounds the work on a source, across all processes that give the same.
//
// A rate is kept by the generic cell rate algorithm: one time for each source. An item can
// be taken if that time is at most Burst-1 times Every from now; taking it moves the time,
// or now if that is later, on by Every.
type WorkLimit struct {
	Concurrent int           // items in progress at once, for any worker; 0 for any number
	Every      time.Duration // the time between two items, in whole microseconds; 0 for none
	Burst      int           // how many may come at once after a pause, at least 1; counts with Every
}

// WorkRequest asks for items.
type WorkRequest struct {
	Worker   string
	Run      string   // of the attempts; "" for none
	OnlyRun  bool     // only items of that run
	Systems  []string // only items of these; nil for all
	Limit    int      // at most so many; 0 for none
	MaxTries int      // items that were tried so often are given up; 0 for any number
	Lease    time.Duration
	Limits   map[WorkSource]WorkLimit
	Most     WorkLimit // of sources that Limits does not name

	Finish []WorkOutcome // first, in the same transaction
}

// WorkTaken is the answer to a WorkRequest.
type WorkTaken struct {
	Items []onto.WorkItem // in their order, with the attempt's number
	Lost  int             // attempts that were lost, and closed now

	GivenUp []WorkState // items that were given up, in their order, each with the attempt that says so

	Verdicts []WorkVerdict // of Finish

	// Next is the first time after now at which more can be taken, as far as that is
	// known: the time of a pending item that the request is for comes, a lease of any item
	// ends, these Items among them, or a rate allows more of a source that has pending items
	// and is below its concurrency; zero if none does. It does not tell of items beyond Limit.
	Next time.Time
}

// WorkDo is what an outcome makes of an item.
type WorkDo uint8

const (
	// WorkExtend extends the lease to Lease from now, and changes nothing else.
	WorkExtend WorkDo = iota + 1
	// WorkComplete completes the item.
	WorkComplete
	// WorkFail gives the item up.
	WorkFail
	// WorkRetry ends a failed attempt: the item is pending, after Delay.
	WorkRetry
	// WorkSkip skips the item.
	WorkSkip
	// WorkReturn gives the item back, untried: it is pending. Revised grows by one, so that
	// the attempt is no try. Error stays.
	WorkReturn
)

// WorkOutcome is what came of an attempt.
type WorkOutcome struct {
	Item    string
	Attempt int
	Worker  string
	Do      WorkDo

	Lease      time.Duration   // WorkExtend
	Delay      time.Duration   // WorkRetry
	Error      string          // of attempt and item: WorkFail, WorkRetry, WorkSkip; WorkComplete clears that of the item
	Class      string          // of the failure
	Diagnostic json.RawMessage // of the attempt; nil for none
	Metadata   json.RawMessage // of the item from now on; nil to leave it as it is
	Discovered []onto.WorkItem // WorkComplete, WorkSkip
}

// WorkVerdict is the answer to an outcome.
type WorkVerdict struct {
	Err   error  // nil, or LeaseExpired
	Fresh []bool // of Discovered: which are new
}

// WorkRevising is what a revision makes of items.
type WorkRevising uint8

const (
	// ReviseRetry makes failed items pending.
	ReviseRetry WorkRevising = iota + 1
	// ReviseRecrawl makes completed, failed and skipped items pending.
	ReviseRecrawl
	// ReviseSkip skips pending and failed items. Revised stays, so that the attempts tell
	// what it is.
	ReviseSkip
)

// WorkRevision changes what has become of items.
type WorkRevision struct {
	Items  WorkQuery // which; Limit and Attempts do not count
	Do     WorkRevising
	By     onto.Actor
	Reason string
	Run    string // they belong to this run from now on; "" to leave that
}

// Note is the diagnostic of the attempt that a revision leaves: who made it, why, and what
// the item was before, as canonical JSON.
func (r *WorkRevision) Note(was onto.WorkStatus) json.RawMessage {
	text, err := json.Marshal(map[string]string{"by": r.By.String(), "reason": r.Reason, "was": string(was)})
	if err == nil {
		text, err = codec.AppendCanonical(nil, text)
	}
	if err != nil { // strings always have a JSON form
		panic(err)
	}
	return text
}

// WorkQuery selects items.
type WorkQuery struct {
	IDs      []string          // nil for all
	Keys     []string          // nil for all
	Status   []onto.WorkStatus // nil for all
	System   string            // "" for all
	Source   string            // "" for all
	Type     string            // "" for all
	Run      string            // "" for all
	Parent   string            // "" for all
	Error    string            // only those whose error contains it; "" for all
	Limit    int               // at most so many; 0 for all
	Attempts bool              // with their attempts
}

// WorkState is an item and its attempts.
type WorkState struct {
	onto.WorkItem
	Attempts []onto.WorkAttempt // oldest first; only if asked for
}

// WorkCount is a number of items.
type WorkCount struct {
	System, Source, Run string
	Status              onto.WorkStatus
	Items               int64
}
