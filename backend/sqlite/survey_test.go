package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/upkeep"
)

// personSchema is a type with fields for indexes and for search.
func personSchema() onto.Schema {
	return onto.Schema{Kind: onto.KindEntity, Name: "Person", Key: "id", Fields: []onto.Field{
		{Name: "age", Type: onto.Int, Index: true}, {Name: "id", Type: onto.String},
		{Name: "name", Type: onto.String, Search: true}, {Name: "note", Type: onto.String, Optional: true},
	}}
}

func person(key string, age int) backend.Write {
	return backend.Write{Identity: onto.EntityID("Person", key), Op: onto.Put, SchemaVersion: 1,
		Fields: fmt.Appendf(nil, `{"age":%d,"id":%q,"name":"Ada %s"}`, age, key, key)}
}

func knows(left, right, instance string) backend.Write {
	id := onto.RelationID("Knows", left, right)
	id.Instance = instance
	return backend.Write{Identity: id, Op: onto.Put, SchemaVersion: 1, Fields: []byte(`{"since":1}`)}
}

// says is a fact about a person.
func says(subject, attribute, id, fields string) backend.Write {
	return backend.Write{Identity: onto.FactID("Says", subject, attribute, id), Op: onto.Put, SchemaVersion: 1, Fields: []byte(fields)}
}

func saysSchema() onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: "Says", Left: "Person", Fields: append(onto.FactFields(false),
		onto.Field{Name: "mood", Type: onto.String, Optional: true}, onto.Field{Name: "salary", Type: onto.Int, Optional: true})}
	s.SortFields()
	return s
}

func removed(w backend.Write) backend.Write {
	w.Op, w.Fields = onto.Delete, nil
	return w
}

// makeHealthy makes a store of several commits with updates, deletes, relations, facts, an
// index and search, rebuilds its projection at the head, and closes the file.
func makeHealthy(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "healthy.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Register(t.Context(), &backend.Registration{Reason: "initial", Schemas: []onto.Schema{
		personSchema(),
		{Kind: onto.KindRelation, Name: "Knows", Left: "Person", Right: "Person", InstanceKey: "place",
			Fields: []onto.Field{{Name: "since", Type: onto.Int}}},
		saysSchema(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var many []backend.Write
	for i := range 40 {
		many = append(many, person(fmt.Sprintf("p%02d", i), i))
	}
	for _, writes := range [][]backend.Write{
		{person("a", 1), person("b", 2), person("c", 3), knows("a", "b", "oslo"), knows("a", "b", "rome"), knows("b", "c", "oslo"),
			says("a", "mood", "m1", `{"mood":"calm"}`), says("a", "salary", "s1", `{"salary":40}`)},
		{person("a", 10), person("b", 20), says("a", "salary", "s1", `{"asserted":1,"revoked":true,"salary":40,"valid_until":"2026-01-01T00:00:00.000000+00:00"}`)},
		many,
		{removed(person("c", 3)), removed(knows("b", "c", "oslo")), removed(says("a", "mood", "m1", ""))},
		{person("a", 11), person("c", 30)},
	} {
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// examined returns what an examination of a backend finds.
func examined(t *testing.T, b backend.Backend, quick bool) []onto.Finding {
	t.Helper()
	var found []onto.Finding
	for f, err := range upkeep.Examine(t.Context(), b, &upkeep.Options{Quick: quick}) {
		if err != nil {
			t.Fatalf("after %v: %v", found, err)
		}
		if f.Message == "" || f.Remedy.Text == "" || f.Explanation == "" {
			t.Errorf("%+v lacks a message, a remedy or an explanation", f)
		}
		found = append(found, f)
	}
	return found
}

func codesOf(found []onto.Finding) []string {
	codes := make([]string, len(found))
	for i, f := range found {
		codes[i] = f.Code
	}
	return codes
}

// opened opens a file that may be damaged.
func opened(t *testing.T, path string, opts *sqlite.Options) *sqlite.Backend {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// A survey and a check write nothing, and work where nothing can be written.
func TestExaminationOfACopyThatCannotBeWritten(t *testing.T) {
	path := makeHealthy(t)
	before := read(t, path)
	if err := errors.Join(os.Chmod(path, 0o444), os.Chmod(filepath.Dir(path), 0o555), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)); err != nil {
		t.Fatal(err)
	}
	asOtherUser(t, func() {
		b, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if found := examined(t, b, false); len(found) != 0 {
			t.Errorf("got findings %v, want none", found)
		}
		if _, err := b.Checkpoint(t.Context()); !errors.Is(err, onto.ReadOnly) || onto.HintOf(err).Text == "" {
			t.Errorf("checkpoint: got %v, want ReadOnly with a hint", err)
		}
	})
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
}

// The quick examination does not look at what is stored.
func TestQuickExamination(t *testing.T) {
	path := makeHealthy(t)
	runSQL(t, path, `DELETE FROM entity_current; INSERT INTO locks VALUES ('ontology_write', 'x', '2001-01-01T00:00:00+00:00', '2001-01-01T00:00:00+00:00')`)
	if got := codesOf(examined(t, opened(t, path, nil), true)); !slices.Equal(got, []string{"lock_expired"}) {
		t.Errorf("got %v, want only the lock", got)
	}
}

// A held lease other than the write lease is in use, and no finding.
func TestHeldLeasesAreNoFinding(t *testing.T) {
	path := makeHealthy(t)
	runSQL(t, path, `INSERT INTO locks VALUES ('leader', 'x', '2001-01-01T00:00:00+00:00', '2999-01-01T00:00:00+00:00')`)
	if got := examined(t, opened(t, path, nil), false); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestCheckpoint(t *testing.T) {
	path := makeHealthy(t)
	b := opened(t, path, &sqlite.Options{LockTimeout: 20 * time.Millisecond})
	write := func(age int) {
		t.Helper()
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{person("a", age)}}); err != nil {
			t.Fatal(err)
		}
	}
	write(100)
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reader, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow(`SELECT count(*) FROM commits`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	write(101)
	done, err := b.Checkpoint(t.Context())
	if err != nil || done.Before == 0 || done.After == 0 || !slices.Equal(codesOf(done.Findings), []string{"wal_stuck"}) {
		t.Errorf("with a reader: got %+v and error %v, want a WAL that is stuck", done, err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	done, err = b.Checkpoint(t.Context())
	if err != nil || done.Before == 0 || done.After != 0 || done.Findings != nil {
		t.Errorf("without the reader: got %+v and error %v, want an empty WAL", done, err)
	}
	wantFields(t, b, onto.EntityID("Person", "a"), backend.Head, `{"age":101,"id":"a","name":"Ada a"}`)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Checkpoint(t.Context()); !errors.Is(err, onto.Closed) {
		t.Errorf("after Close: got %v, want Closed", err)
	}
}

// Indexes on fields with one value are worth nothing only if there are many
// rows.
func TestIndexUse(t *testing.T) {
	b := opened(t, makeHealthy(t), nil)
	put := func(typ string, from, to, age int) {
		t.Helper()
		var writes []backend.Write
		for i := from; i < to; i++ {
			w := person(fmt.Sprintf("q%04d", i), age)
			w.Type = typ
			writes = append(writes, w)
		}
		if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
			t.Fatal(err)
		}
	}
	same := personSchema()
	same.Name = "Twin"
	if _, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{same}}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		from, to, age int
		want          []string
	}{{0, 1000, 7, []string{}}, {1000, 1001, 7, []string{"index_unused"}}, {1001, 1002, 8, []string{}}} {
		put("Twin", step.from, step.to, step.age)
		if got := codesOf(examined(t, b, true)); !slices.Equal(got, step.want) {
			t.Errorf("after row %d: got %v, want %v", step.to, got, step.want)
		}
	}
}
