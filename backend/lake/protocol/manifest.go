package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
)

// Ancestors is how many rounds before its own a manifest lists.
const Ancestors = 64

// Manifest describes one round: the commits that one swap of the head has published,
// and the files that hold their versions. It is immutable.
type Manifest struct {
	CommitID    int64           `json:"commit_id"`            // the last commit of the round
	First       int64           `json:"first_commit_id"`      // the first one
	Parent      *int64          `json:"parent_commit_id"`     // the last commit of the round before; null for none
	ParentPath  *string         `json:"parent_manifest_path"` // null for none
	CreatedAt   string          `json:"created_at"`
	RuntimeID   string          `json:"runtime_id"`
	Metadata    json.RawMessage `json:"metadata"` // of the last commit
	Files       []FileEntry     `json:"files"`
	StoreID     string          `json:"store_id"`
	Attempt     string          `json:"attempt"`
	Round       int64           `json:"round"` // of all; the first is 1
	Commits     []CommitEntry   `json:"commits"`
	Ancestors   []RoundEntry    `json:"ancestors"` // newest first
	LastTouched []TouchedEntry  `json:"last_touched"`
	Encoding    string          `json:"encoding"`       // of the files
	Copy        *CopyEntry      `json:"copy,omitempty"` // as the head that names the manifest says
}

// FileEntry is a file with versions of one type: all that a range of commits made.
type FileEntry struct {
	Kind    onto.Kind `json:"kind"`
	Type    string    `json:"type_name"`
	Path    string    `json:"path"`
	Rows    int64     `json:"row_count"`
	Version int       `json:"schema_version_id"` // the newest of its rows
	SHA256  string    `json:"content_sha256"`
	Bytes   int64     `json:"bytes"`
	First   int64     `json:"min_commit_id"` // of the range
	Last    int64     `json:"max_commit_id"`
	Typed   bool      `json:"typed,omitempty"`  // its typed columns say the same as its fields
	Unique  bool      `json:"unique,omitempty"` // no identity comes twice, and none is deleted
	Level   int       `json:"level,omitempty"`  // how often its rows were compacted

	Identities string `json:"identity_hashes,omitempty"` // of a file with few rows; see identityHashes
}

// TypeName is the type that the entry is about.
func (f *FileEntry) TypeName() onto.TypeName { return onto.TypeName{Kind: f.Kind, Name: f.Type} }

// TypeName is the type that the entry is about.
func (e *OpsEntry) TypeName() onto.TypeName { return onto.TypeName{Kind: e.Kind, Name: e.Type} }

// TypeName is the type that the entry is about.
func (e *TableEntry) TypeName() onto.TypeName { return onto.TypeName{Kind: e.Kind, Name: e.Type} }

// TypeName is the type that the entry is about.
func (e *TouchedEntry) TypeName() onto.TypeName { return onto.TypeName{Kind: e.Kind, Name: e.Type} }

// CommitEntry is what is said about one commit.
type CommitEntry struct {
	ID         int64           `json:"commit_id"`
	Time       string          `json:"created_at"`
	Runtime    string          `json:"runtime_id,omitempty"`
	ActorKind  string          `json:"actor_kind,omitempty"`
	ActorID    string          `json:"actor_id,omitempty"`
	Causation  int64           `json:"causation_id,omitempty"`
	Correl     string          `json:"correlation_id,omitempty"`
	Signature  string          `json:"signature_ref,omitempty"`
	Comment    string          `json:"comment,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Operations int             `json:"operations"`
	Touched    []OpsEntry      `json:"touched"` // what its operations are about, by type
	Events     int             `json:"events,omitempty"`
	EventSum   int64           `json:"event_sum,omitempty"`
	Key        string          `json:"idempotency_key,omitempty"`
	DraftHash  string          `json:"draft_hash,omitempty"`
}

// OpsEntry is how many versions of a type a commit made.
type OpsEntry struct {
	Kind       onto.Kind `json:"kind"`
	Type       string    `json:"type_name"`
	Version    int       `json:"schema_version_id"`
	Operations int       `json:"operations"`
}

// RoundEntry names an earlier round.
type RoundEntry struct {
	First   int64  `json:"first_commit_id"`
	Last    int64  `json:"commit_id"`
	Time    string `json:"created_at"` // of its last commit
	Path    string `json:"path"`
	Attempt string `json:"attempt"`
}

// TouchedEntry is the last commit that made versions of a type.
type TouchedEntry struct {
	Kind   onto.Kind `json:"kind"`
	Type   string    `json:"type_name"`
	Commit int64     `json:"commit_id"`
}

// manifestPath is where the manifest of an attempt is.
func manifestPath(commit int64, attempt string) string {
	return fmt.Sprintf("commits/%d-%s/manifest.json", commit, attempt)
}

// ParseManifest reads a manifest that a head or another manifest names.
func ParseManifest(path string, body []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := decodeSealed(path, body, m, false); err != nil {
		return nil, err
	}
	n := int64(len(m.Commits))
	switch {
	case !isRange(m.First, m.CommitID) || n != m.CommitID-m.First+1:
		return nil, Damaged(path, "commits %d to %d and %d entries do not go together", m.First, m.CommitID, n)
	case manifestPath(m.CommitID, m.Attempt) != path:
		return nil, Damaged(path, "it is that of commit %d, attempt %s", m.CommitID, m.Attempt)
	case (m.Parent == nil) != (m.First == 1) || m.Parent != nil && *m.Parent != m.First-1:
		return nil, Damaged(path, "its parent is not commit %d", m.First-1)
	}
	for i, c := range m.Commits {
		if c.ID != m.First+int64(i) {
			return nil, Damaged(path, "commit %d stands where %d is due", c.ID, m.First+int64(i))
		}
	}
	if err := m.check(); err != nil {
		return nil, Damaged(path, "%w", err)
	}
	return m, nil
}

// check tells what else no valid manifest can say; nil for nothing.
func (m *Manifest) check() error {
	if !inRange(m.Round) || len(m.Ancestors) > Ancestors || !isWord(m.Attempt) {
		return fmt.Errorf("the round %d, its %d ancestors or the attempt %.40q is out of range", m.Round, len(m.Ancestors), m.Attempt)
	}
	if m.ParentPath != nil {
		if n, ok := parseKey(*m.ParentPath); !ok || n.role != manifestRole || n.number != m.First-1 {
			return fmt.Errorf("%q is not the round before commit %d", *m.ParentPath, m.First)
		}
	}
	after := m.First
	for i := range m.Ancestors {
		a := &m.Ancestors[i]
		if err := a.check(); err != nil {
			return err
		}
		if a.Last >= after {
			return fmt.Errorf("the ancestor with commits %d to %d is out of order", a.First, a.Last)
		}
		after = a.First
	}
	if err := m.Copy.check(); err != nil {
		return err
	}
	for i := range m.Files {
		if err := m.Files[i].check(); err != nil {
			return err
		}
	}
	for _, t := range m.LastTouched {
		if !isKind(t.Kind) || t.Type == "" || !inRange(t.Commit) {
			return fmt.Errorf("the %s %q cannot have been touched by commit %d", t.Kind, t.Type, t.Commit)
		}
	}
	for i := range m.Commits {
		if err := m.Commits[i].check(); err != nil {
			return fmt.Errorf("commit %d: %w", m.Commits[i].ID, err)
		}
	}
	return nil
}

// check tells what no valid commit can say; nil for nothing.
func (e *CommitEntry) check() error {
	if !inRange(int64(e.Events)) || e.EventSum < 0 || e.Events == 0 && e.EventSum != 0 {
		return fmt.Errorf("%d events of the sum %d are out of range", e.Events, e.EventSum)
	}
	if !inRange(int64(e.Operations), e.Causation) {
		return fmt.Errorf("%d operations or the cause %d is out of range", e.Operations, e.Causation)
	}
	for _, t := range e.Touched {
		if !isKind(t.Kind) || t.Type == "" || !inRange(int64(t.Version), int64(t.Operations)) {
			return fmt.Errorf("it cannot have made %d versions of the %s %q with schema version %d", t.Operations, t.Kind, t.Type, t.Version)
		}
	}
	return nil
}

// check tells what is wrong with the entry of a round; nil for nothing.
func (e *RoundEntry) check() error {
	if !isRange(e.First, e.Last) || !isWord(e.Attempt) || e.Path != manifestPath(e.Last, e.Attempt) {
		return fmt.Errorf("commits %d to %d of attempt %.40q do not go with %.200q", e.First, e.Last, e.Attempt, e.Path)
	}
	return nil
}

// Entry is how later manifests name this one.
func (m *Manifest) Entry() RoundEntry {
	return RoundEntry{m.First, m.CommitID, m.Commits[len(m.Commits)-1].Time, manifestPath(m.CommitID, m.Attempt), m.Attempt}
}

// Touch returns what was last touched after a round.
func Touch(before []TouchedEntry, files []FileEntry, commit int64) []TouchedEntry {
	list := slices.Clone(before)
	for _, f := range files {
		i := slices.IndexFunc(list, func(t TouchedEntry) bool { return t.TypeName() == f.TypeName() })
		if i < 0 {
			list = append(list, TouchedEntry{f.Kind, f.Type, commit})
		} else {
			list[i].Commit = commit
		}
	}
	slices.SortFunc(list, func(a, b TouchedEntry) int {
		return onto.Identity{Kind: a.Kind, Type: a.Type}.Compare(onto.Identity{Kind: b.Kind, Type: b.Type})
	})
	return list
}
