package sqlite_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// derivedNames is what is derived, as "type.field purpose" separated by "; ".
// It fails if the file does not have exactly the indexes and tables for that.
func derivedNames(t *testing.T, path string) string {
	t.Helper()
	listed := query(t, path, `SELECT coalesce(group_concat(name), '') FROM (
		SELECT iif(purpose = 'index', 'onto_field_', 'onto_search_') || id AS name FROM onto_derived ORDER BY 1)`)
	found := query(t, path, `SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_master
		WHERE name LIKE 'onto\_field%' ESCAPE '\' OR name LIKE 'onto\_search%' ESCAPE '\' AND sql LIKE 'CREATE VIRTUAL%' ORDER BY 1)`)
	if listed != found {
		t.Errorf("listed are %s, but the file has %s", listed, found)
	}
	return query(t, path, `SELECT coalesce(group_concat(line, '; '), '') FROM (
		SELECT type_name || '.' || field || ' ' || purpose AS line FROM onto_derived ORDER BY 1)`)
}

func wantDerived(t *testing.T, path, want string) {
	t.Helper()
	if got := derivedNames(t, path); got != want {
		t.Errorf("derived\n got: %s\nwant: %s", got, want)
	}
}

// Flags come and go without a new version of the type, and what they ask for
// comes and goes with them, also for a handle that was open before.
func TestFlagsComeAndGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.db")
	ours, other := open(t, path, nil), open(t, path, nil)
	first := register(t, ours, note("n"), cites(), note("n"))[0]
	wantDerived(t, path, "Note.n index")
	commit(t, other, putNote("a", `,"title":"Title","body":"Body","n":1`))
	for _, step := range []struct {
		flags         []string
		derived, word string
	}{
		{[]string{"title"}, "Note.title search", "a: title"},
		{[]string{"title", "body", "n"}, "Note.body,title search; Note.n index", "a: body title"},
		{[]string{"n"}, "Note.n index", ""},
		{nil, "", ""},
		{[]string{"body"}, "Note.body search", "a: body"},
	} {
		given := note(step.flags...)
		v := register(t, ours, given)[0]
		if d := onto.DiffSchemas(v.Schema, given); v.Version != 1 || !d.Empty() || len(d.Flags) > 0 {
			t.Errorf("%v: got version %d with differences %v, want version 1 as given", step.flags, v.Version, d)
		}
		if !bytes.Equal(v.JSON, first.JSON) || v.Hash != first.Hash {
			t.Errorf("%v: got the JSON %s, want that of the version, %s", step.flags, v.JSON, first.JSON)
		}
		if got := query(t, path, `SELECT count(*) FROM schema_versions WHERE type_name = 'Note'`); got != "1" {
			t.Errorf("%v: got %s versions, want 1", step.flags, got)
		}
		stored, err := other.Schemas(t.Context())
		if err != nil || !bytes.Equal(stored[0].Schema.JSON(), given.JSON()) {
			t.Errorf("%v: the other handle has %s, error %v; want %s", step.flags, stored[0].Schema.JSON(), err, given.JSON())
		}
		wantDerived(t, path, step.derived)
		wantWords(t, path, other, given, step.word)
		commit(t, other, putNote("b", `,"title":"Other","body":"More","n":2`))
		commit(t, other, removeNote("b"))
		wantWords(t, path, other, given, step.word)
	}
	register(t, other, note("body"))
	if head, err := ours.Resolve(t.Context(), onto.Point{}); err != nil || head.ID != 11 {
		t.Errorf("head: got %d, error %v; want 11: flags make no commit", head.ID, err)
	}
}

// A query does not use a search table that holds the words of other fields.
func TestSearchTableOfOtherFields(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "flags.db"), nil)
	register(t, b, note("title"))
	for _, c := range []struct {
		schema onto.Schema
		want   bool
	}{{note("title"), true}, {note("title", "n"), true}, {note("body"), false}, {note("title", "body"), false}, {note(), false}, {cites("why"), false}} {
		if name, err := b.SearchTable(t.Context(), c.schema); err != nil || (name != "") != c.want {
			t.Errorf("%s: got table %q, error %v; want one: %t", c.schema.JSON(), name, err, c.want)
		}
	}
}

// Flags of types that another program has registered are brought up to date when the
// types are given.
func TestFlagsBehindOurBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.db")
	b := open(t, path, nil)
	register(t, b, note())
	runSQL(t, path, `UPDATE schema_registry SET schema_json = replace(schema_json, '"n":{', '"n":{"index":true,')`)
	if got := findings(t, path); !slices.Equal(got, []string{"derived_missing"}) {
		t.Errorf("got findings %v, want derived_missing", got)
	}
	register(t, b, note("n"))
	wantDerived(t, path, "Note.n index")
}

// A program that only reads gets the types with the flags that they have.
func TestFlagsOnAReadOnlyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.db")
	func() {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		register(t, b, note("n"))
	}()
	b := open(t, path, &sqlite.Options{ReadOnly: true})
	stored := note("n")
	for _, given := range []onto.Schema{note("n"), note("title")} {
		if got := register(t, b, given)[0].Schema; !bytes.Equal(got.JSON(), stored.JSON()) {
			t.Errorf("%s: got %s, want what is stored", given.JSON(), got.JSON())
		}
	}
	_, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{note("n"), cites()}})
	if !errors.Is(err, onto.ReadOnly) {
		t.Errorf("a new type: got %v, want ReadOnly", err)
	}
}

// Each kind of damage to what is derived has a finding, and a rebuild repairs it.
func TestDerivedFindings(t *testing.T) {
	for _, c := range []struct{ code, damage string }{
		{"derived_missing", `DROP INDEX onto_field_1`},
		{"derived_missing", `DROP TABLE onto_search_2`},
		{"derived_missing", `DELETE FROM onto_derived WHERE purpose = 'index'`},
		{"derived_extra", `DELETE FROM onto_derived WHERE purpose = 'index'`},
		{"derived_extra", `INSERT INTO onto_derived (type_kind, type_name, field, purpose) VALUES ('entity', 'Gone', 'x', 'index')`},
		{"derived_extra", `CREATE VIRTUAL TABLE onto_search_77 USING fts4(words)`},
		{"derived_extra", `CREATE TABLE onto_search_78_segdir (x)`},
		{"derived_differs", `DROP INDEX onto_field_1; CREATE INDEX onto_field_1 ON entity_current(fields ->> '$.m')`},
		{"search_missing", `DELETE FROM onto_search_2 WHERE words = 'a'`},
		{"search_extra", `INSERT INTO onto_search_2 (docid, words) VALUES (99, 'nobody')`},
		{"search_differs", `UPDATE onto_search_2 SET words = 'other' WHERE words = 'a'`},
		{"search_damaged", `UPDATE onto_search_2_content SET c0words = 'other'`},
		{"search_damaged", `UPDATE onto_search_2_segdir SET root = x'ffffffff'`},
		{"search_damaged", `DROP TABLE onto_search_2_content`},
		{"search_damaged", `DROP TABLE onto_search_2_segdir`},
		{"index_missing", `DROP INDEX onto_relation_current_right`},
	} {
		t.Run(c.code+" "+c.damage, func(t *testing.T) {
			t.Parallel()
			path := makeDocumentedFile(t)
			runSQL(t, path, c.damage)
			if got := findings(t, path); !slices.Contains(got, c.code) {
				t.Errorf("got findings %v, want %s", got, c.code)
			}
			wantMended(t, path)
		})
	}
}

// wantMended rebuilds a damaged file of makeDocumented.
func wantMended(t *testing.T, path string) {
	t.Helper()
	b := open(t, path, nil)
	if n, err := b.RebuildProjection(t.Context(), nil); err != nil || n != 3 {
		t.Errorf("rebuild: got %d identities, error %v; want 3", n, err)
	}
	if got := findings(t, path); !slices.Equal(got, []string{"endpoint_missing"}) {
		t.Errorf("after a rebuild: got findings %v, want only the endpoint that was deleted", got)
	}
	wantDerived(t, path, "Thing.id,last search; Thing.n index")
	if _, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil {
		t.Error(err)
	}
}

// A row of the projection that its index cannot read: the check continues, and a
// rebuild repairs it.
func TestDamagedIndexedRow(t *testing.T) {
	path := makeDocumentedFile(t)
	jsonb, err := hex.DecodeString(query(t, path, `SELECT hex(fields) FROM entity_current WHERE entity_key = 'a'`))
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, path)
	if bytes.Count(data, jsonb) != 1 {
		t.Fatalf("the file has the row %d times, want it once", bytes.Count(data, jsonb))
	}
	write(t, path, bytes.Replace(data, jsonb, append([]byte{0xff}, jsonb[1:]...), 1))
	if got := findings(t, path); !slices.Contains(got, "projection_differs") {
		t.Errorf("got findings %v, want projection_differs", got)
	}
	b := open(t, path, nil)
	if _, err := b.Append(t.Context(), thingDraft("a", 9)); !errors.Is(err, onto.Corrupt) || !strings.Contains(onto.HintOf(err).String(), "rebuild") {
		t.Errorf("append: got %v (hint %q), want Corrupt with the way out", err, onto.HintOf(err))
	}
	wantMended(t, path)
}

// A commit that meets a damaged search table fails with the remedy.
func TestCommitOnADamagedSearchTable(t *testing.T) {
	for _, damage := range []string{
		`INSERT INTO onto_search_2 (docid, words) VALUES (5, 'nobody')`,
		`DROP TABLE onto_search_2_content`,
		`DROP TABLE onto_search_2_segdir`,
		`DROP TABLE onto_search_2`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, damage)
		b := open(t, path, nil)
		_, err := b.Append(t.Context(), thingDraft("x", 1))
		if !errors.Is(err, onto.Corrupt) || !strings.Contains(onto.HintOf(err).String(), "rebuild") {
			t.Errorf("%s: got %v (hint %q), want Corrupt with the way out", damage, err, onto.HintOf(err))
		}
		if _, err := b.RebuildProjection(t.Context(), nil); err != nil {
			t.Error(err)
		}
		commit(t, b, thingDraft("y", 1).Writes...)
	}
}

// If the list itself was dropped, opening the file brings it back.
func TestDroppedList(t *testing.T) {
	path := makeDocumentedFile(t)
	runSQL(t, path, `DROP TABLE onto_derived`)
	reader, err := sqlite.Open(t.Context(), path, &sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	wantScan(t, reader, "Thing", "a")
	var codes []string
	for f, err := range reader.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, f.Code)
	}
	if !slices.Contains(codes, "derived_missing") {
		t.Errorf("got findings %v, want derived_missing", codes)
	}
	open(t, path, nil)
	wantDerived(t, path, "Thing.id,last search; Thing.n index")
	wantMended(t, path)
}

// Registering fails as a whole.
func TestFailedRegistration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.db")
	b := open(t, path, nil)
	register(t, b, note("n"))
	planted := errors.New("planted")
	b.FailAt("commit", planted)
	_, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{note("title"), cites("why")}})
	if !errors.Is(err, planted) {
		t.Errorf("got %v, want what was planted", err)
	}
	wantDerived(t, path, "Note.n index")
	commit(t, b, putNote("a", `,"title":"x"`))
	backendtest.Check(t, b)
}
