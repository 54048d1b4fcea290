package lake

import (
	"bytes"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
)

// newCommitEntry is a commit as a manifest keeps it.
func newCommitEntry(c *decide.Commit) protocol.CommitEntry {
	e := protocol.CommitEntry{
		ID: c.ID, Time: codec.FormatTime(c.Time), Runtime: c.Runtime, ActorKind: string(c.Actor.Kind), ActorID: c.Actor.ID,
		Causation: c.Causation, Correl: c.Correlation, Signature: c.Signature, Comment: c.Comment,
		Operations: c.Operations, Events: c.Events, EventSum: c.EventSum, Key: c.IdempotencyKey, DraftHash: c.Digest,
	}
	if len(c.Metadata) > 0 {
		e.Metadata = bytes.Clone(c.Metadata) // the caller's
	}
	for _, t := range c.Touched {
		e.Touched = append(e.Touched, protocol.OpsEntry{Kind: t.Kind, Type: t.Name, Version: t.Version, Operations: t.Operations})
	}
	return e
}

// kept is the commit of an entry.
func kept(e *protocol.CommitEntry) (decide.Commit, error) {
	at, err := codec.ParseTime(e.Time)
	if err != nil {
		return decide.Commit{}, onto.Errorf(onto.Corrupt, "commit %d: %w", e.ID, err)
	}
	c := decide.Commit{Metadata: e.Metadata, Digest: e.DraftHash, EventSum: e.EventSum, Commit: onto.Commit{
		ID: e.ID, Time: at, Runtime: e.Runtime, Actor: onto.Actor{Kind: onto.ActorKind(e.ActorKind), ID: e.ActorID},
		Causation: e.Causation, Correlation: e.Correl, Signature: e.Signature, Comment: e.Comment,
		Operations: e.Operations, Events: e.Events, IdempotencyKey: e.Key,
	}}
	for _, t := range e.Touched {
		c.Touched = append(c.Touched, decide.Touched{TypeName: t.TypeName(), Version: t.Version, Operations: t.Operations})
	}
	return c, nil
}

// handOut is the commit of an entry. Versions that were purged since do not count.
func handOut(e *protocol.CommitEntry, purged map[onto.TypeName]int) (onto.Commit, error) {
	c, err := kept(e)
	if err != nil {
		return onto.Commit{}, err
	}
	return c.HandOut(purged)
}

// byType splits the versions of a round.
func byType(versions []decide.Version) map[onto.TypeName][]onto.Version {
	lists := map[onto.TypeName][]onto.Version{}
	for i := range versions {
		t := versions[i].TypeName()
		lists[t] = append(lists[t], versions[i].Version)
	}
	return lists
}

// filesOf makes one file for each type, each sorted by identity, then commit.
func (w *writer) filesOf(types *protocol.Types, versions map[onto.TypeName][]onto.Version) ([]protocol.DataFile, error) {
	var files []protocol.DataFile
	for t, list := range versions {
		slices.SortStableFunc(list, func(a, b onto.Version) int { return datafile.Compare(&a, &b) })
		newest := 0
		for _, v := range list {
			newest = max(newest, v.SchemaVersion)
		}
		body, sum, err := parquet.Encode(w.files.Layout(types, t), list)
		if err != nil {
			return nil, err
		}
		files = append(files, protocol.DataFile{
			Kind: t.Kind, Type: t.Name, Version: newest, Rows: sum.Rows, Typed: sum.Typed, Unique: sum.Unique, Body: body,
			Identities: datafile.IdentityHashes(list),
		})
	}
	slices.SortFunc(files, func(a, b protocol.DataFile) int {
		return onto.TypeName{Kind: a.Kind, Name: a.Type}.Compare(onto.TypeName{Kind: b.Kind, Name: b.Type})
	})
	return files, nil
}
