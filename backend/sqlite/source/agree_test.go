package source_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// original is the original program at work on a file: its statements, as it documents
// them, of one of its engines.
type original struct {
	db     *sql.DB
	rng    *rand.Rand
	second bool // it is the second engine
}

// openOriginal starts it on a file. WAL is the mode that it sets; with another one it works
// on a copy that somebody has made.
func openOriginal(path, engine, mode string) (*original, error) {
	db, err := sql.Open("sqlite3", path+"?_busy_timeout=60000&_foreign_keys=on&_journal_mode="+mode)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 30`); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &original{db, rand.New(rand.NewPCG(24, 7)), engine == "v2"}, nil
}

// commit makes one commit, spaced and with the keys of fields in its own order: a customer,
// and some of a subscription, a stint, a ratio, a product, and an event.
func (o *original) commit(n int) (err error) {
	tx := o.begin(&err)
	defer o.end(tx, &err)
	tx.run(`INSERT OR REPLACE INTO locks VALUES ('ontology_write', 'python', '2026-11-17T00:00:00+00:00', '2026-11-17T00:01:00+00:00')`)
	id := tx.run(`INSERT INTO commits (created_at, metadata_json) VALUES (?, '{"namespace": "default"}')`, fmt.Sprintf("2026-11-17T%02d:%02d:%02d.%06d+00:00", n/3600, n/60%60, n%60, n))
	key, product, age := fmt.Sprintf("c%02d", o.rng.IntN(30)), fmt.Sprintf("p%d", o.rng.IntN(4)), o.rng.IntN(60)
	nick := []string{"null", `"n"`}[o.rng.IntN(2)]
	tx.entity("Customer", key, fmt.Sprintf(`{"name": "K\u00fcndin", "id": "%s", "nick": %s, "age": %d, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}`, key, nick, age), id)
	switch n % 5 {
	case 0:
		tx.run(`INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) VALUES ('Subscription', ?, ?, '', ?, ?, 1)`, key, product, fmt.Sprintf(`{"seats": %d}`, n), id)
	case 1:
		tx.run(`INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) VALUES ('Stint', ?, ?, ?, ?, ?, 1)`, key, product, fmt.Sprint("s", n%3), fmt.Sprintf(`{"role": "r%d"}`, n), id)
	case 2:
		tx.entity("Ratio", fmt.Sprintf("%d.5", n), fmt.Sprintf(`{"note": null, "id": %d.5}`, n), id)
	case 3:
		tx.entity("Product", product, fmt.Sprintf(`{"sku": "%s", "price": %d.25}`, product, n), id)
		event := fmt.Sprintf("event-%d", n)
		tx.run(`INSERT INTO events (id, namespace, type, payload, created_at, priority, root_event_id, chain_depth) VALUES (?, 'billing', 'order.paid', '{"amount": 1.0}', '2026-11-17T00:00:00+00:00', 100, ?, 0)`, event, event)
	}
	tx.run(`DELETE FROM locks WHERE lock_name = 'ontology_write' AND owner_id = 'python'`)
	return err
}

// step is a transaction of the original, which does nothing once something failed.
type step struct {
	db  *sql.DB
	err *error
}

func (o *original) begin(err *error) step {
	s := step{o.db, err}
	s.run(`BEGIN IMMEDIATE`)
	return s
}

func (o *original) end(s step, err *error) {
	if *err != nil {
		_, _ = o.db.Exec(`ROLLBACK`) // what failed is told
		return
	}
	s.run(`COMMIT`)
}

func (s step) run(statement string, args ...any) int64 {
	if *s.err != nil {
		return 0
	}
	r, err := s.db.Exec(statement, args...)
	if err != nil {
		*s.err = fmt.Errorf("%s: %w", statement, err)
		return 0
	}
	id, _ := r.LastInsertId()
	return id
}

func (s step) entity(typ, key, fields string, commit int64) {
	s.run(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES (?, ?, ?, ?, 1)`, typ, key, fields, commit)
}

// customers asks it for customers as of a commit, or for all their versions since one.
func (o *original) customers(t testing.TB, at int64, history bool, where string, args ...any) string {
	t.Helper()
	bound := ""
	if o.second {
		bound = ` AND eh.schema_version_id = (SELECT schema_version_id FROM type_layout_catalog WHERE type_kind = 'entity' AND type_name = 'Customer' AND is_current = 1)`
	}
	statement := `SELECT eh.entity_key, eh.commit_id FROM entity_history eh INNER JOIN (
		SELECT entity_key, MAX(commit_id) AS max_cid FROM entity_history eh WHERE entity_type = 'Customer' AND commit_id <= ?` + bound + ` GROUP BY entity_key
		) latest ON eh.entity_key = latest.entity_key AND eh.commit_id = latest.max_cid WHERE eh.entity_type = 'Customer'` + bound + where
	if history {
		statement = `SELECT eh.entity_key, eh.commit_id FROM entity_history eh WHERE eh.entity_type = 'Customer' AND eh.commit_id > ?` + bound + where
	}
	rows, err := o.db.Query(statement, append([]any{at}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var key string
		var commit int64
		if err := rows.Scan(&key, &commit); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s@%d", key, commit))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// askBoth asks the original and a copy of its file the same.
func askBoth(t testing.TB, rng *rand.Rand, s *store.Store, theirs *original, head int64) {
	t.Helper()
	at, age, history := 1+rng.Int64N(head), rng.IntN(60), rng.IntN(4) == 0
	ours, where, args := `$.id.is_not_null()`, "", []any(nil)
	switch rng.IntN(4) {
	case 0:
		ours, where, args = fmt.Sprintf(`$.age > %d`, age), ` AND json_extract(eh.fields_json, '$.age') > ?`, []any{age}
	case 1:
		ours, where, args = fmt.Sprintf(`$.age == %d & $.profile.city == "SF"`, age), ` AND json_extract(eh.fields_json, '$.age') = ? AND json_extract(eh.fields_json, '$.profile.city') = 'SF'`, []any{age}
	case 2:
		ours, where = `$.nick.is_null()`, ` AND json_extract(eh.fields_json, '$.nick') IS NULL`
	}
	condition, err := filter.Parse(ours)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if history {
		list = collect(s.Now().Find("Customer").Where(condition).Versions(t.Context(), at), func(e store.Versioned[onto.Version]) string {
			return fmt.Sprintf("%s@%d", e.Version.Key, e.Version.Commit)
		})
	} else {
		list = collect(s.At(at).Find("Customer").Where(condition).All(t.Context()), func(v onto.Version) string { return fmt.Sprintf("%s@%d", v.Key, v.Commit) })
	}
	slices.Sort(list)
	if got, want := strings.Join(list, " "), theirs.customers(t, at, history, where, args...); got != want {
		t.Fatalf("customers where %q at %d (history %t): got\n%s\nthe original says\n%s", ours, at, history, got, want)
	}
}

// A file is copied in batches between commits of the original. Each batch continues the
// one before, and what was copied in the end answers as the original does.
func TestCopiesAgreeWithTheOriginal(t *testing.T) {
	const commits, batch, questions = 300, 30, 200
	for _, engine := range []string{"v1", "v2"} {
		for as, mode := range map[left]string{walClosed: "WAL", rollback: "DELETE"} {
			t.Run(engine+" "+string(as), func(t *testing.T) {
				path := load(t, "original-"+engine, as)
				theirs, err := openOriginal(path, engine, mode)
				if err != nil {
					t.Fatal(err)
				}
				defer theirs.db.Close()
				f := opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
				b := memory.New(nil).OpenTarget()
				head := restore(t, f, b)
				for n := range commits {
					if err := theirs.commit(n); err != nil {
						t.Fatal(err)
					}
					if n%batch == batch-1 {
						head = restore(t, f, b)
					}
				}
				if want := int64(6 + commits); head != want {
					t.Fatalf("the copy ends at commit %d, want %d", head, want)
				}
				whole := opened(t, path, source.Options{Rejects: filepath.Join(t.TempDir(), "rejects")})
				if got, want := lines(t, b.Log(t.Context(), 0)), lines(t, whole.Log(t.Context(), 0)); !slices.Equal(got, want) {
					t.Errorf("the copy has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				s, err := store.Open(t.Context(), b)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				rng := rand.New(rand.NewPCG(18, 4))
				for range questions {
					askBoth(t, rng, s, theirs, head)
				}
			})
		}
	}
}

// restore appends to a copy what its source has more, and returns the head.
func restore(t testing.TB, f *source.File, b *memory.Backend) int64 {
	t.Helper()
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	types, err := f.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &backend.Restoration{Since: head.ID, Types: types, Log: f.Log(t.Context(), head.ID), Copy: func() backend.CopyState { return backend.CopyState{Origin: "x"} }}
	if err := b.Restore(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	after, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	return after.ID
}
