package onto

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto/internal/codec"
)

// FieldChange is one field that differs, at any depth.
type FieldChange struct {
	Path          string          // as [FieldPath] writes it, such as home.city and lines[1].qty
	Before, After json.RawMessage // canonical JSON; nil if it was or is absent
}

// String describes the change for messages, as in home.city: "Oslo" → "Bergen".
func (c FieldChange) String() string {
	return c.Path + ": " + orNone(string(c.Before)) + " → " + orNone(string(c.After))
}

// Fields returns the fields that differ, in order of their names. Where both sides are
// objects, or lists of one length, it names what differs inside; any other value is one
// change as a whole. An identity that does not exist has no fields.
func (c Change) Fields() ([]FieldChange, error) {
	before, err := c.Before.members()
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	after, err := c.After.members()
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	var list fieldChanges
	list.objects("", before, after)
	return list, nil
}

// members splits the fields of a version, which can be damaged. One that is not live has none.
func (v *Version) members() ([]codec.Member, error) {
	if v == nil || !v.Live() || len(v.Fields) == 0 {
		return nil, nil
	}
	return codec.ParseObject(v.Fields)
}

// fieldChanges gathers the fields that differ.
type fieldChanges []FieldChange

// objects compares two objects that stand at a path.
func (l *fieldChanges) objects(path string, before, after []codec.Member) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Name < after[0].Name:
			*l = append(*l, FieldChange{Path: FieldPath(path, before[0].Name), Before: before[0].Value})
			before = before[1:]
		case len(before) == 0 || after[0].Name < before[0].Name:
			*l = append(*l, FieldChange{Path: FieldPath(path, after[0].Name), After: after[0].Value})
			after = after[1:]
		default:
			l.values(FieldPath(path, before[0].Name), before[0].Value, after[0].Value)
			before, after = before[1:], after[1:]
		}
	}
}

// values compares two values that stand at a path.
func (l *fieldChanges) values(path string, before, after []byte) {
	if bytes.Equal(before, after) {
		return
	}
	switch kind := codec.KindOf(before); {
	case kind != codec.KindOf(after):
	case kind == codec.Object:
		l.objects(path, codec.Members(before), codec.Members(after))
		return
	case kind == codec.List:
		if l.lists(path, before, after) {
			return
		}
	}
	*l = append(*l, FieldChange{path, before, after})
}

// lists compares two lists, element by element. It reports false if they have different lengths.
func (l *fieldChanges) lists(path string, before, after []byte) bool {
	var old [][]byte
	for v := range codec.Elements(before) {
		old = append(old, v)
	}
	n := 0
	for range codec.Elements(after) {
		n++
	}
	if n != len(old) {
		return false
	}
	i := 0
	for v := range codec.Elements(after) {
		l.values(fmt.Sprintf("%s[%d]", path, i), old[i], v)
		i++
	}
	return true
}
