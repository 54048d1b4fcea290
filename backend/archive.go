package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// LogSource is a log that can be copied. Every [Archive] is one; others read files that
// are not stores.
type LogSource interface {
	// Origin identifies the log: the id of the store that has it. It stays the same while
	// the log grows.
	Origin(ctx context.Context) (string, error)

	// Schemas is that of a [Backend].
	Schemas(ctx context.Context) ([]onto.SchemaVersion, error)

	// LogHead returns the number of the newest commit; 0 if there is none.
	LogHead(ctx context.Context) (int64, error)

	// LogSize tells how long the log after a commit and up to another one is, without
	// reading all of it; Head stands for the newest.
	LogSize(ctx context.Context, since, until int64) (LogSize, error)

	// Log yields the commits after one, oldest first, up to the newest as of the start of
	// the iteration: an entry for the commit, then one for each of its versions, in order
	// of identity (see [onto.Identity.Compare]). Memory is bounded, also if one commit has
	// millions of versions. What was purged is not in the log, and does not count in
	// Operations. It fails with NotFound if there is no such commit; 0 stands for the
	// beginning, and the log after the newest commit is empty. What it has yielded does not
	// change, and is the caller's.
	//
	// A type that is purged while the log is read ends the sequence with Stale, unless the
	// sequence shows one snapshot from its start to its end. What was yielded before is
	// then the log as it was.
	Log(ctx context.Context, since int64) iter.Seq2[LogEntry, error]
}

// LogSize is how long a log is. The numbers of bytes are estimates.
type LogSize struct {
	Head     int64 // the newest commit
	Commits  int64
	Versions int64
	Bytes    int64 // of the versions
	Scratch  int64 // bytes of temporary files that reading the log needs

	Notes []LogNote // what a copy will not have, or will have otherwise: by code, in their order below, then by Of
}

// LogNote counts one kind of thing that a copy of a log will not have as its source has it.
type LogNote struct {
	Code  NoteCode
	Of    string // what is counted, such as a handler and a status, or a type; "" for the whole log
	Count int64
}

// NoteCode is the kind of a [LogNote].
type NoteCode string

// The codes of notes. A log of this program has only those of the first group.
const (
	EventsStay NoteCode = "events_stay" // events, by namespace: they stay behind
	ClaimsStay NoteCode = "claims_stay" // claims, by handler and whether they are acked, dead_lettered or claimed ("billing acked"): they stay behind
	WorkStays  NoteCode = "work_stays"  // items of the work queue, by status: they stay behind

	CommitsRenumbered NoteCode = "commits_renumbered" // commits whose ids change, since there are gaps
	TimesRaised       NoteCode = "times_raised"       // commits whose times go back, and are raised
	CommitsAdded      NoteCode = "commits_added"      // commits made for rows that have none
	TextsRewritten    NoteCode = "texts_rewritten"    // commits with a text that is not text, or with a negative cause
	RowsRewritten     NoteCode = "rows_rewritten"     // rows, by type, whose fields or stamps are written otherwise and mean the same
	KeysRewritten     NoteCode = "keys_rewritten"     // keys, by type, of floats and bools, which become text
	NamesChanged      NoteCode = "names_changed"      // names that the copy was asked to change
	RowsDropped       NoteCode = "rows_dropped"       // rows, by type, that another row of their commit hides
	RowsRejected      NoteCode = "rows_rejected"      // rows, by type, that cannot be stored here
	UpgraderLacking   NoteCode = "upgrader_lacking"   // steps of types that have no upgrader
)

// LogEntry is a commit or one of its versions.
type LogEntry struct {
	Commit  *LogCommit   // the commit that begins; nil for a version
	Version onto.Version // of the commit that began last
}

// Size is about how many bytes of memory the entry takes beyond a fixed part.
func (e *LogEntry) Size() int {
	if c := e.Commit; c != nil {
		return len(c.Metadata) + len(c.Comment)
	}
	v := &e.Version
	return len(v.Key) + len(v.Left) + len(v.Right) + len(v.Instance) + len(v.Fields)
}

// LogCommit is a commit as it is kept.
type LogCommit struct {
	onto.Commit                 // without its metadata
	Metadata    json.RawMessage // canonical JSON object; nil for none
	Digest      string          // of its draft; "" for none. Without an idempotency key, it need not be there
	EventSum    int64           // the sum of the checksums of its events, see EventSum
}

// Check reports whether the commit can be stored: texts are valid UTF-8 without U+0000,
// metadata is an object of canonical JSON, and no number is negative.
func (c *LogCommit) Check() error {
	for _, text := range [...]struct{ what, s string }{
		{"runtime", c.Runtime}, {"kind of the actor", string(c.Actor.Kind)}, {"id of the actor", c.Actor.ID},
		{"correlation id", c.Correlation}, {"signature reference", c.Signature}, {"comment", c.Comment},
		{"idempotency key", c.IdempotencyKey}, {"digest", c.Digest},
	} {
		if !utf8.ValidString(text.s) || strings.IndexByte(text.s, 0) >= 0 {
			return onto.Errorf(onto.Invalid, "the %s of commit %d is not valid UTF-8, or contains U+0000", text.what, c.ID)
		}
	}
	if c.Causation < 0 || c.Operations < 0 || c.Events < 0 || c.EventSum < 0 {
		return onto.Errorf(onto.Invalid, "commit %d has the cause %d, %d versions and %d events of the sum %d; none of them can be negative", c.ID, c.Causation, c.Operations, c.Events, c.EventSum)
	}
	if c.Events == 0 && c.EventSum != 0 {
		return onto.Errorf(onto.Invalid, "commit %d has no events, and the sum of their checksums is %d", c.ID, c.EventSum)
	}
	if len(c.Metadata) == 0 {
		return nil
	}
	canonical, err := codec.AppendCanonical(nil, c.Metadata)
	if err == nil && (codec.KindOf(canonical) != codec.Object || !bytes.Equal(canonical, c.Metadata)) {
		err = errors.New("it is not an object in canonical form")
	}
	if err != nil {
		return onto.Errorf(onto.Invalid, "the metadata of commit %d: %w", c.ID, err)
	}
	return nil
}

// Archive is a backend whose log can be read as a whole, and that can be filled with the
// log of another store. Package archive copies from one to another.
type Archive interface {
	LogSource

	// Restore appends commits as they were made elsewhere: with their ids, times, digests
	// and counts, also those without versions, and versions that change nothing. It
	// publishes all of them, the types and the state of the copy in one step, and returns
	// when that is durable. After an error nothing of it is visible.
	//
	// It fails with HeadMismatch if Since is not the newest commit; with Conflict if a type
	// is stored otherwise than Types has it; and with Invalid if the log cannot follow: a
	// commit that is not the next one, or earlier than the one before it, a count that is not
	// that of its versions, versions out of order, twice, of another commit than the one that
	// began last, or stamped with a version that their type does not have, an idempotency key
	// that was used, in the store or by a commit of the log, a commit that fails its Check; and if Types are out of order or
	// twice. If there are several reasons to fail, any of them is returned. Another holder of
	// the write lease keeps it out as it does drafts. An error of the sequence is returned as
	// it is. Of restorations of commits at once with one Since, one succeeds.
	//
	// A copy may hold what drafts do not make: versions that change nothing, deletes of what
	// does not exist, and commits without versions. Checks have nothing to say about them up
	// to the commit of CopyState.
	Restore(ctx context.Context, r *Restoration) error

	// CopyState returns what the store says about the copy that filled it; the zero value
	// if it is no copy.
	CopyState(ctx context.Context) (CopyState, error)
}

// Restoration is a part of a log, to be appended to a store.
type Restoration struct {
	Since int64 // the newest commit of the store

	// Log is what follows, as Log of a [LogSource] yields it; nil for nothing. It is read
	// once, may read any store but the one that is filled, and what it has yielded does not
	// change.
	Log iter.Seq2[LogEntry, error]

	// Types is every version of every type as it is afterwards, as Schemas returns them.
	// Each version that is stored is among them, with the same schema and first commit.
	// Flags, upgraders and ends are taken from here. The versions of a type that ends purged
	// here, and did not so far, are removed before the log is appended.
	Types []onto.SchemaVersion

	// Copy is called when the log has been read to its end, and returns what the store says
	// from then on. If it is called again, it returns the same.
	Copy func() CopyState
}

// CopyState tells what a store is a copy of. While it is unfinished, the store can only be
// opened to continue the copy, or to remove it: calls on handles that were not opened for the
// target of a copy fail with CopyUnfinished, also on those that were opened before. Other
// commits after a copy leave it as it is.
type CopyState struct {
	Origin     string // of the log that it is a copy of; "" if the store is no copy
	Flags      string // what the copy was asked to change; "" for nothing
	Commit     int64  // the last commit that was copied
	Sum        string // of the log up to that commit, see package archive
	Unfinished bool
}
