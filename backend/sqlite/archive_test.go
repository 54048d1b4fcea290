package sqlite_test

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
)

// archive is what both ends of a copy are in these tests.
type archive interface {
	backend.Backend
	backend.Archive
}

// entries reads a log.
func entries(t *testing.T, b backend.LogSource, since int64) []backend.LogEntry {
	t.Helper()
	var list []backend.LogEntry
	for e, err := range b.Log(t.Context(), since) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// logOf is a log of entries.
func logOf(list []backend.LogEntry) iter.Seq2[backend.LogEntry, error] {
	return func(yield func(backend.LogEntry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// typesAt is the types as a part of a log that ends with a commit carries them.
func typesAt(all []onto.SchemaVersion, commit int64) []onto.SchemaVersion {
	var list []onto.SchemaVersion
	for _, v := range all {
		if v.Since > commit+1 {
			continue
		}
		if v.End != nil && v.End.Commit > commit+1 {
			v.End = nil
		}
		list = append(list, v)
	}
	return list
}

// restoration is the next part of a copy: so many commits, 0 for all that are left.
func restoration(t testing.TB, from archive, since int64, commits int) *backend.Restoration {
	t.Helper()
	var list []backend.LogEntry
	last, ended := since, true
	for e, err := range from.Log(t.Context(), since) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Commit != nil && commits > 0 && e.Commit.ID > since+int64(commits) {
			ended = false
			break
		}
		if e.Commit != nil {
			last = e.Commit.ID
		}
		list = append(list, e)
	}
	all, err := from.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !ended {
		all = typesAt(all, last)
	}
	return &backend.Restoration{Since: since, Log: logOf(list), Types: all, Copy: func() backend.CopyState {
		return backend.CopyState{Origin: "the source", Flags: "none", Commit: last, Sum: fmt.Sprint("sum ", last), Unfinished: !ended}
	}}
}

// copyAll copies what a target lacks, so many commits at once.
func copyAll(t testing.TB, from, to archive, commits int) {
	t.Helper()
	for {
		head, err := to.Resolve(t.Context(), onto.Point{})
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Restore(t.Context(), restoration(t, from, head.ID, commits)); err != nil {
			t.Fatal(err)
		}
		if s, err := to.CopyState(t.Context()); err != nil || !s.Unfinished {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
}

// archived is what a store answers, at every commit.
func archived(t *testing.T, b archive) string {
	t.Helper()
	var text strings.Builder
	for _, e := range entries(t, b, 0) {
		if c := e.Commit; c != nil {
			fmt.Fprintf(&text, "%d %s %s %v %d %q %q %q %s %q %s %d\n", c.ID, c.Time, c.Runtime, c.Actor, c.Causation, c.Correlation, c.Signature, c.Comment,
				c.Metadata, c.IdempotencyKey, c.Digest, c.Operations)
		} else {
			fmt.Fprintf(&text, "  %s\n", versionText(e.Version))
		}
	}
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		fmt.Fprintf(&text, "%s %d since %d %s %s %s %q %q %s", v.Schema.JSON(), v.Version, v.Since, v.JSON, v.Hash, v.Created, v.Runtime, v.Reason, v.Schema.TypeName())
		if v.Upgrader != nil {
			fmt.Fprintf(&text, " by %+v", *v.Upgrader)
		}
		if v.End != nil {
			fmt.Fprintf(&text, " ended %+v", *v.End)
		}
		text.WriteString("\n")
	}
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range head.ID + 1 {
		for _, v := range all {
			for _, mode := range []backend.Mode{backend.State, backend.History} {
				for found, err := range b.Scan(t.Context(), &backend.Query{Kind: v.Schema.Kind, Type: v.Schema.Name, Schema: &v.Schema, Mode: mode, At: at}) {
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&text, "%d %v: %s\n", at, mode, versionText(found))
					got, err := b.Get(t.Context(), found.Identity, at)
					if err != nil || mode == backend.State && versionText(got) != versionText(found) {
						t.Errorf("%s at %d: got %s, error %v", found.Identity, at, versionText(got), err)
					}
				}
			}
		}
		for c, err := range b.Diff(t.Context(), &backend.DiffQuery{From: max(at-1, 0), To: at}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "%d: %+v\n", at, c)
		}
	}
	return text.String()
}

func versionText(v onto.Version) string {
	return fmt.Sprintf("%s %s at %d %s %d %s", v.Kind, v.Identity, v.Commit, v.Op, v.SchemaVersion, v.Fields)
}

func wantSame(t *testing.T, got, want archive) {
	t.Helper()
	g, w := strings.Split(archived(t, got), "\n"), strings.Split(archived(t, want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d of the answers\n got: %s\nwant: %s", i, strings.Join(g[min(i, len(g)):min(i+1, len(g))], ""), strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
}

// pastHead is its newest commit.
const pastHead = 9

// past makes a store in memory whose log has everything that a log can have.
func past(t *testing.T) *memory.Backend {
	t.Helper()
	now := time.Date(2026, 2, 3, 4, 5, 6, 7000, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { now = now.Add(time.Second); return now }}).Open()
	put := func(d backend.Draft, writes ...backend.Write) {
		t.Helper()
		var err error
		if d.Writes, err = backend.SortWrites(writes); err != nil {
			t.Fatal(err)
		}
		if d.IdempotencyKey != "" {
			d.Digest = backend.DigestOf(&d)
		}
		if _, err := b.Append(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{note("title", "n"), cites("why"), holder(), contract(), tagType()}, Runtime: "run", Reason: "initial"}); err != nil {
		t.Fatal(err)
	}
	tag := func(key string) backend.Write {
		return backend.Write{Identity: onto.EntityID("Tag", key), Op: onto.Put, Fields: []byte(`{"id":"` + key + `"}`), SchemaVersion: 1}
	}
	ada := backend.Write{Identity: onto.EntityID("Person", "ada"), Op: onto.Put, Fields: []byte(`{"id":"ada","tier":"Gold"}`), SchemaVersion: 1}
	header := backend.Header{Runtime: "run", Actor: onto.Operator("ana"), Correlation: "x", Signature: "s", Comment: "c", Metadata: []byte(`{"a":[1,"é"]}`), IdempotencyKey: "k1"}
	put(backend.Draft{Header: header}, putNote("a", `,"n":1,"title":"First"`), putNote("b", `,"title":"Other"`), ada, tag("t"),
		fact("ada", "employer", "f1", `{"employer":"Acme"}`), fact("ada", "note", "f2", `{"note":"Signed in Paris"}`), cite("a", "b"), cite("b", "a"))
	put(backend.Draft{Header: backend.Header{Causation: 1, IdempotencyKey: "k2"}}, putNote("a", `,"n":2,"title":"Second"`), removeNote("b"))
	put(backend.Draft{}, fact("ada", "employer", "f1", `{"asserted":1,"employer":"Acme","revoked":true}`), putNote("b", `,"title":"Back again"`),
		backend.Write{Identity: onto.FactID("Contract", "ada", "note", "f2"), Op: onto.Delete, SchemaVersion: 1})
	upgraded := backend.Evolution{Add: []backend.NewVersion{{Schema: rated("title", "n"), Upgrader: &onto.StoredUpgrader{Program: `.stars = 1`}}}}
	evolve(t, b, upgraded, at(2, putNote("a", `,"n":2,"stars":1,"title":"Second"`)))
	renamed := notes()
	renamed.RenamedTo = "Memo"
	move := adding(memo("title"))
	move.End = []backend.EndedType{renamed, citations()}
	evolve(t, b, move, asMemo(putNote("a", `,"title":"Moved"`)), at(2, removeNote("a")))
	evolve(t, b, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Tag", Purge: true}))
	evolve(t, b, adding(tagType()), at(2, tag("again")))
	evolve(t, b, adding(cites()))
	put(backend.Draft{}, asMemo(putNote("c", `,"title":"Zürich again"`)), at(2, cite("c", "a")))

	// What only a log has: a version that changes nothing, a commit without versions, a
	// delete of nothing, a digest without a key.
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := func(n int64, operations int) backend.LogEntry {
		return backend.LogEntry{Commit: &backend.LogCommit{Commit: onto.Commit{ID: head.ID + n, Time: head.Time.Add(time.Hour), Operations: operations}, Digest: "without a key"}}
	}
	same := onto.Version{Identity: onto.EntityID("Memo", "c"), Commit: head.ID + 1, Op: onto.Put, SchemaVersion: 1, Fields: []byte(`{"id":"c","title":"Zürich again"}`)}
	gone := onto.Version{Identity: onto.EntityID("Memo", "never"), Commit: head.ID + 1, Op: onto.Delete, SchemaVersion: 1, Fields: []byte(`{}`)}
	err = b.Restore(t.Context(), &backend.Restoration{Since: head.ID, Types: all, Copy: func() backend.CopyState { return backend.CopyState{} },
		Log: logOf([]backend.LogEntry{next(1, 2), {Version: same}, {Version: gone}, next(2, 0)})})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A log comes back as it was, after it was copied into a file and out of it, however many

// commits are restored at once.
func TestLogGoesRound(t *testing.T) {
	for _, commits := range []int{0, 1, 2, 5} {
		t.Run(fmt.Sprint(commits, " at once"), func(t *testing.T) {
			t.Parallel()
			source := past(t)
			path := filepath.Join(t.TempDir(), "target.db")
			b := open(t, path, &sqlite.Options{Target: true})
			copyAll(t, source, b, commits)
			wantSame(t, b, source)
			wantDerived(t, path, "Contract.employer index; Contract.note search; Memo.title search")
			wantWords(t, path, b, memo("title"), "a: moved; c: zurich again")
			back := memory.New(nil).OpenTarget()
			copyAll(t, b, back, commits)
			wantSame(t, back, source)
			other := open(t, path, nil)
			wantSame(t, other, source)
			wantVerdicts(t, other, source)
		})
	}
}

// wantVerdicts gives the next drafts to a copy and to its source, which have to decide

// alike.
func wantVerdicts(t *testing.T, copied, source archive) {
	t.Helper()
	first := backend.Draft{Header: backend.Header{IdempotencyKey: "k1"}, Digest: "another"}
	second := backend.Draft{Header: backend.Header{Causation: 1, IdempotencyKey: "k2"}, Writes: []backend.Write{putNote("a", `,"n":2,"title":"Second"`), removeNote("b")}}
	second.Digest = backend.DigestOf(&second)
	for i, d := range []*backend.Draft{
		{Writes: []backend.Write{asMemo(putNote("c", `,"title":"Zürich again"`))}}, {Writes: []backend.Write{asMemo(removeNote("never"))}}, &first, &second,
		{Writes: []backend.Write{putNote("a", "")}}, {Writes: []backend.Write{at(2, cite("c", "b"))}, Expect: []onto.Expectation{{Identity: onto.EntityID("Memo", "a"), Commit: 5}}},
		{Writes: []backend.Write{asMemo(putNote("c", `,"n":3`))}, Expect: []onto.Expectation{{Identity: onto.EntityID("Memo", "c"), Commit: 1}}},
	} {
		got, err := copied.Append(t.Context(), d)
		want, wantErr := source.Append(t.Context(), d)
		got.Time, want.Time = time.Time{}, time.Time{}
		if fmt.Sprint(got, onto.CodeOf(err)) != fmt.Sprint(want, onto.CodeOf(wantErr)) {
			t.Errorf("draft %d: got %+v, %v; want %+v, %v", i, got, err, want, wantErr)
		}
	}
	got, want := entries(t, copied, pastHead), entries(t, source, pastHead)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i].Commit == nil && versionText(got[i].Version) != versionText(want[i].Version) {
			t.Fatalf("entry %d after the drafts differs", i)
		}
	}
}

// A purge of the source is repeated, also for a copy that has ended.
func TestPurgeIsRepeated(t *testing.T) {
	source := past(t)
	path := filepath.Join(t.TempDir(), "target.db")
	b := open(t, path, &sqlite.Options{Target: true})
	copyAll(t, source, b, 0)
	evolve(t, source, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Note", Purge: true}, purged(backend.EndedType{Kind: onto.KindFact, Type: "Contract"})))
	copyAll(t, source, b, 0)
	wantSame(t, b, source)
	wantDerived(t, path, "Memo.title search")
	left := query(t, path, `SELECT (SELECT count(*) FROM fact_history) + (SELECT count(*) FROM fact_current) + (SELECT count(*) FROM onto_fact_past)
		+ (SELECT count(*) FROM entity_history WHERE entity_type = 'Note')`)
	if left != "0" {
		t.Errorf("%s rows are left of what was purged", left)
	}
}

// Flags and upgraders are those that the source has now, though no commit tells of them.
func TestTypesChangeWithoutACommit(t *testing.T) {
	source := past(t)
	path := filepath.Join(t.TempDir(), "target.db")
	b := open(t, path, &sqlite.Options{Target: true})
	copyAll(t, source, b, 0)
	learn := backend.Evolution{Learn: []backend.TypeUpgrader{{Kind: onto.KindEntity, Type: "Tag", Version: 2, Upgrader: onto.StoredUpgrader{Program: "."}}}}
	evolve(t, source, learn)
	if _, err := source.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{memo("n"), cites("why")}}); err != nil {
		t.Fatal(err)
	}
	copyAll(t, source, b, 0)
	wantSame(t, b, source)
	wantDerived(t, path, "Cites.why search; Contract.employer index; Contract.note search; Memo.n index")
}

// A file says that it is not for an engine of the original program, and can give space back.
func TestFileSaysWhatItIs(t *testing.T) {
	path := makeDocumentedFile(t)
	if got := query(t, path, `SELECT value FROM storage_meta WHERE key = 'engine_version'`); got != "onto-go" {
		t.Errorf("the engine is %q, want onto-go", got)
	}
	if got := query(t, path, `PRAGMA auto_vacuum`); got != "2" {
		t.Errorf("auto_vacuum is %s, want 2", got)
	}
}
