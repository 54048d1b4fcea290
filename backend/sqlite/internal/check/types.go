package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/typelist"
)

// indexes finds indexes that reads rely on and that are gone.
func (c *checker) indexes() error {
	names := slices.Concat([]string{"onto_commits_idempotency"}, layout.BusIndexes(), layout.WorkIndexes())
	for _, t := range c.of.Tables {
		names = append(names, t.HistoryIndexes...)
		if t.RightIndex != "" {
			names = append(names, t.RightIndex)
		}
	}
	for _, name := range names {
		n, err := c.r.QueryInt(`SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = ?`, name)
		if err == nil && n == 0 {
			err = c.report(audit.IndexMissing, "the index %s is missing", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemas checks the versions of types, and compares the registry with the newest.
func (c *checker) schemas() error {
	all, err := layout.ReadSchemas(c.r.Conn)
	if err == nil {
		err = c.log.Types(all, c.r.Head, func(i int) bool { return isHash(all[i].JSON, all[i].Hash) })
	}
	if err != nil {
		return err
	}
	for _, v := range typelist.Last(all) {
		if err := c.registry(v); err != nil {
			return err
		}
	}
	return nil
}

func isHash(data []byte, hash string) bool {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == hash
}

// registry compares the registered schema of a type with its newest version. A
// type that has ended is not registered.
func (c *checker) registry(v onto.SchemaVersion) error {
	row, ok, err := c.r.QueryRow(`SELECT schema_json FROM schema_registry WHERE type_kind = ? AND type_name = ?`,
		string(v.Schema.Kind), v.Schema.Name)
	if err != nil {
		return err
	}
	if v.End != nil {
		if !ok {
			return nil
		}
		f := audit.SchemaRegistry.Finding("%s ended with commit %d and is still registered", v.Schema.TypeName(), v.End.Commit)
		f.Remedy = onto.NewHint("take its row out of schema_registry, or begin the type again", "init", "--schema", "FILE")
		return c.push(f)
	}
	if !ok {
		return c.report(audit.SchemaRegistry, "%s has versions but is not registered", v.Schema.TypeName())
	}
	registered, err := layout.ParseSchema(v.Schema.Kind, v.Schema.Name, row.Bytes(0))
	if err != nil {
		return err
	}
	if d := onto.DiffSchemas(registered, v.Schema); !d.Empty() {
		f := audit.SchemaRegistry.Finding("the registered schema differs from version %d: %s", v.Version, d)
		f.About = onto.Identity{Kind: v.Schema.Kind, Type: v.Schema.Name}
		return c.push(f)
	}
	return nil
}

// endpoints finds live relations whose endpoints do not exist, and live facts whose
// subject does not. That is allowed, and often a mistake.
func (c *checker) endpoints() error {
	all, err := layout.ReadSchemas(c.r.Conn)
	if err != nil {
		return err
	}
	for _, v := range typelist.Newest(all) {
		if v.Schema.Kind == onto.KindEntity || v.Schema.Kind == onto.KindFact && v.Schema.Left == "" {
			continue
		}
		t := c.of.Tables.Of(v.Schema.Kind)
		if err = c.endpoint(t, v.Schema.Name, t.Columns[1], v.Schema.Left); err == nil && v.Schema.Kind == onto.KindRelation {
			err = c.endpoint(t, v.Schema.Name, t.Columns[2], v.Schema.Right)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endpoint finds rows of a type with a key in a column that no entity of another type
// has.
func (c *checker) endpoint(t *layout.Table, name, column, typ string) error {
	sql := fmt.Sprintf(`SELECT %s, c.%s FROM %s c WHERE c.%s = ?1 AND c.op = 'put' AND NOT EXISTS (
		SELECT 1 FROM entity_current e WHERE e.entity_type = ?2 AND e.entity_key = c.%[2]s AND e.op = 'put')
		AND 'put' IS NOT (SELECT h.op FROM entity_history h WHERE h.entity_type = ?2 AND h.entity_key = c.%[2]s ORDER BY h.commit_id DESC, h.id LIMIT 1)`,
		t.List("c"), column, t.Current, t.Columns[0])
	return c.r.Each(sql, []any{name, typ}, func(rows *driver.Rows) error {
		return c.push(audit.Endpoint(t.Identity(rows, 0), onto.EntityID(typ, rows.Text(len(t.Columns)))))
	})
}

// unregistered finds types that have versions but no schema.
func (c *checker) unregistered() error {
	for _, t := range c.of.Tables {
		sql := fmt.Sprintf(`SELECT DISTINCT %[1]s FROM %[2]s WHERE %[1]s NOT IN (SELECT type_name FROM schema_versions WHERE type_kind = ?)`, t.Columns[0], t.Current)
		err := c.r.Each(sql, []any{string(t.Kind)}, func(rows *driver.Rows) error {
			return c.report(audit.TypeUnregistered, "%s type %s has versions but no schema", t.Kind, audit.Name{Kind: t.Kind, Name: rows.Text(0)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
