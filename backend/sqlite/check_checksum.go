package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/audit"
)

// A rebuild keeps the checksum of the projection that it made, and the commit
// that it covers. History up to that commit must lead to the same state for
// ever, so the checksum finds what was altered afterwards, even if the
// projection was altered with it. Removing a type's history removes the
// checksum.

// stateSQL finds the newest version of each identity as of a commit, which is
// given twice, in history and in order of identity: identity, commit_id, op,
// schema_version_id, fields and the identity's first commit.
func (t *table) stateSQL() string {
	return fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB),
			(SELECT min(s.commit_id) FROM %s s WHERE %s)
		FROM %s h WHERE h.commit_id <= ? AND h.id = %s
		ORDER BY %s`, t.list("h"), t.history, t.matches("s", "h"), t.history, t.newestAt("h", "?"), t.list("h"))
}

// projectedSQL is the same columns from the projection. Fields that cannot be
// read are empty.
func (t *table) projectedSQL() string {
	return fmt.Sprintf(`SELECT %s, c.commit_id, c.op, c.schema_version_id, %s, c.first_commit_id
		FROM %s c ORDER BY %s`, t.list("c"), soundFields, t.current, t.list("c"))
}

// soundFields is the JSON of the projection row c; empty if it cannot be read,
// or is longer than any that is read.
var soundFields = fmt.Sprintf(`CAST(iif(length(c.fields) <= %d AND json_valid(c.fields, 8), json(c.fields), '') AS BLOB)`, maxStored)

// digest computes the checksum: SHA-256 over the rows, entities before
// relations. Of each row it takes kind, type, keys, commit, first commit, op,
// schema version and canonical fields, as text, each after its length in eight
// bytes, the highest first.
type digest struct {
	hash hash.Hash
	buf  []byte
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

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

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// rowsSum is the checksum of the rows that a statement for each table finds.
func rowsSum(ctx context.Context, c *driver.Conn, tables [2]*table, sql func(t *table) string, args ...any) (string, error) {
	d := newDigest()
	for _, t := range tables {
		rows, err := c.Query(ctx, sql(t), args...)
		if err != nil {
			return "", err
		}
		width := len(t.columns)
		err = driver.Each(rows, func() error {
			v := version(rows, width, t.identity(rows, 0))
			v.Fields, _ = canonicalFields(v.Fields) // what cannot be read counts as nothing
			d.add(&v, rows.Int(width+4))
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return d.sum(), nil
}

// keepChecksum keeps the checksum of the projection, which covers the head.
func keepChecksum(ctx context.Context, w *driver.Conn, tables [2]*table, head int64) error {
	sum, err := rowsSum(ctx, w, tables, (*table).projectedSQL)
	if err != nil {
		return err
	}
	return w.Exec(`UPDATE onto_meta SET checksum = ?, checksum_commit = ?`, sum, head)
}

// Checksum returns the checksum that the last rebuild of the projection has
// kept, SHA-256 in hex, and the commit that it covers. Check compares it. It is
// "" if none is kept.
func (b *Backend) Checksum(ctx context.Context) (sum string, commit int64, err error) {
	err = b.reader.read(ctx, false, func(r *reading) error {
		sum, commit, err = r.checksum()
		return err
	})
	return sum, commit, err
}

// checksum reads what is kept. Files before format 3 keep none.
func (r *moment) checksum() (string, int64, error) {
	if r.format < 3 {
		return "", 0, nil
	}
	row, ok, err := r.queryRow(`SELECT checksum, checksum_commit FROM onto_meta`)
	if err != nil || !ok || row.Null(0) {
		return "", 0, err
	}
	return row.Text(0), row.Int(1), nil
}

// checksum compares history as of the commit of the checksum with it, and then
// the projection, if that is of the same commit. A rebuild cannot mend history,
// so the projection is not blamed while history differs.
func (c *checker) checksum() error {
	kept, commit, err := c.r.checksum()
	if err != nil || kept == "" {
		return err
	}
	was, err := rowsSum(c.ctx, c.r.Conn, c.b.tables, (*table).stateSQL, commit, commit)
	if err != nil {
		return err
	}
	if was != kept {
		return c.report(audit.HistoryChanged, "history up to commit %d has the checksum %.12s…, and had %.12s… when the projection was rebuilt", commit, was, kept)
	}
	if commit != c.r.head || !c.r.foreign.covers() {
		return nil
	}
	is, err := rowsSum(c.ctx, c.r.Conn, c.b.tables, (*table).projectedSQL)
	if err != nil || is == kept {
		return err
	}
	return c.stale(audit.ProjectionChecksum, "the projection has the checksum %.12s…, and had %.12s… when it was rebuilt at commit %d", is, kept, commit)
}

// lastPossible stands for the newest commit in stateSQL.
const lastPossible int64 = math.MaxInt64
