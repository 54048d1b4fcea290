package sqlite_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/iofault"
)

// These tests fail the calls of SQLite itself: a child does one thing while package
// iofault fails its calls, reports how it ended and is killed. Then the files are
// examined without faults, as after a crash of the process.

// runFaulty prints the code of the outcome, or "ok", and what belongs to it.
func runFaulty(job []string) error {
	var told string
	var err error
	switch job[0] {
	case "append":
		var r onto.Result
		r, err = appendFaulty(job[1], keyedDraft(job[2]))
		told = fmt.Sprint(r.ID)
	case "open":
		_, err = sqlite.Open(context.Background(), job[1], nil)
	case "append large":
		var r onto.Result
		r, err = appendFaulty(job[1], keyedDraft(strings.Repeat("x", 2<<20)))
		told = fmt.Sprint(r.ID)
	case "restore":
		var r sqlite.Restored
		r, err = sqlite.Restore(context.Background(), job[1], job[2], nil)
		told = r.Kept
	}
	code := "ok"
	if err != nil {
		code = string(onto.CodeOf(err))
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Println(code, told)
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// appendFaulty commits once.
func appendFaulty(path string, d *backend.Draft) (onto.Result, error) {
	b, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return onto.Result{}, err
	}
	return b.Append(context.Background(), d)
}

// keyedDraft is a draft that can be repeated.
func keyedDraft(key string) *backend.Draft {
	d := thingDraft(key, 1)
	d.IdempotencyKey = key
	return d
}

// failing are the calls that fail, by a name for the log.
func failing(calls string) (list []iofault.Effect) {
	if strings.Contains(calls, "sync") {
		list = append(list, iofault.Syncs)
	}
	if strings.Contains(calls, "write") {
		list = append(list, iofault.Writes)
	}
	return list
}

// faults is what fails for a child: all calls from one on.
type faults struct {
	file  string // how the name of the file ends
	calls string // sync, write or both
	after int    // so many calls succeed first
	fault iofault.Fault
}

// run runs a child to its end and returns its report; "killed" if there is none. Files
// are in or below dir.
func (f faults) run(t *testing.T, dir string, job ...string) (code, told string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := child.Command("faulty", job...)
	output := t.TempDir()
	for name, to := range map[string]*io.Writer{"stdout": &cmd.Stdout, "stderr": &cmd.Stderr} {
		f, err := os.Create(filepath.Join(output, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*to = f
	}
	o, err := iofault.Run(t.Context(), cmd, iofault.Plan{Below: dir, Suffix: f.file, Effects: failing(f.calls), Call: f.after + 1, Fault: f.fault})
	if err != nil {
		t.Fatal(err)
	}
	if o.Status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child: %v: %s", o.Status, read(t, filepath.Join(output, "stderr")))
	}
	out := read(t, filepath.Join(output, "stdout"))
	if len(out) == 0 {
		return "killed", ""
	}
	code, told, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return code, told
}

// copyStore copies a store that is not open to a directory of its own.
func copyStore(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store.db")
	write(t, to, read(t, path))
	return to
}

// headOf opens a store, checks it and returns its head.
func headOf(t *testing.T, path string) int64 {
	t.Helper()
	head, err := open(t, path, nil).Resolve(t.Context(), onto.Point{})
	if err != nil {
		t.Fatal(err)
	}
	return head.ID
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// tried reports whether a call is one of those that fail: each sync, and a part of the
// writes, which are many.
func tried(t *testing.T, calls string, after int) bool {
	t.Helper()
	return calls == "sync" || effort.Includes(t, after)
}

// From each write and sync of the WAL on, all fail. The reported outcome is what the
// next process finds: a refusal never turns into a commit. The next process repeats the
// draft, and syncs what it finds before it confirms it.
func TestFailingCommit(t *testing.T) {
	iofault.Need(t)
	t.Parallel()
	seed := filepath.Join(t.TempDir(), "seed.db")
	makeThings(t, seed)
	kinds := []iofault.Fault{iofault.EIOFrom, iofault.ENOSPCFrom, iofault.EDQUOTFrom, iofault.EFBIGFrom, iofault.Kill}
	for _, calls := range []string{"sync", "write", "sync,write"} {
		for _, fault := range kinds {
			if calls != "sync" && (calls != "write" || fault != iofault.ENOSPCFrom) && !effort.Thorough(t) {
				continue
			}
			t.Run(fmt.Sprintf("%s, %v", calls, fault), func(t *testing.T) {
				t.Parallel()
				seen, all := map[string]int{}, true
				for after := 0; seen["ok"] == 0; after++ {
					if !tried(t, calls, after) {
						all = false
						continue
					}
					path := copyStore(t, seed)
					code, _ := faults{"-wal", calls, after, fault}.run(t, filepath.Dir(path), "append", path, "k")
					head := headOf(t, path)
					switch onto.Code(code) {
					case "ok":
						if head != 1 {
							t.Errorf("after %d calls: acknowledged, and the head is %d", after, head)
						}
					case onto.OutcomeUnknown, "killed":
					default:
						if head != 0 {
							t.Errorf("after %d calls: refused with %s, and the head is %d", after, code, head)
						}
					}
					seen[code]++
					if err := repeatFaulty(t, path, head); err != nil {
						t.Errorf("after %d calls: %s: repeated: %v", after, code, err)
					}
				}
				t.Logf("outcomes: %v", seen)
				if all && strings.Contains(calls, "sync") && fault != iofault.Kill && seen[string(onto.OutcomeUnknown)] == 0 {
					t.Errorf("no outcome is unknown, although a sync of the WAL fails")
				}
				if calls == "write" && fault == iofault.ENOSPCFrom && seen[string(onto.Full)] == 0 {
					t.Errorf("no outcome is full, although a write of the WAL finds no room")
				}
			})
		}
	}
}

// repeatFaulty appends the draft of the child once more.
func repeatFaulty(t *testing.T, path string, head int64) error {
	t.Helper()
	b := open(t, path, nil)
	synced := syncs(b, nil)
	r, err := b.Append(t.Context(), keyedDraft("k"))
	if err != nil || r.ID != 1 || r.Repeated != (head == 1) {
		return fmt.Errorf("got commit %d, repeated %v, error %v; the head was %d", r.ID, r.Repeated, err, head)
	}
	if r.Repeated && !slices.Equal(*synced, []string{filepath.Dir(path), path + "-wal"}) {
		return fmt.Errorf("vouched for a commit after syncs of %v", *synced)
	}
	return nil
}

// A store that was made is durable.
func TestFailingCreation(t *testing.T) {
	iofault.Need(t)
	path := filepath.Join(t.TempDir(), "store.db")
	// The first sync is that of the head of the WAL.
	if code, _ := (faults{"-wal", "sync", 1, iofault.EIOFrom}).run(t, filepath.Dir(path), "open", path); code != string(onto.OutcomeUnknown) {
		t.Errorf("got %s, want %s", code, onto.OutcomeUnknown)
	}
}

// The index of the WAL, which grows after the sync, finds no room.
func TestFailingIndex(t *testing.T) {
	iofault.Need(t)
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	// More pages than the first part of the index takes; that has eight writes.
	code, _ := faults{"-shm", "write", 8, iofault.ENOSPCFrom}.run(t, filepath.Dir(path), "append large", path)
	head := headOf(t, path)
	if code != string(onto.OutcomeUnknown) {
		t.Errorf("got %s, want %s; the head is %d", code, onto.OutcomeUnknown, head)
	}
}

// From each write and sync of the WAL on, all fail, while a backup replaces the store.
// Unless the replacement certainly failed, the copy of the old store stays.
func TestFailingRestore(t *testing.T) {
	iofault.Need(t)
	t.Parallel()
	dir, b := backedUp(t)
	backup, seed := filepath.Join(dir, "backup.db"), filepath.Join(dir, "seed.db")
	if _, err := b.CopyTo(t.Context(), seed, nil); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		calls string
		fault iofault.Fault
	}{
		{"sync", iofault.EIOFrom}, {"sync", iofault.ENOSPCFrom}, {"sync", iofault.Kill},
		{"sync,write", iofault.EIOFrom}, {"write", iofault.ENOSPCFrom},
	} {
		t.Run(fmt.Sprintf("%s, %v", c.calls, c.fault), func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for after := 0; seen["ok"] == 0; after++ {
				if !tried(t, c.calls, after) || c.calls != "sync" && !effort.Thorough(t) && after/10%2 != i%2 {
					continue // a plain run tries a write with one of two faults
				}
				path := copyStore(t, seed)
				code, kept := faults{"store.db-wal", c.calls, after, c.fault}.run(t, filepath.Dir(path), "restore", backup, path)
				seen[code]++
				head := headOf(t, path)
				if code == "killed" && exists(path+".before-restore-5") {
					kept = path + ".before-restore-5"
				}
				if code != "ok" && code != string(onto.OutcomeUnknown) && kept == "" && head == 5 {
					continue // nothing was replaced
				}
				if kept == "" || headOf(t, kept) != 5 {
					t.Errorf("after %d calls: %s, the head is %d, and what was there is kept in %q", after, code, head, kept)
				}
				if code != "ok" && code != "killed" && code != string(onto.OutcomeUnknown) {
					t.Errorf("after %d calls: %s, and a copy is kept: %s", after, code, kept)
				}
				if code == "ok" && head != 3 {
					t.Errorf("after %d calls: restored, and the head is %d", after, head)
				}
			}
			t.Logf("outcomes: %v", seen)
			if strings.Contains(c.calls, "sync") && c.fault != iofault.Kill && seen[string(onto.OutcomeUnknown)] == 0 {
				t.Errorf("no outcome is unknown, although a sync of the WAL fails")
			}
		})
	}
}
