package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

const registerRemedy = "register the type: onto init --schema FILE"

// indexes finds indexes that reads rely on and that somebody has dropped.
func (c *checker) indexes() error {
	names := []string{
		"idx_entity_history_lookup", "idx_relation_history_lookup",
		"onto_entity_history_commit", "onto_relation_history_commit", "onto_commits_idempotency",
	}
	if has, err := c.r.hasDerived(); err != nil {
		return err
	} else if has {
		names = append(names, rightIndex)
	}
	for _, name := range names {
		n, err := c.r.queryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = ?`, name)
		if err == nil && n == 0 {
			err = c.report(onto.SeverityError, "index_missing", rebuildRemedy, "the index %s is missing", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemas looks at the versions of types: their order, their hashes, and
// whether the registry holds the newest, and when each of them was the newest.
func (c *checker) schemas() error {
	all, err := readSchemas(c.r.conn)
	if err != nil {
		return err
	}
	last := onto.SchemaVersion{}
	for _, v := range all {
		want := 1
		if last.Schema.TypeName() == v.Schema.TypeName() {
			want = last.Version + 1
		}
		if v.Version != want {
			err = c.report(onto.SeverityError, "schema_gap", restoreRemedy,
				"%s %s has schema version %d where %d is due", v.Schema.Kind, v.Schema.Name, v.Version, want)
		}
		if err == nil {
			err = c.schemaHash(v)
		}
		if err != nil {
			return err
		}
		last = v
	}
	for _, v := range backend.Last(all) {
		if err := c.registry(v); err != nil {
			return err
		}
	}
	return c.lives(all)
}

// schemaHash checks a schema of ours; the original program hashes in its own
// way.
func (c *checker) schemaHash(v onto.SchemaVersion) error {
	sum := sha256.Sum256(v.JSON)
	if parsed, _ := onto.ParseSchema(v.JSON); parsed.Kind == "" && v.Reason != "initial" {
		return nil
	}
	if hex.EncodeToString(sum[:]) == v.Hash {
		return nil
	}
	return c.report(onto.SeverityError, "schema_hash", restoreRemedy,
		"%s %s: schema version %d does not have the hash that is stored with it", v.Schema.Kind, v.Schema.Name, v.Version)
}

// registry compares the registered schema of a type with its newest version. A
// type that has ended is not registered.
func (c *checker) registry(v onto.SchemaVersion) error {
	row, ok, err := c.r.queryRow(`SELECT schema_json FROM schema_registry WHERE type_kind = ? AND type_name = ?`,
		string(v.Schema.Kind), v.Schema.Name)
	if err != nil {
		return err
	}
	if v.End != nil {
		if !ok {
			return nil
		}
		return c.report(onto.SeverityError, "schema_registry", "take its row out of schema_registry, or begin the type again: onto init --schema FILE",
			"%s %s ended with commit %d and is still registered", v.Schema.Kind, v.Schema.Name, v.End.Commit)
	}
	if !ok {
		return c.report(onto.SeverityError, "schema_registry", registerRemedy, "%s %s has versions but is not registered", v.Schema.Kind, v.Schema.Name)
	}
	if d := onto.Compare(parseSchema(v.Schema.Kind, v.Schema.Name, row.bytes(0)), v.Schema); !d.Empty() {
		return c.report(onto.SeverityError, "schema_registry", restoreRemedy, "the registered schema differs from version %d: %s", v.Version, d)
	}
	return nil
}

// span is the commits of ours that hold rows of one version of a type.
type span struct{ first, last, lastPut int64 }

// spans finds them by type and version. Another program does not keep to the
// types.
func (c *checker) spans() (map[onto.TypeName]map[int]span, error) {
	found := map[onto.TypeName]map[int]span{}
	for _, t := range c.b.tables {
		rows, err := c.r.query(c.ctx, fmt.Sprintf(`SELECT %s, ifnull(schema_version_id, 1), min(commit_id), max(commit_id), max(iif(op = 'put', commit_id, 0))
			FROM %s WHERE commit_id > ? AND commit_id <= ? GROUP BY 1, 2`, t.columns[0], t.history), c.r.foreign.until, c.r.foreign.covered)
		if err != nil {
			return nil, err
		}
		err = each(rows, func() error {
			name := onto.TypeName{Kind: t.kind, Name: rows.text(0)}
			if found[name] == nil {
				found[name] = map[int]span{}
			}
			found[name][int(rows.int(1))] = span{rows.int(2), rows.int(3), rows.int(4)}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// lives looks at when each version of a type was the newest, and at the commits
// that hold rows of it.
func (c *checker) lives(all []onto.SchemaVersion) error {
	spans, err := c.spans()
	if err != nil {
		return err
	}
	for i, v := range all {
		name := v.Schema.TypeName()
		var next *onto.SchemaVersion
		if i+1 < len(all) && name == (all[i+1].Schema.TypeName()) {
			next = &all[i+1]
		}
		if err := c.life(v, next); err != nil {
			return err
		}
		if rows, ok := spans[name][v.Version]; ok {
			if err := c.span(v, next, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// life looks at one version of a type. Next is the one that follows it, or nil.
func (c *checker) life(v onto.SchemaVersion, next *onto.SchemaVersion) error {
	if v.Since < 1 || v.Since > c.r.head+1 || next != nil && next.Since < v.Since {
		err := c.report(onto.SeverityError, "schema_since", restoreRemedy, "version %d of %s %s begins with commit %d, which does not go with the log or with the version after it",
			v.Version, v.Schema.Kind, v.Schema.Name, v.Since)
		if err != nil {
			return err
		}
	}
	if end := v.End; end != nil && (end.Commit < v.Since || end.Commit > c.r.head+1 || next != nil && next.Since < end.Commit) {
		return c.report(onto.SeverityError, "schema_end", restoreRemedy, "%s %s ended with commit %d, which does not go with its versions",
			v.Schema.Kind, v.Schema.Name, end.Commit)
	}
	return nil
}

// span compares the rows of one version of a type with its life. The commit that
// ends a type deletes what there is of it.
func (c *checker) span(v onto.SchemaVersion, next *onto.SchemaVersion, rows span) error {
	end := v.End
	switch {
	case rows.first < v.Since:
		return c.report(onto.SeverityError, "schema_since", restoreRemedy, "commit %d holds rows of version %d of %s %s, which begins with commit %d",
			rows.first, v.Version, v.Schema.Kind, v.Schema.Name, v.Since)
	case end != nil && end.Purged:
		return c.report(onto.SeverityError, "schema_purged", restoreRemedy, "commit %d holds rows of %s %s, which was purged", rows.first, v.Schema.Kind, v.Schema.Name)
	case end != nil && (rows.lastPut >= end.Commit || rows.last > end.Commit):
		return c.report(onto.SeverityError, "schema_ended", restoreRemedy, "commit %d holds rows of %s %s, which ended with commit %d",
			rows.last, v.Schema.Kind, v.Schema.Name, end.Commit)
	case end == nil && next != nil && rows.last >= next.Since:
		return c.report(onto.SeverityError, "schema_since", restoreRemedy, "commit %d holds rows of version %d of %s %s, but version %d begins with commit %d",
			rows.last, v.Version, v.Schema.Kind, v.Schema.Name, next.Version, next.Since)
	}
	return nil
}

// endpoints finds live relations whose endpoints do not exist. That is
// allowed, and often a mistake.
func (c *checker) endpoints() error {
	all, err := readSchemas(c.r.conn)
	if err != nil {
		return err
	}
	t := c.b.table(onto.KindRelation)
	for _, v := range backend.Newest(all) {
		if v.Schema.Kind != onto.KindRelation {
			continue
		}
		for _, end := range []struct{ column, typ string }{{"left_key", v.Schema.Left}, {"right_key", v.Schema.Right}} {
			rows, err := c.r.query(c.ctx, fmt.Sprintf(`SELECT %s, c.%s FROM %s c WHERE c.relation_type = ?1 AND c.op = 'put' AND NOT EXISTS (
				SELECT 1 FROM entity_current e WHERE e.entity_type = ?2 AND e.entity_key = c.%[2]s AND e.op = 'put')
				AND 'put' IS NOT (SELECT h.op FROM entity_history h WHERE h.entity_type = ?2 AND h.entity_key = c.%[2]s ORDER BY h.commit_id DESC, h.id LIMIT 1)`,
				t.list("c"), end.column, t.current), v.Schema.Name, end.typ)
			if err != nil {
				return err
			}
			err = each(rows, func() error {
				return c.report(onto.SeverityWarning, "endpoint_missing", "put the entity, or delete the relation",
					"%s: there is no %s", t.identity(rows, 0), onto.EntityID(end.typ, rows.text(len(t.columns))))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unregistered finds types that have versions but no schema.
func (c *checker) unregistered() error {
	for _, t := range c.b.tables {
		rows, err := c.r.query(c.ctx, fmt.Sprintf(`SELECT DISTINCT %[1]s FROM %[2]s WHERE %[1]s NOT IN
			(SELECT type_name FROM schema_versions WHERE type_kind = ?)`, t.columns[0], t.current), string(t.kind))
		if err != nil {
			return err
		}
		err = each(rows, func() error {
			return c.report(onto.SeverityWarning, "type_unregistered", registerRemedy,
				"%s type %s has versions but no schema", t.kind, rows.text(0))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
