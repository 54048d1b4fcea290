package lake

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/codec"
)

// newCommitEntry is a commit as a manifest keeps it.
func newCommitEntry(r *memory.Record) commitEntry {
	c := &r.Commit
	return commitEntry{
		ID: c.ID, Time: codec.FormatTime(c.Time), Runtime: c.Runtime, ActorKind: string(c.Actor.Kind), ActorID: c.Actor.ID,
		Causation: c.Causation, Correl: c.Correlation, Signature: c.Signature, Comment: c.Comment,
		Metadata: r.Metadata, Operations: c.Operations, Key: c.IdempotencyKey, DraftHash: r.Hash,
	}
}

// record is the commit of an entry.
func (e *commitEntry) record() (memory.Record, error) {
	at, err := codec.ParseTime(e.Time)
	return memory.Record{
		Commit: onto.Commit{
			ID: e.ID, Time: at, Runtime: e.Runtime, Actor: onto.Actor{Kind: onto.ActorKind(e.ActorKind), ID: e.ActorID},
			Causation: e.Causation, Correlation: e.Correl, Signature: e.Signature, Comment: e.Comment,
			Operations: e.Operations, IdempotencyKey: e.Key,
		},
		Metadata: slices.Clone(e.Metadata), Hash: e.DraftHash,
	}, err
}

// newSchemaEntry is a version of a type as the catalog keeps it. Flags may have
// changed since it was registered.
func newSchemaEntry(v *onto.SchemaVersion) schemaEntry {
	e := schemaEntry{
		Kind: v.Schema.Kind, Name: v.Schema.Name, Version: v.Version, Schema: v.JSON, Hash: v.Hash, Created: codec.FormatTime(v.Created),
		Runtime: v.Runtime, Reason: v.Reason, Since: v.Since, Upgrader: v.Upgrader, End: v.End,
	}
	if flags := v.Schema.JSON(); string(flags) != string(v.JSON) {
		e.Flags = flags
	}
	return e
}

// schema is the version of an entry.
func (e *schemaEntry) schema() (onto.SchemaVersion, error) {
	s, err := onto.ParseSchema(e.Schema)
	if err != nil && s.Name != e.Name { // what is only unusual was let in by somebody
		return onto.SchemaVersion{}, err
	}
	if e.Flags != nil {
		flags, err := onto.ParseSchema(e.Flags)
		if err != nil && flags.Name != e.Name {
			return onto.SchemaVersion{}, err
		}
		s = s.WithFlags(flags)
	}
	created, err := codec.ParseTime(e.Created)
	return onto.SchemaVersion{
		Schema: s, Version: e.Version, JSON: slices.Clone(e.Schema), Hash: e.Hash, Created: created, Runtime: e.Runtime, Reason: e.Reason,
		Since: e.Since, Upgrader: e.Upgrader, End: e.End,
	}, err
}

// filesOf splits versions into one file for each type.
func filesOf(enc encoding, versions []onto.Version) []dataFile {
	byType := map[onto.Identity][]onto.Version{}
	var types []onto.Identity
	for _, v := range versions {
		t := onto.Identity{Kind: v.Kind, Type: v.Type}
		if byType[t] == nil {
			types = append(types, t)
		}
		byType[t] = append(byType[t], v)
	}
	slices.SortFunc(types, onto.Identity.Compare)
	var files []dataFile
	for _, t := range types {
		list := byType[t]
		slices.SortStableFunc(list, func(a, b onto.Version) int { return a.Identity.Compare(b.Identity) })
		newest := 0
		for _, v := range list {
			newest = max(newest, v.SchemaVersion)
		}
		files = append(files, dataFile{t.Kind, t.Type, newest, int64(len(list)), enc.encode(list)})
	}
	return files
}

// sortVersions brings versions of several files into the order of the log.
func sortVersions(list []onto.Version) {
	slices.SortFunc(list, func(a, b onto.Version) int {
		return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Identity.Compare(b.Identity))
	})
}

// sameTypes compares the types of two catalogs.
func sameTypes(a, b []schemaEntry) bool { return bytes.Equal(encode(a), encode(b)) }
