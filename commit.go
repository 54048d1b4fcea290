package onto

import (
	"fmt"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/codec"
)

// Commit is one atomic, ordered change of a store.
type Commit struct {
	ID          int64          // 1, 2, 3, … without gaps; 0 means there is none
	Time        time.Time      // UTC, microseconds, never before the previous commit's
	Runtime     string         // the program run that wrote it
	Actor       Actor          // on whose behalf
	Causation   int64          // the commit that led to this one; 0 if none
	Correlation string         // groups commits that belong together
	Signature   string         // reference to a signature kept elsewhere
	Comment     string         // why, for people
	Metadata    map[string]any // free
	Operations  int            // how many versions it holds
	Events      int            // how many events were emitted with it; some may have been removed since

	IdempotencyKey string // set by the caller; at most one commit has it
}

// Result tells what a draft did.
type Result struct {
	// Commit is the commit that holds the draft. Its ID is 0 for a no-op, for which no
	// commit was made.
	Commit
	// At is the commit at which the draft holds: the one that holds it, or, when
	// nothing differed, the newest one then. It is 0 only if the store was empty
	// and stayed so.
	At int64
	// Repeated is true when the draft's idempotency key had been used for the
	// same draft before: Commit is the one made then.
	Repeated bool
}

// Changed reports whether a commit holds the draft.
func (r Result) Changed() bool { return r.ID != 0 }

// ActorKind is the closed set of kinds of actors.
type ActorKind string

// The kinds of actors.
const (
	ActorOperator  ActorKind = "operator"  // a person
	ActorComponent ActorKind = "component" // a part of a program
	ActorDaemon    ActorKind = "daemon"    // a program that runs on its own
	ActorRemote    ActorKind = "remote"    // a caller from elsewhere
)

// Actor is who made a commit. The zero Actor means that no actor was named.
type Actor struct {
	Kind ActorKind `json:"kind"`
	ID   string    `json:"id"`
}

// Operator names a person.
func Operator(id string) Actor { return Actor{ActorOperator, id} }

// Component names a part of a program.
func Component(id string) Actor { return Actor{ActorComponent, id} }

// Daemon names a program that runs on its own.
func Daemon(id string) Actor { return Actor{ActorDaemon, id} }

// Remote names a caller from elsewhere.
func Remote(id string) Actor { return Actor{ActorRemote, id} }

// String returns the actor as kind:id, or "" for the zero Actor.
func (a Actor) String() string {
	if a == (Actor{}) {
		return ""
	}
	return string(a.Kind) + ":" + a.ID
}

// Check reports whether the actor is the zero Actor or has a known kind and an id.
func (a Actor) Check() error {
	if a == (Actor{}) {
		return nil
	}
	switch a.Kind {
	case ActorOperator, ActorComponent, ActorDaemon, ActorRemote:
	default:
		return Errorf(Invalid, "actor kind %q is unknown", a.Kind).
			WithHint("use operator, component, daemon or remote")
	}
	if err := checkText("actor id", a.ID, 1, MaxKey); err != nil {
		return err
	}
	return nil
}

// ParseActor reads the form that String writes.
func ParseActor(s string) (Actor, error) {
	kind, id, ok := strings.Cut(s, ":")
	if !ok || kind == "" {
		return Actor{}, Errorf(Invalid, "actor %q has no kind", s).
			WithHint("write KIND:ID, for example operator:ana")
	}
	a := Actor{ActorKind(kind), id}
	if err := a.Check(); err != nil {
		return Actor{}, err
	}
	return a, nil
}

// Point is a moment of a store's log. The zero Point is the head: whatever is
// newest when the question is asked.
type Point struct {
	commit int64
	time   time.Time
	kind   pointKind
}

type pointKind uint8

const (
	pointHead pointKind = iota
	pointCommit
	pointTime
)

// AtCommit is the moment right after commit id. Commit 0 is the empty store.
func AtCommit(id int64) Point { return Point{commit: id, kind: pointCommit} }

// AtTime is the moment t: after the last commit whose time is not after t.
func AtTime(t time.Time) Point { return Point{time: t, kind: pointTime} }

// IsHead reports whether the point is the head.
func (p Point) IsHead() bool { return p.kind == pointHead }

// Commit returns the commit id, if the point was made by AtCommit.
func (p Point) Commit() (int64, bool) { return p.commit, p.kind == pointCommit }

// Time returns the time, if the point was made by AtTime.
func (p Point) Time() (time.Time, bool) { return p.time, p.kind == pointTime }

// String describes the point for messages.
func (p Point) String() string {
	switch p.kind {
	case pointCommit:
		return fmt.Sprintf("commit %d", p.commit)
	case pointTime:
		return codec.FormatTime(p.time)
	}
	return "head"
}
