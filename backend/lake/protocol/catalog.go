package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Catalog holds what a lake has besides its commits: the versions of every type, and
// where the log is listed. It is immutable; a head that names another one replaces it.
type Catalog struct {
	StoreID string        `json:"store_id"`
	Attempt string        `json:"attempt"`
	Types   []SchemaEntry `json:"types"` // ordered by kind, name and version

	Checkpoints []CheckpointEntry `json:"checkpoints"` // oldest first, without gaps

	// The files of every type up to a commit, as compactions have left them.
	Through int64        `json:"files_through"`
	Tables  []TableEntry `json:"tables,omitempty"`
}

// TableEntry is the files of one type.
type TableEntry struct {
	Kind  onto.Kind   `json:"kind"`
	Type  string      `json:"type_name"`
	Files []FileEntry `json:"files"` // oldest first; ranges follow each other, or are the same for parts of one file
}

// SchemaEntry is one version of a type.
type SchemaEntry struct {
	Kind      onto.Kind            `json:"type_kind"`
	Name      string               `json:"type_name"`
	Version   int                  `json:"schema_version_id"`
	Schema    json.RawMessage      `json:"schema"`
	Hash      string               `json:"schema_hash"`
	Created   string               `json:"created_at"`
	Runtime   string               `json:"runtime_id,omitempty"`
	Reason    string               `json:"reason,omitempty"`
	ActorKind onto.ActorKind       `json:"actor_kind,omitempty"`
	ActorID   string               `json:"actor_id,omitempty"`
	Comment   string               `json:"comment,omitempty"`
	Since     int64                `json:"since_commit"`
	Upgrader  *onto.StoredUpgrader `json:"upgrader,omitempty"`
	Learned   *onto.Learned        `json:"learned,omitempty"`
	End       *onto.End            `json:"end,omitempty"`
	Flags     json.RawMessage      `json:"flags,omitempty"` // the schema with index and search as they are now, if they are others
}

// catalogPath is where the catalog of an attempt is.
func catalogPath(sequence int64, attempt string) string {
	return fmt.Sprintf("meta/catalog/%d-%s.json", sequence, attempt)
}

// ParseCatalog reads a catalog that a head names.
func ParseCatalog(path string, body []byte) (*Catalog, error) {
	c := new(Catalog)
	if err := decodeSealed(path, body, c, true); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, Damaged(path, "%w", err)
	}
	return c, nil
}

// format is the version of the layout that a lake with the catalog has.
func (c *Catalog) format() int {
	switch {
	case slices.ContainsFunc(c.Types, func(e SchemaEntry) bool { return e.inner() }):
		return formatInner
	case slices.ContainsFunc(c.Types, func(e SchemaEntry) bool { return e.Kind == onto.KindFact }):
		return formatFacts
	}
	return formatFirst
}

// inner reports whether the schema has what programs that know format 3 do not: what is
// inside fields, enums, and dates. All of it shows in the fields at the top.
func (e *SchemaEntry) inner() bool {
	var s struct {
		Fields map[string]struct {
			Type                        onto.FieldType
			Enum, Fields, Items, Values json.RawMessage
		}
	}
	if json.Unmarshal(e.Schema, &s) != nil {
		return false // it cannot be read by any program
	}
	for _, f := range s.Fields {
		if f.Type == onto.DateOnly || f.Enum != nil || f.Fields != nil || f.Items != nil || f.Values != nil {
			return true
		}
	}
	return false
}

// check tells what no valid catalog can say; nil for nothing.
func (c *Catalog) check() error {
	if c.StoreID == "" || c.Attempt == "" || !inRange(c.Through) {
		return errors.New("a member is missing or out of range")
	}
	for i := range c.Types {
		if err := c.Types[i].check(); err != nil {
			return fmt.Errorf("the %s %.80q: %w", c.Types[i].Kind, c.Types[i].Name, err)
		}
	}
	for i := range c.Checkpoints {
		if err := c.Checkpoints[i].check(maxLevel); err != nil {
			return err
		}
	}
	for _, t := range c.Tables {
		for i := range t.Files {
			if err := t.Files[i].check(); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	leastField = 12   // bytes of a schema that a field takes at least
	shortList  = 4096 // bytes of memory that are allowed in any case
)

// check tells what no valid version of a type can say; nil for nothing.
func (e *SchemaEntry) check() error {
	switch {
	case !isKind(e.Kind) || e.Name == "":
		return errors.New("it is no type")
	case bytes.Count(e.Schema, []byte("{"))*leastField > len(e.Schema)+shortList || len(e.Flags) > 2*len(e.Schema)+shortList:
		return fmt.Errorf("version %d has %d bytes of fields that are too short to be any", e.Version, len(e.Schema))
	case e.Version < 1 || e.Version > math.MaxInt32:
		return fmt.Errorf("it has a version %d", e.Version)
	case !inRange(e.Since):
		return fmt.Errorf("version %d begins with commit %d", e.Version, e.Since)
	case e.End != nil && !inRange(e.End.Commit, e.End.Versions, e.End.Purge.Versions):
		return fmt.Errorf("version %d ended with commit %d, and %d versions of it", e.Version, e.End.Commit, e.End.Versions)
	case !canonical(e.Schema) || e.Flags != nil && !canonical(e.Flags):
		return fmt.Errorf("version %d has a schema that no writer stores", e.Version)
	case e.Upgrader != nil && !inRange(int64(e.Upgrader.FromVersion)):
		return fmt.Errorf("version %d comes from version %d", e.Version, e.Upgrader.FromVersion)
	}
	return nil
}

// canonical reports whether a value is as writers store it. Another form could not be
// written again.
func canonical(value json.RawMessage) bool {
	_, err := codec.AppendCanonical(nil, value)
	return err == nil
}

// fits tells why a catalog is not that of a head; nil if it is.
func (c *Catalog) fits(h *Head) error {
	switch n, _ := parseKey(h.Catalog); {
	case c.StoreID != h.StoreID:
		return errors.New("it belongs to another store")
	case c.Attempt != n.attempt:
		return fmt.Errorf("it is that of attempt %.40q", c.Attempt)
	case c.Through > h.CommitID || c.covered() > h.CommitID:
		return fmt.Errorf("it names files up to commit %d and checkpoints up to %d, and the newest commit is %d", c.Through, c.covered(), h.CommitID)
	}
	next := int64(1)
	for _, e := range c.Checkpoints {
		if e.First != next {
			return fmt.Errorf("the checkpoint of commits %d to %d does not follow the one before", e.First, e.Last)
		}
		next = e.Last + 1
	}
	return nil
}
