package backend

import (
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
)

// Bus is a backend that keeps events and what handlers have made of them. Its arguments
// are clean like those of a [Backend]; event ids are UUIDs that nothing else has.
//
// Times are those of the backend's clock, truncated to the precision that is stored, also
// where a delay or a lease was added. An event's time is now, but later than that of the
// event before it in any namespace. A holder of the write lease
// stops drafts, and nothing here.
//
// The lease of a claim is at most MaxLease long. One that ends later than that from now is
// of a clock that was wrong, see [Ahead]: the claim's lease has ended, and if the claim was
// released or returned, so has its delay. A delay that began by a right clock can have any
// length.
type Bus interface {
	// Emit emits events without a commit. With a tick that has passed already it
	// emits and resolves nothing, and returns nothing. It fails with NotFound if a dead letter does not
	// exist, and with Conflict if one was resolved before; then nothing is emitted or
	// resolved.
	Emit(ctx context.Context, e *Emission) ([]onto.Event, error)

	// Claim settles claims, and then claims events. If it fails after it has settled, it
	// returns the verdicts with the error.
	//
	// A handler can claim an event of its namespace and types if it has no claim on it
	// yet, or one that is neither acked nor dead, whose lease has ended and that is
	// available; and not before Event.NotBefore. Events are claimed in order of priority,
	// higher first, then of arrival. Of events with one ordering key, at most one is in
	// play for each namespace and handler: only it can be claimed. When it is acked or
	// dead the next one by arrival comes into play, of those whose types the handler has
	// asked for so far. A handler has asked for a type from its first claim for it on: older
	// events of a key that become known with it wait for the one in play.
	//
	// A new claim is available since now, or since Event.NotBefore; one that is taken over
	// keeps Available, unless that is later than now, Attempts, Deliveries and Error.
	Claim(ctx context.Context, r *ClaimRequest) (Claimed, error)

	// Settle changes claims and returns a verdict for each, nil or LeaseExpired if the
	// claim is not held any more. They are applied one after the other, and store the
	// Attempts and Deliveries that they carry. A claim is held, also after its lease has ended, until
	// the event is claimed again, or it is released, returned, acked or buried. Session
	// and Claimed tell it from earlier and later claims.
	Settle(ctx context.Context, list []Settlement) ([]error, error)

	// Beat says that a session is alive, extends the leases of claims to Lease from now,
	// and returns those that are not held any more. A claim that was available later than
	// now, since the clock went back, is available since now. Ending a session removes it,
	// and does nothing with claims. One that gives no further sign of life stays until it
	// is ended by its ID, and beats that come late make it alive again.
	Beat(ctx context.Context, b *Beat) (lost []onto.Claim, err error)

	// Events yields events in the order of claims.
	Events(ctx context.Context, q *EventQuery) iter.Seq2[EventState, error]

	// DeadLetters yields dead letters, oldest first.
	DeadLetters(ctx context.Context, q *DeadLetterQuery) iter.Seq2[onto.DeadLetter, error]

	// Namespaces returns the namespaces that have events, dead letters, sessions, dead or
	// alive, handlers or schedules, by name. A session is dead, by the backend's clock, as
	// [onto.Session.Dead] says of ttl; with a ttl of 0 none is.
	Namespaces(ctx context.Context, ttl time.Duration) ([]Namespace, error)

	// Types returns the types of the events that were ever emitted in a namespace, sorted: also
	// those of which no event is left. It does not look at every event.
	Types(ctx context.Context, namespace string) ([]string, error)

	// Clean plans the removal of events that are older than a time, with their claims,
	// and applies it if asked. Events that have a claim that is neither acked nor dead, or
	// whose type a handler has asked for that has no claim on them, stay unless Cleaning
	// says otherwise; dead letters stay. Where an event in play is removed, the next one of
	// its key comes into play. Progress, if not nil, is called with the number of events
	// removed so far.
	Clean(ctx context.Context, c *Cleaning, progress func(done, total int64)) (CleanPlan, error)
}

// NewEvent is an event to be emitted. Time and Commit are the backend's; an empty Root
// stands for its own ID.
type NewEvent struct {
	onto.Event
	Delay time.Duration // NotBefore is that long after now; 0 for NotBefore as it is
}

// Emission is events to be emitted without a commit, and what happens with it.
type Emission struct {
	Events  []NewEvent
	Tick    *Tick           // of a schedule; nil for none
	Resolve []DeadLetterEnd // dead letters that are resolved
}

// Tick is a moment at which a schedule fires, once.
type Tick struct {
	Namespace string
	Schedule  string
	Time      time.Time
}

// DeadLetterEnd resolves a dead letter.
type DeadLetterEnd struct {
	ID     int64
	Kind   onto.ResolutionKind
	By     onto.Actor
	Replay string // the ID of the event that repeats it
}

// ClaimRequest asks for events.
type ClaimRequest struct {
	Namespace string
	Handler   string
	Types     []string // at least one, each once
	Session   string
	Limit     int // at most so many; 0 for none, so that only the types are asked for
	Lease     time.Duration

	Settle []Settlement // first, in the same transaction
}

// Claimed is the answer to a ClaimRequest.
type Claimed struct {
	Claims   []onto.Claim // in the order of events
	Verdicts []error      // of Settle
	// Next is the first time after now at which the handler can claim an event of these
	// types that it cannot claim now, these Claims among them: a lease has ended and the
	// claim is available, or NotBefore has come; zero if there is none. It does not tell
	// of events that are emitted meanwhile, of those beyond Limit, or of those that wait
	// for another of their key. A clock that goes back may hide others.
	Next time.Time
}

// Settling is what becomes of a claim.
type Settling uint8

const (
	// Start records that the handler was started.
	Start Settling = iota + 1
	// Ack records that the event was handled.
	Ack
	// Release gives the claim up after a failure: it is available again after Delay.
	Release
	// Return gives the claim up without a failure: it is available again after Delay.
	Return
	// Bury gives the event up for the handler: it makes a dead letter.
	Bury
)

// Settlement changes one claim. Attempts and Deliveries of the claim are the new ones.
type Settlement struct {
	onto.Claim
	Do     Settling
	Delay  time.Duration // Release, Return
	Error  string        // Release, Bury
	Notice *NewEvent     // Bury: the event that tells of it; nil for none
}

// Beat is a sign of life of a session.
type Beat struct {
	onto.Session // without times
	Claims       []onto.Claim
	Lease        time.Duration
	End          bool
}

// EventQuery selects events.
type EventQuery struct {
	Namespace string           // "" for all
	Types     []string         // nil for all
	ID        string           // only this one; "" for all
	Commit    int64            // only those that ride in this commit; 0 for all
	Status    onto.EventStatus // only those; "" for all
	Limit     int              // at most so many; 0 for all
}

// EventState is an event and what has become of it.
type EventState struct {
	onto.Event
	Status onto.EventStatus
	Claims []onto.ClaimState // by handler
}

// DeadLetterQuery selects dead letters.
type DeadLetterQuery struct {
	Namespace string
	IDs       []int64 // only these; nil for all
	EventID   string  // only of this event; "" for all
	Handler   string  // "" for all
	Type      string  // of the event; "" for all
	Error     string  // only those whose error contains it; "" for all
	Resolved  bool    // also those about which something was done
	Limit     int     // at most so many; 0 for all
}

// Namespace is what there is in a namespace.
type Namespace struct {
	Name        string
	Events      int64
	DeadLetters int64          // unresolved
	Sessions    []onto.Session // those that are alive, by ID
	Dead        []onto.Session // those that have ended without saying so, by ID
	Handlers    []HandlerState // by name
	Types       []TypeState    // of events, by name
	Schedules   []Tick         // the last tick of each, by name
}

// AddSession adds a session to those that are alive, or to those that are dead.
func (n *Namespace) AddSession(s onto.Session, now time.Time, ttl time.Duration) {
	if ttl > 0 && s.Dead(now, ttl) {
		n.Dead = append(n.Dead, s)
	} else {
		n.Sessions = append(n.Sessions, s)
	}
}

// HandlerState is what there is for a handler.
type HandlerState struct {
	Name    string
	Types   []string // that it has asked for, sorted
	Waiting int64    // events of these types that it has neither acked nor buried
	Claimed int64    // of these, how many are claimed now
}

// TypeState is what there is of a type of events.
type TypeState struct {
	Name    string
	Events  int64
	Handled bool // a handler has asked for it, and was not forgotten since
}

// Cleaning selects events to be removed.
type Cleaning struct {
	Namespace string    // "" for all
	Before    time.Time // only those emitted before
	Unhandled bool      // also those that a handler has still to handle
	// Forget names handlers that are no more, in Namespace: no event is kept for them, and
	// what they have asked for is removed with their claims that are neither acked nor
	// dead. One that claims again begins anew, without the events that it has handled.
	Forget []string
	Apply  bool // remove them
}

// CleanPlan is what a cleaning removes, or has removed.
type CleanPlan struct {
	Events, Claims int64 // claims of these events, of every kind
	Bytes          int64 // of payloads
	Kept           int64 // events as old that stay for a handler
	Types          []CleanType
}

// CleanType is what is removed of one type, by namespace and name.
type CleanType struct {
	Namespace, Type string
	Events, Kept    int64
}

// Watcher is a backend that notices writes.
type Watcher interface {
	// Await returns a new mark when something may have been written since the mark was
	// returned, by this process or another. Mark 0 returns at once.
	Await(ctx context.Context, mark int64) (int64, error)
}

// Positions is a backend that keeps the positions of followers.
type Positions interface {
	// Positions returns them by name.
	Positions(ctx context.Context) ([]onto.Position, error)
	// Advance moves one. It fails with Conflict unless it is at From.
	Advance(ctx context.Context, a onto.Advance) error
}
