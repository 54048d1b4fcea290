package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// typeCache is the newest version of each type, as of one row of
// schema_versions. Rows are only ever added there, so the newest row's id
// tells whether it is up to date.
type typeCache struct {
	row    int64
	loaded bool
	newest map[typeName]int
}

type typeName struct {
	kind onto.Kind
	name string
}

func (c *typeCache) refresh(w *conn, row int64) error {
	if c.loaded && c.row == row {
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
	*c = typeCache{row, true, newest}
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

func readSchemas(c *conn) ([]onto.SchemaVersion, error) {
	rows, err := c.query(context.Background(), `SELECT type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason
		FROM schema_versions ORDER BY type_kind, type_name, schema_version_id`)
	if err != nil {
		return nil, err
	}
	var list []onto.SchemaVersion
	for rows.next() {
		data := rows.bytes(3)
		list = append(list, onto.SchemaVersion{
			Schema:  parseSchema(onto.Kind(rows.text(0)), rows.text(1), data),
			Version: int(rows.int(2)), JSON: data, Hash: rows.text(4),
			Created: storedTime(rows.text(5)), Runtime: rows.text(6), Reason: rows.text(7),
		})
	}
	return list, rows.close()
}

// Register makes sure the types exist as given.
func (b *Backend) Register(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	if known, err := b.registered(ctx, reg); known != nil || err != nil {
		return known, err
	}
	var list []onto.SchemaVersion
	err := b.write(ctx, func(w *conn, _ state) error {
		all, err := readSchemas(w)
		if err != nil {
			return err
		}
		missing, err := backend.Missing(backend.Newest(all), reg.Schemas)
		if err != nil {
			return err
		}
		for _, s := range missing {
			if err := insertSchema(w, s.Kind, s.Name, s.JSON(), codec.FormatTime(b.now()), reg); err != nil {
				return err
			}
		}
		if all, err = readSchemas(w); err == nil {
			list = pick(backend.Newest(all), reg.Schemas)
		}
		return err
	})
	return list, err
}

// registered answers without the write lock if every type is there already.
func (b *Backend) registered(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	all, err := b.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := backend.Missing(backend.Newest(all), reg.Schemas)
	if err != nil || len(missing) > 0 {
		return nil, err
	}
	return pick(backend.Newest(all), reg.Schemas), nil
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
