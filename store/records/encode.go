package records

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
)

// jsonlEncoder writes versions as JSON Lines.
type jsonlEncoder struct{ metadata []string }

func (jsonlEncoder) header(dst []byte) []byte { return dst }

func (e jsonlEncoder) record(dst []byte, v *onto.Version) ([]byte, error) {
	w := jsonWriter{dst: append(dst, '{')}
	w.text("kind", string(v.Kind))
	w.text("type", v.Type)
	switch v.Kind {
	case onto.KindEntity:
		w.text("key", v.Key)
	case onto.KindFact:
		w.text(subjectName, v.Left)
		w.text(attributeName, v.Right)
		w.text(factID, v.Instance)
	default:
		w.text(leftKey, v.Left)
		w.text(rightKey, v.Right)
		w.text(instanceKey, v.Instance)
	}
	if v.Live() {
		w.name("fields")
		w.object(exported(v))
	}
	for _, name := range e.metadata {
		if name == opName {
			w.text(name, string(v.Op))
			continue
		}
		w.name(name)
		w.dst = strconv.AppendInt(w.dst, metadataNumber(v, name), 10)
	}
	if w.err != nil {
		return w.dst, damaged(v, w.err)
	}
	return append(w.dst, '}', '\n'), nil
}

// exported is the fields of a version as they are exported: without those that the store
// computes, and those of a fact with the commit that asserted it.
func exported(v *onto.Version) []byte {
	if v.Kind != onto.KindFact {
		return computed.Strip(v.Fields)
	}
	members, err := codec.ParseObject(v.Fields)
	if err != nil {
		return v.Fields // which says what is wrong when it is written
	}
	return codec.AppendObject(nil, withAsserted(members, v.Commit))
}

// withAsserted adds the commit that asserted a fact to the members of a version that does
// not name it, since it is what that commit made.
func withAsserted(members []codec.Member, commit int64) []codec.Member {
	i, has := slices.BinarySearchFunc(members, onto.FactAsserted, func(m codec.Member, name string) int { return strings.Compare(m.Name, name) })
	if has {
		return members
	}
	return slices.Insert(members, i, codec.Member{Name: onto.FactAsserted, Value: strconv.AppendInt(nil, commit, 10)})
}

func metadataNumber(v *onto.Version, name string) int64 {
	if name == commitID {
		return v.Commit
	}
	return int64(v.SchemaVersion)
}

// damaged is the error for a damaged version.
func damaged(v *onto.Version, err error) error {
	return onto.Errorf(onto.Corrupt, "%s at commit %d: %w", v.Identity, v.Commit, err).WithHint("a new put replaces it")
}

// jsonWriter appends the members of an object.
type jsonWriter struct {
	dst []byte
	err error // the first
}

func (w *jsonWriter) name(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(append(w.dst, '"'), name...), '"', ':')
}

func (w *jsonWriter) text(name, text string) {
	w.name(name)
	var err error
	if w.dst, err = codec.AppendString(w.dst, text); err != nil && w.err == nil {
		w.err = err
	}
}

// object appends an object, which may be damaged.
func (w *jsonWriter) object(text []byte) {
	start := len(w.dst)
	dst, err := codec.AppendCanonical(w.dst, text)
	if err == nil && dst[start] != '{' {
		_, err = codec.ParseObject(text) // whose error says what it is instead
	}
	w.dst = dst
	if err != nil && w.err == nil {
		w.err = err
	}
}

// csvEncoder writes versions of one type as CSV.
type csvEncoder struct {
	schema  *onto.Schema
	columns []csvColumn
}

func newCSVEncoder(schema *onto.Schema, metadata []string) *csvEncoder {
	return &csvEncoder{schema, csvColumns(schema, metadata...)}
}

func (e *csvEncoder) header(dst []byte) []byte {
	for i, c := range e.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCell(dst, c.name)
	}
	return append(dst, '\n')
}

func (e *csvEncoder) record(dst []byte, v *onto.Version) ([]byte, error) {
	members, err := e.members(v)
	if err != nil {
		return dst, err
	}
	for i, c := range e.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case c.field == nil:
			dst = appendSystemCell(dst, c.role, v)
		case !v.Live() && c.name == e.schema.Key:
			dst = appendKeyCell(dst, c.field, v.Key)
		case !v.Live() && identifies(e.schema, c.name):
			dst = appendTextCell(dst, partOf(e.schema, c.name, v.Key), false)
		default:
			dst = e.cell(dst, c, members)
		}
	}
	return append(dst, '\n'), nil
}

// cell appends the cell of a field.
func (e *csvEncoder) cell(dst []byte, c csvColumn, members []codec.Member) []byte {
	value := c.value(members)
	switch {
	case value == nil:
		return dst
	case c.absent && c.field.Type == onto.String:
		return appendTextCell(dst, codec.Unquote(value), true)
	}
	return cellOf(dst, c.field, value)
}

// members returns the fields of a version, which must be those of the type: an
// old version can have been written for another one.
func (e *csvEncoder) members(v *onto.Version) ([]codec.Member, error) {
	if !v.Live() {
		return nil, nil
	}
	members, err := codec.ParseObject(v.Fields)
	if err != nil {
		return nil, damaged(v, err)
	}
	for _, m := range members {
		f, ok := e.schema.Field(m.Name)
		if !ok {
			return nil, e.otherType(v, "field "+m.Name+" is unknown")
		}
		if codec.KindOf(m.Value) == codec.Null {
			continue
		}
		if _, err := f.FitValue(m.Value); err != nil {
			return nil, e.otherType(v, "field "+m.Name+": "+err.Error())
		}
	}
	for _, f := range e.schema.Fields {
		has := slices.ContainsFunc(members, func(m codec.Member) bool { return m.Name == f.Name })
		if required(&f) && !has {
			return nil, e.otherType(v, "field "+f.Name+" is missing")
		}
	}
	if v.Kind == onto.KindFact {
		members = withAsserted(members, v.Commit)
	}
	return members, nil
}

func (e *csvEncoder) otherType(v *onto.Version, what string) error {
	return onto.Errorf(onto.Invalid, "%s at commit %d does not fit the columns of %s: %s", v.Identity, v.Commit, e.schema.Name, what).
		WithHint("it was written for another version of the type; use --format jsonl, which has no columns")
}

func appendSystemCell(dst []byte, role string, v *onto.Version) []byte {
	switch role {
	case leftKey, subjectName:
		return appendTextCell(dst, v.Left, false)
	case rightKey, attributeName:
		return appendTextCell(dst, v.Right, false)
	case instanceKey, factID:
		return appendTextCell(dst, v.Instance, false)
	case opName:
		return append(dst, v.Op...)
	}
	return strconv.AppendInt(dst, metadataNumber(v, role), 10)
}
