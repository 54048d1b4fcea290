package source

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
)

// kinds is how many kinds of versions there are, each with a table of its own, in the order
// of identities.
const kinds = 3

// kindAt is the place of a kind.
func kindAt(kind onto.Kind) int { return slices.Index(onto.Kinds(), kind) }

// table is a table of history, with the SQL that reads it.
type table struct {
	kind onto.Kind
	name string
	keys []string // the columns of the identity: the type first

	scan     string // the rows after one, with their commits and stamps
	ofCommit string // the rows of a commit, in order of identity
	before   string // the row of an identity that an earlier commit shows
}

// historyTable returns the table of a kind, or nil if the file has none.
func historyTable(s *shape, kind onto.Kind, retyped map[string]string) *table {
	t := &table{kind: kind}
	switch kind {
	case onto.KindEntity:
		t.name, t.keys = "entity_history", []string{"entity_type", "entity_key"}
	case onto.KindFact:
		t.name, t.keys = "fact_history", []string{"fact_type", "subject", "attribute", "fact_id"}
	default:
		t.name, t.keys = "relation_history", []string{"relation_type", "left_key", "right_key", "instance_key"}
	}
	if !s.has(t.name) {
		return nil
	}
	number := "ifnull(h." + s.column(t.name, "schema_version_id") + ", 1)"
	if !s.columns[[2]string{t.name, "schema_version_id"}] {
		number = "1"
	}
	column := func(name string) string {
		if s.columns[[2]string{t.name, name}] {
			return "h." + name
		}
		return s.column(t.name, name)
	}
	var keys, matches []string
	for i, name := range t.keys {
		keys = append(keys, column(name))
		matches = append(matches, fmt.Sprintf("%s = ?%d", column(name), i+1))
	}
	fields := fmt.Sprintf(`h.id, %s, h.commit_id, %s, %s, %s, CAST(h.fields_json AS BLOB)`, strings.Join(keys, ", "), number, column("op"), column("onto_sum"))
	order := slices.Clone(keys)
	if len(retyped) > 0 { // the order of identities is that of their new names
		var renamed strings.Builder
		for old, name := range retyped {
			fmt.Fprintf(&renamed, " WHEN %s THEN '%s'", quoted(old), name)
		}
		order[0] = "CASE " + keys[0] + renamed.String() + " ELSE " + keys[0] + " END"
	}
	t.scan = fmt.Sprintf(`SELECT h.id, h.commit_id, %s, %s FROM main.%s h WHERE h.id >= ?1 AND (h.id > ?1 OR NOT ?2) ORDER BY h.id LIMIT ?3 + 0`, keys[0], number, t.name)
	t.ofCommit = fmt.Sprintf(`SELECT %s FROM (SELECT h.id AS place FROM plan.runs r CROSS JOIN main.%s h ON h.id BETWEEN r.first AND r.last
		WHERE r.commit_id = ? AND r.kind = %d ORDER BY %s, h.id LIMIT -1) o CROSS JOIN main.%s h ON h.id = o.place`, fields, t.name, kindAt(kind), strings.Join(order, ", "), t.name)
	t.before = fmt.Sprintf(`SELECT %s FROM main.%s h WHERE %s AND h.commit_id < ?%d ORDER BY h.commit_id DESC, h.id LIMIT 1`,
		fields, t.name, strings.Join(matches, " AND "), len(keys)+1)
	return t
}

// quoted is a text in SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// row is a row of history as the file has it.
type row struct {
	onto.Identity // with the type's name in the file
	id, commit    int64
	version       int64
	op            onto.Op
	sum           *int64
	text          []byte
	garbled       bool // a part of the identity is no text
}

func (t *table) read(r *driver.Rows) row {
	n := len(t.keys)
	v := row{id: r.Int(0), commit: r.Int(n + 1), version: r.Int(n + 2), op: onto.Op(r.Text(n + 3)), text: r.Bytes(n + 5)}
	for i := 1; i <= n; i++ {
		_, ok := r.Vals[i].(string)
		v.garbled = v.garbled || !ok
	}
	v.Identity = onto.Identity{Kind: t.kind, Type: r.Text(1)}
	if t.kind == onto.KindEntity {
		v.Key = r.Text(2)
	} else {
		v.Left, v.Right, v.Instance = r.Text(2), r.Text(3), r.Text(4)
	}
	if !r.Null(n + 4) {
		sum := r.Int(n + 4)
		v.sum = &sum
	}
	return v
}

// args is the identity as the arguments of a statement.
func (v *row) args() []any {
	if v.Kind == onto.KindEntity {
		return []any{v.Type, v.Key}
	}
	return []any{v.Type, v.Left, v.Right, v.Instance}
}

// castagnoli is of the polynomial that CPUs have instructions for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// intact reports whether the row is as it was written. Rows of the original and of the first
// formats do not say.
func (v *row) intact() bool {
	if v.sum == nil {
		return true
	}
	buf := binary.AppendUvarint(nil, uint64(v.commit))
	for _, part := range [...]string{v.Type, v.Key, v.Left, v.Right, v.Instance, string(v.op)} {
		buf = append(binary.AppendUvarint(buf, uint64(len(part))), part...)
	}
	buf = append(binary.AppendUvarint(buf, uint64(v.version)), v.text...)
	return *v.sum == int64(crc32.Checksum(buf, castagnoli))
}

// made is what a row becomes.
type made struct {
	onto.Version
	rewritten bool  // it was written otherwise, and means the same
	keyed     bool  // its key has become text
	reason    error // why it cannot be stored; nil if it can
}

// make makes a version of a row. Its commit is that of the copy.
func (t *types) make(v *row, commit int64) made {
	m := made{Version: onto.Version{Identity: v.Identity, Op: v.op, Commit: commit, Fields: json.RawMessage("{}")}}
	refuse := func(format string, args ...any) made {
		m.reason = fmt.Errorf(format, args...)
		return m
	}
	of := t.byWas[v.TypeName()]
	if of == nil {
		return refuse("there is no type %.80q", v.Type)
	}
	m.Type = of.name.Name
	stamp := of.inForce(commit, v.op)
	switch {
	case stamp == nil:
		return refuse("its type does not exist any more")
	case v.garbled:
		return refuse("its key is not text")
	}
	m.SchemaVersion = stamp.Version
	m.rewritten = stamp.was != v.version
	if err := m.Identity.Check(); err != nil {
		m.SchemaVersion = 0 // nothing can stand in its place
		return refuse("%w", err)
	}
	if err := stamp.checkIdentity(m.Identity); err != nil {
		return refuse("%w", err)
	}
	switch v.op {
	case onto.Delete:
		m.rewritten = m.rewritten || string(v.text) != "{}"
		return m
	case onto.Put:
	default:
		return refuse("its op is %.20q", v.op)
	}
	fields, err := canonical(v.text)
	if err == nil {
		m.rewritten = m.rewritten || !bytes.Equal(fields, v.text)
		m.Fields, err = stamp.fit(&m, of, fields)
	}
	if err != nil {
		m.Fields = nil
		return refuse("%w", err)
	}
	m.rewritten = m.rewritten || !bytes.Equal(fields, m.Fields)
	return m
}

// maxStored is how many bytes of JSON a row may have. Other programs need not write it in the
// shortest form.
const maxStored = 2*onto.MaxFields + 64<<10

// canonical is the canonical form of a row's JSON, an object.
func canonical(text []byte) ([]byte, error) {
	if len(text) > maxStored {
		return nil, fmt.Errorf("it has %d bytes of fields, more than the %d that are read", len(text), maxStored)
	}
	fields, err := codec.AppendCanonical(make([]byte, 0, len(text)), text)
	if err == nil && fields[0] != '{' {
		err = fmt.Errorf("expected an object, found %s", codec.KindOf(fields))
	}
	return fields, err
}

// checkIdentity refuses what the type does not have: relations that lack their instance key or
// have one all the same, other attributes of facts, keys that are no integers.
func (v *version) checkIdentity(id onto.Identity) error {
	s := &v.Schema
	switch {
	case id.Kind == onto.KindRelation && s.InstanceKey != "" && id.Instance == "":
		return fmt.Errorf("it needs its instance key %s", s.InstanceKey)
	case id.Kind == onto.KindRelation && s.InstanceKey == "" && id.Instance != "":
		return fmt.Errorf("it has an instance key, and relations of its type have none")
	case id.Kind == onto.KindFact:
		if _, ok := s.Attribute(id.Right); !ok {
			return fmt.Errorf("its type has no attribute %s", id.Right)
		}
	case id.Kind == onto.KindEntity && v.key.Type == onto.Int:
		if _, err := onto.Int.KeyValue(id.Key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	return nil
}

// fit holds the canonical fields of a row to the version of its type.
func (v *version) fit(m *made, of *typ, fields []byte) (json.RawMessage, error) {
	members := codec.Members(fields)
	if of.fields != nil {
		for i := range members {
			if name, ok := of.fields[members[i].Name]; ok {
				members[i].Name = name
			}
		}
		slices.SortFunc(members, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
	}
	s := &v.Schema
	kept := make([]codec.Member, 0, len(s.Fields))
	i := 0
	for _, f := range s.Fields {
		for i < len(members) && members[i].Name < f.Name {
			if err := v.extra(m, members[i]); err != nil {
				return nil, err
			}
			i++
		}
		var value []byte
		if i < len(members) && members[i].Name == f.Name {
			value = members[i].Value
			i++
		}
		if i < len(members) && members[i].Name == f.Name {
			return nil, fmt.Errorf("it has two fields that would be called %s", f.Name)
		}
		value, err := v.value(m, f, value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if value != nil {
			kept = append(kept, codec.Member{Name: f.Name, Value: value})
		}
	}
	for ; i < len(members); i++ {
		if err := v.extra(m, members[i]); err != nil {
			return nil, err
		}
	}
	out := codec.AppendObject(nil, kept)
	if len(out) > onto.MaxFields {
		return nil, fmt.Errorf("it has %d bytes of fields, the limit is %d", len(out), onto.MaxFields)
	}
	return out, nil
}

// extra takes a member that is no field: a null, or the instance key, which is in the
// identity.
func (v *version) extra(m *made, member codec.Member) error {
	switch {
	case codec.KindOf(member.Value) == codec.Null:
		return nil
	case v.Schema.InstanceKey != "" && member.Name == v.Schema.InstanceKey:
		if text, err := codec.AppendString(nil, m.Instance); err != nil || !bytes.Equal(text, member.Value) && !meansKey(member.Value, m.Instance) {
			return fmt.Errorf("field %s says %.80s, and its instance key is %.80q", member.Name, member.Value, m.Instance)
		}
		return nil
	}
	return fmt.Errorf("its type has no field %.80q", member.Name)
}

// value is the value of a field in its stored form; nil for none.
func (v *version) value(m *made, f onto.Field, value []byte) ([]byte, error) {
	if value != nil && codec.KindOf(value) == codec.Null {
		value = nil
	}
	if f.Name == v.Schema.Key {
		return v.keyField(m, value)
	}
	switch {
	case value != nil:
		return f.Type.Fit(value)
	case f.Name == v.Schema.InstanceKey:
		return codec.AppendString(nil, m.Instance)
	case f.Default == nil && !f.Optional:
		return nil, fmt.Errorf("it is missing")
	}
	return f.Default, nil
}

// keyField is the value of the key field, which says what the key is. Keys that were floats,
// bools or something else are text.
func (v *version) keyField(m *made, value []byte) ([]byte, error) {
	if v.key.Type == onto.Int {
		if value != nil && string(value) != m.Key {
			return nil, fmt.Errorf("it says %.80s, and the key is %.80q", value, m.Key)
		}
		return []byte(m.Key), nil
	}
	text, err := codec.AppendString(nil, m.Key)
	switch {
	case err != nil || value == nil || bytes.Equal(text, value):
		return text, err
	case v.key.Type == onto.String || !meansKey(value, m.Key):
		return nil, fmt.Errorf("it says %.80s, and the key is %.80q", value, m.Key)
	}
	m.keyed = true
	return text, nil
}

// meansKey reports whether Python may write a value as a key. What is neither a number nor a
// bool has no one text.
func meansKey(value []byte, key string) bool {
	switch codec.KindOf(value) {
	case codec.Bool:
		return key == "True" && value[0] == 't' || key == "False" && value[0] == 'f'
	case codec.Int, codec.Float:
		a, err := strconv.ParseFloat(string(value), 64)
		b, err2 := strconv.ParseFloat(key, 64)
		return err == nil && err2 == nil && a == b
	case codec.String:
		return false
	}
	return true
}
