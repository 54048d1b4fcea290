// Package backend is the port between a store and its storage.
//
// The store owns meaning: it checks values against schemas, resolves names and words
// the errors. A [Backend] owns order and durability: it assigns commit ids, decides
// under its write lock what a draft changes, and never loses or reorders what it
// acknowledged. Its arguments are clean: names and keys are within their limits and
// fields are canonical JSON.
//
// What only some backends can do is an optional interface, found with [As]. Package
// backendtest is this contract as tests, with tests for some of these interfaces.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Head stands for the newest commit where a commit id is asked for.
const Head int64 = -1

// ErrReopen is in the chain of errors after which no write succeeds until the store is
// opened again.
var ErrReopen = errors.New("it has to be opened again")

// Backend keeps one store. Its methods may be called concurrently.
//
// Errors carry an onto.Code where one fits. A sequence shows the snapshot of when its
// iteration starts. It ends after it yields an error; stopping it early releases what
// it holds. A cancelled context ends any call, except that a write that has begun is
// finished first.
type Backend interface {
	// Append applies a draft as one commit, or none if it changes nothing.
	// When it returns without error the commit is durable. Under the write
	// lock and in this order: a repeated idempotency key returns the first
	// result or fails with IdempotencyConflict; a lease that is not held fails
	// with LeaseExpired; an ack whose claim is not held, see [Bus], fails with
	// LeaseExpired; a position that is not at Advance.From fails with Conflict; a cause
	// that is no commit up to the head fails with NotFound;
	// expectations fail with HeadMismatch, whose are looked at first, or VersionMismatch, and
	// those of Fence, in their order, with Stale: the error has the first one that does not
	// hold as its Expectation; a write whose SchemaVersion is neither the type's newest
	// nor one that the newest continues, see package typelist, fails with
	// SchemaOutdated; a write that does not know all fields of the newest is
	// merged: the fields that it does not know are those of the identity's newest
	// live version, or else their defaults, those with a rule (onto.Compute) follow from
	// the others, and what it makes has the newest
	// SchemaVersion; a write Once of an identity that has a version fails with Conflict,
	// unless it repeats the newest, see [Repeats]; unchanged writes and deletes of what does not exist are
	// dropped. Result.At is the commit of the result, or the head under the lock if
	// no commit is made. After an error nothing of the draft is visible.
	//
	// Acks and the position count also if no commit is made, and with a repeated key,
	// which ignores those that are not held or not at From. Events are emitted in their
	// order, in the commit; without a commit only if there are acks, riding in none. A
	// repeated key emits nothing. A backend that is no [Bus] refuses drafts with events
	// or acks, and one without [Positions] those with an Advance, with UnsupportedOperation.
	Append(ctx context.Context, d *Draft) (onto.Result, error)

	// AppendStream does the same for writes that need not fit in memory. Draft.Writes
	// is empty; the writes come in order of identity, each identity once, and the
	// sequence can be read again: a backend that loses to another commit decides again.
	// What it has yielded does not change. The sequence may read the store. An error
	// from it fails the commit and is returned as it is. If there are several reasons
	// to fail, any of them is returned. Only here a draft may Evolve the types.
	AppendStream(ctx context.Context, d *Draft, writes iter.Seq2[Write, error]) (onto.Result, error)

	// Resolve returns the commit a point refers to: the newest; the one with
	// that id, or NotFound; the last one whose time is not after that time.
	// The zero Commit stands for the empty store at commit 0.
	Resolve(ctx context.Context, p onto.Point) (onto.Commit, error)

	// Get returns the newest version of an identity as of a commit, which may
	// be a delete, or NotFound if it has none.
	Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error)

	// Firsts returns, for each identity of a query, the commit with which its life as of
	// the query's commit began: that of its first version after its last delete up to
	// then; 0 if the identity does not live as of that commit.
	Firsts(ctx context.Context, q *FirstsQuery) ([]int64, error)

	// Scan yields the versions a query asks for, as of one snapshot.
	Scan(ctx context.Context, q *Query) iter.Seq2[onto.Version, error]

	// Aggregate yields the groups that an aggregation asks for, in the order
	// of what they are grouped by. Grouped by nothing, it yields one group,
	// also over no versions. A sum of integers beyond int64 is an error.
	Aggregate(ctx context.Context, a *Aggregation) iter.Seq2[onto.Group, error]

	// Diff yields, in order of identity, each identity whose state as of
	// commit To differs from its state as of commit From.
	Diff(ctx context.Context, q *DiffQuery) iter.Seq2[onto.Change, error]

	// Commits yields commits.
	Commits(ctx context.Context, q *CommitQuery) iter.Seq2[onto.Commit, error]

	// Schemas returns every version of every type, ordered by kind, name and
	// version, also of types that have ended.
	Schemas(ctx context.Context) ([]onto.SchemaVersion, error)

	// Register makes sure the types exist as given, all or none, and returns
	// their newest versions in the same order. A type that is stored
	// differently fails with SchemaOutdated, unless the stored one serves it, see
	// package typelist; then it changes nothing. A type that has ended begins
	// again with its next version.
	Register(ctx context.Context, r *Registration) ([]onto.SchemaVersion, error)

	// Close releases everything. Calls under way end first or fail with Closed.
	Close() error
}

// Draft is a commit to be made.
type Draft struct {
	Header
	Digest string             // digest of what the caller asked for, see [DigestOf]; needed with an idempotency key
	Writes []Write            // sorted by identity, each once
	Expect []onto.Expectation // what must hold
	Fence  []onto.Expectation // what the draft was computed from: no part of what the caller asked for
	Lease  *onto.Lease        // must be held; nil for none
	Evolve *Evolution         // the change of types; nil for none

	Events  []NewEvent    // that ride in the commit
	Acks    []onto.Claim  // each once; Deliveries are the new ones
	Advance *onto.Advance // of a position; nil for none

	// Admit, if not nil, is called by AppendStream under the write lock for each write,
	// merged, with the identity's newest version, or nil if it has none. False drops
	// the write; an error fails the commit. A write that cannot be merged fails the
	// commit; Admit is called with it as it is, so that its error is the one returned. A backend that loses to another commit
	// calls it for all writes again: Begin, if not nil, is called each time before the
	// first of them.
	Admit func(w *Write, newest *onto.Version) (bool, error)
	Begin func()
}

// Header is what a draft says about its commit.
type Header struct {
	Runtime        string
	Actor          onto.Actor
	Causation      int64
	Correlation    string
	Signature      string
	Comment        string
	Metadata       json.RawMessage // canonical JSON object; nil for none
	IdempotencyKey string
}

// Commit is the commit that a header begins: without id, time and operations. It
// fails if the metadata is no object.
func (h *Header) Commit() (onto.Commit, error) {
	c := onto.Commit{
		Runtime: h.Runtime, Actor: h.Actor, Causation: h.Causation, Correlation: h.Correlation,
		Signature: h.Signature, Comment: h.Comment, IdempotencyKey: h.IdempotencyKey,
	}
	var err error
	if len(h.Metadata) > 0 {
		if c.Metadata, err = codec.DecodeObject(h.Metadata); err != nil {
			err = onto.Errorf(onto.Corrupt, "metadata: %w", err)
		}
	}
	return c, err
}

// Write is one identity's wanted state.
type Write struct {
	onto.Identity
	Op            onto.Op
	Fields        json.RawMessage // canonical JSON object; nil for a delete
	SchemaVersion int             // the version of the type that Fields fit

	// Known is the fields that the write decides, at every depth of objects; every other
	// one stays as it is. A list or a map is written whole: if the stored one holds a
	// field that the write does not know, the write is SchemaOutdated. Nil stands for all
	// fields of SchemaVersion. Where Fields has another one, that is what the field gets
	// of what does not exist, in place of its default.
	Known Known
	Merge bool // the caller asked for other fields to stay: Known counts in the digest

	Once    bool // a put, only if the identity has no version yet
	Derived bool // follows from the rest of the draft: no part of its digest
}

// Mode is what a query asks for.
type Mode uint8

const (
	// State asks for the live version of each identity, in order of identity.
	State Mode = iota
	// History asks for all versions, deletes included, by commit, then identity.
	History
)

// Query selects versions of one type. Filters and orders were checked against
// the schemas: their values are string, int64, float64 and bool.
type Query struct {
	Kind onto.Kind
	Type string
	Mode Mode
	At   int64 // as of this commit; Head for the newest

	// What is known of the type, of a relation's endpoints and, as Left, of a fact's subject. It never changes an
	// answer, except that Search uses the fields that Schema marks, and that Left and
	// Right give the types of the endpoints.
	Schema, Left, Right *onto.Schema

	Since    int64          // History: only what later commits made
	Identity *onto.Identity // History: only this identity

	Keys                []string // entities: only these keys; nil for all
	LeftKeys, RightKeys []string // relations: only those with one of these keys at that end; facts: with one of these subjects and attributes; nil for all

	Where  onto.Filter  // only versions for which it is true; nil for all
	Search []Word       // only versions with all these words in their search fields
	Order  []onto.Order // before the order of the mode

	After  *Place // only what comes after it
	Offset int    // skip so many
	Limit  int    // at most so many; 0 for all
}

// TypeName returns the type that the query is about.
func (q *Query) TypeName() onto.TypeName { return onto.TypeName{Kind: q.Kind, Name: q.Type} }

// Word is a word to search for, in the form that package words gives it.
type Word struct {
	Text   string
	Prefix bool // or any word that begins with it
}

// FirstsQuery asks by which commits identities began to live.
type FirstsQuery struct {
	Kind onto.Kind
	Type string
	IDs  []onto.Identity // of that kind and type, sorted, each once
	At   int64           // as of this commit; Head for the newest
}

// TypeName returns the type that the query is about.
func (q *FirstsQuery) TypeName() onto.TypeName { return onto.TypeName{Kind: q.Kind, Name: q.Type} }

// Place is the place of a version in an answer.
type Place struct {
	Values   []json.RawMessage // of each Order; nil for null
	Commit   int64             // History
	Identity onto.Identity
}

// Aggregation computes aggregates over the versions of a query.
type Aggregation struct {
	Query                  // without Order, After, Offset and Limit
	By      []onto.Operand // one group for each combination of their values; a null is a value too
	Compute []onto.Operand // each with its Func
}

// DiffQuery selects changes between two commits, From not after To.
type DiffQuery struct {
	From, To int64
	Kind     onto.Kind // only this kind and type; both empty for all
	Type     string
}

// TypeName returns the type; the zero TypeName for all.
func (q *DiffQuery) TypeName() onto.TypeName { return onto.TypeName{Kind: q.Kind, Name: q.Type} }

// CommitQuery selects commits.
type CommitQuery struct {
	Since  int64   // only commits after this one
	Until  int64   // only commits up to this one; Head for all
	Newest bool    // newest first; oldest first otherwise
	Limit  int     // at most so many; 0 for all
	Key    string  // only the one that used this idempotency key; "" for all
	IDs    []int64 // only these commits, in any order; nil for all. Each commit comes once
}

// Chosen returns the commits of IDs that Since and Until include, up to a head, in the
// order of the answer, each once.
func (q *CommitQuery) Chosen(head int64) []int64 {
	if q.Until != Head {
		head = min(head, q.Until)
	}
	chosen := slices.DeleteFunc(slices.Clone(q.IDs), func(id int64) bool { return id <= q.Since || id > head })
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	if q.Newest {
		slices.Reverse(chosen)
	}
	return chosen
}

// Registration asks for types to exist.
type Registration struct {
	Schemas []onto.Schema
	Runtime string
	Reason  string
	Actor   onto.Actor
	Comment string
}

// Origin is what the registration says about the versions that it adds.
func (r *Registration) Origin() TypeOrigin {
	return TypeOrigin{r.Runtime, r.Reason, r.Actor, r.Comment}
}

// TypeOrigin is what is kept with a version of a type about who made it and why.
type TypeOrigin struct {
	Runtime string
	Reason  string
	Actor   onto.Actor
	Comment string
}

// Evolution changes types in the same commit as the writes of its draft. The
// writes are stamped for the newest versions, with those that it adds; those of types that it ends
// are deletes. If the writes change nothing, no commit is made and the types
// change all the same.
type Evolution struct {
	Base    string         // typelist.Hash of the types it was planned for; fails with MigrationToken otherwise
	Add     []NewVersion   // versions to add
	Learn   []TypeUpgrader // programs for versions that are stored without one
	End     []EndedType    // types that end
	Runtime string
	Reason  string
	Actor   onto.Actor
	Comment string
}

// Purge is the record of a purge of a number of versions at a time, which is kept with the end
// of their type.
func (e *Evolution) Purge(versions int64, at time.Time) onto.Purge {
	return onto.Purge{Versions: versions, Time: at, Runtime: e.Runtime, Actor: e.Actor, Comment: e.Comment}
}

// Origin is what the evolution says about the versions that it adds. Those that end tell it
// without the reason.
func (e *Evolution) Origin() TypeOrigin { return TypeOrigin{e.Runtime, e.Reason, e.Actor, e.Comment} }

// NewVersion is a version of a type to be added. Its number is the next one of
// the type.
type NewVersion struct {
	Schema   onto.Schema
	Upgrader *onto.StoredUpgrader
}

// TypeUpgrader is an upgrader for a stored version.
type TypeUpgrader struct {
	Kind     onto.Kind
	Type     string
	Version  int // the version that it makes
	Upgrader onto.StoredUpgrader
}

// TypeName returns the type.
func (t *TypeUpgrader) TypeName() onto.TypeName { return onto.TypeName{Kind: t.Kind, Name: t.Type} }

// EndedType is a type to be ended.
type EndedType struct {
	Kind      onto.Kind
	Type      string
	RenamedTo string // "" if it is dropped
	Purge     bool   // remove every version under its name, as if there had never been one; commits stay. Also of a type that has ended before
}

// TypeName returns the type.
func (t *EndedType) TypeName() onto.TypeName { return onto.TypeName{Kind: t.Kind, Name: t.Type} }
