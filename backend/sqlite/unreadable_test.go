package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/filter/filtertest"
	"github.com/ontologia/onto/internal/effort"
)

// unreadableTexts is what the original program stores and no canonical JSON has, with the
// reason that is told. %s stands for the key.
func unreadableTexts() []struct{ name, text, reason string } {
	deep := func(n int) string {
		return `{"id": "%s", "odd": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	return []struct{ name, text, reason string }{
		{"big", `{"id": "%s", "age": 9223372036854775808}`, "9223372036854775808 is outside int64"},
		{"huge", `{"id": "%s", "odd": 1e999}`, "outside float64"},
		{"nul", `{"id": "%s", "name": "a\u0000b"}`, "U+0000"},
		{"surrogate", `{"id": "%s", "name": "\ud83d"}`, "lone surrogate"},
		{"nan", `{"id": "%s", "age": NaN}`, "NaN"},
		{"infinity", `{"id": "%s", "age": -Infinity}`, "-Infinity"},
		{"deep", deep(64), "nested deeper than 64"},
		{"abyss", deep(2000), "nested deeper than 64"},
		{"twice", `{"id": "%s", "id": 2}`, "duplicate name"},
		{"list", `["%s"]`, "expected an object"},
		{"cut", `{"id": "%s", "name": "Ad`, "no end"},
	}
}

// unreadableRows adds a row of each kind to commit 2 of the original's rows.
func unreadableRows() string {
	var script strings.Builder
	for _, c := range unreadableTexts() {
		fmt.Fprintf(&script, "INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES ('Customer', '%s', '%s', 2);\n",
			c.name, fmt.Sprintf(c.text, c.name))
	}
	return script.String()
}

// told is the answers of a sequence, and the errors about what cannot be read.
func told[T any](t *testing.T, seq iter.Seq2[T, error]) (answers []T, bad []*onto.UnreadableVersion) {
	t.Helper()
	for v, err := range seq {
		var u *onto.UnreadableVersion
		switch {
		case err == nil:
			answers = append(answers, v)
		case !errors.Is(err, onto.Unreadable) || !errors.As(err, &u):
			t.Fatal(err)
		default:
			bad = append(bad, u)
		}
	}
	return answers, bad
}

// names is what was told, each kind once.
func names(bad []*onto.UnreadableVersion) []string {
	var list []string
	for _, u := range bad {
		list = append(list, u.Key)
	}
	slices.Sort(list)
	return list
}

// Rows of every kind that cannot be read are named, each with its reason and text, by
// every read that meets them, and all other rows are served.
func TestUnreadableRowsAreNamedAndOthersServed(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows()), nil)
	var want []string
	for _, c := range unreadableTexts() {
		want = append(want, c.name)
		for _, at := range []int64{2, backend.Head} {
			v, err := b.Get(t.Context(), onto.EntityID("Customer", c.name), at)
			var u *onto.UnreadableVersion
			if !errors.Is(err, onto.Unreadable) || !errors.As(err, &u) || v.Commit != 2 || v.Fields != nil {
				t.Errorf("get %s at %d: got %v, error %v; want Unreadable and the rest of the version", c.name, at, v, err)
				continue
			}
			if u.Identity != onto.EntityID("Customer", c.name) || u.Commit != 2 || u.Text != fmt.Sprintf(c.text, c.name) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("get %s at %d: got %v with text %s; want the reason %q and the text as stored", c.name, at, err, u.Text, c.reason)
			}
			if onto.HintOf(err).Text == "" {
				t.Errorf("get %s: no hint", c.name)
			}
		}
	}
	slices.Sort(want)
	for _, at := range []int64{2, backend.Head} {
		for _, ask := range []struct{ where, order, want string }{
			{"", "", "c1 c2"}, {`$.age == 37`, "", "c1"}, {`$.age.is_null()`, "", ""}, {"", "$.age:desc", "c2 c1"}, {`$.id != "c1"`, "$.name", "c2"},
		} {
			q := originalQuery(t, b, "Customer", ask.where, at)
			q.Order = checkedOrder(t, q, ask.order)
			versions, bad := told(t, b.Scan(t.Context(), q))
			var keys []string
			for _, v := range versions {
				keys = append(keys, v.Key)
			}
			if got := strings.Join(keys, " "); got != ask.want || !slices.Equal(names(bad), want) {
				t.Errorf("where %q by %q at %d: got %s, and told of %s; want %s and %s", ask.where, ask.order, at, got, names(bad), ask.want, want)
			}
			groups, bad := told(t, b.Aggregate(t.Context(), &backend.Aggregation{Query: *originalQuery(t, b, "Customer", ask.where, at), Compute: []onto.Operand{onto.Count()}}))
			if got := fmt.Sprint(string(groups[0].Values[0])); got != fmt.Sprint(len(keys)) || !slices.Equal(names(bad), want) {
				t.Errorf("count where %q at %d: got %s, and told of %s; want %d", ask.where, at, got, names(bad), len(keys))
			}
		}
	}
	history := originalQuery(t, b, "Customer", "", backend.Head)
	history.Mode = backend.History
	if versions, bad := told(t, b.Scan(t.Context(), history)); len(versions) != 3 || !slices.Equal(names(bad), want) {
		t.Errorf("history: got %v, and told of %s", versions, names(bad))
	}
	if changes, bad := told(t, b.Diff(t.Context(), &backend.DiffQuery{From: 1, To: backend.Head})); len(changes) != 2 || !slices.Equal(names(bad), want) {
		t.Errorf("diff: got %v, and told of %s", changes, names(bad))
	}
}

// What cannot be read is no part of a page, and no page is short because of it.
func TestUnreadableRowsTakeNoPlaceInPages(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows()), nil)
	for _, mode := range []backend.Mode{backend.State, backend.History} {
		q := originalQuery(t, b, "Customer", "", backend.Head)
		q.Mode = mode
		whole, _ := told(t, b.Scan(t.Context(), q))
		for offset := range whole {
			q.Offset, q.Limit = offset, 1
			if page, _ := told(t, b.Scan(t.Context(), q)); len(page) != 1 || page[0].String() != whole[offset].String() {
				t.Errorf("mode %d, one after %d: got %v, want %v", mode, offset, page, whole[offset])
			}
		}
	}
}

// A narrow question tells only of the rows that it is about.
func TestUnreadableRowsElsewhereAreNotMet(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows()), nil)
	q := originalQuery(t, b, "Customer", `$.age > 1`, backend.Head)
	q.Keys = []string{"c1", "nan"}
	versions, bad := told(t, b.Scan(t.Context(), q))
	if len(versions) != 1 || !slices.Equal(names(bad), []string{"nan"}) {
		t.Errorf("got %v, and told of %s; want c1 and nan", versions, names(bad))
	}
	for _, at := range []int64{2, backend.Head} {
		if versions, bad := told(t, b.Scan(t.Context(), originalQuery(t, b, "Customer", `$.id == "c2"`, at))); len(versions) != 1 || bad != nil {
			t.Errorf("one key at %d: got %v, and told of %s", at, versions, names(bad))
		}
	}
	if versions, bad := told(t, b.Scan(t.Context(), originalQuery(t, b, "Likes", "", backend.Head))); len(versions) != 1 || bad != nil {
		t.Errorf("another type: got %v, and told of %s", versions, names(bad))
	}
}

// An endpoint that cannot be read counts as one that does not exist, and is named.
func TestUnreadableEndpoint(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows(), `
		INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id) VALUES ('Likes', 'nan', 'c1', '{}', 2), ('Likes', 'c1', 'nan', '{}', 2)`), nil)
	for _, at := range []int64{2, backend.Head} {
		for where, want := range map[string]string{
			`right.$.age == 37`: "nan→c1", `left.$.age == 37`: "c1→c2 c1→nan", `left.$.id.is_null()`: "nan→c1", `left.$.id == "c1" & right.$.id.is_null()`: "c1→nan",
		} {
			versions, bad := told(t, b.Scan(t.Context(), originalQuery(t, b, "Likes", where, at)))
			var list []string
			for _, v := range versions {
				list = append(list, v.Left+"→"+v.Right)
			}
			if got := strings.Join(list, " "); got != want || len(bad) == 0 || bad[0].Key != "nan" {
				t.Errorf("%s at %d: got %s, and told of %s; want %s and nan", where, at, got, names(bad), want)
			}
		}
	}
}

// A write replaces what cannot be read, a delete removes it, and only a merge needs to
// read it.
func TestUnreadableRowsAreReplaced(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows()), nil)
	nan := backend.Write{Identity: onto.EntityID("Customer", "nan"), Op: onto.Put, Fields: []byte(`{"id":"nan","name":"Nan","tags":[]}`), SchemaVersion: 1}
	merge := nan
	merge.Known, merge.Merge = []string{"name"}, true
	_, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{merge}})
	if !errors.Is(err, onto.Unreadable) || !strings.Contains(err.Error(), `"nan"`) || onto.HintOf(err).Text == "" {
		t.Errorf("merge: got %v, want Unreadable that names the row, and a hint", err)
	}
	big := backend.Write{Identity: onto.EntityID("Customer", "big"), Op: onto.Delete, SchemaVersion: 1}
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{big, nan}}); err != nil {
		t.Fatal(err)
	}
	wantFields(t, b, nan.Identity, backend.Head, string(nan.Fields))
	versions, bad := told(t, b.Scan(t.Context(), originalQuery(t, b, "Customer", `$.name == "Nan"`, backend.Head)))
	if len(versions) != 1 || slices.Contains(names(bad), "nan") || slices.Contains(names(bad), "big") {
		t.Errorf("got %v, and told of %s; want the new one, and neither nan nor big", versions, names(bad))
	}
	_, bad = told(t, b.Scan(t.Context(), originalQuery(t, b, "Customer", `$.name == "Nan"`, 2)))
	if !slices.Contains(names(bad), "nan") {
		t.Errorf("at commit 2: told of %s, want nan among them", names(bad))
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Errorf("rebuild: %v", err)
	}
	if _, err := b.Get(t.Context(), onto.EntityID("Customer", "deep"), backend.Head); !errors.Is(err, onto.Unreadable) {
		t.Errorf("after a rebuild: got %v, want Unreadable", err)
	}
}

// The check names each row that cannot be read, and none is an error.
func TestUnreadableRowsAreFindings(t *testing.T) {
	b := open(t, makeFile(t, originalTables, originalRows, unreadableRows()), nil)
	count := 0
	for f, err := range b.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Severity == onto.SeverityError {
			t.Errorf("got %s", f)
		}
		if f.Code == "fields_unreadable" {
			count++
		}
	}
	if count != len(unreadableTexts()) {
		t.Errorf("got %d findings, want %d", count, len(unreadableTexts()))
	}
}

// The file that the original program wrote has four rows of one type, of which three
// cannot be read.
func TestUnreadableRowsOfTheOriginal(t *testing.T) {
	script, err := os.ReadFile("testdata/original-v1.sql")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, makeFile(t, string(script)), nil)
	for _, at := range []int64{6, backend.Head} {
		versions, bad := told(t, b.Scan(t.Context(), originalQuery(t, b, "Odd", `$.value.is_not_null()`, at)))
		if len(versions) != 1 || versions[0].Key != "plain" || !slices.Equal(names(bad), []string{"big", "nan", "nul"}) {
			t.Errorf("at %d: got %v, and told of %s; want plain, and big, nan and nul", at, versions, names(bad))
		}
	}
}

// spoiled is a store whose commits look as if the original program had made them, with
// rows among them that cannot be read. These are left out of its answers.
type spoiled struct {
	*sqlite.Backend
	t    testing.TB
	path string
	left map[string]int // how often each was left out
}

func (s *spoiled) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	res, err := s.Backend.Append(ctx, d)
	if err == nil && res.ID > 0 {
		s.spoil(res.ID, d.Writes)
	}
	return res, err
}

func (s *spoiled) spoil(commit int64, writes []backend.Write) {
	db, err := sql.Open("sqlite3", s.path+"?_busy_timeout=5000")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	run := func(statement string, args ...any) {
		if _, err := db.Exec(statement, args...); err != nil {
			s.t.Fatal(err)
		}
	}
	run(`UPDATE commits SET operations = NULL WHERE id = ?`, commit)
	texts := unreadableTexts()
	for i, w := range writes {
		bad := texts[(int(commit)+i)%len(texts)]
		key := string("!az"[i%3]) + bad.name
		text := fmt.Sprintf(bad.text, key)
		switch w.Kind {
		case onto.KindEntity:
			run(`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) SELECT ?1, ?2, ?3, ?4, 1
				WHERE NOT EXISTS (SELECT 1 FROM entity_history WHERE entity_type = ?1 AND entity_key = ?2 AND commit_id = ?4)`, w.Type, key, text, commit)
		case onto.KindRelation:
			run(`INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) SELECT ?1, ?2, ?3, ?4, ?5, ?6, 1
				WHERE NOT EXISTS (SELECT 1 FROM relation_history WHERE relation_type = ?1 AND left_key = ?2 AND right_key = ?3 AND instance_key = ?4 AND commit_id = ?6)`,
				w.Type, w.Left, key, w.Instance, text, commit)
		}
	}
}

func (s *spoiled) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return readable(s, s.Backend.Scan(ctx, q))
}

func (s *spoiled) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return readable(s, s.Backend.Aggregate(ctx, a))
}

// readable is what can be read of a sequence.
func readable[T any](s *spoiled, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			var u *onto.UnreadableVersion
			if errors.As(err, &u) {
				s.left[strings.TrimLeft(u.Key+u.Right, "!")]++
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// A store with rows that cannot be read answers random questions about the others as
// one without such rows.
func TestUnreadableRowsChangeNoOtherAnswer(t *testing.T) {
	t.Parallel()
	left := map[string]int{}
	filtertest.AgreeOnAbsent(t, effort.Count(t, 6_000),
		func(testing.TB, string) backend.Backend { return memory.New(nil).Open() },
		func(t testing.TB, dir string) backend.Backend {
			path := filepath.Join(dir, "spoiled.db")
			b, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			return &spoiled{Backend: b, t: t, path: path, left: left}
		})
	total := 0
	for _, n := range left {
		total += n
	}
	t.Logf("%d times a row was left out", total)
	if total == 0 {
		t.Error("no question met a row that cannot be read")
	}
}
