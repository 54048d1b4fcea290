package audit

import (
	"fmt"

	"github.com/ontologia/onto"
)

// Code names a kind of finding, the same on every backend: a [Fault] or a
// [Notice]. Which of them it is decides its severity.
type Code interface {
	fmt.Stringer
	Severity() onto.Severity
	// Finding is a finding of this kind, with its highest severity. It is about the
	// first of args that is an identity or the [Name] of a type. Package upkeep has
	// the remedies of all kinds; a finding has one only if that is more specific.
	Finding(format string, args ...any) onto.Finding
}

// Fault is the code of a finding that makes answers wrong.
type Fault string

func (c Fault) String() string { return string(c) }

// Severity is that of an error.
func (c Fault) Severity() onto.Severity { return onto.SeverityError }

// Finding is an error.
func (c Fault) Finding(format string, args ...any) onto.Finding {
	return finding(c, format, args)
}

// Mild is a warning: the same fault where no answer depends on it.
func (c Fault) Mild(format string, args ...any) onto.Finding {
	f := finding(c, format, args)
	f.Severity = onto.SeverityWarning
	return f
}

// Notice is the code of something unusual that leaves answers right.
type Notice string

func (c Notice) String() string { return string(c) }

// Severity is that of a warning.
func (c Notice) Severity() onto.Severity { return onto.SeverityWarning }

// Finding is a warning.
func (c Notice) Finding(format string, args ...any) onto.Finding {
	return finding(c, format, args)
}

func finding(c Code, format string, args []any) onto.Finding {
	return onto.Finding{Code: c.String(), Severity: c.Severity(), Message: fmt.Sprintf(format, args...), About: about(args)}
}

// Name is a type in a finding, which shows as its name alone.
type Name onto.TypeName

func (n Name) String() string { return n.Name }

// about finds out what a finding is about.
func about(args []any) onto.Identity {
	for _, arg := range args {
		switch a := arg.(type) {
		case onto.Identity:
			return a
		case onto.TypeName:
			return onto.Identity{Kind: a.Kind, Type: a.Name}
		case Name:
			return onto.Identity{Kind: a.Kind, Type: a.Name}
		case *Rows:
			if a.Identity != (onto.Identity{}) {
				return a.Identity
			}
			return onto.Identity{Kind: a.Kind, Type: a.Name}
		}
	}
	return onto.Identity{}
}

// What each code means and what to do about it is in package upkeep, and in
// docs/findings.md.

// The codes about the commits of a log.
const (
	CheckStopped         Fault = "check_stopped"
	CommitGap            Fault = "commit_gap"
	CommitIncomplete     Fault = "commit_incomplete"
	CommitTimeBack       Fault = "commit_time_back"
	CommitTimeUnreadable Fault = "commit_time_unreadable"
	CommitUncounted      Fault = "commit_uncounted"
	KeyTwice             Fault = "key_twice"
	MetadataForm         Fault = "metadata_form"
	TimeForm             Fault = "time_form"

	CommitTimeFuture Notice = "commit_time_future"
)

// The codes about types and their versions.
const (
	SchemaEnd       Fault = "schema_end"
	SchemaEnded     Fault = "schema_ended"
	SchemaGap       Fault = "schema_gap"
	SchemaHash      Fault = "schema_hash"
	SchemaOrder     Fault = "schema_order"
	SchemaPurged    Fault = "schema_purged"
	SchemaRegistry  Fault = "schema_registry"
	SchemaSince     Fault = "schema_since"
	SchemaUnknown   Fault = "schema_unknown"
	UpgraderForm    Fault = "upgrader_form"
	UpgraderUnknown Fault = "upgrader_unknown"

	TypeUnregistered Notice = "type_unregistered"
)

// The codes about versions.
const (
	DeleteFields         Fault = "delete_fields"
	DeleteOfNothing      Fault = "delete_of_nothing"
	FieldsNotCanonical   Fault = "fields_not_canonical"
	FieldsUnfit          Fault = "fields_unfit"
	HistoryChanged       Fault = "history_changed"
	OpUnknown            Fault = "op_unknown"
	VersionDamaged       Fault = "version_damaged"
	VersionOrder         Fault = "version_order"
	VersionTwice         Fault = "version_twice"
	VersionUnchanged     Fault = "version_unchanged"
	VersionWithoutCommit Fault = "version_without_commit"

	EndpointMissing Notice = "endpoint_missing"
)

// The codes about what a SQLite file derives from history.
const (
	DerivedDamaged     Fault = "derived_damaged"
	DerivedDiffers     Fault = "derived_differs"
	DerivedMissing     Fault = "derived_missing"
	PastExtra          Fault = "past_extra"
	PastMissing        Fault = "past_missing"
	ProjectionChecksum Fault = "projection_checksum"
	ProjectionDiffers  Fault = "projection_differs"
	ProjectionExtra    Fault = "projection_extra"
	ProjectionMissing  Fault = "projection_missing"
	SearchDamaged      Fault = "search_damaged"
	SearchDiffers      Fault = "search_differs"
	SearchExtra        Fault = "search_extra"
	SearchMissing      Fault = "search_missing"

	DerivedExtra Notice = "derived_extra"
)

// The codes about events, claims and what a SQLite file derives from them.
const (
	ClaimDamaged       Fault = "claim_damaged"
	ClaimsOrphaned     Fault = "claims_orphaned"
	EventMisplaced     Fault = "event_misplaced"
	EventNumber        Fault = "event_number"
	EventUnplaced      Fault = "event_unplaced"
	EventWithoutCommit Fault = "event_without_commit"
	KeyStuck           Fault = "key_stuck"
)

// The codes about work items and the attempts that explain them.
const (
	AttemptDamaged Fault = "attempt_damaged"
	WorkDiffers    Fault = "work_differs"
)

// The codes about a SQLite file.
const (
	FileDamaged  Fault = "file_damaged"
	IndexMissing Fault = "index_missing"
	RowDamaged   Fault = "row_damaged"
	RowsMissing  Fault = "rows_missing"
	TableExtra   Fault = "table_extra"
	WALCutOff    Fault = "wal_cut_off"

	FreelistLarge Notice = "freelist_large"
	IndexUnused   Notice = "index_unused"
	JournalMode   Notice = "journal_mode"
	PlanScan      Notice = "plan_scan"
	WALLarge      Notice = "wal_large"
	WALStuck      Notice = "wal_stuck"
)

// The codes about the objects of a lake.
const (
	CatalogDiffers    Fault = "catalog_differs"
	ChainBroken       Fault = "chain_broken"
	CheckpointDiffers Fault = "checkpoint_differs"
	FileDiffers       Fault = "file_differs"
	HeadRewound       Fault = "head_rewound"
	ObjectDamaged     Fault = "object_damaged"
	ObjectForeign     Fault = "object_foreign"
	ObjectMissing     Fault = "object_missing"

	CheckpointsBehind  Notice = "checkpoints_behind"
	FilesMany          Notice = "files_many"
	IndexDamaged       Notice = "index_damaged"
	IndexEntryMissing  Notice = "index_entry_missing"
	IndexLag           Notice = "index_lag"
	IndexObjectMissing Notice = "index_object_missing"
	IndexPathMismatch  Notice = "index_path_mismatch"
	ObjectsOrphaned    Notice = "objects_orphaned"
	ObjectsUnknown     Notice = "objects_unknown"
	SchemaObjectStale  Notice = "schema_object_stale"
)

// The codes about circumstances.
const (
	ClockAhead Notice = "clock_ahead"
	TimeAhead  Notice = "time_ahead"

	CommitsLost Notice = "commits_lost"
	DiskLow     Notice = "disk_low"
	LockExpired Notice = "lock_expired"
	LockHeld    Notice = "lock_held"
)

// The codes about events that nothing is done about.
const (
	DeadLettersOpen Notice = "dead_letters_open"
	EventsUnhandled Notice = "events_unhandled"
	SessionDead     Notice = "session_dead"
)

// The codes about work that does not get done.
const (
	WorkHeld      Notice = "work_held"
	WorkOnlyFails Notice = "work_only_fails"
)

// The codes about the shards of a tenant.
const (
	BucketsUnowned   Fault = "buckets_unowned"
	ShardDown        Fault = "shard_down"
	ShardNotMade     Fault = "shard_not_made"
	ShardOverlapping Fault = "shard_overlapping"
	ShardStranger    Fault = "shard_stranger"
)

// The code about states that do not show all facts.
const FoldBehind Notice = "fold_behind"
