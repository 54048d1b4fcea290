package document

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// Head is the newest commit of a store.
type Head struct {
	CommitID  int64   `json:"commit_id"`  // 0 if the store is empty
	CreatedAt *string `json:"created_at"` // null if the store is empty
}

// NewHead describes the newest commit.
func NewHead(c onto.Commit) Head { return Head{c.ID, storedTime(c.Time)} }

// Commit is a commit in a list.
type Commit struct {
	CommitID   int64          `json:"commit_id"`
	CreatedAt  string         `json:"created_at"`
	RuntimeID  *string        `json:"runtime_id"`
	Actor      *string        `json:"actor"`
	Comment    *string        `json:"comment"`
	Operations int            `json:"operations"`
	Metadata   map[string]any `json:"metadata"`

	CorrelationID *string  `json:"correlation_id"`
	CausationID   *int64   `json:"causation_id"`
	SignatureRef  *string  `json:"signature_ref"`
	Types         []string `json:"types,omitempty"` // of what it changed; absent if not asked for
}

// NewCommit describes a commit.
func NewCommit(c onto.Commit) Commit {
	doc := Commit{
		CommitID: c.ID, CreatedAt: codec.FormatTime(c.Time), RuntimeID: OrNull(c.Runtime),
		Actor: OrNull(c.Actor.String()), Comment: OrNull(c.Comment), Operations: c.Operations, Metadata: c.Metadata,
		CorrelationID: OrNull(c.Correlation), SignatureRef: OrNull(c.Signature),
	}
	if c.Causation != 0 {
		doc.CausationID = &c.Causation
	}
	if doc.Metadata == nil {
		doc.Metadata = map[string]any{}
	}
	return doc
}

// Position is how far a follower of the log has come.
type Position struct {
	Name     string `json:"name"`
	CommitID int64  `json:"commit_id"`
}

// NewPosition describes a position.
func NewPosition(p onto.Position) Position { return Position{p.Name, p.Commit} }

// Examined is everything that is known about a commit, with its changes.
type Examined struct {
	Commit
	IdempotencyKey *string      `json:"idempotency_key"`
	Changes        []Change     `json:"changes"`
	Events         []EventState `json:"events"`         // that ride in it
	EventsRemoved  int          `json:"events_removed"` // others that were emitted with it
}

// NewExamined describes a commit, without changes and events so far.
func NewExamined(c onto.Commit) Examined {
	return Examined{
		Commit: NewCommit(c), IdempotencyKey: OrNull(c.IdempotencyKey), Changes: []Change{}, Events: []EventState{}, EventsRemoved: c.Events,
	}
}

// AddEvent adds an event that rides in the commit.
func (e *Examined) AddEvent(state backend.EventState) {
	e.Events = append(e.Events, NewEventState(state))
	e.EventsRemoved = max(0, e.EventsRemoved-1)
}

// Result is the result of a commit.
type Result struct {
	CommitID   *int64 `json:"commit_id"` // null if nothing changed
	Changed    bool   `json:"changed"`
	Operations int    `json:"operations"`
	Repeated   bool   `json:"repeated"`
	At         int64  `json:"at_commit_id"`      // the commit at which what was asked for holds
	Emitted    *int   `json:"emitted,omitempty"` // events; absent if the draft has none

	Refs        []string   `json:"refs,omitempty"`         // references to those that were asserted
	MissingEnds []Identity `json:"missing_ends,omitempty"` // of a relation
}

// NewResult describes the result of a commit.
func NewResult(r onto.Result) Result {
	doc := Result{Changed: r.Changed(), Operations: r.Operations, Repeated: r.Repeated, At: r.At}
	if r.Changed() {
		doc.CommitID = &r.ID
	}
	return doc
}

// Emitted is how many events a draft has emitted; nil if it has none.
func Emitted(d onto.Draft, r onto.Result) *int {
	n := len(d.Emitted())
	if n == 0 {
		return nil
	}
	if !r.Changed() || r.Repeated {
		n = 0
	}
	return &n
}

// Change is a change as a part of a commit.
type Change struct {
	Identity
	Operation onto.Operation `json:"operation"`
}

// NewChange describes a change.
func NewChange(c onto.Change) Change {
	return Change{NewIdentity(c.Identity), c.Operation()}
}

// Difference is a change with the fields at either end; null where there are none.
type Difference struct {
	Change
	Before   json.RawMessage `json:"before"`
	After    json.RawMessage `json:"after"`
	CommitID *int64          `json:"commit_id"` // the one that led to After
}

// NewDifference describes a change between two moments.
func NewDifference(c onto.Change) Difference {
	doc := Difference{Change: NewChange(c), Before: LiveFields(c.Before), After: LiveFields(c.After)}
	if c.After != nil {
		doc.CommitID = &c.After.Commit
	}
	return doc
}

// RevertPlan is what a revert is about. Its changes follow, and then a [RevertCount].
type RevertPlan struct {
	Head    int64   `json:"head_commit_id"`
	To      *int64  `json:"to_commit_id,omitempty"` // as of which commit it would be; absent if commits are undone
	Commits []int64 `json:"commit_ids"`             // that are undone
}

// NewRevertPlan describes what a revert is about, and the commit that it goes back to if
// it is about a moment.
func NewRevertPlan(p store.RevertPlan, to *int64) RevertPlan {
	return RevertPlan{p.Head, to, orEmpty(p.Commits)}
}

// RevertCount is how much a revert would change.
type RevertCount struct {
	Operations int `json:"operations"`
	Blocked    int `json:"blocked"` // of these, by later commits
}

// Reverted is one change of a revert.
type Reverted struct {
	Change
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
	BlockedBy []int64         `json:"blocked_by"`
}

// NewReverted describes a change of a revert.
func NewReverted(c store.RevertChange) Reverted {
	return Reverted{NewChange(c.Change()), LiveFields(c.Now), LiveFields(c.Then), orEmpty(c.Blocked)}
}

// LiveFields is the fields of a live version, or nil.
func LiveFields(v *onto.Version) json.RawMessage {
	if v == nil || !v.Live() {
		return nil
	}
	return v.Fields
}
