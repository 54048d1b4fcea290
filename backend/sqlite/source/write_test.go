package source_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
)

// perCommit is how many versions each commit of the child has, and mostCommits about how
// many it makes.
const (
	perCommit   = 6
	mostCommits = 8000
)

// writeAsOriginal commits to a file as the program does that has made it, until it is killed,
// and prints the id of each commit. From time to time it closes the file and opens it again.
// It rests once there are mostCommits, or as many as are given, since a slower reader could
// not catch up.
func writeAsOriginal(args []string) error {
	path, mode, most := args[0], args[1], int64(mostCommits)
	if len(args) > 2 {
		most, _ = strconv.ParseInt(args[2], 10, 64)
	}
	for {
		db, err := sql.Open("sqlite3", path+"?_busy_timeout=30000&_foreign_keys=on")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(`PRAGMA journal_mode = ` + mode + `; PRAGMA wal_autocheckpoint = 20; PRAGMA synchronous = OFF`); err != nil {
			return err
		}
		commit, err := authorOf(db)
		for range 200 {
			var id int64
			if err == nil {
				id, err = commit(db)
			}
			if err != nil {
				return err
			}
			fmt.Println(id)
			if id > most {
				_, err := io.Copy(io.Discard, os.Stdin) // until it is killed
				return err
			}
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
}

// authorOf is the way in which the program commits that has made a file.
func authorOf(db *sql.DB) (func(*sql.DB) (int64, error), error) {
	has := func(question string) (yes bool, err error) { return yes, db.QueryRow(question).Scan(&yes) }
	older, err := has(`SELECT EXISTS (SELECT 1 FROM pragma_table_info('onto_meta'))`)
	if err != nil || older {
		return commitAsOlder, err
	}
	likes, err := has(`SELECT EXISTS (SELECT 1 FROM schema_registry WHERE type_name = 'Likes')`)
	if likes {
		return func(db *sql.DB) (int64, error) {
			return commitAsOriginal(db, "Likes", `{}`, `{"odd": 1.0, "tags": [%q], "name": "N %d", "id": %q, "age": null}`)
		}, err
	}
	return func(db *sql.DB) (int64, error) {
		return commitAsOriginal(db, "Subscription", `{"seats": 3}`,
			`{"tags": [%q], "age": %d, "id": %q, "name": "K\u00fcndin", "nick": null, "profile": {"city": "\u0141\u00f3d\u017a"}, "balance": 1e3}`)
	}, err
}

// transaction runs statements on one connection up to the first that fails.
type transaction struct {
	c   *sql.Conn
	err error
}

func (x *transaction) run(statement string, args ...any) (id int64) {
	if x.err != nil {
		return 0
	}
	r, err := x.c.ExecContext(context.Background(), statement, args...)
	if x.err = err; err == nil {
		id, x.err = r.LastInsertId()
	}
	return id
}

// row reads one row, and reports whether there is one.
func (x *transaction) row(to []any, question string, args ...any) bool {
	if x.err != nil {
		return false
	}
	err := x.c.QueryRowContext(context.Background(), question, args...).Scan(to...)
	if !errors.Is(err, sql.ErrNoRows) {
		x.err = err
	}
	return err == nil
}

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// commitAsOriginal makes one commit as either engine of the original does, with its lock. The
// versions say which commit they are of.
func commitAsOriginal(db *sql.DB, relation, link, customer string) (id int64, err error) {
	c, err := db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	x := &transaction{c: c}
	x.run(`DELETE FROM locks WHERE lock_name = ? AND expires_at < ?`, "ontology_write", now())
	x.run(`INSERT OR REPLACE INTO locks (lock_name, owner_id, acquired_at, expires_at) VALUES ('ontology_write', 'python', ?, '9999')`, now())
	x.run(`BEGIN IMMEDIATE`)
	id = x.run(`INSERT INTO commits (created_at, metadata_json) VALUES (?, ?)`, now(), `{"namespace": "default"}`)
	for i := range perCommit {
		if i == 0 {
			x.run(`INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				relation, fmt.Sprint("c", id%7), "c1", "", link, id, 1)
			continue
		}
		key := fmt.Sprintf("c%d-%d", id%7, i)
		x.run(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES (?, ?, ?, ?, ?)`,
			"Customer", key, fmt.Sprintf(customer, strings.Repeat("x", 900), id, key), id, 1)
	}
	x.run(`COMMIT`)
	x.run(`DELETE FROM locks WHERE lock_name = ? AND owner_id = ?`, "ontology_write", "python")
	return id, x.err
}

// commitAsOlder makes one commit as formats 1 to 6 of this program do: history, with checksums
// where the format has them, and the projection. Versions are of the newest form of Customer,
// and every third commit deletes one.
func commitAsOlder(db *sql.DB) (id int64, err error) {
	c, err := db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	x := &transaction{c: c}
	x.run(`BEGIN IMMEDIATE`)
	id = x.run(`INSERT INTO commits (created_at, runtime_id, actor_kind, actor_id, comment, idempotency_key, draft_hash, operations) VALUES (?, 'older', 'operator', 'ana', 'beside', ?, 'digest', ?)`,
		now(), now(), perCommit)
	var template string
	var version int64
	x.row([]any{&template, &version}, `SELECT fields_json, schema_version_id FROM entity_history WHERE entity_type = 'Customer' AND op = 'put' ORDER BY id DESC LIMIT 1`)
	summed := false
	x.row([]any{&summed}, `SELECT EXISTS (SELECT 1 FROM pragma_table_info('entity_history') WHERE name = 'onto_sum')`)
	for i := range perCommit {
		key, op, fields, first := fmt.Sprintf("k%d-%d", id%7, i), onto.Put, "", id
		x.row([]any{&fields}, `SELECT json_set(?, '$.age', ?, '$.id', ?)`, template, id, key)
		there := ""
		if x.row([]any{&first, &there}, `SELECT first_commit_id, op FROM entity_current WHERE entity_type = 'Customer' AND entity_key = ?`, key); there == "put" && i == 0 && id%3 == 0 {
			op, fields = onto.Delete, "{}"
		}
		row := x.run(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES ('Customer', ?, ?, ?, ?, ?)`, key, fields, id, version, op)
		if summed {
			x.run(`UPDATE entity_history SET onto_sum = ? WHERE id = ?`, checksum(id, version, "Customer", key, op, fields), row)
		}
		x.run(`INSERT OR REPLACE INTO entity_current VALUES ('Customer', ?, ?, ?, ?, ?, jsonb(?))`, key, id, first, op, version, fields)
	}
	x.run(`COMMIT`)
	return id, x.err
}

// checksum is that of a row about an entity, in formats 3 to 6.
func checksum(commit, version int64, of, key string, op onto.Op, fields string) int64 {
	buf := binary.AppendUvarint(nil, uint64(commit))
	for _, part := range []string{of, key, "", "", "", string(op)} {
		buf = append(binary.AppendUvarint(buf, uint64(len(part))), part...)
	}
	return int64(crc32.Checksum(append(binary.AppendUvarint(buf, uint64(version)), fields...), crc32.MakeTable(crc32.Castagnoli)))
}
