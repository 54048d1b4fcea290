package memory

import (
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Tail is what a log has after a commit, for whoever keeps a log elsewhere and
// lets a store in memory decide and answer.
type Tail struct {
	Commits  []Record
	Versions []onto.Version // by commit, then identity
	Schemas  []onto.SchemaVersion
}

// Record is a commit with what is kept of its draft.
type Record struct {
	Commit   onto.Commit     // without metadata
	Metadata json.RawMessage // nil for none
	Hash     string          // of the draft
}

// Fork returns a store that begins as this one is now. What is done to one of
// them the other does not see. Leases stay behind.
func (s *Store) Fork() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := New(&Options{Now: s.now, LockTimeout: s.lockTimeout})
	f.id = s.id
	f.log = s.log
	f.log.commits, f.log.versions = slices.Clip(f.log.commits), slices.Clip(f.log.versions)
	f.log.schemas = backend.CopySchemas(f.log.schemas)
	return f
}

// Reset empties the store, for whoever wants to begin again.
func (s *Store) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = log{turns: s.log.turns + 1}
}

// Tail returns what the store has after a commit, and all its types.
func (s *Store) Tail(since int64) Tail {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Tail{Schemas: backend.CopySchemas(s.log.schemas)}
	for _, r := range s.log.commits[min(since, s.log.head()):] {
		t.Commits = append(t.Commits, Record{r.commit, r.metadata, r.hash})
	}
	for _, v := range s.log.versions {
		if v.Commit > since {
			t.Versions = append(t.Versions, v)
		}
	}
	return t
}

// Extend adds a tail that begins with the commit after the newest one, and takes
// over its types.
func (s *Store) Extend(t Tail) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.log.head()
	for _, c := range t.Commits {
		if next++; c.Commit.ID != next {
			return onto.Errorf(onto.Corrupt, "commit %d comes where %d is due", c.Commit.ID, next)
		}
	}
	if backend.TypesHash(s.log.schemas) != backend.TypesHash(t.Schemas) {
		s.log.turns++
	}
	s.log.schemas = backend.CopySchemas(t.Schemas)
	for _, c := range t.Commits {
		s.log.commits = append(s.log.commits, record{c.Commit, c.Metadata, c.Hash})
	}
	s.log.versions = append(s.log.versions, t.Versions...)
	return nil
}
