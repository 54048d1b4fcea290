package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// typeCache is the newest version of each type that exists and its search table,
// as of one row of schema_versions and one change of what is derived. Rows are
// only ever added there, and whatever else happens to types raises the counter of
// what is derived, so both together tell whether it is up to date.
type typeCache struct {
	row, derived int64
	loaded       bool
	newest       map[onto.TypeName]int
	search       map[onto.TypeName]*wordTable // of the types that have one
}

func (c *typeCache) refresh(w *conn, s state) error {
	if c.loaded && c.row == s.schemas && c.derived == s.derived {
		return nil
	}
	newest, dated, err := readNewest(w)
	if err != nil {
		return err
	}
	if !dated {
		if err := fillSince(w); err != nil {
			return err
		}
	}
	search, err := readWordTables(w)
	if err != nil {
		return err
	}
	// What was filled in may be rolled back: then it is looked at again.
	*c = typeCache{s.schemas, s.derived, dated, newest, search}
	return nil
}

// readNewest returns the newest version of each type that exists, and whether
// every version of every type has its first commit.
func readNewest(w *conn) (newest map[onto.TypeName]int, dated bool, err error) {
	r, err := w.query(context.Background(), `SELECT type_kind, type_name, max(schema_version_id), onto_end IS NULL,
			(SELECT count(*) FROM schema_versions WHERE onto_since IS NULL)
		FROM schema_versions GROUP BY 1, 2`) // the row of the maximum
	if err != nil {
		return nil, false, err
	}
	newest, dated = map[onto.TypeName]int{}, true
	err = each(r, func() error {
		if r.int(3) == 1 {
			newest[onto.TypeName{Kind: onto.Kind(r.text(0)), Name: r.text(1)}] = int(r.int(2))
		}
		dated = r.int(4) == 0
		return nil
	})
	return newest, dated, err
}

func (c *typeCache) checkStamp(w *backend.Write) error {
	return backend.CheckStamp(w, c.newest[w.TypeName()])
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

// sinceRule is the first commit that can hold rows of the version in row v of
// schema_versions, where that is not kept: in older files, and for versions that
// another program has added.
const sinceRule = `iif(v.schema_version_id = 1, 1, coalesce(iif(v.type_kind = 'entity',
		(SELECT min(h.commit_id) FROM entity_history h WHERE h.entity_type = v.type_name AND h.schema_version_id = v.schema_version_id),
		(SELECT min(h.commit_id) FROM relation_history h WHERE h.relation_type = v.type_name AND h.schema_version_id = v.schema_version_id)),
	(SELECT ifnull(max(id), 0) + 1 FROM commits)))`

// fillSince keeps the first commit of versions that lack it.
func fillSince(w *conn) error {
	return w.exec(`UPDATE schema_versions AS v SET onto_since = ` + sinceRule + ` WHERE onto_since IS NULL`)
}

// readSchemas reads all versions. The newest of each type has the flags of the
// registry. An older file that was opened for reading lacks some columns.
func readSchemas(c *conn) ([]onto.SchemaVersion, error) {
	whole, err := c.hasColumns("schema_versions", "onto_since", "onto_upgrader", "onto_end")
	if err != nil {
		return nil, err
	}
	added := sinceRule + `, NULL, NULL`
	if whole {
		added = `ifnull(v.onto_since, ` + sinceRule + `), v.onto_upgrader, v.onto_end`
	}
	rows, err := c.query(context.Background(), `SELECT v.type_kind, v.type_name, v.schema_version_id, v.schema_json, v.schema_hash,
			v.created_at, v.runtime_id, v.reason, nullif(r.schema_json, v.schema_json), `+added+`
		FROM schema_versions v LEFT JOIN schema_registry r ON r.type_kind = v.type_kind AND r.type_name = v.type_name
			AND v.schema_version_id = (SELECT max(n.schema_version_id) FROM schema_versions n
				WHERE n.type_kind = v.type_kind AND n.type_name = v.type_name)
		ORDER BY v.type_kind, v.type_name, v.schema_version_id`)
	if err != nil {
		return nil, err
	}
	var list []onto.SchemaVersion
	err = each(rows, func() error {
		v, err := readSchema(rows)
		list = append(list, v)
		return err
	})
	return list, err
}

// readSchema reads one row of readSchemas.
func readSchema(rows *rows) (onto.SchemaVersion, error) {
	kind, name, data := onto.Kind(rows.text(0)), rows.text(1), rows.bytes(3)
	schema := parseSchema(kind, name, data)
	if !rows.null(8) {
		schema = schema.WithFlags(parseSchema(kind, name, rows.bytes(8)))
	}
	v := onto.SchemaVersion{
		Schema: schema, Version: int(rows.int(2)), JSON: data, Hash: rows.text(4),
		Created: storedTime(rows.text(5)), Runtime: rows.text(6), Reason: rows.text(7), Since: rows.int(9),
	}
	if v.Version < 1 || v.Version > math.MaxInt32 || v.Since < 0 {
		return v, onto.Errorf(onto.Corrupt, "%s %s: there is a schema version %d that begins with commit %d", kind, name, v.Version, v.Since).
			WithHint("%s", restoreRemedy)
	}
	var err error
	if !rows.null(10) {
		v.Upgrader = new(onto.Upgrader)
		err = json.Unmarshal(rows.bytes(10), v.Upgrader)
	}
	if !rows.null(11) && err == nil {
		v.End = new(onto.End)
		err = json.Unmarshal(rows.bytes(11), v.End)
	}
	if err != nil {
		return v, onto.Errorf(onto.Corrupt, "%s %s: what is kept with schema version %d cannot be read: %w", kind, name, v.Version, err).
			WithHint("%s", restoreRemedy)
	}
	return v, nil
}

// Register makes sure the types exist as given, and with them what their flags
// ask for.
func (b *Backend) Register(ctx context.Context, reg *backend.Registration) ([]onto.SchemaVersion, error) {
	if known, err := b.registered(ctx, reg); known != nil || err != nil {
		return known, err
	}
	var list []onto.SchemaVersion
	err := b.write(ctx, func(w *conn, s state) error {
		all, err := readSchemas(w)
		if err == nil {
			err = b.register(w, all, s.head, reg)
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
func (b *Backend) register(w *conn, all []onto.SchemaVersion, head int64, reg *backend.Registration) error {
	missing, err := backend.Missing(backend.Newest(all), reg.Schemas)
	if err != nil {
		return err
	}
	for _, s := range missing {
		row := b.newSchemaRow(s, head+1, reg.Runtime, reg.Reason)
		if err := row.insert(w); err != nil {
			return err
		}
		set := registerIfNew
		if backend.NextVersion(all, s.TypeName()) > 1 {
			set = setRegistry // it had ended
		}
		if err := w.exec(set, string(s.Kind), s.Name, string(row.text)); err != nil {
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
	var found state
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
			if found, err = b.readState(r.conn); err != nil {
				return err
			}
		}
		list = known
		return nil
	})
	if err == nil && list != nil && !b.opts.ReadOnly {
		err = b.vouch(found)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// pick returns the versions of the given types, in their order.
func pick(newest []onto.SchemaVersion, given []onto.Schema) []onto.SchemaVersion {
	list := make([]onto.SchemaVersion, 0, len(given))
	for _, g := range given {
		for _, v := range newest {
			if v.Schema.TypeName() == g.TypeName() {
				list = append(list, v)
			}
		}
	}
	return list
}

// schemaRow is a version of a type to be added.
type schemaRow struct {
	kind            onto.Kind
	name            string
	text            []byte
	since           int64 // 0: by the rule
	upgrader        *onto.Upgrader
	at              string
	runtime, reason string
}

func (b *Backend) newSchemaRow(s onto.Schema, since int64, runtime, reason string) schemaRow {
	return schemaRow{kind: s.Kind, name: s.Name, text: s.JSON(), since: since, at: codec.FormatTime(b.now()), runtime: runtime, reason: reason}
}

// insert adds the version under the next number of the type, which is that of
// backend.NextVersion.
func (r *schemaRow) insert(w *conn) error {
	upgrader, err := keptJSON(r.upgrader)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(r.text)
	return w.exec(`INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash,
			created_at, runtime_id, reason, onto_since, onto_upgrader)
		VALUES (?, ?, (SELECT ifnull(max(schema_version_id), 0) + 1 FROM schema_versions WHERE type_kind = ? AND type_name = ?), ?, ?, ?, ?, ?, ?, ?)`,
		string(r.kind), r.name, string(r.kind), r.name, string(r.text), hex.EncodeToString(sum[:]),
		r.at, orNull(r.runtime), orNull(r.reason), zeroNull(r.since), upgrader)
}

// keptJSON is an upgrader or an end as it is kept, or nil for none.
func keptJSON[T onto.Upgrader | onto.End](v *T) (any, error) {
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

// The statements that register a schema, by kind, name and JSON.
const (
	registerIfNew = `INSERT OR IGNORE INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)`
	setRegistry   = `INSERT INTO schema_registry (type_kind, type_name, schema_json) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET schema_json = excluded.schema_json`
)

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
	return w.exec(setRegistry, string(s.Kind), s.Name, string(text))
}

// bootstrapSchemas gives the types of an old file that have no version yet
// their first one.
func (b *Backend) bootstrapSchemas(w *conn) error {
	rows, err := w.query(context.Background(), `SELECT type_kind, type_name, schema_json FROM schema_registry r WHERE NOT EXISTS (
		SELECT 1 FROM schema_versions v WHERE v.type_kind = r.type_kind AND v.type_name = r.type_name) ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	at := codec.FormatTime(b.now())
	return each(rows, func() error {
		row := schemaRow{kind: onto.Kind(rows.text(0)), name: rows.text(1), text: rows.bytes(2), at: at, reason: "bootstrap"}
		return row.insert(w)
	})
}
