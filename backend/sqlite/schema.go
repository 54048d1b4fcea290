package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// typeCache is the newest version of each type and its search table, as of one
// row of schema_versions and one change of what is derived. Rows are only ever
// added there, so the newest row's id tells whether it is up to date.
type typeCache struct {
	row, derived int64
	loaded       bool
	newest       map[typeName]int
	search       map[typeName]*wordTable // of the types that have one
}

type typeName struct {
	kind onto.Kind
	name string
}

func (c *typeCache) refresh(w *conn, s state) error {
	if c.loaded && c.row == s.schemas && c.derived == s.derived {
		return nil
	}
	r, err := w.query(context.Background(), `SELECT type_kind, type_name, max(schema_version_id) FROM schema_versions GROUP BY 1, 2`)
	if err != nil {
		return err
	}
	newest := map[typeName]int{}
	for r.next() {
		newest[typeName{onto.Kind(r.text(0)), r.text(1)}] = int(r.int(2))
	}
	if err := r.close(); err != nil {
		return err
	}
	search, err := readWordTables(w)
	if err != nil {
		return err
	}
	*c = typeCache{s.schemas, s.derived, true, newest, search}
	return nil
}

func (c *typeCache) checkStamp(w *backend.Write) error {
	return backend.CheckStamp(w, c.newest[typeName{w.Kind, w.Type}])
}

// Schemas returns every version of every type.
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	err := b.read(ctx, false, func(r *reading) error {
		var err error
		list, err = readSchemas(r.conn)
		return err
	})
	return list, err
}

// readSchemas reads all versions. The newest of each type has the flags of the
// registry.
func readSchemas(c *conn) ([]onto.SchemaVersion, error) {
	rows, err := c.query(context.Background(), `SELECT v.type_kind, v.type_name, v.schema_version_id, v.schema_json, v.schema_hash,
			v.created_at, v.runtime_id, v.reason, nullif(r.schema_json, v.schema_json)
		FROM schema_versions v LEFT JOIN schema_registry r ON r.type_kind = v.type_kind AND r.type_name = v.type_name
			AND v.schema_version_id = (SELECT max(n.schema_version_id) FROM schema_versions n
				WHERE n.type_kind = v.type_kind AND n.type_name = v.type_name)
		ORDER BY v.type_kind, v.type_name, v.schema_version_id`)
	if err != nil {
		return nil, err
	}
	var list []onto.SchemaVersion
	for rows.next() {
		kind, name, data := onto.Kind(rows.text(0)), rows.text(1), rows.bytes(3)
		schema := parseSchema(kind, name, data)
		if !rows.null(8) {
			schema = schema.WithFlags(parseSchema(kind, name, rows.bytes(8)))
		}
		list = append(list, onto.SchemaVersion{
			Schema: schema, Version: int(rows.int(2)), JSON: data, Hash: rows.text(4),
			Created: storedTime(rows.text(5)), Runtime: rows.text(6), Reason: rows.text(7),
		})
	}
	return list, rows.close()
}

// Register makes sure the types exist as given, and with them what their flags
// ask for.
func (b *Backend) Register(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	if known, err := b.registered(ctx, reg); known != nil || err != nil {
		return known, err
	}
	var list []onto.SchemaVersion
	err := b.write(ctx, func(w *conn, _ state) error {
		all, err := readSchemas(w)
		if err == nil {
			err = b.register(w, all, reg)
		}
		if err == nil {
			all, err = readSchemas(w)
		}
		if err != nil {
			return err
		}
		list = pick(backend.Newest(all), reg.Schemas)
		return derive(ctx, w, list, nil)
	})
	return list, err
}

// register writes what is new about the given types.
func (b *Backend) register(w *conn, all []onto.SchemaVersion, reg *backend.Registration) error {
	missing, err := backend.Missing(backend.Newest(all), reg.Schemas)
	if err != nil {
		return err
	}
	for _, s := range missing {
		if err := insertSchema(w, s.Kind, s.Name, s.JSON(), codec.FormatTime(b.now()), reg); err != nil {
			return err
		}
	}
	for _, s := range backend.Retuned(backend.Newest(all), reg.Schemas) {
		if err := retune(w, s); err != nil {
			return err
		}
	}
	return nil
}

// registered answers without the write lock if every type is there already. A
// file that was opened for reading has the flags it has: they change no answer
// but that of a search.
func (b *Backend) registered(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	err := b.read(ctx, false, func(r *reading) error {
		all, err := readSchemas(r.conn)
		if err != nil {
			return err
		}
		newest := backend.Newest(all)
		missing, err := backend.Missing(newest, reg.Schemas)
		if err != nil || len(missing) > 0 {
			return err
		}
		known := pick(newest, reg.Schemas)
		if !b.opts.ReadOnly {
			plan, err := planDerived(r.conn, known)
			if err != nil || !plan.empty() || len(backend.Retuned(newest, reg.Schemas)) > 0 {
				return err
			}
		}
		list = known
		return nil
	})
	return list, err
}

// pick returns the versions of the given types, in their order.
func pick(newest []onto.SchemaVersion, given []onto.Schema) []onto.SchemaVersion {
	list := make([]onto.SchemaVersion, 0, len(given))
	for _, g := range given {
		for _, v := range newest {
			if v.Schema.Kind == g.Kind && v.Schema.Name == g.Name {
				list = append(list, v)
			}
		}
	}
	return list
}

func insertSchema(w *conn, kind onto.Kind, name string, text []byte, at string, reg *backend.Registration) error {
	err := w.exec(`INSERT OR IGNORE INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)`,
		string(kind), name, string(text))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	return w.exec(`INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason)
		VALUES (?, ?, 1, ?, ?, ?, ?, ?)`,
		string(kind), name, string(text), hex.EncodeToString(sum[:]), at, orNull(reg.Runtime), orNull(reg.Reason))
}

// retune changes the flags of a type that is registered. The versions of the
// type stay as they are.
func retune(w *conn, s onto.Schema) error {
	row, ok, err := w.queryRow(`SELECT schema_json FROM schema_registry WHERE type_kind = ? AND type_name = ?`, string(s.Kind), s.Name)
	if err != nil {
		return err
	}
	text := []byte(s.JSON())
	if ok {
		if _, own := parseOwn(s.Kind, s.Name, row.bytes(0)); !own {
			text = retuneOriginal(row.bytes(0), s)
		}
	}
	return w.exec(`INSERT INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET schema_json = excluded.schema_json`, string(s.Kind), s.Name, string(text))
}

// bootstrapSchemas gives the types of an old file that have no version yet
// their first one.
func (b *Backend) bootstrapSchemas(w *conn) error {
	rows, err := w.query(context.Background(), `SELECT type_kind, type_name, schema_json FROM schema_registry r WHERE NOT EXISTS (
		SELECT 1 FROM schema_versions v WHERE v.type_kind = r.type_kind AND v.type_name = r.type_name) ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	at, reg := codec.FormatTime(b.now()), &backend.Registration{Reason: "bootstrap"}
	return each(rows, func() error {
		return insertSchema(w, onto.Kind(rows.text(0)), rows.text(1), rows.bytes(2), at, reg)
	})
}
