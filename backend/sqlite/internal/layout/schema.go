package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/typelist"
)

// ReadSchemas reads all versions. The newest of each type has the flags of the
// registry.
func ReadSchemas(c *driver.Conn) ([]onto.SchemaVersion, error) {
	return driver.List(context.Background(), c, `SELECT v.type_kind, v.type_name, v.schema_version_id, v.schema_json, v.schema_hash,
			v.created_at, v.runtime_id, v.reason, nullif(r.schema_json, v.schema_json), v.onto_since, v.onto_upgrader, v.onto_end,
			v.onto_actor_kind, v.onto_actor_id, v.onto_comment, v.onto_learned
		FROM schema_versions v LEFT JOIN schema_registry r ON r.type_kind = v.type_kind AND r.type_name = v.type_name
			AND v.schema_version_id = (SELECT max(n.schema_version_id) FROM schema_versions n
				WHERE n.type_kind = v.type_kind AND n.type_name = v.type_name)
		ORDER BY v.type_kind, v.type_name, v.schema_version_id`, nil, readSchema)
}

// ParseSchema reads a stored schema. Kind and name are those of its row.
func ParseSchema(kind onto.Kind, name string, data []byte) (onto.Schema, error) {
	s, err := onto.ParseSchema(data) // fails also where a schema is not well formed, which is for those who made it
	if s.Kind == kind && s.Name == name {
		return s, nil
	}
	if err == nil {
		err = fmt.Errorf("it is that of %s %s", s.Kind, s.Name)
	}
	return s, onto.Errorf(onto.Corrupt, "%s %s: its stored schema cannot be read: %w", kind, name, err).WithHint("%s", RestoreRemedy)
}

// readSchema reads one row of ReadSchemas.
func readSchema(rows *driver.Rows) (onto.SchemaVersion, error) {
	kind, name, data := onto.Kind(rows.Text(0)), rows.Text(1), rows.Bytes(3)
	schema, err := ParseSchema(kind, name, data)
	if err == nil && !rows.Null(8) {
		var registered onto.Schema
		registered, err = ParseSchema(kind, name, rows.Bytes(8))
		schema = schema.WithFlags(registered)
	}
	if err != nil {
		return onto.SchemaVersion{}, err
	}
	v := onto.SchemaVersion{
		Schema: schema, Version: int(rows.Int(2)), JSON: data, Hash: rows.Text(4),
		Created: StoredTime(rows.Text(5)), Runtime: rows.Text(6), Reason: rows.Text(7), Since: rows.Int(9),
		Actor: onto.Actor{Kind: onto.ActorKind(rows.Text(12)), ID: rows.Text(13)}, Comment: rows.Text(14),
	}
	if v.Version < 1 || v.Version > math.MaxInt32 || v.Since < 0 {
		return v, onto.Errorf(onto.Corrupt, "%s %s: there is a schema version %d that begins with commit %d", kind, name, v.Version, v.Since).
			WithHint("%s", RestoreRemedy)
	}
	err = errors.Join(readKept(rows, 10, &v.Upgrader), readKept(rows, 11, &v.End), readKept(rows, 15, &v.Learned))
	if err != nil {
		return v, onto.Errorf(onto.Corrupt, "%s %s: what is kept with schema version %d cannot be read: %w", kind, name, v.Version, err).
			WithHint("%s", RestoreRemedy)
	}
	return v, nil
}

// readKept reads one of our columns of JSON; NULL leaves nil.
func readKept[T any](rows *driver.Rows, column int, to **T) error {
	if rows.Null(column) {
		return nil
	}
	*to = new(T)
	return json.Unmarshal(rows.Bytes(column), *to)
}

// WriteTypes writes what has changed about the types, in the order of versions, since a
// type that ends may begin anew.
func WriteTypes(w *driver.Conn, before, after []onto.SchemaVersion) error {
	for i := range after {
		v := &after[i]
		var was *onto.SchemaVersion // nil if it is new
		if n, found := slices.BinarySearchFunc(before, *v, typelist.Compare); found {
			was = &before[n]
		}
		newest := i+1 == len(after) || after[i+1].Schema.TypeName() != v.Schema.TypeName()
		if err := writeType(w, was, v, newest && v.End == nil); err != nil {
			return err
		}
	}
	return nil
}

// writeType writes what has changed about one version.
func writeType(w *driver.Conn, was, v *onto.SchemaVersion, newest bool) error {
	kind, name := string(v.Schema.Kind), v.Schema.Name
	if was == nil {
		if err := insertSchema(w, v); err != nil {
			return err
		}
		if v.End != nil { // made and ended elsewhere
			return w.Exec(unregister, kind, name)
		}
		set := setRegistry
		if v.Version == 1 {
			set = registerIfNew
		}
		return w.Exec(set, kind, name, string(v.Schema.JSON()))
	}
	if v.End != nil && (was.End == nil || *was.End != *v.End) {
		if err := w.Exec(unregister, kind, name); err != nil {
			return err
		}
		if err := keep(w, "onto_end", v.End, v); err != nil {
			return err
		}
	}
	if v.Upgrader != nil && (was.Upgrader == nil || *was.Upgrader != *v.Upgrader) {
		if err := keep(w, "onto_upgrader", v.Upgrader, v); err != nil {
			return err
		}
	}
	if v.Learned != nil && (was.Learned == nil || *was.Learned != *v.Learned) {
		if err := keep(w, "onto_learned", v.Learned, v); err != nil {
			return err
		}
	}
	if newest && len(onto.DiffSchemas(was.Schema, v.Schema).Flags) > 0 {
		return retune(w, v.Schema)
	}
	return nil
}

// kept is what a column of ours has as JSON.
type kept interface {
	onto.StoredUpgrader | onto.Learned | onto.End
}

// keep sets one of our columns of a version that is stored.
func keep[T kept](w *driver.Conn, column string, value *T, v *onto.SchemaVersion) error {
	text, err := keptJSON(value)
	if err != nil {
		return err
	}
	where := []any{string(v.Schema.Kind), v.Schema.Name, int64(v.Version)}
	r, ok, err := w.QueryRow(`SELECT `+SchemaSums+` FROM schema_versions WHERE type_kind = ? AND type_name = ? AND schema_version_id = ?`, where...)
	if err != nil || !ok {
		return err
	}
	right := CheckSum(r, SchemaSumsWidth) == SumRight // otherwise it stays as it is
	r.Vals[schemaColumn(column)] = text
	if right {
		r.Vals[SchemaSumsWidth] = SumOf(r.Scratch, r.Vals[:SchemaSumsWidth])
	}
	return w.Exec(`UPDATE schema_versions SET `+column+` = ?, onto_sum = ? WHERE type_kind = ? AND type_name = ? AND schema_version_id = ?`,
		append([]any{text, r.Vals[SchemaSumsWidth]}, where...)...)
}

// SchemaSums is the columns of a version of a type that its checksum covers, and the checksum.
const (
	schemaColumns   = `type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason, onto_since, onto_upgrader, onto_end, onto_actor_kind, onto_actor_id, onto_comment, onto_learned`
	SchemaSums      = schemaColumns + `, onto_sum`
	SchemaSumsWidth = 15
)

// schemaPlaces is the placeholders of a row.
var schemaPlaces = strings.Repeat("?, ", SchemaSumsWidth) + "?"

// schemaColumn is the place of a column among these.
func schemaColumn(name string) int { return slices.Index(strings.Split(schemaColumns, ", "), name) }

// insertSchema adds a version of a type.
func insertSchema(w *driver.Conn, v *onto.SchemaVersion) error {
	upgrader, err := keptJSON(v.Upgrader)
	if err != nil {
		return err
	}
	end, err := keptJSON(v.End)
	if err != nil {
		return err
	}
	learned, err := keptJSON(v.Learned)
	if err != nil {
		return err
	}
	args := []any{string(v.Schema.Kind), v.Schema.Name, v.Version, string(v.JSON), v.Hash,
		codec.FormatTime(v.Created), OrNull(v.Runtime), OrNull(v.Reason), OrNull(v.Since), upgrader, end,
		OrNull(string(v.Actor.Kind)), OrNull(v.Actor.ID), OrNull(v.Comment), learned}
	return w.Exec(`INSERT INTO schema_versions (`+SchemaSums+`) VALUES (`+schemaPlaces+`)`, append(args, SumOf(&w.Scratch, args))...)
}

// keptJSON is such a value as it is stored, or nil for none.
func keptJSON[T kept](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text, err = codec.AppendCanonical(nil, text)
	return string(text), err
}

// The statements that register a schema, by kind, name and JSON, or end that.
const (
	unregister    = `DELETE FROM schema_registry WHERE type_kind = ? AND type_name = ?`
	registerIfNew = `INSERT OR IGNORE INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)`
	setRegistry   = `INSERT INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET schema_json = excluded.schema_json`
)

// retune changes the flags of a type that is registered. The versions of the
// type stay as they are.
func retune(w *driver.Conn, s onto.Schema) error {
	return w.Exec(setRegistry, string(s.Kind), s.Name, string(s.JSON()))
}
