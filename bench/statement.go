package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
)

// openReader opens the file of a store with the driver alone, only to read.
func (e *env) openReader(path string) *sql.Conn {
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000&_cache_size=-65536")
	e.must(err)
	e.cleanup(func() { db.Close() })
	conn, err := db.Conn(e.ctx)
	e.must(err)
	e.cleanup(func() { conn.Close() })
	return conn
}

// statement is a question in hand-written SQL, prepared once. It selects a key and
// fields, and may select a commit too, or it counts.
type statement struct {
	stmt *sql.Stmt
	plan string // in SQLite's words
}

// prepare makes a statement that lasts as long as the benchmark.
func (e *env) prepare(conn *sql.Conn, text string) statement {
	stmt, err := conn.PrepareContext(e.ctx, text)
	e.must(err)
	e.cleanup(func() { stmt.Close() })
	return statement{stmt, e.planOf(conn, text)}
}

// planOf returns how SQLite answers a statement, whatever its values.
func (e *env) planOf(conn *sql.Conn, text string) string {
	rows, err := conn.QueryContext(e.ctx, "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	e.must(err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		e.must(rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	e.must(rows.Err())
	return strings.Join(steps, "; ")
}

// rows yields key and fields of each row. The fields are valid until the next.
func (e *env) rows(s statement, args ...any) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		rows, err := s.stmt.QueryContext(e.ctx, args...)
		e.must(err)
		defer rows.Close()
		columns, err := rows.Columns()
		e.must(err)
		var key string
		var fields sql.RawBytes
		var commit int64
		into := []any{&key, &fields, &commit}[:len(columns)]
		for rows.Next() {
			e.must(rows.Scan(into...))
			if !yield(key, fields) {
				return
			}
		}
		e.must(rows.Err())
	}
}

// decoded yields each row as the struct that its fields are.
func (e *env) decoded(s statement, args ...any) iter.Seq[Customer] {
	return func(yield func(Customer) bool) {
		for _, fields := range e.rows(s, args...) {
			var c Customer
			e.must(json.Unmarshal(fields, &c))
			if !yield(c) {
				return
			}
		}
	}
}

// kept counts the rows and copies each, as needed to return them without decoding.
func (e *env) kept(s statement, args ...any) (n int) {
	for _, fields := range e.rows(s, args...) {
		row := json.RawMessage(strings.Clone(string(fields)))
		n += min(len(row), 1)
	}
	return n
}

// counted returns the number that a statement selects.
func (e *env) counted(s statement, args ...any) (n int) {
	e.must(s.stmt.QueryRowContext(e.ctx, args...).Scan(&n))
	return n
}

// analyzed is a fixture: a copy of a store's file with statistics. Without them
// SQLite starts the naive joins from the wrong side, which takes many times as
// long as need be.
func (e *env) analyzed(path string) string {
	return e.fixture(filepath.Base(path)+".analyzed", func(to string) {
		e.must(copyFile(to, path))
		db, err := sql.Open("sqlite3", "file:"+to+"?_busy_timeout=5000")
		e.must(err)
		_, err = db.ExecContext(e.ctx, "ANALYZE")
		e.must(err)
		e.must(db.Close())
	})
}

// prepareNaive prepares a join on a copy of a store's file, and makes sure that
// it finds the versions by the index on type, key and commit.
func (e *env) prepareNaive(path, text string) statement {
	s := e.prepare(e.openReader(e.analyzed(path)), text)
	e.assert(strings.Contains(s.plan, "entity_key=? AND commit_id=?"), "the control does not use its index: %s", s.plan)
	return s
}

// naiveLatest is how the newest versions are found without a projection: a join
// with the greatest commit of each key. Its parameters are the type, the type,
// and those of the condition on eh.fields_json.
func naiveLatest(condition string) string { return naive("", condition) }

// naiveAsOf is the same as of a commit, which follows the first parameter.
func naiveAsOf(condition string) string { return naive(" AND commit_id <= ?", condition) }

func naive(bound, condition string) string {
	return fmt.Sprintf(`SELECT eh.entity_key, eh.fields_json, eh.commit_id
		FROM entity_history eh
		INNER JOIN (
			SELECT entity_key, MAX(commit_id) AS max_cid
			FROM entity_history
			WHERE entity_type = ?%s
			GROUP BY entity_key
		) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid
		WHERE eh.entity_type = ? AND %s`, bound, condition)
}
