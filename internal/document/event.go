package document

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Event is an event.
type Event struct {
	ID            string          `json:"id"`
	Namespace     string          `json:"namespace"`
	Type          string          `json:"type"`
	Payload       json.RawMessage `json:"payload"`
	CreatedAt     string          `json:"created_at"`
	Priority      int             `json:"priority"`
	OrderingKey   *string         `json:"ordering_key"`
	NotBefore     *string         `json:"not_before"`
	RootEventID   string          `json:"root_event_id"`
	ChainDepth    int             `json:"chain_depth"`
	ParentEventID *string         `json:"parent_event_id"`
	ReplayOf      *string         `json:"replay_of"`
	CommitID      *int64          `json:"commit_id"` // that it rides in; null for none
}

// NewEvent describes an event.
func NewEvent(e onto.Event) Event {
	doc := Event{
		ID: e.ID, Namespace: e.Namespace, Type: e.Type, Payload: payload(e.Payload), CreatedAt: codec.FormatTime(e.Time), Priority: e.Priority,
		OrderingKey: OrNull(e.OrderingKey), NotBefore: storedTime(e.NotBefore), RootEventID: e.Root, ChainDepth: e.Depth,
		ParentEventID: OrNull(e.Parent), ReplayOf: OrNull(e.ReplayOf),
	}
	if e.Commit != 0 {
		doc.CommitID = &e.Commit
	}
	return doc
}

// payload is a payload as it can be part of a document: one that is damaged is a text.
func payload(text json.RawMessage) json.RawMessage {
	if json.Valid(text) {
		return text
	}
	quoted, _ := json.Marshal(string(text)) // of a text
	return quoted
}

// EventState is an event and what has become of it.
type EventState struct {
	Event
	Status onto.EventStatus `json:"status"`
}

// NewEventState describes an event and what has become of it.
func NewEventState(e backend.EventState) EventState { return EventState{NewEvent(e.Event), e.Status} }

// InspectedEvent is all that is known about an event.
type InspectedEvent struct {
	EventState
	Claims []Claim `json:"claims"`
}

// NewInspectedEvent describes all that is known about an event.
func NewInspectedEvent(e backend.EventState) InspectedEvent {
	doc := InspectedEvent{NewEventState(e), []Claim{}}
	for _, c := range e.Claims {
		doc.Claims = append(doc.Claims, NewClaim(c))
	}
	return doc
}

// Claim is what has become of one handler's claim on an event.
type Claim struct {
	HandlerID      string  `json:"handler_id"`
	SessionID      string  `json:"session_id"`
	ClaimedAt      *string `json:"claimed_at"`
	LeaseUntil     *string `json:"lease_until"`
	AvailableAt    *string `json:"available_at"`
	AckAt          *string `json:"ack_at"`
	DeadLetteredAt *string `json:"dead_lettered_at"`
	Attempts       int     `json:"attempts"`
	Deliveries     int     `json:"deliveries"`
	LastError      *string `json:"last_error"`
}

// NewClaim describes a claim.
func NewClaim(c onto.ClaimState) Claim {
	return Claim{
		c.Handler, c.Session, storedTime(c.Claimed), storedTime(c.Until), storedTime(c.Available),
		storedTime(c.Acked), storedTime(c.Dead), c.Attempts, c.Deliveries, OrNull(c.Error),
	}
}

// Namespace is how much there is in a namespace.
type Namespace struct {
	Namespace   string `json:"namespace"`
	Events      int64  `json:"events"`
	Sessions    int    `json:"sessions"`
	DeadLetters int64  `json:"dead_letters"` // unresolved
}

// NewNamespace describes a namespace.
func NewNamespace(n backend.Namespace) Namespace {
	return Namespace{n.Name, n.Events, len(n.Sessions), n.DeadLetters}
}

// Session is one run of a program that handles events.
type Session struct {
	SessionID     string          `json:"session_id"`
	Namespace     string          `json:"namespace"`
	StartedAt     string          `json:"started_at"`
	LastHeartbeat string          `json:"last_heartbeat"`
	IsDead        bool            `json:"is_dead"`
	Metadata      json.RawMessage `json:"metadata"` // null for none
}

// NewSession describes a session.
func NewSession(s onto.Session, dead bool) Session {
	doc := Session{s.ID, s.Namespace, codec.FormatTime(s.Started), codec.FormatTime(s.Beat), dead, nil}
	if len(s.Metadata) > 0 {
		doc.Metadata = payload(s.Metadata)
	}
	return doc
}
