package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
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

	// What only a log has: a version that changes nothing, a commit without versions, and a delete of nothing.
	head, err := b.Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := func(n int64, operations int) backend.LogEntry {
		return backend.LogEntry{Commit: &backend.LogCommit{Commit: onto.Commit{ID: head.ID + n, Time: head.Time.Add(time.Hour), Operations: operations}}}
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

// A file says that it is not for an engine of the original program, and can give space
// back.
func TestFileSaysWhatItIs(t *testing.T) {
	path := makeDocumentedFile(t)
	if got := query(t, path, `SELECT value FROM storage_meta WHERE key = 'engine_version'`); got != "onto-go" {
		t.Errorf("the engine is %q, want onto-go", got)
	}
	if got := query(t, path, `PRAGMA auto_vacuum`); got != "2" {
		t.Errorf("auto_vacuum is %s, want 2", got)
	}
}

// While a copy has not ended, nothing opens the file but what continues the copy, and
// handles that were open before notice it.
func TestUnfinishedTarget(t *testing.T) {
	source := past(t)
	path := filepath.Join(t.TempDir(), "target.db")
	before := open(t, path, nil)
	reading := open(t, path, &sqlite.Options{ReadOnly: true})
	target := open(t, path, &sqlite.Options{Target: true})
	if s, err := before.CopyState(t.Context()); err != nil || s != (backend.CopyState{}) {
		t.Errorf("no copy: got %+v, error %v", s, err)
	}
	if err := target.Restore(t.Context(), restoration(t, source, 0, 2)); err != nil {
		t.Fatal(err)
	}
	if got := query(t, path, `SELECT format, copy_json FROM onto_meta`); got != `1000007|{"commit":2,"flags":"none","origin":"the source","sum":"sum 2"}` {
		t.Errorf("the file has %s", got)
	}
	wantUnfinished(t, path)
	for _, b := range []*sqlite.Backend{before, reading} {
		wantNothing(t, b)
	}
	copyAll(t, source, target, 0)
	for _, b := range []*sqlite.Backend{before, reading, target, open(t, path, nil)} {
		wantSame(t, b, source)
		s, err := b.CopyState(t.Context())
		if want := (backend.CopyState{Origin: "the source", Flags: "none", Commit: pastHead, Sum: fmt.Sprint("sum ", pastHead)}); err != nil || s != want {
			t.Errorf("got %+v, error %v; want %+v", s, err, want)
		}
	}
	if got := query(t, path, `SELECT format FROM onto_meta`); got != strconv.Itoa(sqlite.Format) {
		t.Errorf("the format is %s, want %d", got, sqlite.Format)
	}
}

// wantUnfinished opens an unfinished target in each way.
func wantUnfinished(t *testing.T, path string) {
	t.Helper()
	for name, o := range map[string]*sqlite.Options{
		"writing": nil, "existing": {MustExist: true}, "reading": {ReadOnly: true}, "accepting loss": {AcceptLoss: true},
	} {
		b, err := sqlite.Open(t.Context(), path, o)
		if err == nil {
			b.Close()
		}
		if onto.CodeOf(err) != onto.CopyUnfinished || !strings.Contains(fmt.Sprint(err), "the source") || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: got %v, want CopyUnfinished that names file and source", name, err)
		}
	}
	other := makeDocumentedFile(t)
	new := filepath.Join(t.TempDir(), "new.db")
	_, from := sqlite.PlanRestore(t.Context(), path, new)
	_, to := sqlite.PlanRestore(t.Context(), other, path)
	_, over := sqlite.Restore(t.Context(), other, path, nil)
	for name, err := range map[string]error{"plan from": from, "plan to": to, "restore over": over} {
		if onto.CodeOf(err) != onto.CopyUnfinished {
			t.Errorf("%s: got %v, want CopyUnfinished", name, err)
		}
	}
}

// wantNothing asks a handle that was open before the copy began.
func wantNothing(t *testing.T, b *sqlite.Backend) {
	t.Helper()
	ctx, first := t.Context(), func(seq iter.Seq2[onto.Version, error]) error {
		for _, err := range seq {
			return err
		}
		return nil
	}
	calls := map[string]func() error{
		"get":  func() error { _, err := b.Get(ctx, onto.EntityID("Note", "a"), backend.Head); return err },
		"past": func() error { _, err := b.Get(ctx, onto.EntityID("Note", "a"), 1); return err },
		"find": func() error { _, err := b.Find(ctx, []onto.Identity{onto.EntityID("Note", "a")}, 1); return err },
		"scan": func() error {
			return first(b.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: "Note", At: backend.Head}))
		},
		"near": func() error {
			return first(b.Scan(ctx, &backend.Query{Kind: onto.KindFact, Type: "Contract", LeftKeys: []string{"ada"}, At: backend.Head}))
		},
		"resolve":  func() error { _, err := b.Resolve(ctx, onto.Point{}); return err },
		"schemas":  func() error { _, err := b.Schemas(ctx); return err },
		"describe": func() error { _, err := b.Describe(ctx, true); return err },
		"origin":   func() error { _, err := b.Origin(ctx); return err },
		"size":     func() error { _, err := b.LogSize(ctx, 0); return err },
		"state":    func() error { _, err := b.CopyState(ctx); return err },
		"leases":   func() error { _, err := b.Leases(ctx); return err },
		"append": func() error {
			_, err := b.Append(ctx, &backend.Draft{Writes: []backend.Write{putNote("z", "")}})
			return err
		},
		"stream": func() error { _, err := b.AppendStream(ctx, &backend.Draft{}, seq(putNote("z", ""))); return err },
		"register": func() error {
			_, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{tagType()}})
			return err
		},
		"rebuild": func() error { _, err := b.RebuildProjection(ctx, nil); return err },
		"copy":    func() error { _, err := b.CopyTo(ctx, filepath.Join(t.TempDir(), "copy.db"), nil); return err },
		"events": func() error {
			for _, err := range b.Events(ctx, &backend.EventQuery{}) {
				return err
			}
			return nil
		},
		"emit": func() error {
			_, err := b.Emit(ctx, &backend.Emission{Events: []backend.NewEvent{newEvent("e T")}})
			return err
		},
		"enqueue": func() error { _, err := b.Enqueue(ctx, []onto.WorkItem{newItem("i s")}); return err },
		"acquire": func() error {
			_, err := b.Acquire(ctx, &backend.LeaseRequest{Name: onto.WriteLease, Owner: "o", TTL: time.Minute})
			return err
		},
		"restore": func() error { return b.Restore(ctx, &backend.Restoration{Since: 2}) },
		"log": func() error {
			for _, err := range b.Log(ctx, 0) {
				return err
			}
			return nil
		},
		"check": func() error {
			for _, err := range b.Check(ctx) {
				return err
			}
			return nil
		},
		"checkpoint": func() error { _, err := b.Checkpoint(ctx); return err },
	}
	for name, call := range calls {
		err := call()
		if code := onto.CodeOf(err); code != onto.CopyUnfinished && code != onto.ReadOnly {
			t.Errorf("%s: got %v, want CopyUnfinished", name, err)
		}
	}
}

// A key is used once, in one part of a log, in several, and far apart.
func TestLogUsesKeysOnce(t *testing.T) {
	source := past(t)
	all, err := source.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, filepath.Join(t.TempDir(), "target.db"), &sqlite.Options{Target: true})
	copyAll(t, source, b, 0)
	keyed := func(n int64, key string) backend.LogEntry {
		return backend.LogEntry{Commit: &backend.LogCommit{Commit: onto.Commit{ID: pastHead + n, Time: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), IdempotencyKey: key}, Digest: "d"}}
	}
	far := []backend.LogEntry{keyed(1, "new")}
	for n := range int64(10_000) {
		far = append(far, keyed(n+2, fmt.Sprint("key ", n)))
	}
	for name, list := range map[string][]backend.LogEntry{
		"stored": {keyed(1, "k2")}, "near": {keyed(1, "new"), keyed(2, "new")}, "far": append(far, keyed(10_002, "new")), "among many": append(far, keyed(10_002, "k1")),
	} {
		err := b.Restore(t.Context(), &backend.Restoration{Since: pastHead, Types: all, Log: logOf(list)})
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "idempotency key") {
			t.Errorf("%s: got %v, want Invalid that names the key", name, err)
		}
	}
	wantSame(t, b, source)
}

// Another holder of the write lease keeps a restoration out.
func TestLeaseKeepsRestorationOut(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "target.db"), &sqlite.Options{Target: true, LockTimeout: time.Millisecond})
	l, err := b.Acquire(t.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "other", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(t.Context(), restoration(t, past(t), 0, 0)); onto.CodeOf(err) != onto.LockContention {
		t.Errorf("got %v, want LockContention", err)
	}
	if err := b.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	copyAll(t, past(t), b, 3)
}

// A restoration that fails at any point leaves nothing.
func TestRestorationFails(t *testing.T) {
	source, planted := past(t), errors.New("planted")
	b := open(t, filepath.Join(t.TempDir(), "target.db"), &sqlite.Options{Target: true})
	if err := b.Restore(t.Context(), restoration(t, source, 0, 2)); err != nil {
		t.Fatal(err)
	}
	before := archived(t, b)
	for _, point := range append(sqlite.Points(), "evolve", "words") {
		b.FailAt(point, planted)
		if err := b.Restore(t.Context(), restoration(t, source, 2, 0)); !errors.Is(err, planted) {
			t.Errorf("%s: got %v, want what was planted", point, err)
		}
		if after := archived(t, b); after != before {
			t.Errorf("%s: the store has changed", point)
		}
		if s, err := b.CopyState(t.Context()); err != nil || s.Commit != 2 || !s.Unfinished {
			t.Errorf("%s: got %+v, error %v; want what it was", point, s, err)
		}
	}
	broken := restoration(t, source, 2, 0)
	log := broken.Log
	broken.Log = func(yield func(backend.LogEntry, error) bool) {
		for e := range log {
			if !yield(e, nil) {
				return
			}
		}
		yield(backend.LogEntry{}, planted)
	}
	if err := b.Restore(t.Context(), broken); err != planted {
		t.Errorf("got %v, want the error of the sequence as it is", err)
	}
	copyAll(t, source, b, 1)
	wantSame(t, b, source)
}

// A log of rows that are not as they were written, or where they were written, fails.
func TestLogOfDamage(t *testing.T) {
	for _, damage := range []string{
		`UPDATE entity_history SET fields_json = '{"id":"a","n":9}' WHERE id = 3`,
		`INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES ('Thing', 'a', '{"id":"a"}', 1, 1, 'put')`,
		`PRAGMA foreign_keys = OFF; INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id, op) VALUES ('Thing', 'z', '{"id":"z"}', 7, 1, 'put')`,
		`PRAGMA foreign_keys = OFF; DELETE FROM commits WHERE id = 2`,
	} {
		path := makeDocumentedFile(t)
		runSQL(t, path, damage)
		b := opened(t, path, nil)
		var failed error
		for _, err := range b.Log(t.Context(), 0) {
			failed = err
		}
		if onto.CodeOf(failed) != onto.Corrupt {
			t.Errorf("%s: got %v, want Corrupt", damage, failed)
		}
	}
}

// The rows of a log come by index, and nothing is sorted.
func TestPlansOfLogs(t *testing.T) {
	path := makeDocumentedFile(t)
	var statements []string
	b := open(t, path, nil)
	b.OnPrepare(func(sql string) { statements = append(statements, sql) })
	entries(t, b, 1)
	if _, err := b.LogSize(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, sql := range statements {
		if !strings.Contains(sql, "_history") || strings.Contains(sql, "coalesce(c.operations") {
			continue
		}
		seen++
		plan := query(t, path, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(sql, "?", "1"))
		if strings.Contains(plan, "SCAN h\n") || strings.Contains(plan, "SCAN s\n") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nis answered by %s", sql, plan)
		}
	}
	if seen < 6 {
		t.Errorf("saw %d statements about history, want 6 at least", seen)
	}
}

// A plan tells how much there is, and what stays behind.
func TestLogSize(t *testing.T) {
	_, _, b := openBus(t)
	register(t, b, note("title"), cites(), tagType())
	var some, tags, others []backend.Write
	for i := range 100 {
		some = append(some, putNote(fmt.Sprintf("a%03d", i), `,"title":"`+strings.Repeat("é", 20)+`"`))
		others = append(others, putNote(fmt.Sprintf("b%03d", i), `,"title":"`+strings.Repeat("é", 20)+`"`))
	}
	for i := range 800 {
		tags = append(tags, backend.Write{Identity: onto.EntityID("Tag", fmt.Sprintf("t%03d", i)), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":"t%03d"}`, i), SchemaVersion: 1})
	}
	commit(t, b, some...)
	commit(t, b, tags...)
	commit(t, b, others...)
	commit(t, b, putNote("a000", ""), cite("a000", "b001"))
	evolve(t, b, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Tag", Purge: true})) // leaves a gap
	emit(t, b, "e1 T", "e2 T", "e3 U")
	claims := claim(t, b, request(2), "e1", "e2")
	mustSettle(t, b, backend.Ack, claims[0])
	if _, err := b.Enqueue(t.Context(), []onto.WorkItem{newItem("i1 s"), newItem("i2 s")}); err != nil {
		t.Fatal(err)
	}
	size, err := b.LogSize(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if size.Head != 4 || size.Commits != 4 || size.Versions != 202 || size.Scratch != 0 || size.Bytes < 200*60 || size.Bytes > 200*80 {
		t.Errorf("got %+v", size)
	}
	want := []backend.LogNote{{Code: backend.EventsStay, Of: "n", Count: 3}, {Code: backend.ClaimsStay, Of: "h acked", Count: 1},
		{Code: backend.ClaimsStay, Of: "h claimed", Count: 1}, {Code: backend.WorkStays, Of: "pending", Count: 2}}
	if !slices.Equal(size.Notes, want) {
		t.Errorf("notes\n got: %+v\nwant: %+v", size.Notes, want)
	}
	if size, err = b.LogSize(t.Context(), 3); err != nil || size.Commits != 1 || size.Versions != 2 {
		t.Errorf("after commit 3: got %+v, error %v", size, err)
	}
	if _, err = b.LogSize(t.Context(), 5); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("after a commit that does not exist: got %v, want NotFound", err)
	}
}

// long makes a log of many commits with some versions each, which is the same each time.
func long(commits int) *memory.Backend {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := memory.New(&memory.Options{Now: func() time.Time { now = now.Add(time.Second); return now }}).Open()
	ctx := context.Background()
	_, err := b.Register(ctx, &backend.Registration{Schemas: []onto.Schema{note("title", "n")}, Reason: "initial"})
	for c := range commits {
		var writes []backend.Write
		for k := range 1 + c%7 {
			writes = append(writes, putNote(fmt.Sprint("k", k), fmt.Sprintf(`,"n":%d,"title":"Title %d"`, c, c)))
		}
		if err == nil {
			_, err = b.Append(ctx, &backend.Draft{Header: backend.Header{IdempotencyKey: fmt.Sprint("key ", c)}, Writes: writes, Digest: "d"})
		}
	}
	if err != nil {
		panic(err)
	}
	return b
}

// The log that a child copies, and how many commits it copies at once.
const (
	longCommits = 60
	longPart    = 4
)

// copyKilled is the job of a child: it continues a copy, and kills itself at the n-th time
// that it comes to a point.
func copyKilled(args []string) error {
	source := long(longCommits)
	b, err := sqlite.Open(context.Background(), args[0], &sqlite.Options{Target: true})
	if err != nil {
		return err
	}
	left, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	b.CallAt(args[1], func() {
		if left--; left == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	for {
		head, err := b.Resolve(context.Background(), onto.Point{})
		if err != nil || head.ID == longCommits {
			return err
		}
		if err := b.Restore(context.Background(), childRestoration(source, head.ID)); err != nil {
			return err
		}
		fmt.Println(head.ID)
	}
}

// childRestoration is the next part of the log that a child copies.
func childRestoration(source *memory.Backend, since int64) *backend.Restoration {
	ctx, last := context.Background(), since+longPart
	all, err := source.Schemas(ctx)
	return &backend.Restoration{Since: since, Types: all,
		Copy: func() backend.CopyState {
			return backend.CopyState{Origin: "the source", Commit: last, Unfinished: last < longCommits}
		},
		Log: func(yield func(backend.LogEntry, error) bool) {
			if err != nil {
				yield(backend.LogEntry{}, err)
				return
			}
			for e, err := range source.Log(ctx, since) {
				if e.Commit != nil && e.Commit.ID > last || !yield(e, err) {
					return
				}
			}
		}}
}

// A copy that is killed leaves a prefix with the state that says so, and goes on.
func TestKilledRestorations(t *testing.T) {
	source := long(longCommits)
	for _, point := range append(sqlite.Points(), "evolve", "words", "committed") {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "target.db")
			for kill := 1; kill <= 4; kill++ {
				p := child.Start(t, "copy", path, point, strconv.Itoa(kill))
				for range p.Lines() {
				}
				if err := p.Wait(); err == nil {
					t.Fatal("the copy was not killed")
				}
				wantPrefix(t, path, source)
			}
			b := open(t, path, &sqlite.Options{Target: true})
			copyAll(t, source, b, 7)
			wantSame(t, b, source)
		})
	}
}

// wantPrefix looks at what a killed copy has left.
func wantPrefix(t *testing.T, path string, source *memory.Backend) {
	t.Helper()
	b, err := sqlite.Open(t.Context(), path, &sqlite.Options{Target: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	backendtest.Check(t, b)
	s, err := b.CopyState(t.Context())
	got, want := entries(t, b, 0), entries(t, source, 0)
	head, headErr := b.Resolve(t.Context(), onto.Point{})
	if err != nil || headErr != nil || s.Commit != head.ID || s.Unfinished != (head.ID > 0 && head.ID < longCommits) || head.ID%longPart != 0 {
		t.Errorf("got %+v, head %d, errors %v, %v", s, head.ID, err, headErr)
	}
	for i := range got {
		if g, w := entryText(got[i]), entryText(want[i]); g != w {
			t.Fatalf("entry %d: got %s, want %s", i, g, w)
		}
	}
}

func entryText(e backend.LogEntry) string {
	if e.Commit != nil {
		return fmt.Sprintf("%+v", *e.Commit)
	}
	return versionText(e.Version)
}
