package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver that the store uses too
)

// typeName is the type that the control stores too.
const typeName = "Customer"

// rawShape is a table of the control. Each finds a row by type and key.
type rawShape string

const (
	indexed      rawShape = "indexed"       // rows in order of insertion and an index
	withoutRowID rawShape = "without-rowid" // rows in the index itself
)

func (s rawShape) create() string {
	sql := `CREATE TABLE IF NOT EXISTS raw (type TEXT NOT NULL, key TEXT NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (type, key))`
	if s == withoutRowID {
		sql += ` WITHOUT ROWID`
	}
	return sql
}

// manyRows is how many rows the control's multi-row insert has.
const manyRows = 100

// rawRow is a row of the control, with its JSON ready.
type rawRow struct{ key, fields string }

// raw is the control: SQLite as it is used by hand, with one connection and
// statements that are prepared once.
type raw struct {
	db   *sql.DB
	conn *sql.Conn

	begin, commit, insert, insertMany, update, get *sql.Stmt
}

// rawRows is a fixture: the rows of a workload in the table of the control.
func (e *env) rawRows(w workload, n int, shape rawShape) string {
	return e.fixture(fmt.Sprintf("raw-%s-%s-%d.db", shape, w.name, n), func(path string) {
		r := e.raw(path, shape)
		for from := 0; from < n; from += commitSize {
			e.must(r.insertAll(e.ctx, w.rows(from, min(commitSize, n-from), 0)))
		}
		e.must(r.close())
	})
}

// openRaw opens a control that lasts as long as the benchmark.
func (e *env) openRaw(path string, shape rawShape) *raw {
	r := e.raw(path, shape)
	e.cleanup(func() { r.close() })
	return r
}

func (e *env) raw(path string, shape rawShape) *raw {
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_cache_size=-65536")
	e.must(err)
	conn, err := db.Conn(e.ctx)
	e.must(err)
	r := &raw{db: db, conn: conn}
	_, err = conn.ExecContext(e.ctx, `PRAGMA wal_autocheckpoint = 4096; `+shape.create()) // as the store does
	e.must(err)
	e.checkDurable(conn)
	for text, stmt := range map[string]**sql.Stmt{
		`BEGIN IMMEDIATE`: &r.begin,
		`COMMIT`:          &r.commit,
		`INSERT INTO raw (type, key, fields) VALUES (?, ?, ?)`:                                             &r.insert,
		`INSERT INTO raw (type, key, fields) VALUES (?, ?, ?)` + strings.Repeat(`, (?, ?, ?)`, manyRows-1): &r.insertMany,
		`UPDATE raw SET fields = ? WHERE type = ? AND key = ?`:                                             &r.update,
		`SELECT fields FROM raw WHERE type = ? AND key = ?`:                                                &r.get,
	} {
		*stmt, err = conn.PrepareContext(e.ctx, text)
		e.must(err)
	}
	return r
}

// checkDurable makes sure that the control waits for the disk.
func (e *env) checkDurable(conn *sql.Conn) {
	var sync int
	var journal string
	e.must(conn.QueryRowContext(e.ctx, `PRAGMA synchronous`).Scan(&sync))
	e.must(conn.QueryRowContext(e.ctx, `PRAGMA journal_mode`).Scan(&journal))
	e.assert(sync == 2 && journal == "wal", "the control has synchronous=%d, journal_mode=%s", sync, journal)
}

func (r *raw) close() error {
	for _, s := range []*sql.Stmt{r.begin, r.commit, r.insert, r.insertMany, r.update, r.get} {
		s.Close()
	}
	r.conn.Close()
	return r.db.Close()
}

// transact runs f in a transaction.
func (r *raw) transact(ctx context.Context, f func() error) error {
	if _, err := r.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err := r.commit.ExecContext(ctx)
	return err
}

// insertOne inserts a row in a transaction of its own.
func (r *raw) insertOne(ctx context.Context, row rawRow) error {
	return r.transact(ctx, func() error {
		_, err := r.insert.ExecContext(ctx, typeName, row.key, row.fields)
		return err
	})
}

// updateOne updates a row in a transaction of its own.
func (r *raw) updateOne(ctx context.Context, row rawRow) error {
	return r.transact(ctx, func() error {
		_, err := r.update.ExecContext(ctx, row.fields, typeName, row.key)
		return err
	})
}

// insertAll inserts rows one by one in one transaction.
func (r *raw) insertAll(ctx context.Context, rows []rawRow) error {
	return r.transact(ctx, func() error {
		for _, row := range rows {
			if _, err := r.insert.ExecContext(ctx, typeName, row.key, row.fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateAll updates rows one by one in one transaction.
func (r *raw) updateAll(ctx context.Context, rows []rawRow) error {
	return r.transact(ctx, func() error {
		for _, row := range rows {
			if _, err := r.update.ExecContext(ctx, row.fields, typeName, row.key); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertBulk inserts rows in one transaction, many with each statement.
func (r *raw) insertBulk(ctx context.Context, rows []rawRow) error {
	if len(rows)%manyRows != 0 {
		return fmt.Errorf("%d rows do not fill statements of %d", len(rows), manyRows)
	}
	args := make([]any, 0, manyRows*3)
	return r.transact(ctx, func() error {
		for ; len(rows) > 0; rows = rows[manyRows:] {
			args = args[:0]
			for _, row := range rows[:manyRows] {
				args = append(args, typeName, row.key, row.fields)
			}
			if _, err := r.insertMany.ExecContext(ctx, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// fields returns the JSON of a row.
func (r *raw) fields(ctx context.Context, key string) ([]byte, error) {
	var text []byte
	err := r.get.QueryRowContext(ctx, typeName, key).Scan(&text)
	return text, err
}
