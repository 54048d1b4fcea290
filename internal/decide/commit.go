package decide

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Commit is a commit as it is kept.
type Commit struct {
	onto.Commit                 // without its metadata
	Metadata    json.RawMessage // canonical JSON object; nil for none
	Digest      string          // of its draft
	EventSum    int64           // the sum of the checksums of its events
	Touched     []Touched       // what its operations are about; nil if that is not kept
}

// Touched is how many versions of one schema version of a type a commit made.
type Touched struct {
	onto.TypeName
	Version    int
	Operations int
}

// HandOut returns the commit with metadata of its own, without the operations
// that were purged since.
func (c *Commit) HandOut(purged map[onto.TypeName]int) (onto.Commit, error) {
	out := c.Commit
	out.Operations = c.Left(purged)
	if len(c.Metadata) == 0 {
		return out, nil
	}
	var err error
	if out.Metadata, err = codec.DecodeObject(c.Metadata); err != nil {
		return out, onto.Errorf(onto.Corrupt, "commit %d: its metadata cannot be read: %w", c.ID, err)
	}
	return out, nil
}

// Left is how many versions there are of the commit, without those that were purged.
func (c *Commit) Left(purged map[onto.TypeName]int) int {
	n := c.Operations
	for _, t := range c.Touched {
		if t.Version <= purged[t.TypeName] {
			n -= t.Operations
		}
	}
	return n
}

// count adds the version that a write makes. Writes of a type mostly follow each
// other.
func (c *Commit) count(w *backend.Write) {
	c.Operations++
	c.touch(w.TypeName(), w.SchemaVersion)
}

// touch records a version of a type.
func (c *Commit) touch(name onto.TypeName, version int) {
	for i := len(c.Touched) - 1; i >= 0; i-- {
		if t := &c.Touched[i]; t.TypeName == name && t.Version == version {
			t.Operations++
			return
		}
	}
	c.Touched = append(c.Touched, Touched{name, version, 1})
}
