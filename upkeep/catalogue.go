package upkeep

import (
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
)

// Entry is what is known in general about one kind of finding.
type Entry struct {
	Code        string        // stable, for programs
	Severity    onto.Severity // the worst that it is reported with
	Explanation string        // what it means for answers
	Remedy      onto.Hint     // what to do, in general; a finding may have a more specific one
}

// The remedies that many findings share.
const (
	none    = "None needed."
	restore = "Restore a backup: history cannot be derived from anything else."
	bug     = "Restore a backup. A store in memory is lost with its process: report this as a bug."
	object  = "Restore the object, or the whole bucket, from a backup or from an older version that the storage keeps."
)

// Codes returns every code that a backend reports, sorted.
func Codes() []Entry {
	var list []Entry
	for _, part := range [][]Entry{logEntries(), versionEntries(), typeEntries(), projectionEntries(), derivedEntries(), eventEntries(), workEntries(), surveyEntries(), busEntries(), undoneEntries(), shardEntries(), plainEntries(), lakeEntries()} {
		list = append(list, part...)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Code, b.Code) })
	return list
}

// Lookup returns the entry of a code.
func Lookup(code string) (Entry, bool) {
	list := Codes()
	i, ok := slices.BinarySearchFunc(list, code, func(e Entry, c string) int { return strings.Compare(e.Code, c) })
	if !ok {
		return Entry{}, false
	}
	return list[i], true
}

func entry(code audit.Code, explanation, remedy string, command ...string) Entry {
	return Entry{code.String(), code.Severity(), explanation, onto.NewHint(remedy, command...)}
}

// derived is an entry about what can be made anew from history.
func derived(code audit.Code, explanation string) Entry {
	return entry(code, explanation, "Make the projection anew", "projection", "rebuild")
}

// index is an entry about what a lake tells other programs of its files and types.
func index(code audit.Code, explanation string) Entry {
	return entry(code, explanation, "Write them anew", "index", "repair", "--apply")
}

// logEntries are about the file and its commits.
func logEntries() []Entry {
	return []Entry{
		entry(audit.CheckStopped, "Damage kept a part of the examination from going on, so that part may have more faults than were found.",
			"Mend what the other findings name, then examine the store again."),
		entry(audit.CommitGap, "Commit ids go 1, 2, 3, … without gaps. One is missing, so a part of the log was removed or renumbered.", restore),
		entry(audit.CommitIncomplete, "A commit does not hold as many versions as it was made with: some were removed or added afterwards.", restore),
		entry(audit.CommitTimeBack, "A commit is earlier than the one it follows. A view as of a time is the last commit that is not later: a search among the others can miss it.", restore),
		entry(audit.CommitTimeFuture, "Commits in the middle of the log are later than now. A view as of a time before them leaves them out, though later commits are in it.", none),
		entry(audit.CommitTimeUnreadable, "The time of a commit cannot be read, so views as of a time may leave it out or take it in wrongly.", restore),
		entry(audit.CommitUncounted, "A commit does not say how many versions it has: this program has not made it. Its versions need not obey their types, and the projection has nothing of them. Nothing is appended while it is the newest.", restore),
		entry(audit.RowDamaged, "A row that is written once is not as it was written: a commit, with who made it, when and why, an event, a work item, a version of a type, or the identity of the store. It was edited by other means, or a bit has flipped. What it says is not to be relied on.", restore),
		entry(audit.RowsMissing, "Events or work items were added or removed by other means than this program. Those that were removed are never handled.", restore),
		entry(audit.FileDamaged, "SQLite finds pages or indexes of the file damaged. Answers can be wrong, and reads can fail.",
			"Restore a backup, or save what is readable with sqlite3 FILE .recover."),
		derived(audit.IndexMissing, "An index that reads rely on was dropped. Answers stay right and become slow; repeated idempotency keys are no longer refused if it is theirs, and everything about events or work fails if it is one of those."),
	}
}

// versionEntries are about the rows of history.
func versionEntries() []Entry {
	return []Entry{
		entry(audit.EndpointMissing, "A relation leads to an entity that does not exist, or a fact is about one. That is allowed, and often a mistake: traversals end there, and filters find no values at that end.",
			"Put the entity, or delete the relation or retract the fact."),
		entry(audit.FieldsNotCanonical, "The JSON of a version is not as it was written: history was edited. Views that show this version show the edit, or fail.", restore),
		entry(audit.FieldsUnfit, "The fields of a version are not what the version of its type says that it is of: one has a value of another kind, is missing or is not declared, at some depth. Programs that read it into a struct get an error for it, and filters can leave it out.",
			"Put it anew with fields that fit. Its former versions stay as they are; they can be read by name."),
		entry(audit.HistoryChanged, "History up to the last rebuild no longer leads to the state it led to then: it was altered after the fact. Another rebuild would hide that, since it keeps a new checksum.", restore),
		entry(audit.OpUnknown, "A version is neither a put nor a delete, so it is not known whether the identity exists.", restore),
		entry(audit.VersionTwice, "A commit has two versions of an identity. The first one counts.", restore),
		entry(audit.VersionWithoutCommit, "A version belongs to a commit that does not exist: it has neither a time nor an actor, and views by commit may still show it.", restore),
	}
}

// typeEntries are about types and their versions.
func typeEntries() []Entry {
	return []Entry{
		entry(audit.VersionDamaged, "A version in history has another checksum than when it was written: a bit has flipped on its way to the disk or there, or it was edited. Reads of it fail.", restore),
		entry(audit.SchemaEnd, "It is recorded that a type ended at a commit that does not go with its versions, so it is unclear which commits may hold it.", restore),
		entry(audit.SchemaEnded, "History holds versions of a type from after its end. Views of that time do not show them.", restore),
		entry(audit.SchemaGap, "The versions of a type go 1, 2, 3, … without gaps. One is missing, and rows that were written with it cannot be upgraded.", restore),
		entry(audit.SchemaHash, "The stored schema is not the one its hash was computed from: it was edited, and rows may be read as other than what they are.", restore),
		entry(audit.SchemaPurged, "History holds versions of a type that was purged. What should be forgotten is still there.", restore),
		entry(audit.SchemaRegistry, "The registered schema of a type is not that of its newest version. Values are checked against the one and read with the other.",
			"Restore a backup, or register the type as it should be", "init", "--schema", "FILE"),
		entry(audit.SchemaSince, "Commits hold rows of a version of a type that was not the newest then, or the record of that is wrong. Such rows may be upgraded from the wrong version.", restore),
		entry(audit.SchemaUnknown, "Rows say that they are of a version of their type that does not exist, so they cannot be upgraded.", restore),
		entry(audit.TypeUnregistered, "There are versions of a type that has no schema. They are kept, but cannot be queried by their type.",
			"Register the type", "init", "--schema", "FILE"),
	}
}

// projectionEntries are about the projection, from which the present is read.
func projectionEntries() []Entry {
	return []Entry{
		derived(audit.ProjectionChecksum, "The projection is not what the last rebuild made, though history is. Reads of the present can be wrong."),
		derived(audit.ProjectionDiffers, "The projection shows another version of an identity than the newest in history. Reads of the present are wrong for it."),
		derived(audit.ProjectionExtra, "The projection has an identity that history does not know. Reads of the present show what never was."),
		derived(audit.ProjectionMissing, "The projection lacks an identity that history has. Reads of the present do not show it."),
	}
}

// derivedEntries are about what is derived from the projection and from
// history.
func derivedEntries() []Entry {
	return []Entry{
		derived(audit.DerivedDamaged, "An index on a field is damaged. Filters on that field can leave rows out."),
		derived(audit.DerivedDiffers, "An index or a search table is not defined as this program defines it. Filters or searches that use it can be wrong."),
		derived(audit.DerivedExtra, "An index or a search table serves no field any more. It costs room and time when something is written."),
		derived(audit.DerivedMissing, "An index or a search table that a field is marked for does not exist. Filters become slow, and searches or writes can fail."),
		derived(audit.PastExtra, "A table of the past has a row that history does not lead to. Views of the past can show a version that was not the newest then."),
		derived(audit.PastMissing, "A table of the past lacks a row. Views of the past can leave an identity out."),
		derived(audit.SearchDamaged, "A search table cannot be read. Searches fail or leave rows out, and writes to the type can fail."),
		derived(audit.SearchDiffers, "A search table has other words for an identity than its fields have. Searches can find it by mistake or not at all."),
		derived(audit.SearchExtra, "A search table has words that belong to no live identity. Writes can fail when they come upon them."),
		derived(audit.SearchMissing, "A search table lacks the words of an identity. Searches do not find it."),
	}
}

// eventEntries are about events, claims and what is derived from them.
func eventEntries() []Entry {
	return []Entry{
		derived(audit.ClaimDamaged, "A claim says that its event was tried less than never, or more often than anything is: it was edited. It counts as the nearest number that can be, so that the event is tried again or becomes a dead letter."),
		entry(audit.ClaimsOrphaned, "Claims are on events that do not exist. A cleaning removes events together with their claims, so the events were removed by other means.", restore),
		derived(audit.EventMisplaced, "An event stands in a place where it does not belong, or in two. A handler can get it out of order, or before another event of its ordering key is done, or claims can fail."),
		derived(audit.EventNumber, "Events are numbered in the order of arrival. One has no number, two have the same, or a number is beyond the newest, so that events can be left out or claims can fail."),
		derived(audit.EventUnplaced, "An event waits for a handler, and is neither ready nor behind another one nor claimed. The handler never gets it."),
		entry(audit.EventWithoutCommit, "An event says that it rides in a commit that does not exist. Events and their commit are written together, so one of them was edited or removed.", restore),
		derived(audit.KeyStuck, "Of an ordering key, no event is ready or claimed, while others wait for it. The handler gets none of them."),
	}
}

// workEntries are about the work queue.
func workEntries() []Entry {
	return []Entry{
		entry(audit.AttemptDamaged, "An attempt at a work item is not as it can have been written, or the one before it or the item is missing, so that nothing follows from it: it was edited, or something was removed. The item keeps what it has; a worker may never get it, or get it twice.", restore),
		derived(audit.WorkDiffers, "The status of a work item, or what goes with it, is not what its attempts say. Workers may never get the item, or get what is done."),
	}
}

// surveyEntries are about circumstances. Answers are right in spite of them.
func surveyEntries() []Entry {
	return []Entry{
		entry(audit.CommitsLost, "A backup was put in the place of the store while that had commits which the backup does not have. They are gone from the store, and their numbers are those of other commits now. Cursors and followers from before are refused.",
			"Nothing needs to be done. What was there before is in the file that the restore has kept, unless that was removed."),
		entry(audit.TimeAhead, "Claims of events, work items or the rate of a source are taken up to a time that no clock which is right can have stored: an hour from now is the most. A machine had its clock wrong. They count as free, and the next claim or run takes them.",
			"Set the clock of the machine that stored it, if that is not this one's. Nothing else is to do."),
		entry(audit.ClockAhead, "The newest commit, event or work item is later than now. Times never go back, so new commits get its time until the clock has caught up, and views by time cannot tell them apart.",
			"Set the clock. If it is right, the machine that made the commit had it wrong, and waiting is all there is to do."),
		entry(audit.DiskLow, "The volume has less free space than a twentieth of the store, or than 64 MB. When it is full, commits are refused; nothing that was acknowledged is lost.",
			"Free disk space, or move the store to a larger volume."),
		entry(audit.FreelistLarge, "More than half of the file is free pages. Later commits use them again; until then the file and its copies are larger than need be.",
			"Give the room back while no other process uses the store: sqlite3 FILE VACUUM."),
		entry(audit.IndexUnused, "Every row has the same value in a field that is marked for an index, so no filter gains by it, while each write pays for it.",
			"Take the mark from the field in the schema file, then register it", "init", "--schema", "FILE"),
		entry(audit.JournalMode, "The file is not in WAL mode, so that readers and writers wait for each other.", "Open the store once where it can be written; that brings it back."),
		entry(audit.LockExpired, "A lease has run out and its holder has neither renewed nor released it; it has probably died. No process waits for it any more.",
			"Clear it away", "lock", "release", "--force", "--reason", "TEXT"),
		entry(audit.LockHeld, "A process holds the write lock, for a migration for example. Commits of others wait for it, and fail if that takes too long.",
			"Wait for its holder. End the lease only if that has died", "lock", "release", "--force", "--reason", "TEXT"),
		entry(audit.PlanScan, "SQLite reads a whole table where an index should lead to a few rows. Answers are right and take longer the more there is.",
			"Create the missing indexes again as docs/format/sqlite.md says. If none is missing, ANALYZE was run when the store was small: run it again with sqlite3 FILE ANALYZE."),
		entry(audit.TableExtra, "A trigger, or an index on an expression or on some rows only, is on a table of the store and was not made by this program. SQLite would run it with every write, and it could change, hide or hold up what is written. Reads go on, writes are refused.",
			"Look at it with: sqlite3 FILE .schema, and if it is not needed, drop it as the finding says."),
		entry(audit.WALCutOff, "The WAL that a crash has left behind is damaged, and SQLite takes over only what comes before the damage. Commits that were acknowledged are cut off. The store can be read as it was before them, and is not written.",
			"Copy FILE and FILE-wal to a safe place first. Then restore a backup, or go on without what is cut off, of which a copy is kept", "doctor", "--accept-loss"),
		entry(audit.WALLarge, "The WAL has more than 100 MB. Reads become slower and the next start takes longer. Mostly a read that goes on for very long keeps it from being reset.",
			"End such reads, then run PRAGMA wal_checkpoint(TRUNCATE)", "doctor", "--checkpoint"),
		entry(audit.WALStuck, "A checkpoint could not empty the WAL, since others were reading or writing all the while. What could be copied into the file was.",
			"End reads that go on for long, then empty it again", "doctor", "--checkpoint"),
	}
}

// busEntries are about events that nothing is done about.
func busEntries() []Entry {
	return []Entry{
		entry(audit.DeadLettersOpen, "Handlers have given events up after as many attempts as they may make. What should have happened for these events has not, and nothing tries it again.",
			"Mend the cause and replay them, or drop them", "events", "dead-letters"),
		entry(audit.EventsUnhandled, "Events of a type wait, and no handler has ever asked for the type: its program was not started yet, or the type or the namespace is misspelled. They are kept, unless a retention is set: then until they are as old as that.",
			"Start a program that handles the type, or stop emitting it", "events", "show"),
		entry(audit.SessionDead, "A program that handles events has ended without saying so, or hangs, while it had events claimed. They are handled again when another process with the same handlers runs and the claims have run out.",
			"Start its handlers again", "events", "sessions"),
	}
}

// undoneEntries are about work, and folding, that does not get done.
func undoneEntries() []Entry {
	return []Entry{
		entry(audit.WorkHeld, "Workers have ended without saying so while they had items of the work queue. The items return when a run takes work from the queue, and none has since.",
			"Start a run, which takes them over", "work", "list", "--status", "in_progress"),
		entry(audit.WorkOnlyFails, "Of a source of the work queue, items have failed and none was ever completed: it is down, refuses this program, or is misspelled. Nothing tries failed items again.",
			"Mend the cause and retry them, or skip them", "work", "list", "--status", "failed"),
		entry(audit.FoldBehind, "Facts were stored that a fold has not taken in yet, by a program that cannot carry it out, or in a stream whose program ended before it caught up. Its states do not show them.",
			"Bring it up to date; a fold in Go needs its program", "fold", "verify"),
	}
}

// shardEntries are about the shards of a tenant.
func shardEntries() []Entry {
	return []Entry{
		entry(audit.BucketsUnowned, "The list of a tenant's shards lacks some: there are buckets that none of them owns. The tenant is not opened.", "List all shards of the tenant, as it was made with them."),
		entry(audit.ShardDown, "The store of a shard cannot be opened, or it cannot be read which shard it is. What is on it can be neither read nor written; questions that need only other shards are answered.",
			"Mend the cause, and examine the tenant again."),
		entry(audit.ShardNotMade, "The list of a tenant's shards names a place where no shard was made.", "Correct the list, or make what is missing", "init"),
		entry(audit.ShardOverlapping, "Two stores are the same shard of a tenant, or share buckets: one is a copy of the other, for example. The tenant is not opened, so that nothing is written to the wrong one.",
			"List each shard once."),
		entry(audit.ShardStranger, "The list of a tenant's shards names a store that is no shard of it: one of another tenant, or one that was in use before. The tenant is not opened.", "Correct the list."),
	}
}

// plainEntries are about the rules of every log: only an edit, or a bug of this
// program, can break them.
func plainEntries() []Entry {
	return []Entry{
		entry(audit.DeleteFields, "A delete has fields, which histories would show.", bug),
		entry(audit.DeleteOfNothing, "A commit deletes what does not exist, which histories would show as a change.", bug),
		entry(audit.KeyTwice, "Two commits have the same idempotency key, so a draft was applied twice.", bug),
		entry(audit.MetadataForm, "The metadata of a commit is not a canonical JSON object.", bug),
		entry(audit.SchemaOrder, "The versions of types are out of order, so another one than the newest may be taken for it.", bug),
		entry(audit.TimeForm, "A time is not in UTC and microseconds, so that it changes when it is stored elsewhere.", bug),
		entry(audit.UpgraderForm, "An upgrader is both a program and a function, so it is open which of them counts.", bug),
		entry(audit.UpgraderUnknown, "A type was renamed from a version that does not exist, so its older rows cannot be upgraded.", bug),
		entry(audit.VersionOrder, "The versions of the log are out of order, so another one than the newest may be shown.", bug),
		entry(audit.VersionUnchanged, "A version repeats the one before it, so histories show a change that was none.", bug),
	}
}

// lakeEntries are about the objects of a lake.
func lakeEntries() []Entry {
	return []Entry{
		entry(audit.CatalogDiffers, "The catalog says of files what cannot be: their commits overlap or do not exist. Reads can leave versions out or show them twice.", object),
		entry(audit.ChainBroken, "A manifest or the head does not go with the round before it. Commits may have been removed or put in between, and views of the past can be wrong.", object),
		entry(audit.CheckpointDiffers, "A checkpoint lists rounds otherwise than their manifests do. Who reads the log through it gets wrong answers, and repeated idempotency keys may not be refused.", object),
		entry(audit.CheckpointsBehind, "Many rounds are not listed by any checkpoint. Answers are right; opening the lake takes longer with each round. Writers make checkpoints as they commit, so mostly it was not allowed to.",
			"Make some commits with credentials that may write below meta/checkpoints."),
		entry(audit.FileDiffers, "A data file is as it was written, but holds other rows than is said of it, or typed columns that contradict its fields. Reads that rely on that can leave versions out.", object),
		entry(audit.FilesMany, "A type has more than 100 files. Answers are right and take longer with each file.", "Merge them", "compact", "--apply"),
		entry(audit.HeadRewound, "The head is older than one that was seen before, or does not come after it: the bucket was restored or replaced. Commits that were acknowledged since are lost.",
			"Find out who has restored the bucket. If that was right, open the store again."),
		entry(audit.ObjectDamaged, "An object is not what was written: its length, its hash or its form is another. Reads that need it fail. A warning if it is no longer needed.", object),
		entry(audit.ObjectForeign, "An object belongs to another store. Two lakes were mixed, or a backup was restored into the wrong place.", object),
		entry(audit.ObjectMissing, "An object that the head leads to does not exist. Reads that need it fail.", object),
		index(audit.IndexDamaged, "The index of a type cannot be read, or is not about it. Other programs that go by it are led astray; this one does not read it."),
		index(audit.IndexEntryMissing, "The index of a type does not list one of its files, so other programs that go by it leave versions out."),
		index(audit.IndexLag, "The index of a type is older than the last commit that touched it. Other programs that go by it see the past."),
		index(audit.IndexObjectMissing, "A type has no index, so other programs have to go by the manifests."),
		index(audit.IndexPathMismatch, "The index of a type lists another file than the head leads to, so other programs that go by it read what was replaced."),
		index(audit.SchemaObjectStale, "What is told about types under meta/schema is not what the catalog says. Other programs that go by it have wrong types."),
		entry(audit.ObjectsOrphaned, "Attempts that lost or were killed have left objects behind, or others have taken their place. They cost room and nothing else.",
			"See what can be removed; --apply removes it", "janitor"),
		entry(audit.ObjectsUnknown, "Below the folders of a lake there are objects that it has not written: their names are not those of its writers, or another store or program has written them. Answers do not depend on them, and no janitor removes them.",
			"Find out who wrote them, and move them elsewhere."),
	}
}
