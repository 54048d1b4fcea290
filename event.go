package onto

import (
	"encoding/json"
	"time"
)

// The defaults of events.
const (
	DefaultNamespace = "default" // of events that name none
	DefaultPriority  = 100       // of events that name none
	MaxPayload       = 1 << 20   // bytes of an event's payload as JSON
	MaxChainDepth    = 20        // how many events may have led to one, unless a program sets another limit
)

// DeadLetterType is the type of the event that tells of a dead letter.
const DeadLetterType = "event.dead_letter"

// Event is a message on the bus. Each handler that asks for its type handles it once in
// effect. Events are in order of priority, higher numbers first, then of arrival.
type Event struct {
	ID          string
	Namespace   string
	Type        string
	Payload     json.RawMessage // canonical JSON
	Priority    int
	OrderingKey string    // events of one key are handled one after the other; "" for none
	NotBefore   time.Time // it is not handled before; zero for at once
	Time        time.Time // when it was emitted; later events have later times

	Root     string // the event that its chain began with; its own ID for the first
	Depth    int    // how many events of the chain led to it
	Parent   string // the event whose handler emitted it; "" for none
	ReplayOf string // the event that it repeats; "" for none
	Commit   int64  // the commit that it rides in; 0 for none
}

// Emission is an event to be emitted, where a struct alone does not say enough. See
// [Draft.Emit].
type Emission struct {
	Payload any    // a struct, or anything that marshals to JSON if Type is set
	Type    string // "" for that of Payload's struct

	Namespace   string        // "" for the default of the store or the handler
	Priority    *int          // nil for DefaultPriority
	OrderingKey string        // "" for the field of Payload's struct that is marked ordering
	Delay       time.Duration // how long it is not to be handled; not with an ordering key
	NotBefore   time.Time     // or until when; not with an ordering key
	Cause       *Event        // the event that led to this one; nil for none
}

// EventTyper is a struct that names its event type, which otherwise is the name of the
// struct.
type EventTyper interface{ EventType() string }

// EventStatus is the closed set of what has become of an event.
type EventStatus string

// What can have become of an event. The first that is true for any handler counts.
const (
	EventDead    EventStatus = "dead_lettered" // a handler has given it up
	EventAcked   EventStatus = "acked"         // a handler has handled it
	EventClaimed EventStatus = "claimed"       // a handler is at work on it
	EventPending EventStatus = "pending"       // none has handled it yet
)

// Claim is a handler's right to handle an event, for as long as its lease lasts. A claim
// that ran out stays its session's until another one takes it.
type Claim struct {
	Event
	Handler string
	Session string
	Claimed time.Time // when it was claimed
	Until   time.Time // when its lease ends

	Attempts   int  // how often the handler has failed
	Deliveries int  // how often the handler was started
	Lost       bool // the claim before this one ran out: its session may have ended while it handled the event
}

// ClaimState is what has become of one handler's claim on an event.
type ClaimState struct {
	Handler    string
	Session    string
	Claimed    time.Time
	Until      time.Time // the end of its lease
	Available  time.Time // it is not claimed again before
	Acked      time.Time // zero if it was not
	Dead       time.Time // when it was given up; zero if it was not
	Attempts   int
	Deliveries int
	Error      string // of the last failure
}

// DeadLetter is an event that a handler has given up.
type DeadLetter struct {
	ID         int64
	Event      Event // as it was
	Handler    string
	Time       time.Time // when it was given up
	Attempts   int
	Deliveries int
	Error      string // of the last failure

	Resolution Resolution // zero while nothing was done about it
}

// ResolutionKind is the closed set of what can be done about a dead letter.
type ResolutionKind string

// What can be done about a dead letter.
const (
	Replayed ResolutionKind = "replayed" // its event was emitted again
	Dropped  ResolutionKind = "dropped"  // it was found not to be needed
)

// Resolution is what was done about a dead letter.
type Resolution struct {
	Kind   ResolutionKind // "" for nothing
	Time   time.Time
	By     Actor
	Replay string // the ID of the event that repeats it
}

// Session is one run of a program that handles events.
type Session struct {
	ID        string
	Namespace string
	Started   time.Time
	Beat      time.Time       // when it last said that it is alive
	Metadata  json.RawMessage // JSON; nil for none
}

// Dead reports whether a session has ended without saying so: it has given no sign of life
// for longer than ttl, or the last one is by a clock that was ahead by more than that.
func (s Session) Dead(now time.Time, ttl time.Duration) bool { return now.Sub(s.Beat).Abs() > ttl }

// Position is how far a named follower of the log has come.
type Position struct {
	Name   string
	Commit int64 // the last one that it is done with; 0 for none
}

// Advance moves a position. It fails with Conflict unless the position is at From.
type Advance struct {
	Name     string
	From, To int64 // To 0 removes the position
}

// CheckBusName reports whether name may name an event type, a handler, a namespace, a
// schedule or a position: as [CheckName], with . and - as well. What says which name is
// meant, for the message.
func CheckBusName(what, name string) error {
	return checkName(what, name, ".-", "start with a letter or _, go on with letters, digits, _, . and -")
}

// CheckOrderingKey reports whether a key may order events.
func CheckOrderingKey(key string) error { return checkText("the ordering key", key, 0, MaxKey) }
