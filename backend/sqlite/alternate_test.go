package sqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
)

// original is the original program at work on a file: its statements, as it documents
// them, for one of its engines.
type original struct {
	t      *testing.T
	db     *sql.DB
	second bool // it is the second engine
}

func startOriginal(t *testing.T, path, engine string) *original {
	t.Helper()
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=5000&_foreign_keys=on&_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return &original{t, db, engine == "v2"}
}

// one reads a number.
func (o *original) one(statement string, args ...any) int64 {
	o.t.Helper()
	var n sql.NullInt64
	if err := o.db.QueryRow(statement, args...).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n.Int64
}

func (o *original) exec(statement string, args ...any) int64 {
	o.t.Helper()
	r, err := o.db.Exec(statement, args...)
	if err != nil {
		o.t.Fatal(err)
	}
	id, _ := r.LastInsertId()
	return id
}

// put commits one customer, spaced and with the key in the middle. The second engine
// makes sure first that its catalog has the type.
func (o *original) put(key string, age int) {
	o.exec(`BEGIN IMMEDIATE`)
	id := o.exec(`INSERT INTO commits (created_at, metadata_json) VALUES ('2026-11-17T00:00:00.000000+00:00', '{"namespace": "default"}')`)
	if o.second && o.one(`SELECT count(*) FROM type_layout_catalog WHERE type_kind = 'entity' AND type_name = 'Customer' AND is_current = 1 AND schema_version_id = 1`) == 0 {
		o.exec(`INSERT INTO type_layout_catalog (type_kind, type_name, schema_version_id, table_name, activation_commit_id, is_current)
			VALUES ('entity', 'Customer', 1, 'entity_Customer_v1', ?, 1)`, id)
	}
	fields := fmt.Sprintf(`{"name": "K\u00fcndin", "id": "%s", "nick": null, "age": %d, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}`, key, age)
	o.exec(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Customer', ?, ?, ?, 1)`, key, fields, id)
	o.exec(`COMMIT`)
}

// customers asks for customers as of a commit, or for all their versions since one.
func (o *original) customers(at int64, history bool, where string, args ...any) string {
	o.t.Helper()
	bound, since := "", int64(0)
	if o.second {
		since = o.one(`SELECT max(activation_commit_id) FROM type_layout_catalog WHERE type_kind = 'entity' AND type_name = 'Customer' AND is_current = 1`)
		version := o.one(`SELECT max(schema_version_id) FROM type_layout_catalog WHERE type_kind = 'entity' AND type_name = 'Customer' AND is_current = 1`)
		bound = fmt.Sprintf(" AND eh.schema_version_id = %d", version)
	}
	if at < since {
		return ""
	}
	statement := `SELECT eh.entity_key, eh.commit_id FROM entity_history eh INNER JOIN (
		SELECT entity_key, MAX(commit_id) AS max_cid FROM entity_history eh WHERE entity_type = 'Customer' AND commit_id <= ?` + bound + ` GROUP BY entity_key
		) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid WHERE eh.entity_type = 'Customer'` + bound + where
	if history {
		statement = `SELECT eh.entity_key, eh.commit_id FROM entity_history eh WHERE eh.entity_type = 'Customer' AND eh.commit_id > ?` + bound + where
		at = max(at, since-1)
	}
	rows, err := o.db.Query(statement, append([]any{at}, args...)...)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var key string
		var commit int64
		if err := rows.Scan(&key, &commit); err != nil {
			o.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s@%d", key, commit))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// Two programs write one file in turns, ours and the original, and both give the same
// answers: before anything was written, and after each write.
func TestTwoProgramsAgree(t *testing.T) {
	questions := effort.Count(t, 2000)
	for _, engine := range []string{"v1", "v2"} {
		t.Run(engine, func(t *testing.T) {
			path := originalEngine(t, engine, "WAL")
			rng := rand.New(rand.NewPCG(18, 4))
			b := open(t, path, nil)
			reader := open(t, path, &sqlite.Options{ReadOnly: true})
			theirs := startOriginal(t, path, engine)
			for n := range questions {
				if n == questions/10 && (b.Adopted() || query(t, path, `SELECT count(*) FROM sqlite_master WHERE name LIKE 'onto%'`) != "0") {
					t.Fatal("reading has adopted the file")
				}
				if n >= questions/10 && n%5 == 0 {
					key, age := fmt.Sprintf("c%02d", rng.IntN(30)), rng.IntN(60)
					if rng.IntN(2) == 0 {
						theirs.put(key, age)
					} else if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putCustomer(key, age)}}); err != nil {
						t.Fatal(err)
					}
				}
				asked := b
				if n%3 == 0 {
					asked = reader
				}
				askBoth(t, rng, asked, theirs)
			}
			t.Logf("agreed on %d questions, up to commit %d", questions, theirs.one(`SELECT max(id) FROM commits`))
		})
	}
}

// askBoth asks both programs the same.
func askBoth(t *testing.T, rng *rand.Rand, b *sqlite.Backend, theirs *original) {
	t.Helper()
	head := theirs.one(`SELECT max(id) FROM commits`)
	at, age := 1+rng.Int64N(head), rng.IntN(60)
	history := rng.IntN(4) == 0
	ours, where, args := "", "", []any(nil)
	switch rng.IntN(4) {
	case 0:
		ours, where, args = fmt.Sprintf(`$.age > %d`, age), ` AND json_extract(eh.fields_json, '$.age') > ?`, []any{age}
	case 1:
		ours, where, args = fmt.Sprintf(`$.age == %d & $.profile.city == "SF"`, age), ` AND json_extract(eh.fields_json, '$.age') = ? AND json_extract(eh.fields_json, '$.profile.city') = 'SF'`, []any{age}
	case 2:
		ours, where = `$.nick.is_null()`, ` AND json_extract(eh.fields_json, '$.nick') IS NULL`
	}
	q := originalQuery(t, b, "Customer", ours, at)
	if history {
		q.Mode, q.Since, q.At = backend.History, at, backend.Head
	} else if rng.IntN(3) == 0 {
		at = head
		q.At = backend.Head
	}
	var list []string
	for v, err := range b.Scan(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s@%d", v.Key, v.Commit))
	}
	slices.Sort(list)
	if got, want := strings.Join(list, " "), theirs.customers(at, history, where, args...); got != want {
		t.Fatalf("customers where %q at %d (history %t): got\n%s\nthe original says\n%s", ours, at, history, got, want)
	}
}
