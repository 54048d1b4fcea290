package layout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// RestoreRemedy is what to do about damaged history.
const RestoreRemedy = "restore a backup; history cannot be derived from anything else"

// StoredTime reads a time column. What cannot be read is the zero time.
func StoredTime(s string) time.Time {
	t, err := codec.ParseTime(s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// HasFields fails if a row of the projection has no fields.
func HasFields(v *onto.Version) error {
	if v.Fields != nil {
		return nil
	}
	return onto.Errorf(onto.Corrupt, "%s at commit %d: the projection has no fields for it", v.Identity, v.Commit).
		WithHint("make it anew").WithCommand("projection", "rebuild")
}

// maxStored is how many bytes of JSON are read of a version.
const maxStored = 2*onto.MaxFields + 64<<10

// CheckSound fails if a row is damaged: it was not written so. The head is the newest
// commit.
func CheckSound(v *onto.Version, head int64) error {
	switch {
	case v.Op != onto.Put && v.Op != onto.Delete:
		return DamagedRow(v, "its op is %q", v.Op)
	case v.Commit < 1 || v.Commit > head:
		return DamagedRow(v, "there is no such commit")
	case v.SchemaVersion < 1 || v.SchemaVersion > math.MaxInt32:
		return DamagedRow(v, "its schema version is %d", v.SchemaVersion)
	case len(v.Fields) > maxStored:
		return DamagedRow(v, "it has %d bytes of fields, more than the %d that are read", len(v.Fields), maxStored)
	}
	return nil
}

// DamagedRow is the error for a row that was not written so.
func DamagedRow(v *onto.Version, format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d: %s", v.Identity, v.Commit, fmt.Sprintf(format, args...)).
		WithHint("find out what is damaged").WithCommand("doctor")
}

// CheckJSON checks the fields of a version that is evaluated in process: the file may have
// been edited.
func CheckJSON(v *onto.Version) error {
	fields, err := codec.AppendCanonical(nil, v.Fields)
	if err != nil {
		return DamagedRow(v, "its JSON cannot be read: %v", err)
	}
	v.Fields = fields
	return nil
}

// CanonicalFields is the canonical form of a history row's JSON. A null at the
// top is the same as an absent field.
func CanonicalFields(text []byte) ([]byte, error) {
	canonical, err := codec.AppendCanonical(make([]byte, 0, len(text)), text)
	if err != nil {
		return nil, err
	}
	if canonical[0] != '{' {
		return nil, fmt.Errorf("expected an object, found %s", codec.KindOf(canonical))
	}
	if !bytes.Contains(canonical, []byte(":null")) {
		return canonical, nil
	}
	members := slices.DeleteFunc(codec.Members(canonical), func(m codec.Member) bool {
		return codec.KindOf(m.Value) == codec.Null
	})
	return codec.AppendObject(nil, members), nil
}

// Version reads commit_id, op, schema_version_id and fields, which start at
// column i.
func Version(r *driver.Rows, i int, id onto.Identity) onto.Version {
	return onto.Version{
		Identity: id, Commit: r.Int(i), Op: onto.Op(r.Text(i + 1)),
		SchemaVersion: int(r.Int(i + 2)), Fields: json.RawMessage(r.Bytes(i + 3)),
	}
}
