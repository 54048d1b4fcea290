package backend

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// What only some backends can do. Each interface is found with [As].

// TypeWatcher is a backend that notices when types are changed.
type TypeWatcher interface {
	// TypesSeen returns a number that grows whenever types change, as of the newest
	// snapshot that a call on this handle has read.
	TypesSeen() int64
}

// Leaser is a backend that keeps leases. What a lease protects is checked by
// its users, or by the backend for drafts that carry one.
//
// The epoch of a lease is greater than any that its name had before. Of a name that is
// [TransientLease] nothing stays once the lease has been released or broken. So its epochs
// begin with the time, in microseconds since 1970, and the backend keeps the greatest epoch of
// all leases that it removed: the next one is greater also if the clock has gone back.
type Leaser interface {
	// Acquire takes a lease. While it is held, Acquire waits, then fails with
	// LockContention. It never extends a held lease, not even that of its own holder.
	Acquire(ctx context.Context, r *LeaseRequest) (onto.Lease, error)
	// Renew extends a lease to ttl from now, and replaces its note by that of the given
	// lease. It fails with LeaseExpired if the lease is not held any more.
	Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error)
	// Release ends a lease. It fails with LeaseExpired if the lease is not
	// held any more.
	Release(ctx context.Context, l onto.Lease) error
	// Leases returns those that were taken and not released, by name, also expired
	// ones.
	Leases(ctx context.Context) ([]onto.Lease, error)
	// Break ends a lease, also that of another holder, and records it. Time and Lease
	// of the record are filled in, except for Lease.Name. It fails with NotFound if the
	// lease is not held.
	Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error)
	// Breaks returns the records, oldest first.
	Breaks(ctx context.Context) ([]onto.LeaseBreak, error)
}

// TransientLease reports whether nothing is kept of a lease of this name once it has ended: the
// name begins with "object.". There may be as many of them as there are things.
func TransientLease(name string) bool { return strings.HasPrefix(name, "object.") }

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	Name, Owner string
	TTL         time.Duration // how long it lasts unless it is renewed
	Wait        time.Duration // how long to wait for its holder

	// Purpose and Note are kept with the lease. While the write lease has the purpose
	// onto.MigrationLease, writes wait for its holder as long as the backend is told to wait
	// for migrations, lease.DefaultMigrationWait where it is not told, if that is longer
	// than what they wait for others. The error of one that gives up repeats both.
	Purpose onto.LeasePurpose
	Note    string
}

// Finder is a backend that finds many identities faster than one after the other.
type Finder interface {
	// Find returns the newest version as of a commit of each identity that has one, as
	// Get does, in order of identity. The identities are of one type, sorted, each once.
	Find(ctx context.Context, ids []onto.Identity, at int64) ([]onto.Version, error)
}

// Find is that of a [Finder]; for any other backend it is one Get after the other.
func Find(ctx context.Context, b Backend, ids []onto.Identity, at int64) ([]onto.Version, error) {
	if f, ok := As[Finder](b); ok {
		return f.Find(ctx, ids, at)
	}
	var found []onto.Version
	for _, id := range ids {
		v, err := b.Get(ctx, id, at)
		switch {
		case err == nil:
			found = append(found, v)
		case onto.CodeOf(err) != onto.NotFound:
			return nil, err
		}
	}
	return found, nil
}

// Checker is a backend that can examine itself. The check covers the
// structure and compares what is derived with the history it derives from.
type Checker interface {
	Check(ctx context.Context) iter.Seq2[onto.Finding, error]
}

// StepChecker is a backend whose check reports each step before it is taken.
type StepChecker interface {
	CheckSteps(ctx context.Context, step func(name string)) iter.Seq2[onto.Finding, error]
}

// Surveyor is a backend that can examine its circumstances: room, locks, the clock, how
// questions are answered. Unlike a check it examines no stored data.
type Surveyor interface {
	Survey(ctx context.Context) iter.Seq2[onto.Finding, error]
}

// Copier is a backend that can copy itself while it is used.
type Copier interface {
	// CopyTo writes one snapshot of the store to a new file and returns its head. An
	// existing file is refused.
	CopyTo(ctx context.Context, path string, progress func(done, total int64)) (onto.Commit, error)
}

// Rebuilder is a backend with a projection that can be made anew from history.
type Rebuilder interface {
	// RebuildProjection returns how many identities the projection holds.
	// Progress, if not nil, is called now and then.
	RebuildProjection(ctx context.Context, progress func(done, total int64)) (int64, error)
}

// Checksummer is a backend that stores a checksum of its projection.
type Checksummer interface {
	// Checksum returns the checksum that is stored, SHA-256 in hex, and the commit that it
	// covers; "" if none is stored.
	Checksum(ctx context.Context) (sum string, commit int64, err error)

	// CompareChecksum yields what Check has to say about the checksum: nothing if it is
	// right, or if none is stored.
	CompareChecksum(ctx context.Context) iter.Seq2[onto.Finding, error]

	// KeepChecksum stores the checksum of the projection, as a rebuild does. Others go on
	// reading and writing meanwhile.
	KeepChecksum(ctx context.Context) error
}

// Checkpointer is a backend with a write-ahead log that can be emptied.
type Checkpointer interface {
	// Checkpoint copies what is in the log into the file and empties the log, as far as
	// readers allow.
	Checkpoint(ctx context.Context) (Checkpointed, error)
}

// Checkpointed is what a checkpoint did.
type Checkpointed struct {
	Before, After int64          // bytes of the write-ahead log
	Findings      []onto.Finding // wal_stuck, if a reader prevented that
}

// Warner is a backend that may be damaged and can still be read.
type Warner interface {
	// Warning says what such a backend does not show, and what to do; "" for
	// nothing.
	Warning() (text string, remedy onto.Hint)
}

// Explainer is a backend that can explain how it answers a query or an aggregation,
// without answering it. One of the two is nil.
type Explainer interface {
	Explain(ctx context.Context, q *Query, a *Aggregation) (Explanation, error)
}

// Explanation is how a question is answered.
type Explanation struct {
	Statement string   // the statements for the engine, with ? for values
	Plan      []string // what the engine will do, in its own words, indented by depth
	Process   []string // what is done in process afterwards: filter, sort, page, …
}

// Describer is a backend that can describe its storage.
type Describer interface {
	// Describe counts rows only if stats is set, since that takes time.
	Describe(ctx context.Context, stats bool) (Info, error)
}

// Info describes a backend's storage.
type Info struct {
	Backend  string // sqlite, memory, …
	Location string
	StoreID  string
	Format   int
	Bytes    int64
	Types    []TypeInfo
	Versions int64 // of all types, also of those that have ended; counted only if asked for
	Restores []Restore
	Warnings []string
}

// TypeInfo describes what is stored of one type.
type TypeInfo struct {
	Kind     onto.Kind
	Name     string
	Version  int   // of the schema
	Live     int64 // identities that exist now
	Versions int64
}

// Compactor is a backend whose files can be merged, so that answers are read from
// fewer.
type Compactor interface {
	// PlanCompaction tells what a compaction would do. It changes nothing.
	PlanCompaction(ctx context.Context, o *CompactionOptions) (*CompactionPlan, error)
	// Compact does what a plan names, type by type, and returns how many of its items
	// were done: what another compaction has done since is skipped. Progress, if not
	// nil, is called with the number of rows done.
	Compact(ctx context.Context, plan *CompactionPlan, progress func(done, total int64)) (merged int, err error)
}

// CompactionOptions select what to compact. Nil and the zero value mean what is due.
type CompactionOptions struct {
	Type string // only this type; "" for all
	All  bool   // all files of a type into one, due or not
}

// CompactionPlan is what a compaction would do.
type CompactionPlan struct {
	Items []CompactionItem // by kind and type
}

// CompactionItem is files of one type that become one.
type CompactionItem struct {
	Kind        onto.Kind
	Type        string
	Files       int
	First, Last int64 // commits
	Rows, Bytes int64
	Paths       []string // of the files
}

// TypeName returns the type.
func (i *CompactionItem) TypeName() onto.TypeName { return onto.TypeName{Kind: i.Kind, Name: i.Type} }

// Sweeper is a backend on which writers can leave orphans.
type Sweeper interface {
	// PlanJanitor finds objects older than a grace period that can be removed, 0 for
	// the backend's default. It removes nothing.
	PlanJanitor(ctx context.Context, grace time.Duration) (*OrphanPlan, error)
	// Sweep removes what a plan names, unless it is needed by now.
	Sweep(ctx context.Context, plan *OrphanPlan) (removed int, err error)
}

// OrphanPlan is what a janitor would remove.
type OrphanPlan struct {
	Orphans []Orphan // by key
	Bytes   int64
	Foreign []ForeignObject // that the store has not written, by key: they stay
}

// Orphan is an object that no head leads to, or a file that is not read any more.
type Orphan struct {
	Key    string
	Size   int64
	Age    time.Duration // by the storage's own clock
	Reason string        // abandoned, replaced by a compaction, or purged with its type
}

// ForeignObject is an object that the store has not written.
type ForeignObject struct {
	Key    string
	Size   int64
	Reason string
}

// Indexer is a backend that derives indexes for other programs. Answers do not
// depend on them.
type Indexer interface {
	// VerifyIndex compares the indexes with what is stored.
	VerifyIndex(ctx context.Context) ([]onto.Finding, error)
	// PlanIndexRepair finds what is not as it should be. It changes nothing.
	PlanIndexRepair(ctx context.Context) (*IndexPlan, error)
	// RepairIndex writes anew what a plan names, marks it there as applied, and returns
	// how many objects that were. With an error it returns what was written before it.
	RepairIndex(ctx context.Context, plan *IndexPlan) (written int, err error)
	// LastIndexWarning tells why the derived objects of this handle's last commits
	// could not be written; "" if they were.
	LastIndexWarning() string
}

// IndexPlan is what a repair of indexes would write.
type IndexPlan struct {
	Items []IndexRepair
}

// IndexRepair is a derived object that is not as it should be.
type IndexRepair struct {
	Key     string    // of the object
	Kind    onto.Kind // "" if it is about all types
	Type    string    // likewise
	Reason  string
	Before  int  // entries that it has; 0 if it cannot be read
	After   int  // entries that it should have
	Applied bool // it was written
}

// As finds the first backend that is a T, going through wrappers that have a
// method Unwrap() Backend.
func As[T any](b Backend) (T, bool) {
	for b != nil {
		if t, ok := b.(T); ok {
			return t, true
		}
		w, ok := b.(interface{ Unwrap() Backend })
		if !ok {
			break
		}
		b = w.Unwrap()
	}
	var none T
	return none, false
}
