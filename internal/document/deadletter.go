package document

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// DeadLetter is an event that a handler has given up.
type DeadLetter struct {
	ID            int64           `json:"id"`
	EventID       string          `json:"event_id"`
	HandlerID     string          `json:"handler_id"`
	Namespace     string          `json:"namespace"`
	EventType     string          `json:"event_type"`
	EventPayload  json.RawMessage `json:"event_payload"`
	FailedAt      string          `json:"failed_at"`
	Attempts      int             `json:"attempts"`
	Deliveries    int             `json:"deliveries"`
	LastError     string          `json:"last_error"`
	RootEventID   string          `json:"root_event_id"`
	ChainDepth    int             `json:"chain_depth"`
	Resolution    *string         `json:"resolution"` // null while nothing was done about it
	ResolvedAt    *string         `json:"resolved_at"`
	ResolvedBy    *string         `json:"resolved_by"`
	ReplayEventID *string         `json:"replay_event_id"`
}

// NewDeadLetter describes a dead letter.
func NewDeadLetter(l onto.DeadLetter) DeadLetter {
	r := l.Resolution
	return DeadLetter{
		ID: l.ID, EventID: l.Event.ID, HandlerID: l.Handler, Namespace: l.Event.Namespace, EventType: l.Event.Type,
		EventPayload: payload(l.Event.Payload), FailedAt: codec.FormatTime(l.Time), Attempts: l.Attempts, Deliveries: l.Deliveries,
		LastError: l.Error, RootEventID: l.Event.Root, ChainDepth: l.Event.Depth,
		Resolution: OrNull(string(r.Kind)), ResolvedAt: storedTime(r.Time), ResolvedBy: OrNull(r.By.String()), ReplayEventID: OrNull(r.Replay),
	}
}

// Count is how many there are.
type Count struct {
	Count int64 `json:"count"`
}

// Replayed is an event that was emitted again.
type Replayed struct {
	ReplayedEventID string `json:"replayed_event_id"`
	NewEventID      string `json:"new_event_id"`
	Namespace       string `json:"namespace"`
}

// NewReplayed describes an event that was emitted again.
func NewReplayed(made onto.Event) Replayed { return Replayed{made.ReplayOf, made.ID, made.Namespace} }

// Replay is dead letters whose events would be emitted again, or were.
type Replay struct {
	Planned  []ReplayItem `json:"planned"`
	Applied  bool         `json:"applied"`
	Replayed []Replayed   `json:"replayed"` // fewer than planned if others were faster
}

// ReplayItem is an event to be emitted again, and the dead letters that this resolves.
type ReplayItem struct {
	EventID     string   `json:"event_id"`
	EventType   string   `json:"event_type"`
	Handlers    []string `json:"handlers"` // that gave it up
	DeadLetters []int64  `json:"dead_letters"`
}

// DroppedLetters is dead letters that would be dropped, or were.
type DroppedLetters struct {
	Planned []DeadLetter `json:"planned"`
	Applied bool         `json:"applied"`
	Dropped int          `json:"dropped"` // fewer than planned if others were faster
}

// Cleanup is the events that would be removed, or were.
type Cleanup struct {
	Namespace string        `json:"namespace"`
	Before    string        `json:"created_before"`
	Events    int64         `json:"events"`
	Claims    int64         `json:"claims"`
	Bytes     int64         `json:"bytes"` // of payloads
	Kept      int64         `json:"kept"`  // as old, for handlers that have still to handle them
	Types     []CleanupType `json:"types"`
	Applied   bool          `json:"applied"`
}

// CleanupType is what would be removed of one type, or was.
type CleanupType struct {
	Namespace string `json:"namespace"`
	Type      string `json:"type"`
	Events    int64  `json:"events"`
	Kept      int64  `json:"kept"`
}

// NewCleanup describes a cleaning.
func NewCleanup(c *backend.Cleaning, p backend.CleanPlan) Cleanup {
	doc := Cleanup{
		Namespace: c.Namespace, Before: codec.FormatTime(c.Before), Events: p.Events, Claims: p.Claims, Bytes: p.Bytes, Kept: p.Kept,
		Types: []CleanupType{}, Applied: c.Apply,
	}
	for _, t := range p.Types {
		doc.Types = append(doc.Types, CleanupType(t))
	}
	return doc
}
