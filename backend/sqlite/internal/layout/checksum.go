package layout

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
)

// A rebuild stores the checksum of the projection that it made, and the commit that it
// covers; so does a program that runs for long, when it ends. History up to that commit must always lead to the same state, so the checksum
// detects later alterations, even if the projection was altered too. Removing a type's
// history removes the checksum.

// StateSQL finds the newest version of each identity as of a commit, which is
// given twice, in history and in order of identity: identity, commit_id, op,
// schema_version_id, fields and the identity's first commit.
func (t *Table) StateSQL() string { return t.stateSQL("NULL") }

// CreatedStateSQL is StateSQL with what created_commit_id has to be.
func (t *Table) CreatedStateSQL() string { return t.stateSQL(t.createdSQL("h")) }

func (t *Table) stateSQL(created string) string {
	return t.newestSQL("h.commit_id <= ? AND h.id = "+t.NewestAt("h", "?"), created) + " ORDER BY " + t.List("h")
}

// newestSQL is these columns of some rows of history, and another one.
func (t *Table) newestSQL(where, created string) string {
	return fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB),
			(SELECT min(s.commit_id) FROM %[2]s s WHERE %[3]s), %[5]s
		FROM %[2]s h WHERE %[4]s`, t.List("h"), t.History, t.Matches("s", "h"), where, created)
}

// ProjectedSQL is the columns of StateSQL from the projection. Fields that cannot be
// read are empty.
func (t *Table) ProjectedSQL() string { return t.projectedSQL("NULL") }

// CreatedProjectedSQL is ProjectedSQL with created_commit_id.
func (t *Table) CreatedProjectedSQL() string { return t.projectedSQL("c.created_commit_id") }

func (t *Table) projectedSQL(created string) string {
	return fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, %s, c.first_commit_id, %s
		FROM %s c ORDER BY %s`, t.List("c"), SoundFields, created, t.Current, t.List("c"))
}

// SoundFields is the JSON of the projection row c; empty if it cannot be read or is too
// long.
var SoundFields = fmt.Sprintf(`CAST(iif(length(c.fields) <= %d AND json_valid(c.fields, 8), json(c.fields), '') AS BLOB)`, maxStored)

// digest computes the checksum: SHA-256 over the rows, entities before
// facts before relations. Of each row it takes kind, type, keys, commit, first commit, op,
// schema version and canonical fields, as text, each after its length in eight
// bytes, the highest first. Created_commit_id follows from history as well and is left
// out, so that the checksum of format 7 stays right.
type digest struct {
	hash hash.Hash
	buf  []byte
}

func (d *digest) text(s string) {
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
}

func (d *digest) number(n int64) { d.text(strconv.FormatInt(n, 10)) }

func (d *digest) add(v *onto.Version, first int64) {
	d.buf = d.buf[:0]
	d.text(string(v.Kind))
	d.text(v.Type)
	if v.Kind == onto.KindEntity {
		d.text(v.Key)
	} else {
		d.text(v.Left)
		d.text(v.Right)
		d.text(v.Instance)
	}
	d.number(v.Commit)
	d.number(first)
	d.text(string(v.Op))
	d.number(int64(v.SchemaVersion))
	d.text(string(v.Fields))
	d.hash.Write(d.buf)
}

// RowsSum is the checksum of the rows that a statement for each table finds.
func RowsSum(ctx context.Context, c *driver.Conn, tables *Tables, sql func(t *Table) string, args ...any) (string, error) {
	d := digest{hash: sha256.New()}
	for _, t := range tables {
		width := len(t.Columns)
		err := c.Each(ctx, sql(t), args, func(rows *driver.Rows) error {
			v := Version(rows, width, t.Identity(rows, 0))
			v.Fields, _ = CanonicalFields(v.Fields) // fields that cannot be read count as empty
			d.add(&v, rows.Int(width+4))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// KeepChecksum stores the checksum of the projection, which covers the head.
func KeepChecksum(ctx context.Context, w *driver.Conn, tables *Tables, head int64) error {
	sum, err := ProjectionSum(ctx, w, tables)
	if err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET checksum = ?, checksum_commit = ?`, sum, head)
}

// ProjectionSum is the checksum of the projection.
func ProjectionSum(ctx context.Context, c *driver.Conn, tables *Tables) (string, error) {
	return RowsSum(ctx, c, tables, (*Table).ProjectedSQL)
}

// Checksum reads the stored checksum.
func (r *Moment) Checksum() (string, int64, error) {
	row, ok, err := r.QueryRow(`SELECT checksum, checksum_commit FROM onto_meta`)
	if err != nil || !ok || row.Null(0) {
		return "", 0, err
	}
	return row.Text(0), row.Int(1), nil
}
