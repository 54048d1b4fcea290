package sqlite_test

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/typelist"
)

// rated is the next version of a note, with a field that has a default.
func rated(flags ...string) onto.Schema {
	s := note(flags...)
	s.Fields = append(s.Fields, onto.Field{Name: "stars", Type: onto.Int, Default: []byte("0")})
	s.SortFields()
	flag(&s, flags)
	return s
}

// memo is a note under another name.
func memo(flags ...string) onto.Schema {
	s := note(flags...)
	s.Name = "Memo"
	return s
}

// at returns a write that was made for a version of its type.
func at(version int, w backend.Write) backend.Write {
	w.SchemaVersion = version
	return w
}

// asMemo returns what is wanted of a note for the memo of the same key.
func asMemo(w backend.Write) backend.Write {
	w.Type = "Memo"
	return w
}

func cite(left, right string) backend.Write {
	return backend.Write{Identity: onto.RelationID("Cites", left, right), Op: onto.Put, Fields: []byte(`{}`), SchemaVersion: 1}
}

// planned returns a draft that evolves the types as they are now.
func planned(t *testing.T, b backend.Backend, e backend.Evolution) *backend.Draft {
	t.Helper()
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.Base, e.Runtime, e.Reason = typelist.Hash(all), "run", "migration"
	return &backend.Draft{Evolve: &e}
}

func evolve(t *testing.T, b backend.Backend, e backend.Evolution, writes ...backend.Write) onto.Result {
	t.Helper()
	res, err := spooled{b}.AppendStream(t.Context(), planned(t, b, e), seq(writes...))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func adding(schemas ...onto.Schema) backend.Evolution {
	var e backend.Evolution
	for _, s := range schemas {
		e.Add = append(e.Add, backend.NewVersion{Schema: s})
	}
	return e
}

func ending(types ...backend.EndedType) backend.Evolution { return backend.Evolution{End: types} }

func notes() backend.EndedType { return backend.EndedType{Kind: onto.KindEntity, Type: "Note"} }

func citations() backend.EndedType {
	return backend.EndedType{Kind: onto.KindRelation, Type: "Cites"}
}

// purged is a type that ends without leaving anything.
func purged(t backend.EndedType) backend.EndedType {
	t.Purge = true
	return t
}

// wantTypes compares the versions of types, as "name version since" with what is
// known of upgrader and end, separated by "; ".
func wantTypes(t *testing.T, b backend.Backend, want string) {
	t.Helper()
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, v := range all {
		line := fmt.Sprintf("%s %d since %d", v.Schema.Name, v.Version, v.Since)
		if v.Upgrader != nil {
			line += fmt.Sprintf(" by %q", v.Upgrader.Program)
		}
		if v.End != nil {
			line += fmt.Sprintf(" until %d", v.End.Commit)
			if v.End.RenamedTo != "" {
				line += " as " + v.End.RenamedTo
			}
			if v.End.Purged {
				line += fmt.Sprintf(" purged %d", v.End.Versions)
			}
		}
		list = append(list, line)
	}
	if got := strings.Join(list, "; "); got != want {
		t.Errorf("types\n got: %s\nwant: %s", got, want)
	}
}

// wantView compares the keys and stamps of a type as of a commit.
func wantView(t *testing.T, b backend.Backend, typ string, commit int64, want ...string) {
	t.Helper()
	var got []string
	for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: typ, At: commit}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s/%d", v.Key, v.SchemaVersion))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s at %d: got %v, want %v", typ, commit, got, want)
	}
}

func wantRefused(t *testing.T, b backend.Backend, code onto.Code, writes ...backend.Write) {
	t.Helper()
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: writes}); onto.CodeOf(err) != code {
		t.Errorf("%s for version %d: got %v, want %s", writes[0].Identity, writes[0].SchemaVersion, err, code)
	}
}

// noted makes a store with two notes, one of which has two versions, and a
// relation between them.
func noted(t *testing.T) (string, *sqlite.Backend) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evolve.db")
	b := open(t, path, nil)
	register(t, b, note("title", "n"), cites("why"))
	commit(t, b, putNote("a", `,"title":"First"`), putNote("b", `,"title":"Other"`), cite("a", "b"))
	commit(t, b, putNote("a", `,"title":"Second"`))
	return path, b
}

// A version is added, and the rows are rewritten for it in the same commit.
func TestEvolveRewrites(t *testing.T) {
	path, b := noted(t)
	e := backend.Evolution{Add: []backend.NewVersion{{Schema: rated("n"), Upgrader: &onto.StoredUpgrader{Program: `.stars = 0 | select(.n < 1 and .a > "é&")`}}}}
	res := evolve(t, b, e, at(2, putNote("a", `,"stars":0,"title":"Second"`)), at(2, putNote("b", `,"stars":0,"title":"Other"`)))
	if res.ID != 3 || res.Operations != 2 {
		t.Errorf("got commit %d with %d operations, want commit 3 with 2", res.ID, res.Operations)
	}
	wantTypes(t, b, `Note 1 since 1; Note 2 since 3 by ".stars = 0 | select(.n < 1 and .a > \"é&\")"; Cites 1 since 1`)
	wantView(t, b, "Note", 2, "a/1", "b/1")
	wantView(t, b, "Note", 3, "a/2", "b/2")
	wantFields(t, b, onto.EntityID("Note", "a"), 2, `{"id":"a","title":"Second"}`)
	wantFields(t, b, onto.EntityID("Note", "a"), 3, `{"id":"a","stars":0,"title":"Second"}`)
	wantRefused(t, b, onto.SchemaOutdated, putNote("a", ""))
	commit(t, b, at(2, putNote("a", `,"stars":5`)), cite("b", "a"))
	wantDerived(t, path, "Cites.why search; Note.n index")

	stored := query(t, path, `SELECT schema_version_id, schema_json, schema_hash, runtime_id, reason FROM schema_versions WHERE type_name = 'Note' AND schema_version_id = 2`)
	want := rated("n")
	if line := fmt.Sprintf("2|%s|%s|run|migration", want.JSON(), want.Hash()); stored != line {
		t.Errorf("stored\n got: %s\nwant: %s", stored, line)
	}
	if got := query(t, path, `SELECT schema_json FROM schema_registry WHERE type_name = 'Note'`); got != string(want.JSON()) {
		t.Errorf("registered is %s, want %s", got, want.JSON())
	}
	register(t, b, rated("n"))
	_, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{note("n")}})
	if !errors.Is(err, onto.SchemaOutdated) {
		t.Errorf("the former type: got %v, want SchemaOutdated", err)
	}
}

// Without rows to rewrite there is no commit, and its id stays free for the next
// commit.
func TestEvolveWithoutACommit(t *testing.T) {
	_, b := noted(t)
	res := evolve(t, b, adding(rated("title")), at(2, putNote("a", `,"title":"Second"`)))
	if res.Changed() || res.Operations != 0 || !res.Time.IsZero() {
		t.Errorf("got %+v, want no commit", res)
	}
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Cites 1 since 1")
	commit(t, b, at(2, putNote("c", `,"stars":1`)))
	wantView(t, b, "Note", 3, "a/1", "b/1", "c/2")
	wantTypes(t, b, "Note 1 since 1; Note 2 since 3; Cites 1 since 1")
}

// An upgrader is learned later, and only once.
func TestEvolveLearns(t *testing.T) {
	_, b := noted(t)
	evolve(t, b, adding(rated("title")))
	learn := backend.Evolution{Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: "Note", Version: 2, Upgrader: onto.StoredUpgrader{Program: "."}}}}
	evolve(t, b, learn)
	wantTypes(t, b, `Note 1 since 1; Note 2 since 3 by "."; Cites 1 since 1`)
	if _, err := b.AppendStream(t.Context(), planned(t, b, learn), seq()); !errors.Is(err, onto.Conflict) {
		t.Errorf("again: got %v, want Conflict", err)
	}
}

// The sequence reads the store, which is as it was before, whatever is under
// way: that is how rows are rewritten.
func TestEvolveReadsTheFormerState(t *testing.T) {
	path, b := noted(t)
	e := adding(memo("title"))
	renamed := notes()
	renamed.RenamedTo = "Memo"
	e.End = []backend.EndedType{renamed}
	var big []backend.Write
	for i := range 2500 {
		big = append(big, putNote(fmt.Sprintf("k%04d", i), `,"title":"Filler"`))
	}
	commit(t, b, big...)
	res, err := spooled{b}.AppendStream(t.Context(), planned(t, b, e), renameAll(t, b))
	if err != nil || res.ID != 4 || res.Operations != 2*2502 {
		t.Errorf("got commit %d with %d operations, error %v; want commit 4 with %d", res.ID, res.Operations, err, 2*2502)
	}
	wantTypes(t, b, "Memo 1 since 4; Note 1 since 1 until 4 as Memo; Cites 1 since 1")
	wantScan(t, b, "Note")
	wantView(t, b, "Note", 2, "a/1", "b/1")
	wantView(t, b, "Memo", 3)
	wantDerived(t, path, "Cites.why search; Memo.title search")
	wantFields(t, b, onto.EntityID("Memo", "a"), backend.Head, `{"id":"a","title":"Second"}`)
	wantRefused(t, b, onto.SchemaOutdated, putNote("a", ""))
	wantRefused(t, b, onto.SchemaOutdated, removeNote("a"))
	if v, err := b.Get(t.Context(), onto.EntityID("Note", "a"), backend.Head); err != nil || v.Op != onto.Delete || v.SchemaVersion != 1 {
		t.Errorf("the former row: got %+v, error %v; want a delete of version 1", v, err)
	}
	if got := query(t, path, `SELECT count(*) FROM schema_registry WHERE type_name = 'Note'`); got != "0" {
		t.Error("the type that ended is still registered")
	}
	commit(t, b, asMemo(putNote("a", `,"title":"Third"`)))
}

// renameAll deletes each note and puts it as a memo, and looks at what a reader
// sees meanwhile.
func renameAll(t *testing.T, b backend.Backend) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Note", At: backend.Head}) {
			if err != nil {
				yield(backend.Write{}, err)
				return
			}
			w := backend.Write{Identity: v.Identity, Op: onto.Delete, SchemaVersion: v.SchemaVersion}
			if !yield(w, nil) || !yield(asMemo(backend.Write{Identity: v.Identity, Op: onto.Put, Fields: v.Fields, SchemaVersion: 1}), nil) {
				return
			}
		}
		wantTypes(t, b, "Note 1 since 1; Cites 1 since 1")
		wantView(t, b, "Memo", backend.Head)
		wantFields(t, b, onto.EntityID("Note", "a"), backend.Head, `{"id":"a","title":"Second"}`)
	}
}

// A type is dropped; its history stays. When it begins again its numbers go on.
func TestEvolveDropsAndBeginsAgain(t *testing.T) {
	path, b := noted(t)
	evolve(t, b, ending(notes(), citations()), removeNote("a"), removeNote("b"),
		backend.Write{Identity: onto.RelationID("Cites", "a", "b"), Op: onto.Delete, SchemaVersion: 1})
	wantTypes(t, b, "Note 1 since 1 until 3; Cites 1 since 1 until 3")
	wantView(t, b, "Note", 2, "a/1", "b/1")
	wantScan(t, b, "Note")
	wantDerived(t, path, "")
	wantRefused(t, b, onto.SchemaOutdated, putNote("a", ""))
	if info, err := b.Describe(t.Context(), true); err != nil || len(info.Types) != 0 {
		t.Errorf("got types %v, error %v; want none", info.Types, err)
	}
	v := register(t, b, tagType(), note("title"))[1]
	if v.Version != 2 || v.Since != 4 || v.End != nil {
		t.Errorf("registered again: got version %d since %d, end %v; want version 2 since 4", v.Version, v.Since, v.End)
	}
	wantTypes(t, b, "Note 1 since 1 until 3; Note 2 since 4; Tag 1 since 4; Cites 1 since 1 until 3")
	wantRefused(t, b, onto.SchemaOutdated, putNote("a", ""))
	commit(t, b, at(2, putNote("a", `,"title":"Back"`)))
	wantWords(t, path, b, note("title"), "a: back")
	register(t, b, note("title"))
	evolve(t, b, adding(cites()))
	wantTypes(t, b, "Note 1 since 1 until 3; Note 2 since 4; Tag 1 since 4; Cites 1 since 1 until 3; Cites 2 since 5")
}

// A type that ends can begin again in the same commit.
func TestEvolveReplaces(t *testing.T) {
	_, b := noted(t)
	e := adding(rated("title"))
	e.End = []backend.EndedType{purged(notes())}
	if res := evolve(t, b, e, at(2, putNote("z", `,"stars":1`))); res.ID != 3 || res.Operations != 1 {
		t.Errorf("got commit %d with %d operations, want commit 3 with 1", res.ID, res.Operations)
	}
	wantTypes(t, b, "Note 1 since 1 until 3 purged 3; Note 2 since 3; Cites 1 since 1")
	wantView(t, b, "Note", 2)
	wantView(t, b, "Note", 3, "z/2")
}

// Nothing is left of a type that was purged, at any commit, and the rest is as
// it was.
func TestEvolvePurges(t *testing.T) {
	path, b := noted(t)
	register(t, b, memo("title"))
	commit(t, b, asMemo(putNote("m", `,"title":"Stays"`)), putNote("b", `,"title":"Once"`))
	if _, err := b.RebuildProjection(t.Context(), nil); err != nil { // keeps a checksum
		t.Fatal(err)
	}
	if res := evolve(t, b, ending(purged(notes())), removeNote("a")); res.Changed() {
		t.Errorf("got commit %d, want none", res.ID)
	}
	wantTypes(t, b, "Memo 1 since 3; Note 1 since 1 until 4 purged 4; Cites 1 since 1")
	for at := range int64(4) {
		wantView(t, b, "Note", at)
	}
	wantView(t, b, "Memo", 3, "m/1")
	if got := query(t, path, `SELECT group_concat(operations) FROM commits`); got != "1,0,1" {
		t.Errorf("got %s operations, want 1,0,1", got)
	}
	left := query(t, path, `SELECT (SELECT count(*) FROM entity_history WHERE entity_type = 'Note') + (SELECT count(*) FROM entity_current WHERE entity_type = 'Note')
		+ (SELECT count(*) FROM onto_entity_past WHERE entity_type = 'Note'), (SELECT checksum IS NULL AND checksum_commit IS NULL FROM onto_meta)`)
	if left != "0|1" {
		t.Errorf("got %s, want no rows and no checksum", left)
	}
	if _, err := b.Get(t.Context(), onto.EntityID("Note", "a"), 1); !errors.Is(err, onto.NotFound) {
		t.Errorf("a purged note: got %v, want NotFound", err)
	}
	wantDerived(t, path, "Cites.why search; Memo.title search")
	if n, err := b.RebuildProjection(t.Context(), nil); err != nil || n != 2 {
		t.Errorf("rebuild: got %d identities, error %v; want 2", n, err)
	}
	commit(t, b, asMemo(putNote("m", `,"title":"Later"`)))
	wantWords(t, path, b, memo("title"), "m: later")
}

// A handle that was open before refuses what was made for the former types, and
// maintains what is derived.
func TestEvolveBesideAnotherHandle(t *testing.T) {
	path, b := noted(t)
	other := open(t, path, nil)
	commit(t, other, putNote("c", `,"title":"Theirs"`))
	evolve(t, b, adding(rated("body")))
	wantTypes(t, other, "Note 1 since 1; Note 2 since 4; Cites 1 since 1")
	wantRefused(t, other, onto.SchemaOutdated, at(3, putNote("c", "")))
	commit(t, other, at(2, putNote("c", `,"body":"Words","stars":1`)))
	wantWords(t, path, other, rated("body"), "c: words")
	evolve(t, b, ending(citations()))
	wantRefused(t, other, onto.SchemaOutdated, cite("b", "a"))
	_, err := spooled{other}.AppendStream(t.Context(), &backend.Draft{}, seq(cite("b", "a")))
	if !errors.Is(err, onto.SchemaOutdated) {
		t.Errorf("a stream: got %v, want SchemaOutdated", err)
	}
}

// What is derived follows the flags of the new version.
func TestEvolveFlags(t *testing.T) {
	path, b := noted(t)
	for i, step := range []struct {
		flags          []string
		derived, words string
	}{
		{[]string{"title", "n"}, "Note.n index; Note.title search", "a: second; b: other"},
		{[]string{"body", "stars"}, "Note.body search; Note.stars index", "b: new"},
		{nil, "", ""},
		{[]string{"title", "body"}, "Note.body,title search", "a: second; b: new other"},
	} {
		version := i + 2
		members := fmt.Sprintf(`,"body":"New","stars":%d,"title":"Other"`, i)
		evolve(t, b, adding(rated(step.flags...)), at(version, putNote("b", members)))
		wantDerived(t, path, "Cites.why search"+strings.TrimSuffix("; "+step.derived, "; "))
		wantWords(t, path, b, rated(step.flags...), step.words)
	}
}

// A used idempotency key evolves nothing, and a key without a commit stays free.
func TestEvolveOnce(t *testing.T) {
	path, b := noted(t)
	write := at(2, putNote("a", `,"stars":1`))
	d := planned(t, b, adding(rated("title")))
	d.IdempotencyKey = "once"
	first, err := spooled{b}.AppendStream(t.Context(), d, seq(write))
	if err != nil || first.ID != 3 {
		t.Fatalf("got commit %d, error %v; want 3", first.ID, err)
	}
	before := everything(t, path)
	res, err := spooled{b}.AppendStream(t.Context(), d, seq(write))
	if err != nil || res.ID != 3 || !res.Repeated {
		t.Errorf("again: got %+v, error %v; want commit 3, repeated", res, err)
	}
	other := planned(t, b, adding(memo()))
	other.IdempotencyKey = "once"
	if _, err := (spooled{b}).AppendStream(t.Context(), other, seq(write)); onto.CodeOf(err) != onto.IdempotencyConflict {
		t.Errorf("another evolution with the key: got %v, want a conflict", err)
	}
	if after := everything(t, path); after != before {
		t.Errorf("the file has changed\n got: %s\nwant: %s", after, before)
	}
	d = planned(t, b, adding(memo()))
	d.IdempotencyKey = "free"
	if res, err := (spooled{b}).AppendStream(t.Context(), d, seq(write)); err != nil || res.Changed() {
		t.Errorf("got commit %d, error %v; want none", res.ID, err)
	}
	if _, err := (spooled{b}).AppendStream(t.Context(), d, seq(write)); !errors.Is(err, onto.MigrationToken) {
		t.Errorf("again: got %v, want MigrationToken", err)
	}
}

// Each way in which types and rows can disagree has a finding.
func TestEvolveFindings(t *testing.T) {
	for _, c := range []struct{ code, damage string }{
		{"schema_registry", `INSERT INTO schema_registry SELECT type_kind, type_name, schema_json FROM schema_versions WHERE type_name = 'Cites'`},
		{"schema_since", `UPDATE schema_versions SET onto_since = 9 WHERE type_name = 'Note' AND schema_version_id = 2`},
		{"schema_since", `UPDATE schema_versions SET onto_since = 0 WHERE type_name = 'Note' AND schema_version_id = 1`},
		{"schema_since", `UPDATE schema_versions SET onto_since = 4 WHERE type_name = 'Note' AND schema_version_id = 2`},
		{"schema_since", `UPDATE schema_versions SET onto_since = 2 WHERE type_name = 'Note' AND schema_version_id = 2`},
		{"schema_end", `UPDATE schema_versions SET onto_end = json_set(onto_end, '$.commit', 9) WHERE type_name = 'Cites'`},
		{"schema_end", `UPDATE schema_versions SET onto_end = json_set(onto_end, '$.commit', 0) WHERE type_name = 'Cites'`},
		{"schema_ended", `UPDATE schema_versions SET onto_end = json_set(onto_end, '$.commit', 1) WHERE type_name = 'Cites'`},
		{"schema_end", `UPDATE schema_versions SET onto_end = json_set(onto_end, '$.versions', 3) WHERE type_name = 'Cites'`},
		{"upgrader_form", `UPDATE schema_versions SET onto_upgrader = '{"program":".","func":true}' WHERE type_name = 'Note' AND schema_version_id = 2`},
		{"upgrader_unknown", `UPDATE schema_versions SET onto_upgrader = '{"renamed_from":"Nobody","from_version":1}' WHERE type_name = 'Note' AND schema_version_id = 2`},
		{"schema_purged", `UPDATE schema_versions SET onto_end = json_set(onto_end, '$.purged', json('true')) WHERE type_name = 'Cites'`},
		{"", ``},
	} {
		t.Run(c.code+" "+c.damage, func(t *testing.T) {
			t.Parallel()
			path, b := noted(t)
			evolve(t, b, backend.Evolution{Add: adding(rated("n")).Add, End: []backend.EndedType{citations()}}, at(2, putNote("a", `,"stars":1`)),
				backend.Write{Identity: onto.RelationID("Cites", "a", "b"), Op: onto.Delete, SchemaVersion: 1})
			query(t, path, `PRAGMA wal_checkpoint(TRUNCATE)`)
			copied := filepath.Join(t.TempDir(), "copy.db")
			write(t, copied, read(t, path))
			runSQL(t, copied, c.damage)
			got := findings(t, copied)
			if c.code == "" && len(got) > 0 || c.code != "" && !slices.Contains(got, c.code) {
				t.Errorf("got findings %v, want %q", got, c.code)
			}
		})
	}
}

// What is kept with a version and cannot be read is an error that names it.
func TestEvolveUnreadable(t *testing.T) {
	for _, column := range []string{"onto_upgrader", "onto_end"} {
		path := makeDocumentedFile(t)
		runSQL(t, path, `UPDATE schema_versions SET `+column+` = '{' WHERE type_name = 'Touches'`)
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Schemas(t.Context()); !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), "Touches") || onto.HintOf(err).Text == "" {
			t.Errorf("%s: got %v, want Corrupt with the type and a hint", column, err)
		}
	}
}
