package sqlite_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/typelist"
)

// coveredColumns reads from the documentation which columns a checksum covers.
func coveredColumns(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "format", "sqlite.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Checksums\n")
	section, _, _ = strings.Cut(section, "\n## ")
	covered := map[string][]string{
		"entity_history":   {"entity_type", "entity_key", "fields_json", "commit_id", "schema_version_id", "op", "onto_sum"},
		"relation_history": {"relation_type", "left_key", "right_key", "instance_key", "fields_json", "commit_id", "schema_version_id", "op", "onto_sum"},
		"fact_history":     {"fact_type", "subject", "attribute", "fact_id", "fields_json", "commit_id", "schema_version_id", "op", "onto_sum"},
		"onto_bus":         {"held", "held_sum"},
		"onto_work":        {"held", "held_sum"},
	}
	word := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.Contains(cells[2], ", `") {
			table := word.FindStringSubmatch(cells[1])[1]
			for _, m := range word.FindAllStringSubmatch(cells[2], -1) {
				covered[table] = append(covered[table], m[1])
			}
			covered[table] = append(covered[table], "onto_sum")
		}
	}
	if len(covered) != 11 {
		t.Fatalf("the page has %d tables: %v", len(covered), covered)
	}
	return covered
}

// makeEverything makes a store with something in every table that has checksums: versions of
// all kinds, events that ride in commits and some that do not, some of them removed, work,
// types with an upgrader and an end, and a purge.
func makeEverything(t *testing.T) string {
	t.Helper()
	path := makeHealthy(t)
	clock := newBusClock()
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	gone := onto.Schema{Kind: onto.KindEntity, Name: "Gone", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	if _, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{gone}}); err != nil {
		t.Fatal(err)
	}
	put := func(key string) backend.Write {
		return backend.Write{Identity: onto.EntityID("Gone", key), Op: onto.Put, SchemaVersion: 1, Fields: fmt.Appendf(nil, `{"id":%q}`, key)}
	}
	for i := range 6 {
		d := &backend.Draft{Writes: []backend.Write{put(fmt.Sprint(i)), person(fmt.Sprint("e", i), i)}}
		d.Actor, d.Comment, d.Runtime = onto.Operator("ana"), fmt.Sprint("edit ", i), "test"
		if i%2 == 0 {
			d.Causation, d.Correlation, d.Signature, d.IdempotencyKey, d.Digest = int64(i), "story", "sig", fmt.Sprint("key ", i), "digest"
			d.Metadata = []byte(`{"n":1}`)
			d.Events = []backend.NewEvent{{Event: onto.Event{ID: fmt.Sprintf("ride%d", i), Namespace: "n", Type: "T", Payload: []byte(`{"n":1}`)}}}
		}
		if _, err := b.Append(ctx, d); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			clock.advance(time.Hour)
			if plan, err := b.Clean(ctx, &backend.Cleaning{Before: clock.Now(), Unhandled: true, Apply: true}, nil); err != nil || plan.Events != 2 {
				t.Fatalf("got %+v, %v", plan, err)
			}
		}
	}
	emit(t, b, "one T", "two T k", "three U - 200")
	enqueue(t, b, "first", "second")
	types, err := b.Schemas(ctx)
	if err != nil {
		t.Fatal(err)
	}
	evolution := &backend.Evolution{Base: typelist.Hash(types), End: []backend.EndedType{{Kind: onto.KindEntity, Type: "Gone", Purge: true}}}
	if _, err := b.AppendStream(ctx, &backend.Draft{Evolve: evolution, Header: backend.Header{Runtime: "test"}}, func(func(backend.Write, error) bool) {}); err != nil {
		t.Fatal(err)
	}
	for f, err := range b.Check(ctx) {
		t.Errorf("before any edit: %v %v", f, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever is edited of what a checksum covers, a check finds it.
func TestEdits(t *testing.T) {
	healthy, covered := makeEverything(t), coveredColumns(t)
	tables := []string{"commits", "schema_versions", "events", "work_items", "onto_meta", "entity_history", "relation_history", "fact_history", "onto_bus", "onto_work"}
	random := effort.Rand(t)
	dir, n := t.TempDir(), 0
	for want := effort.Count(t, 500); n < want; {
		table := tables[random.IntN(len(tables))]
		column := covered[table][random.IntN(len(covered[table]))]
		path := filepath.Join(dir, fmt.Sprint(random.Uint64(), ".db"))
		copyFile(t, healthy, path)
		row := query(t, path, `SELECT rowid FROM `+table+` ORDER BY random() LIMIT 1`)
		was := query(t, path, fmt.Sprintf(`SELECT quote(%s) FROM %s WHERE rowid = %s`, column, table, row))
		is := edited(random, was)
		edit := fmt.Sprintf(`UPDATE OR IGNORE %s SET %s = %s WHERE rowid = %s`, table, column, is, row)
		if column == "id" && table == "commits" && !regexp.MustCompile(`^\d`).MatchString(is) {
			continue // which SQLite refuses
		}
		runSQL(t, path, `PRAGMA foreign_keys = OFF; `+edit)
		if query(t, path, fmt.Sprintf(`SELECT quote(%s) FROM %s WHERE rowid = %s`, column, table, row)) == was {
			continue // not allowed, or the same
		}
		n++
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
		if err != nil {
			t.Logf("edit %d: %s: %v", n, edit, err)
			continue // also found
		}
		found := 0
		for f, err := range b.Check(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Severity == onto.SeverityError {
				found++
			}
		}
		if found == 0 {
			t.Errorf("edit %d was not found: %s, it was %s", n, edit, was)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d edits", n)
}

// edited is another value than one, as SQL.
func edited(random *rand.Rand, was string) string {
	switch random.IntN(6) {
	case 0:
		return "NULL"
	case 1:
		return "''"
	case 2:
		return fmt.Sprint(random.IntN(10))
	case 3:
		return "x'00'"
	}
	switch {
	case strings.HasPrefix(was, "'") && len(was) > 3:
		i := 1 + random.IntN(len(was)-2)
		if was[i] == '\'' {
			return "'x'"
		}
		return was[:i] + string(rune('a'+random.IntN(26))) + was[i+1:]
	case was == "NULL":
		return "'something'"
	}
	return was + " + 1"
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}
