package lake

import (
	"bytes"
	"encoding/json"

	"github.com/ontologia/onto"
)

// encoding turns versions of one type into the bytes of a file and back. It is
// deterministic.
type encoding interface {
	name() string
	encode(versions []onto.Version) []byte
	decode(f *fileEntry, body []byte) ([]onto.Version, error)
}

// rows is the plain encoding: one version per line, as JSON.
type rows struct{}

// row is a version as a line. The type stands in the manifest.
type row struct {
	Key      string          `json:"entity_key,omitempty"`
	Left     string          `json:"left_key,omitempty"`
	Right    string          `json:"right_key,omitempty"`
	Instance string          `json:"instance_key,omitempty"`
	Commit   int64           `json:"commit_id"`
	Version  int             `json:"schema_version_id"`
	Op       onto.Op         `json:"op"`
	Fields   json.RawMessage `json:"fields"`
}

func (rows) name() string { return "rows" }

func (rows) encode(versions []onto.Version) []byte {
	var buf bytes.Buffer
	for _, v := range versions {
		buf.Write(encode(row{v.Key, v.Left, v.Right, v.Instance, v.Commit, v.SchemaVersion, v.Op, v.Fields}))
		buf.WriteByte('\n')
	}
	return buf.Bytes()
}

func (rows) decode(f *fileEntry, body []byte) ([]onto.Version, error) {
	var list []onto.Version
	for line := range bytes.Lines(body) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, damaged(f.Path, "line %d is not JSON: %w", len(list)+1, err)
		}
		list = append(list, onto.Version{
			Identity: onto.Identity{Kind: f.Kind, Type: f.Type, Key: r.Key, Left: r.Left, Right: r.Right, Instance: r.Instance},
			Op:       r.Op, Commit: r.Commit, SchemaVersion: r.Version, Fields: r.Fields,
		})
	}
	if int64(len(list)) != f.Rows {
		return nil, damaged(f.Path, "it has %d rows, not %d", len(list), f.Rows)
	}
	return list, nil
}
