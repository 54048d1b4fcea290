package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ontologia/onto"
)

func byHandBenchmarks() []benchmark {
	return []benchmark{
		{"B35", "durable commit of one entity against a log by hand", "sqlite", logOne},
		{"B36", "update of 1,000 entities against a log by hand", "sqlite", logUpdates},
		{"B37", "commit of 1,000 entities with search fields against a log by hand", "sqlite", logSearched},
		{"B38", "count by an indexed field", "sqlite", countIndexed},
	}
}

// byHand is a log with a projection as a developer would write it by hand: a row for
// each commit, one for each version, and the newest version of each key, with the
// indexes that the store has. Statements are prepared once; nothing is checked.
type byHand struct {
	conn *sql.Conn

	begin, end, commit, version, current, words *sql.Stmt
	searched                                    bool
}

const createByHand = `
PRAGMA wal_autocheckpoint = 4096;
CREATE TABLE IF NOT EXISTS commits (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, operations INTEGER);
CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, key TEXT NOT NULL, fields TEXT NOT NULL,
	commit_id INTEGER NOT NULL, version INTEGER NOT NULL, op TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS history_lookup ON history(type, key, commit_id DESC);
CREATE INDEX IF NOT EXISTS history_commit ON history(commit_id);
CREATE TABLE IF NOT EXISTS current (type TEXT NOT NULL, key TEXT NOT NULL, commit_id INTEGER NOT NULL, first_commit_id INTEGER NOT NULL,
	op TEXT NOT NULL, version INTEGER NOT NULL, fields BLOB, PRIMARY KEY (type, key)) WITHOUT ROWID;`

// createByHandTagged has the indexes of [TaggedCustomer].
const createByHandTagged = `
CREATE INDEX IF NOT EXISTS current_balance ON current(json_extract(fields, '$.balance'));
CREATE INDEX IF NOT EXISTS current_city ON current(json_extract(fields, '$.city'));
CREATE INDEX IF NOT EXISTS current_tier ON current(json_extract(fields, '$.tier'));
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts4(name, note);`

// openByHand opens such a log that has the rows of a workload.
func (e *env) openByHand(w workload, n int) *byHand {
	built := e.fixture(fmt.Sprintf("byhand-%s-%d.db", w.name, n), func(path string) {
		h, done := e.byHand(path, w)
		for from := 0; from < n; from += commitSize {
			e.must(h.append(e.ctx, w.rows(from, min(commitSize, n-from), 0)))
		}
		done()
	})
	h, done := e.byHand(e.copied(built), w)
	e.cleanup(done)
	return h
}

func (e *env) byHand(path string, w workload) (h *byHand, done func()) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_cache_size=-65536")
	e.must(err)
	conn, err := db.Conn(e.ctx)
	e.must(err)
	create := createByHand
	if w.tagged {
		create += createByHandTagged
	}
	_, err = conn.ExecContext(e.ctx, create)
	e.must(err)
	e.checkDurable(conn)
	h = &byHand{conn: conn, searched: w.tagged}
	statements := map[string]**sql.Stmt{
		`BEGIN IMMEDIATE`: &h.begin,
		`COMMIT`:          &h.end,
		`INSERT INTO commits (created_at, operations) VALUES (?, ?)`:                                    &h.commit,
		`INSERT INTO history (type, key, fields, commit_id, version, op) VALUES (?, ?, ?, ?, 1, 'put')`: &h.version,
		`INSERT INTO current VALUES (?1, ?2, ?3, ?3, 'put', 1, jsonb(?4))
			ON CONFLICT DO UPDATE SET commit_id = excluded.commit_id, fields = excluded.fields`: &h.current,
	}
	if h.searched {
		statements[`INSERT INTO words (docid, name, note) VALUES (?1, json_extract(?2, '$.name'), json_extract(?2, '$.note'))`] = &h.words
	}
	for text, stmt := range statements {
		*stmt, err = conn.PrepareContext(e.ctx, text)
		e.must(err)
	}
	return h, func() {
		for _, stmt := range statements {
			(*stmt).Close()
		}
		conn.Close()
		db.Close()
	}
}

func (h *byHand) appendOne(ctx context.Context, row rawRow) error {
	return h.append(ctx, []rawRow{row})
}

// append makes one commit of rows.
func (h *byHand) append(ctx context.Context, rows []rawRow) error {
	if _, err := h.begin.ExecContext(ctx); err != nil {
		return err
	}
	made, err := h.commit.ExecContext(ctx, time.Now().UTC().Format(time.RFC3339Nano), len(rows))
	if err != nil {
		return err
	}
	id, err := made.LastInsertId()
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := h.write(ctx, row, id); err != nil {
			return err
		}
	}
	_, err = h.end.ExecContext(ctx)
	return err
}

func (h *byHand) write(ctx context.Context, row rawRow, commit int64) error {
	made, err := h.version.ExecContext(ctx, typeName, row.key, row.fields, commit)
	if err != nil {
		return err
	}
	if _, err := h.current.ExecContext(ctx, typeName, row.key, commit, row.fields); err != nil || !h.searched {
		return err
	}
	id, err := made.LastInsertId()
	if err != nil {
		return err
	}
	_, err = h.words.ExecContext(ctx, id, row.fields)
	return err
}

// logOne is B35.
func logOne(e *env) []row {
	w := plain()
	return []row{e.insertAgainst("durable commit of one new entity / commit, version and newest version by hand", w,
		e.openByHand(w, e.entities()).appendOne, atLeast(0.85))}
}

// logUpdates is B36.
func logUpdates(e *env) []row {
	w := plain()
	return []row{e.updatesAgainst("update of 1,000 entities / versions and newest versions by hand", w,
		e.openByHand(w, e.entities()).append, atLeast(0.6))}
}

// logSearched is B37.
func logSearched(e *env) []row {
	w, n, batch := tagged(), e.entities(), 2
	s, h := e.openStore(e.copied(e.history(w, n, 1))), e.openByHand(w, n)
	taken := e.alternate(e.bulkPlan(), e.bulkCommits(s, batch, w, n, 0), e.bulkWrites(h.append, batch, w, n))
	return []row{faster("commit of 1,000 new entities with index and search fields / the same with FTS4 by hand", taken[0], taken[1], atLeast(0.6))}
}

// countIndexed is B38.
func countIndexed(e *env) []row {
	w, n := tagged(), e.entities()
	s, r := e.openStore(e.history(w, n, 1)), e.openIndexed(w, n)
	const spread = districts / 50
	cities := lookups(w, n, func(i int) criterion { return inCity(i * spread) })
	golden := lookups(w, n, func(int) criterion { return ofTier("Gold") })
	count := func(f onto.Filter) int { return e.countTagged(s, f) }
	inOneCity := e.lookupByHand(r, "SELECT count(*) FROM raw WHERE "+inCity(0).sql)
	inOneTier := e.lookupByHand(r, "SELECT count(*) FROM raw WHERE "+ofTier("").sql)
	return []row{
		e.lookupRow(lookupRace{"count of 0.1% by an index / select count(*)", cities, count,
			func(args ...any) int { return e.counted(inOneCity, args...) }, atLeast(0.3)}),
		e.lookupRow(lookupRace{"count of 10% by an index / select count(*)", golden, count,
			func(args ...any) int { return e.counted(inOneTier, args...) }, noGoal()}),
	}
}
