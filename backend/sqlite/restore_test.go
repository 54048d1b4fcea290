package sqlite_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	archives "github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// backedUp makes a store with 3 commits and a backup of it, and then 2 commits
// more.
func backedUp(t *testing.T) (dir string, b *sqlite.Backend) {
	t.Helper()
	dir = t.TempDir()
	b = storeWith(t, filepath.Join(dir, "store.db"), 3)
	if _, err := b.CopyTo(t.Context(), filepath.Join(dir, "backup.db"), nil); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"late1", "late2"} {
		if _, err := b.Append(t.Context(), thingDraft(key, 9)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, b
}

func wantNotFound(t *testing.T, b backend.Backend, key string) {
	t.Helper()
	if v, err := b.Get(t.Context(), onto.EntityID("Thing", key), backend.Head); !errors.Is(err, onto.NotFound) {
		t.Errorf("%s: got %s, error %v; want NotFound", key, v.Fields, err)
	}
}

// Where no store is, a restore makes one.
func TestRestoreToANewFile(t *testing.T) {
	dir, _ := backedUp(t)
	backup, to := filepath.Join(dir, "backup.db"), filepath.Join(dir, "new.db")
	before := read(t, backup)
	done, err := sqlite.Restore(t.Context(), backup, to, nil)
	if err != nil || done.Present != nil || done.Kept != "" || done.Backup.Head.ID != 3 {
		t.Fatalf("got %+v, error %v; want a new store with head 3", done, err)
	}
	wantHead(t, open(t, to, nil), 3)
	wantFiles(t, dir, "backup.db", "new.db", "store.db")
	if string(read(t, backup)) != string(before) {
		t.Error("the backup has changed")
	}
}

// A store that is open in other programs is restored under them: they read and commit
// before and after, and the file stays whole.
func TestRestoreUnderOpenStores(t *testing.T) {
	dir, b := backedUp(t)
	backup, to := filepath.Join(dir, "backup.db"), filepath.Join(dir, "store.db")
	before := read(t, backup)
	register(t, b, note("title")) // a type that the backup does not have
	commit(t, b, putNote("n1", `,"title":"x"`))
	plan, err := sqlite.PlanRestore(t.Context(), backup, to)
	if err != nil || plan.Present == nil || plan.Present.Head.ID != 6 || plan.Present.StoreID != plan.Backup.StoreID || plan.Shared != 3 || plan.Lost != 3 {
		t.Fatalf("plan: got %+v, error %v; want 3 of 6 commits lost", plan, err)
	}
	wantHead(t, b, 6) // a plan changes nothing
	next, stop := scanning(t, b)
	defer stop()
	next("k1") // a read that is under way keeps its moment
	done, err := sqlite.Restore(t.Context(), backup, to, nil)
	if err != nil || done.Lost != 3 || done.Kept != to+".before-restore-6" {
		t.Fatalf("got %+v, error %v", done, err)
	}
	next("k2", "k3", "late1", "late2", "~shared")
	wantHead(t, b, 3)
	wantNotFound(t, b, "late1")
	wantFields(t, b, onto.EntityID("Thing", "k3"), backend.Head, `{"id":"k3","n":3}`)
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{putNote("n2", "")}}); !errors.Is(err, onto.SchemaOutdated) {
		t.Errorf("a type that is gone: got %v, want SchemaOutdated", err)
	}
	if r, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID != 4 {
		t.Errorf("after: got commit %d, error %v; want 4", r.ID, err)
	}
	kept := open(t, done.Kept, nil)
	wantHead(t, kept, 6)
	wantFields(t, kept, onto.EntityID("Thing", "late2"), backend.Head, `{"id":"late2","n":9}`)
	wantFiles(t, dir, "backup.db", "store.db", "store.db.before-restore-6")
	if string(read(t, backup)) != string(before) {
		t.Error("the backup has changed")
	}
}

// Other processes write all the time while the store is restored under them: each
// continues, and the file stays whole.
func TestRestoreUnderWritingProcesses(t *testing.T) {
	dir, b := backedUp(t)
	to := filepath.Join(dir, "store.db")
	writers := []*backendtest.Writer{backendtest.StartWriter(t, to, "one", 2), backendtest.StartWriter(t, to, "two", 2)}
	for _, w := range writers {
		<-w.First
	}
	done, err := sqlite.Restore(t.Context(), filepath.Join(dir, "backup.db"), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.Append(t.Context(), thingDraft("after", 1)); err != nil || r.ID < 4 {
		t.Errorf("got commit %d, error %v; want one after the backup's", r.ID, err)
	}
	acks := map[string]int64{}
	for i, w := range writers {
		acked, err := w.Stop()
		if err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
		maps.Copy(acks, acked)
	}
	kept := open(t, done.Kept, nil)
	for key, id := range acks { // each is in one of the two, or in both
		at := onto.EntityID("Thing", key)
		_, before := kept.Get(t.Context(), at, id)
		_, after := b.Get(t.Context(), at, id)
		if before != nil && after != nil {
			t.Errorf("commit %d with %s was acknowledged and is nowhere", id, key)
		}
	}
}

// scanning starts a read. Next reads on and compares the keys.
func scanning(t *testing.T, b *sqlite.Backend) (next func(keys ...string), stop func()) {
	t.Helper()
	keys, release := make(chan string), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v, err := range b.Scan(t.Context(), &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
			if err != nil {
				t.Error(err)
			}
			select {
			case keys <- v.Key:
			case <-release:
				return
			}
		}
	}()
	next = func(want ...string) {
		t.Helper()
		for _, w := range want {
			select {
			case got := <-keys:
				if got != w {
					t.Errorf("the read gives %s, want %s", got, w)
				}
			case <-done:
				t.Errorf("the read has ended, want %s", w)
			}
		}
	}
	return next, func() { close(release); <-done }
}

// A restore can be undone with the copy that was kept, and repeated.
func TestRestoreIsUndone(t *testing.T) {
	dir, b := backedUp(t)
	backup, to := filepath.Join(dir, "backup.db"), filepath.Join(dir, "store.db")
	first, err := sqlite.Restore(t.Context(), backup, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if undone, err := sqlite.Restore(t.Context(), first.Kept, to, nil); err != nil || undone.Lost != 0 || undone.Kept != to+".before-restore-3" {
		t.Errorf("undo: got %+v, error %v", undone, err)
	}
	wantHead(t, b, 5)
	wantFields(t, b, onto.EntityID("Thing", "late2"), backend.Head, `{"id":"late2","n":9}`)
	again, err := sqlite.Restore(t.Context(), backup, to, nil)
	if err != nil || again.Kept != to+".before-restore-5-2" {
		t.Errorf("again: got %+v, error %v; want another name for the copy", again, err)
	}
	wantHead(t, b, 3)
}

// After a restore no lease is held, and no earlier lease becomes valid again.
func TestRestoreEndsLeases(t *testing.T) {
	dir, b := backedUp(t)
	to := filepath.Join(dir, "store.db")
	l := acquire(t, b, "nightly", "ana")
	derived := query(t, to, `SELECT derived FROM onto_meta`)
	if _, err := sqlite.Restore(t.Context(), filepath.Join(dir, "backup.db"), to, nil); err != nil {
		t.Fatal(err)
	}
	if held, err := b.Leases(t.Context()); err != nil || len(held) != 0 {
		t.Errorf("got leases %v, error %v; want none", held, err)
	}
	if _, err := b.Append(t.Context(), leased("k", l)); !errors.Is(err, onto.LeaseExpired) {
		t.Errorf("got %v, want LeaseExpired", err)
	}
	if again := acquire(t, b, "nightly", "ana"); again.Epoch != l.Epoch+2 {
		t.Errorf("got epoch %d after %d", again.Epoch, l.Epoch)
	}
	if now := query(t, to, `SELECT derived FROM onto_meta`); now <= derived {
		t.Errorf("derived is %s after %s, want it larger", now, derived)
	}
}

// A restore that fails leaves everything as it was.
func TestRestoreRefused(t *testing.T) {
	dir, b := backedUp(t)
	backup, to := filepath.Join(dir, "backup.db"), filepath.Join(dir, "store.db")
	text := filepath.Join(dir, "notes.txt")
	write(t, text, []byte(strings.Repeat("not a database\n", 100)))
	opts := &sqlite.RestoreOptions{LockTimeout: 20 * time.Millisecond}
	for _, c := range []struct {
		name, from, to string
		want           onto.Code
	}{
		{"no backup", filepath.Join(dir, "none"), to, onto.Uninitialized},
		{"not a store", text, to, onto.Unsupported},
		{"itself", to, to, onto.Invalid},
		{"onto a text", backup, text, onto.Unsupported},
	} {
		if _, err := sqlite.Restore(t.Context(), c.from, c.to, opts); !errors.Is(err, c.want) || onto.HintOf(err).Text == "" {
			t.Errorf("%s: got %v, hint %q; want %s", c.name, err, onto.HintOf(err), c.want)
		}
	}
	l := acquire(t, b, onto.WriteLease, "migration")
	if _, err := sqlite.Restore(t.Context(), backup, to, opts); !errors.Is(err, onto.LockContention) || !strings.Contains(err.Error(), "migration") {
		t.Errorf("held: got %v, want LockContention that names the holder", err)
	}
	if err := b.Release(t.Context(), l); err != nil {
		t.Error(err)
	}
	wantHead(t, b, 5)
	wantFiles(t, dir, "backup.db", "notes.txt", "store.db")
}

// A restore whose lease is broken, or that is overtaken by a program that ignores
// leases, replaces nothing.
func TestRestoreIsOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		do   string
		want onto.Code
		head int64
	}{
		"broken": {`DELETE FROM locks`, onto.LeaseExpired, 5},
		"commit": {`INSERT INTO commits (created_at, operations) VALUES ('2099-01-01T00:00:00.000000+00:00', 0)`, onto.HeadMismatch, 6},
	} {
		t.Run(name, func(t *testing.T) {
			dir, b := backedUp(t)
			to := filepath.Join(dir, "store.db")
			calls := 0
			_, err := sqlite.Restore(t.Context(), filepath.Join(dir, "backup.db"), to, &sqlite.RestoreOptions{Progress: func(int64, int64) {
				if calls++; calls == 2 { // the copy that is kept is ready
					runSQL(t, to, c.do)
				}
			}})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			wantHead(t, b, c.head)
			wantFiles(t, dir, "backup.db", "store.db")
			runSQL(t, to, `DELETE FROM commits WHERE operations = 0`)
			if held, err := b.Leases(t.Context()); err != nil || len(held) != 0 {
				t.Errorf("got leases %v, error %v; want none", held, err)
			}
		})
	}
}

// A backup of another store, or of one that has diverged, shares less.
func TestRestorePlanOfAnotherLog(t *testing.T) {
	dir, _ := backedUp(t)
	fork, to := filepath.Join(dir, "fork.db"), filepath.Join(dir, "store.db")
	if _, err := sqlite.Restore(t.Context(), filepath.Join(dir, "backup.db"), fork, nil); err != nil {
		t.Fatal(err)
	}
	f := open(t, fork, nil)
	for i := range 3 {
		if _, err := f.Append(t.Context(), thingDraft(fmt.Sprintf("fork%d", i), i)); err != nil {
			t.Fatal(err)
		}
	}
	if plan, err := sqlite.PlanRestore(t.Context(), fork, to); err != nil || plan.Shared != 3 || plan.Lost != 2 {
		t.Errorf("fork: got %+v, error %v; want 3 shared, 2 lost", plan, err)
	}
	id := query(t, fork, `SELECT store_id FROM onto_meta`)
	runSQL(t, fork, `UPDATE onto_meta SET store_id = 'another'`)
	if plan, err := sqlite.PlanRestore(t.Context(), fork, to); err != nil || plan.Shared != 0 || plan.Lost != 5 {
		t.Errorf("another store: got %+v, error %v; want none shared, 5 lost", plan, err)
	}
	runSQL(t, fork, `UPDATE onto_meta SET store_id = '`+id+`'`)
}

// A copy is compared with its source, with a backup of it and with another copy of it as their
// log is the same: they share the commits up to where one of them ends, or where they part.
func TestRestorePlanOfCopies(t *testing.T) {
	dir, b := backedUp(t) // with 5 commits, and a backup with 3
	at := func(name string) string { return filepath.Join(dir, name) }
	copied := func(name string, until int64) *sqlite.Backend {
		t.Helper()
		to := open(t, at(name), &sqlite.Options{Target: true})
		if _, err := (&archives.Job{From: b, To: to, Until: until}).Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		return to
	}
	copied("whole.db", 0)
	copied("part.db", 4)
	parted := copied("parted.db", 4)
	if _, err := parted.Append(t.Context(), thingDraft("own", 1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to     string
		shared, lost int64
	}{
		{"whole.db", "store.db", 5, 0},
		{"part.db", "store.db", 4, 1},
		{"parted.db", "store.db", 4, 1},
		{"store.db", "whole.db", 5, 0},
		{"backup.db", "whole.db", 3, 2},
		{"whole.db", "backup.db", 3, 0},
		{"part.db", "whole.db", 4, 1},
		{"whole.db", "part.db", 4, 0},
		{"store.db", "parted.db", 4, 1},
		{"parted.db", "whole.db", 4, 1},
	} {
		plan, err := sqlite.PlanRestore(t.Context(), at(c.from), at(c.to))
		if err != nil || plan.Shared != c.shared || plan.Lost != c.lost {
			t.Errorf("%s over %s: got %+v, error %v; want %d shared, %d lost", c.from, c.to, plan, err, c.shared, c.lost)
		}
	}
	plan, err := sqlite.PlanRestore(t.Context(), at("whole.db"), at("store.db"))
	if err != nil || plan.Backup.StoreID == plan.Present.StoreID || plan.Backup.Origin != plan.Present.StoreID || plan.Present.Origin != plan.Present.StoreID {
		t.Errorf("got %+v and %+v, error %v; want stores with ids of their own, and one origin", plan.Backup, plan.Present, err)
	}
	done, err := sqlite.Restore(t.Context(), at("part.db"), at("store.db"), nil)
	if err != nil || done.Shared != 4 || done.Lost != 1 {
		t.Errorf("got %+v, error %v; want 1 commit lost", done, err)
	}
	wantHead(t, b, 4)
	state := query(t, at("whole.db"), `SELECT copy_json FROM onto_meta`)
	runSQL(t, at("whole.db"), `UPDATE onto_meta SET copy_json = json_set(copy_json, '$.origin', 'another')`)
	if plan, err := sqlite.PlanRestore(t.Context(), at("whole.db"), at("parted.db")); err != nil || plan.Shared != 0 || plan.Lost != 5 {
		t.Errorf("a copy of another store: got %+v, error %v; want none shared, 5 lost", plan, err)
	}
	runSQL(t, at("whole.db"), `UPDATE onto_meta SET copy_json = '`+state+`'`)
}

// A copy of a copy has the log of both.
func TestRestorePlanOfACopyOfACopy(t *testing.T) {
	dir, b := backedUp(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	one := open(t, at("one.db"), &sqlite.Options{Target: true})
	two := open(t, at("two.db"), &sqlite.Options{Target: true})
	if err := archives.Copy(t.Context(), b, one); err != nil {
		t.Fatal(err)
	}
	if err := archives.Copy(t.Context(), one, two); err != nil {
		t.Fatal(err)
	}
	plan, err := sqlite.PlanRestore(t.Context(), at("two.db"), at("one.db"))
	if err != nil || plan.Shared != 5 || plan.Lost != 0 {
		t.Errorf("got %+v, error %v; want all 5 shared", plan, err)
	}
	plan, err = sqlite.PlanRestore(t.Context(), at("one.db"), at("two.db"))
	if err != nil || plan.Shared != 5 || plan.Lost != 0 {
		t.Errorf("the other way round: got %+v, error %v; want all 5 shared", plan, err)
	}
}

// A file with pages of another size is restored all the same.
func TestRestoreOtherPages(t *testing.T) {
	dir, b := backedUp(t)
	backup := filepath.Join(dir, "backup.db")
	runSQL(t, backup, `PRAGMA page_size = 8192; VACUUM`)
	if got := query(t, backup, `PRAGMA page_size`); got != "8192" {
		t.Fatalf("the backup has pages of %s bytes", got)
	}
	if _, err := sqlite.Restore(t.Context(), backup, filepath.Join(dir, "store.db"), nil); err != nil {
		t.Fatal(err)
	}
	wantHead(t, b, 3)
}

// A plan leaves nothing beside the files that it reads.
func TestRestorePlanLeavesNoCompanions(t *testing.T) {
	dir := t.TempDir()
	backup, path := filepath.Join(dir, "backup.db"), filepath.Join(dir, "store.db")
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	register(t, b, tagType())
	putTag(t, b, 1)
	if _, err := b.CopyTo(t.Context(), backup, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.PlanRestore(t.Context(), backup, path); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*-*")); err != nil || len(left) > 0 {
		t.Errorf("got %v beside the files and error %v, want nothing", left, err)
	}
}
