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

// StoredTime reads a time column. Other programs may leave out the fraction or
// the offset, and write a space for the T; what cannot be read is the zero
// time.
func StoredTime(s string) time.Time {
	if t, err := codec.ParseTime(s); err == nil {
		return t
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	return time.Time{}
}

// HasFields fails if a row of the projection has no fields.
func HasFields(v *onto.Version) error {
	if v.Fields != nil {
		return nil
	}
	return onto.Errorf(onto.Corrupt, "%s at commit %d: the projection has no fields for it", v.Identity, v.Commit).
		WithHint("make it anew").WithCommand("projection", "rebuild")
}

// Foreign tells which history rows may come from another program. Theirs
// are not canonical; ours are.
type Foreign struct {
	head    int64
	Covered int64 // the projection covers this commit; later ones are unknown
	Until   int64 // the last commit that is known to be foreign
}

// ReadForeign reads the columns of Standing.
func ReadForeign(r *driver.Rows) Foreign { return Foreign{r.Int(0), r.Int(1), r.Int(2)} }

// Covers reports whether the projection covers the head.
func (f Foreign) Covers() bool { return f.head == f.Covered || f.head == 0 }

// maxStored is how many bytes of JSON a version may have. Other programs need not
// write it in the shortest form.
const maxStored = 2*onto.MaxFields + 64<<10

// Sound fails if a row is damaged: no program has written it so.
func (f Foreign) Sound(v *onto.Version) error {
	switch {
	case v.Op != onto.Put && v.Op != onto.Delete:
		return DamagedRow(v, "its op is %q", v.Op)
	case v.Commit < 1 || v.Commit > f.head:
		return DamagedRow(v, "there is no such commit")
	case v.SchemaVersion < 1 || v.SchemaVersion > math.MaxInt32:
		return DamagedRow(v, "its schema version is %d", v.SchemaVersion)
	case len(v.Fields) > maxStored:
		return DamagedRow(v, "it has %d bytes of fields, more than the %d that are read", len(v.Fields), maxStored)
	}
	return nil
}

// DamagedRow is the error for a row that no program has written so.
func DamagedRow(v *onto.Version, format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d: %s", v.Identity, v.Commit, fmt.Sprintf(format, args...)).
		WithHint("find out what is damaged").WithCommand("doctor")
}

// Canonical makes the fields of a history row canonical if they may not be.
func (f Foreign) Canonical(v *onto.Version) error {
	if v.Commit > f.Until && v.Commit <= f.Covered {
		return nil
	}
	fields, err := CanonicalFields(v.Fields)
	if err != nil {
		return DamagedRow(v, "its JSON cannot be read: %v", err)
	}
	v.Fields = json.RawMessage(fields)
	return nil
}

// CheckJSON checks the fields of a version that is evaluated in process: another
// program may have changed the file.
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
	v := onto.Version{
		Identity: id, Commit: r.Int(i), Op: onto.Op(r.Text(i + 1)),
		SchemaVersion: int(r.Int(i + 2)), Fields: json.RawMessage(r.Bytes(i + 3)),
	}
	if v.SchemaVersion == 0 {
		v.SchemaVersion = 1 // rows from before schema versions were stored
	}
	return v
}
