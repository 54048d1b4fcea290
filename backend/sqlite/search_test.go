package sqlite_test

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/codec"
)

// note is an entity type whose flags the tests choose: the fields of which
// names are given are for search, n is indexed if it is among them.
func note(flags ...string) onto.Schema {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Note", Key: "id", Fields: []onto.Field{
		{Name: "body", Type: onto.String, Optional: true}, {Name: "id", Type: onto.String},
		{Name: "n", Type: onto.Int, Optional: true}, {Name: "title", Type: onto.String, Optional: true},
	}}
	flag(&s, flags)
	return s
}

// cites is the same as a relation type.
func cites(flags ...string) onto.Schema {
	s := onto.Schema{Kind: onto.KindRelation, Name: "Cites", Left: "Note", Right: "Note", Fields: []onto.Field{
		{Name: "n", Type: onto.Int, Optional: true}, {Name: "why", Type: onto.String, Optional: true},
	}}
	flag(&s, flags)
	return s
}

func flag(s *onto.Schema, names []string) {
	for i, f := range s.Fields {
		for _, name := range names {
			s.Fields[i].Search = s.Fields[i].Search || f.Name == name && f.Type == onto.String
			s.Fields[i].Index = s.Fields[i].Index || f.Name == name && f.Type == onto.Int
		}
	}
}

// putNote wants a note with the given members after its key.
func putNote(key, members string) backend.Write {
	fields, err := codec.AppendCanonical(nil, []byte(`{"id":"`+key+`"`+members+`}`))
	if err != nil {
		panic(err) // a mistake in the test
	}
	return backend.Write{Identity: onto.EntityID("Note", key), Op: onto.Put, SchemaVersion: 1, Fields: fields}
}

func removeNote(key string) backend.Write {
	return backend.Write{Identity: onto.EntityID("Note", key), Op: onto.Delete, SchemaVersion: 1}
}

func register(t *testing.T, b *sqlite.Backend, schemas ...onto.Schema) []onto.SchemaVersion {
	t.Helper()
	list, err := b.Register(t.Context(), &backend.Registration{Schemas: schemas, Reason: "initial"})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func commit(t *testing.T, b *sqlite.Backend, writes ...backend.Write) {
	t.Helper()
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
		t.Fatal(err)
	}
}

// wantWords compares the words that a search table has, identity by identity,
// as "key: words" separated by "; ".
func wantWords(t *testing.T, path string, b *sqlite.Backend, s onto.Schema, want string) {
	t.Helper()
	name, err := b.SearchTable(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		if want != "" {
			t.Errorf("%s has no search table, want words %s", s.Name, want)
		}
		return
	}
	key, history := "f.entity_key", "entity_history"
	switch s.Kind {
	case onto.KindFact:
		key, history = "f.subject || '>' || f.attribute", "fact_history"
	case onto.KindRelation:
		key, history = "f.left_key || '>' || f.right_key", "relation_history"
	}
	got := query(t, path, `SELECT coalesce(group_concat(line, '; '), '') FROM (SELECT `+key+` || ': ' || s.words AS line
		FROM `+name+` s JOIN `+history+` f ON f.id = s.docid ORDER BY 1)`)
	if got != want {
		t.Errorf("words of %s\n got: %s\nwant: %s", s.Name, got, want)
	}
}

// The words of an identity follow each of its versions, by whichever way they
// are written.
func TestWordsFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.db")
	b := open(t, path, nil)
	notes, why := note("title", "body", "n"), cites("why")
	register(t, b, notes, why)
	want := func(entities, relations string) {
		t.Helper()
		wantWords(t, path, b, notes, entities)
		wantWords(t, path, b, why, relations)
	}
	cite := func(left, right, fields string) backend.Write {
		return backend.Write{Identity: onto.RelationID("Cites", left, right), Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
	}
	want("", "")
	commit(t, b, putNote("a", `,"title":"The Œuvre, of Ada!","body":"Élan 42"`), putNote("b", ""), putNote("c", `,"title":"…"`),
		cite("a", "b", `{"why":"Because"}`))
	want("a: elan 42 the œuvre of ada", "a>b: because")
	commit(t, b, putNote("a", `,"title":"Short","n":1`), putNote("b", `,"title":"Bee"`), cite("a", "b", `{"n":1,"why":"Because"}`))
	want("a: short; b: bee", "a>b: because")
	commit(t, b, removeNote("a"), putNote("b", `,"n":2`), backend.Write{Identity: onto.RelationID("Cites", "a", "b"), Op: onto.Delete, SchemaVersion: 1})
	want("", "")
	commit(t, b, putNote("a", `,"title":"Again"`), putNote("b", `,"title":"Bee"`), cite("a", "b", `{"why":"Anew"}`))
	want("a: again; b: bee", "a>b: anew")

	if _, err := (spooled{b}).AppendStream(t.Context(), &backend.Draft{}, seq(
		putNote("z", `,"title":"Stream"`), putNote("a", `,"title":"Again"`), removeNote("b"), putNote("z", `,"title":"Stream"`))); err != nil {
		t.Fatal(err)
	}
	want("a: again; z: stream", "a>b: anew")
	if n, err := b.RebuildProjection(t.Context(), nil); err != nil || n != 5 {
		t.Errorf("rebuild: got %d identities, error %v; want 5", n, err)
	}
	want("a: again; z: stream", "a>b: anew")
	commit(t, b, putNote("z", `,"title":"Later"`))
	want("a: again; z: later", "a>b: anew")
}

// seq yields writes.
func seq(writes ...backend.Write) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for _, w := range writes {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// Commits of one group that touch the same identity leave its last words.
func TestWordsOfAGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.db")
	b := open(t, path, nil)
	register(t, b, note("title"))
	commit(t, b, putNote("old", `,"title":"before"`), putNote("gone", `,"title":"before"`))
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // holds the lock while the others gather
		b.AppendStream(t.Context(), &backend.Draft{}, func(func(backend.Write, error) bool) {
			close(inside)
			<-release
		})
	})
	<-inside
	for i, writes := range [][]backend.Write{
		{removeNote("gone"), putNote("new", `,"title":"one"`), putNote("old", `,"title":"one"`)},
		{putNote("gone", `,"title":"back"`), putNote("new", `,"title":"two"`), removeNote("old")},
		{putNote("bare", ""), removeNote("gone"), putNote("new", `,"title":"three"`), putNote("old", `,"title":"before"`)},
		{putNote("bare", `,"title":"clad"`), removeNote("new")},
		{putNote("new", `,"title":"four"`)},
	} {
		wg.Go(func() {
			if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); err != nil {
				t.Error(err)
			}
		})
		for b.Waiting() <= i { // they come in this order
			runtime.Gosched()
		}
	}
	close(release)
	wg.Wait()
	wantWords(t, path, b, note("title"), "bare: clad; new: four; old: before")
}

// A large type gets its search table and its indexes when it has data already.
func TestFlagsForExistingData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.db")
	b := open(t, path, nil)
	register(t, b, note())
	const many = 3000
	var writes []backend.Write
	for i := range many { // keys and row ids are in different orders
		writes = append(writes, putNote(fmt.Sprintf("k%04d", i*7919%many), fmt.Sprintf(`,"title":"number %d","n":%d`, i, i)))
	}
	if _, err := (spooled{b}).AppendStream(t.Context(), &backend.Draft{}, seq(writes...)); err != nil {
		t.Fatal(err)
	}
	commit(t, b, removeNote("k0000"), putNote("k0001", `,"title":"changed"`))
	register(t, b, note("title", "n"))
	name, err := b.SearchTable(t.Context(), note("title", "n"))
	if err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]string{
		`SELECT count(*) FROM ` + name:                                     fmt.Sprint(many - 1),
		`SELECT count(*) FROM ` + name + ` WHERE words MATCH 'number'`:     fmt.Sprint(many - 2),
		`SELECT count(*) FROM ` + name + ` WHERE words MATCH 'number 29*'`: "111", // 29, 290 to 299, 2900 to 2999
	} {
		if got := query(t, path, statement); got != want {
			t.Errorf("%s: got %s, want %s", statement, got, want)
		}
	}
	plan := query(t, path, `EXPLAIN QUERY PLAN SELECT count(*) FROM entity_current WHERE entity_type = 'Note' AND op = 'put' AND fields ->> '$.n' = 5`)
	if !strings.Contains(plan, "INDEX onto_field_") {
		t.Errorf("got plan %s, want one by the index", plan)
	}
}

// A commit that fails leaves the words as they were.
func TestWordsOfAFailedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.db")
	b := open(t, path, nil)
	register(t, b, note("title"))
	commit(t, b, putNote("a", `,"title":"kept"`))
	planted := errors.New("planted")
	for _, point := range append(sqlite.Points(), "words") {
		b.FailAt(point, planted)
		_, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putNote("a", `,"title":"lost"`), putNote("b", `,"title":"lost"`)}})
		if !errors.Is(err, planted) {
			t.Errorf("%s: got %v, want what was planted", point, err)
		}
		wantWords(t, path, b, note("title"), "a: kept")
	}
}
