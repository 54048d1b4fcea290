package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// mixed is a file that another program writes to as well.
type mixed struct {
	*store.Store
	path string
}

func newMixed(t *testing.T, types ...onto.Type) *mixed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shared.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenWith(t.Context(), b, nil, types...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &mixed{s, path}
}

// other lets the other program run a statement.
func (s *mixed) other(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite3", s.path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// put lets the other program make a commit with rows of Rough, given as key and text.
func (s *mixed) put(t *testing.T, rows ...[2]string) {
	t.Helper()
	s.other(t, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00.000000+00:00')`)
	for _, r := range rows {
		s.other(t, `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id)
			VALUES ('Rough', ?, ?, (SELECT max(id) FROM commits), 1)`, r[0], r[1])
	}
}

func rough() onto.Type { return entityOf("Rough", "n int?", "word string?", "any any?") }

// Rough is the same type as a struct.
type Rough struct {
	ID string `json:"id" onto:"key"`
	N  int    `json:"n"`
}

// A strict loop gets an error in the place of what cannot be read, and all others if it
// goes on. What has one answer fails; a lenient view answers and reports.
func TestStrictAndLenient(t *testing.T) {
	s := newMixed(t, onto.TypeOf[Rough]())
	s.put(t, [2]string{"a", `{"id": "a", "n": 1}`}, [2]string{"m", `{"id": "m", "n": NaN}`}, [2]string{"z", `{"id": "z", "n": 2}`})
	m := onto.EntityID("Rough", "m")
	q := s.Now().Find("Rough")

	var seen []string
	for v, err := range q.All(t.Context()) {
		var u *onto.UnreadableVersion
		switch {
		case errors.As(err, &u):
			seen = append(seen, "!"+u.Key)
		case err != nil:
			t.Fatal(err)
		default:
			seen = append(seen, v.Key)
		}
	}
	if got := strings.Join(seen, " "); got != "a !m z" {
		t.Errorf("a loop that goes on got %s, want a !m z", got)
	}
	for e, err := range s.History(t.Context(), m) {
		if !errors.Is(err, onto.Unreadable) || e.Commit.ID != 1 || e.Commit.Time.IsZero() || e.Version.Identity != m {
			t.Errorf("history: got %v with error %v, want all but the fields", e, err)
		}
	}
	for _, c := range []struct {
		name string
		ask  func(store.View) error
		fail bool // also if the view is lenient
	}{
		{"get", func(v store.View) error { _, err := v.Get(t.Context(), m); return err }, true},
		{"page", func(v store.View) error { _, err := v.Find("Rough").Limit(2).Page(t.Context()); return err }, false},
		{"count", func(v store.View) error {
			n, err := v.Find("Rough").Count(t.Context())
			if err == nil && n != 2 {
				err = fmt.Errorf("got %d, want 2", n)
			}
			return err
		}, false},
		{"sum", func(v store.View) error {
			g, err := v.Find("Rough").Compute(t.Context(), onto.Path("n").Sum())
			if err == nil && string(g.Values[0]) != "3" {
				err = fmt.Errorf("got %s, want 3", g.Values)
			}
			return err
		}, false},
		{"exists", func(v store.View) error {
			_, err := v.Find("Rough").Where(onto.Path("n").Gt(1)).Exists(t.Context())
			return err
		}, false},
		{"structs", func(v store.View) error { return last(store.Find[Rough](v).All(t.Context())) }, false},
		{"blame", func(v store.View) error { _, err := v.Blame(t.Context(), m); return err }, true},
	} {
		err := c.ask(s.Now())
		wantError(t, err, onto.Unreadable, `Rough "m" at commit 1`, "NaN")
		var told []error
		err = c.ask(s.Now().Lenient(func(err error) { told = append(told, err) }))
		if c.fail {
			wantError(t, err, onto.Unreadable, `Rough "m" at commit 1`)
			continue
		}
		if err != nil || len(told) == 0 || !errors.Is(told[0], onto.Unreadable) {
			t.Errorf("%s: got error %v and told %v; want an answer and Unreadable", c.name, err, told)
		}
	}
	differences := 0
	for _, err := range s.Diff(t.Context(), store.DiffOptions{From: onto.AtCommit(0)}) {
		if differences++; err != nil && !errors.Is(err, onto.Unreadable) {
			t.Fatal(err)
		}
	}
	if differences != 3 {
		t.Errorf("a loop over differences that goes on got %d, want 3", differences)
	}
}

// last is the last error of a sequence that is read to its end.
func last[T any](seq iter.Seq2[T, error]) error {
	var found error
	for _, err := range seq {
		if err != nil {
			found = err
		}
	}
	return found
}

// Writes over what cannot be read: a put replaces it, an update and a merge say why not.
func TestWritesOverTheUnreadable(t *testing.T) {
	s := newMixed(t, rough())
	mustCommit(t, s.Store, onto.Draft{}.Ensure(onto.Entity{Type: "Rough", Key: "m", Fields: []byte(`{"n":7}`)}))
	s.put(t, [2]string{"m", `{"id": "m", "n": NaN}`})
	m := onto.EntityID("Rough", "m")
	_, err := s.Commit(t.Context(), onto.Draft{}.Merge(onto.Entity{Type: "Rough", Key: "m", Fields: []byte(`{"n":1}`)}))
	wantError(t, err, onto.Unreadable, `Rough "m"`, "commit 2")
	if _, _, err := s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 2}); err != nil {
		t.Errorf("a revert to what can be read: %v", err)
	}
	v, err := s.Now().Get(t.Context(), m)
	if err != nil || string(v.Fields) != `{"id":"m","n":7}` {
		t.Errorf("after the revert: got %s, error %v", v.Fields, err)
	}
	_, _, err = s.Revert(t.Context(), onto.Draft{}, store.Revert{Commit: 3})
	wantError(t, err, onto.Unreadable, `Rough "m" at commit 2`)
	mustCommit(t, s.Store, onto.Draft{}.Ensure(onto.Entity{Type: "Rough", Key: "m", Fields: []byte(`{"n":1}`)}))
	_, err = s.Blame(t.Context(), m)
	wantError(t, err, onto.Unreadable, `Rough "m" at commit 2`)
	var told []error
	blame, err := s.Now().Lenient(func(err error) { told = append(told, err) }).Blame(t.Context(), m)
	if err != nil || len(told) != 1 || len(blame) != 2 || blame[1].Commit.ID != 4 || blame[0].Commit.ID != 3 {
		t.Errorf("blame: got %v, error %v, told %v; want n by commit 4, and id by 3, the first that can be read", blame, err, told)
	}
}

// Go structs of before a migration that kept no upgrader fail, also in a lenient view:
// there is nothing to fill their fields with.
func TestStructsAreNeverAsStored(t *testing.T) {
	s := newMixed(t, entityOf("Rough", "old string"))
	mustCommit(t, s.Store, onto.Draft{}.Ensure(onto.Entity{Type: "Rough", Key: "a", Fields: []byte(`{"old":"x"}`)}))
	s.other(t, `INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, reason) VALUES ('entity', 'Rough', 2,
		'{"entity_name": "Rough", "fields": {"id": {"primary_key": true, "type": "<class ''str''>"}, "n": {"type": "<class ''int''>"}}}', 'x', '2099-01-01T00:00:00+00:00', 'migration')`)
	s.other(t, `UPDATE schema_registry SET schema_json = (SELECT schema_json FROM schema_versions WHERE schema_version_id = 2)`)
	s.other(t, `INSERT INTO commits (created_at) VALUES ('2099-01-01T00:00:00.000000+00:00')`)
	s.other(t, `INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Rough', 'a', '{"id": "a", "n": 1}', 2, 2)`)
	b, err := sqlite.Open(t.Context(), s.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	type Rough struct {
		ID string `json:"id" onto:"key"`
		N  int    `json:"n"`
	}
	later, err := store.OpenWith(t.Context(), b, nil, onto.TypeOf[Rough]())
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	var told []error
	view := later.At(1).Lenient(func(err error) { told = append(told, err) })
	_, err = store.Get[Rough](t.Context(), view, "a")
	wantError(t, err, onto.UpgraderMissing, "Rough 1 → 2")
	wantError(t, last(store.Find[Rough](view).All(t.Context())), onto.UpgraderMissing, "Rough 1 → 2")
	if told != nil {
		t.Errorf("told %v, want nothing", told)
	}
	_, err = later.At(1).Get(t.Context(), onto.EntityID("Rough", "a"))
	wantError(t, err, onto.UpgraderMissing, "Rough 1 → 2")
	v, err := view.Get(t.Context(), onto.EntityID("Rough", "a"))
	if err != nil || string(v.Fields) != `{"id":"a","old":"x"}` || v.SchemaVersion != 1 || len(told) == 0 || !errors.Is(told[0], onto.UpgraderMissing) {
		t.Errorf("got %v, error %v, told %v; want it as stored", v, err, told)
	}
}

// A type with rows that cannot be read, of every kind, answers for all others as one
// without them: gets, scans, filters, orders, pages, groups, the past, logs, differences
// and exports.
func TestTheUnreadableChangesNothingElse(t *testing.T) {
	r := effort.Rand(t)
	bad := []string{`{"id": "%s", "n": 9223372036854775808}`, `{"id": "%s", "word": "\u0000"}`, `{"id": "%s", "word": "\udc00"}`, `{"id": "%s", "any": -Infinity}`,
		`{"id": "%s", "any": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `{"id": "%s"`, `null`}
	clean, spoiled := newMixed(t, rough()), newMixed(t, rough())
	const commits = 12
	for range commits {
		var good [][2]string
		for _, k := range r.Perm(12)[:1+r.IntN(6)] {
			key := string("acegikmoqsuw"[k])
			good = append(good, [2]string{key, fmt.Sprintf(`{"word": "w%d", "id": "%s", "n": %d}`, r.IntN(3), key, r.IntN(5))})
		}
		clean.put(t, good...)
		for range r.IntN(4) {
			key := string("bdfhjlnprtvx"[r.IntN(12)])
			text := bad[r.IntN(len(bad))]
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, key)
			}
			if !slices.ContainsFunc(good, func(g [2]string) bool { return g[0] == key }) {
				good = append(good, [2]string{key, text})
			}
		}
		spoiled.put(t, good...)
	}
	told := 0
	report := func(err error) {
		if !errors.Is(err, onto.Unreadable) {
			t.Error(err)
		}
		told++
	}
	questions := 0
	same := func(what string, ask func(s *store.Store) string) {
		t.Helper()
		questions++
		if got, want := ask(spoiled.Store), ask(clean.Store); got != want {
			t.Fatalf("%s: got\n%s\nwant\n%s", what, got, want)
		}
	}
	ctx := t.Context()
	for at := int64(1); at <= commits; at++ {
		find := func(s *store.Store) store.Query[onto.Version] { return s.At(at).Lenient(report).Find("Rough") }
		for _, where := range []onto.Filter{nil, onto.Path("n").Gt(int64(r.IntN(5))), onto.Not{Of: onto.Path("word").Eq("w1")}, onto.Path("any").IsNull()} {
			q := func(s *store.Store) store.Query[onto.Version] {
				if where == nil {
					return find(s)
				}
				return find(s).Where(where)
			}
			same("scan", func(s *store.Store) string { return lines(q(s).All(ctx)) })
			same("order", func(s *store.Store) string { return lines(q(s).OrderBy(onto.Path("n").Desc()).All(ctx)) })
			same("pages", func(s *store.Store) string { return pages(ctx, q(s).Limit(2)) })
			same("ordered pages", func(s *store.Store) string { return pages(ctx, q(s).OrderBy(onto.Path("word").Asc()).Limit(3)) })
			same("window", func(s *store.Store) string { return lines(q(s).Offset(1).Limit(2).All(ctx)) })
			same("groups", func(s *store.Store) string {
				return lines(q(s).GroupBy(onto.Path("word")).Compute(onto.Count(), onto.Path("n").Sum()).All(ctx))
			})
			since := r.Int64N(at)
			same("versions", func(s *store.Store) string { return lines(q(s).Versions(ctx, since)) })
		}
		same("diff", func(s *store.Store) string {
			return lines(s.Diff(ctx, store.DiffOptions{From: onto.AtCommit(at / 2), To: onto.AtCommit(at), Report: report}))
		})
		for _, key := range strings.Split("acegikmoqsuw", "") {
			id := onto.EntityID("Rough", key)
			same("get", func(s *store.Store) string { return fmt.Sprint(s.At(at).Lenient(report).Get(ctx, id)) })
			same("log", func(s *store.Store) string { return lines(s.At(at).Lenient(report).History(ctx, id)) })
			same("blame", func(s *store.Store) string {
				list, err := s.At(at).Lenient(report).Blame(ctx, id)
				return operations.ReplaceAllString(fmt.Sprint(list, err), "")
			})
		}
		for _, o := range []records.ExportOptions{{}, {Format: records.CSV, Types: []string{"Rough"}}, {History: true}} {
			same("export", func(s *store.Store) string {
				var text bytes.Buffer
				o.At, o.Report = onto.AtCommit(at), report
				_, err := records.Export(ctx, s, &text, &o)
				return fmt.Sprint(text.String(), err)
			})
		}
	}
	t.Logf("%d questions, told %d times of what cannot be read", questions, told)
	if told == 0 {
		t.Error("nothing that cannot be read was met")
	}
}

// lines is the answers of a sequence as text.
func lines[T any](seq iter.Seq2[T, error]) string {
	var list []string
	for v, err := range seq {
		if err != nil {
			list = append(list, err.Error())
			continue
		}
		list = append(list, operations.ReplaceAllString(fmt.Sprint(v), ""))
	}
	return strings.Join(list, "\n")
}

// operations is where a commit says how many versions it has.
var operations = regexp.MustCompile(`map\[\] \d+`)

// pages is all pages of a query as text.
func pages(ctx context.Context, q store.Query[onto.Version]) string {
	var list []string
	for {
		p, err := q.Page(ctx)
		list = append(list, fmt.Sprint(p.Items, err))
		if p.Next == "" {
			return strings.Join(list, "\n")
		}
		q = q.After(p.Next)
	}
}
