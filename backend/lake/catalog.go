package lake

import (
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto"
)

// catalog tells what a lake has besides its commits: the versions of every type,
// and where the log is listed.
// It is never changed; another one takes its place when a head names it.
type catalog struct {
	StoreID string        `json:"store_id"`
	Attempt string        `json:"attempt"`
	Types   []schemaEntry `json:"types"` // ordered by kind, name and version

	Checkpoints []checkpointEntry `json:"checkpoints"` // oldest first, without gaps

	// The files of every type up to a commit, as compactions have left them.
	Through int64        `json:"files_through"`
	Tables  []tableEntry `json:"tables,omitempty"`
}

// tableEntry is the files of one type.
type tableEntry struct {
	Kind  onto.Kind   `json:"kind"`
	Type  string      `json:"type_name"`
	Files []fileEntry `json:"files"` // oldest first; ranges follow each other, or are the same for parts of one file
}

// schemaEntry is one version of a type.
type schemaEntry struct {
	Kind     onto.Kind       `json:"type_kind"`
	Name     string          `json:"type_name"`
	Version  int             `json:"schema_version_id"`
	Schema   json.RawMessage `json:"schema"`
	Hash     string          `json:"schema_hash"`
	Created  string          `json:"created_at"`
	Runtime  string          `json:"runtime_id,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Since    int64           `json:"since_commit"`
	Upgrader *onto.Upgrader  `json:"upgrader,omitempty"`
	End      *onto.End       `json:"end,omitempty"`
	Flags    json.RawMessage `json:"flags,omitempty"` // the schema with index and search as they are now, if they are others
}

// catalogPath is where the catalog of an attempt is.
func catalogPath(sequence int64, attempt string) string {
	return fmt.Sprintf("meta/catalog/%d-%s.json", sequence, attempt)
}

// parseCatalog reads a catalog that a head names.
func parseCatalog(path string, body []byte) (*catalog, error) {
	c := new(catalog)
	if err := json.Unmarshal(body, c); err != nil {
		return nil, damaged(path, "it is not JSON: %w", err)
	}
	if err := checkSeal(path, body); err != nil {
		return nil, err
	}
	if c.StoreID == "" || c.Attempt == "" {
		return nil, damaged(path, "a member is missing")
	}
	return c, nil
}
