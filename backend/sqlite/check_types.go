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
			remedy := "create it again as docs/format/sqlite.md says"
			if name == rightIndex {
				remedy = rebuildRemedy
			}
			err = c.report(onto.SeverityError, "index_missing", remedy, "the index %s is missing", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemas looks at the versions of types: their order, their hashes, and
// whether the registry holds the newest.
func (c *checker) schemas() error {
	all, err := readSchemas(c.r.conn)
	if err != nil {
		return err
	}
	last := onto.SchemaVersion{}
	for _, v := range all {
		want := 1
		if last.Schema.Kind == v.Schema.Kind && last.Schema.Name == v.Schema.Name {
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
	for _, v := range backend.Newest(all) {
		if err := c.registry(v); err != nil {
			return err
		}
	}
	return nil
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

// registry compares the registered schema of a type with its newest version.
func (c *checker) registry(v onto.SchemaVersion) error {
	row, ok, err := c.r.queryRow(`SELECT schema_json FROM schema_registry WHERE type_kind = ? AND type_name = ?`,
		string(v.Schema.Kind), v.Schema.Name)
	if err != nil {
		return err
	}
	if !ok {
		return c.report(onto.SeverityError, "schema_registry", registerRemedy, "%s %s has versions but is not registered", v.Schema.Kind, v.Schema.Name)
	}
	if d := onto.Compare(parseSchema(v.Schema.Kind, v.Schema.Name, row.bytes(0)), v.Schema); !d.Empty() {
		return c.report(onto.SeverityError, "schema_registry", restoreRemedy, "the registered schema differs from version %d: %s", v.Version, d)
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
			rows, err := c.r.query(c.ctx, fmt.Sprintf(`SELECT %s, c.%s FROM %s c WHERE c.relation_type = ? AND c.op = 'put' AND NOT EXISTS (
				SELECT 1 FROM entity_current e WHERE e.entity_type = ? AND e.entity_key = c.%[2]s AND e.op = 'put')`,
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
