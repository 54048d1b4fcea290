package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
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
	if got := query(t, path, `SELECT format, copy_json FROM onto_meta`); got != `1000008|{"commit":2,"flags":"none","origin":"the source","sum":"sum 2"}` {
		t.Errorf("the file has %s", got)
	}
	page := string(read(t, filepath.Join("..", "..", "docs", "format", "sqlite.md")))
	_, block, _ := strings.Cut(page, "-- what a file is a copy of")
	_, block, _ = strings.Cut(block, "\n")
	block, _, _ = strings.Cut(block, ";")
	if got := query(t, path, block); got != "the source|2|0" {
		t.Errorf("the statement of the page answers %s", got)
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
		"size":     func() error { _, err := b.LogSize(ctx, 0, backend.Head); return err },
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
