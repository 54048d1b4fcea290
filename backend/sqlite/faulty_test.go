package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/sqlite"
)

// These tests fail the calls of SQLite itself: a child does one thing with
// testdata/faulty.c in front of the C library, tells how it ended and is killed.
// Then the files are looked at without faults, as after a crash of the machine's
// processes.

// faultyEnv makes the test binary such a child: what to do, and its arguments.
const faultyEnv = "ONTO_TEST_FAULTY"

// runFaulty prints the code of the outcome, or "ok", and what belongs to it.
func runFaulty(job []string) {
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
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
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

// faults is what fails for a child.
type faults struct {
	library string
	file    string // how the name of the file ends
	calls   string // sync, write or both
	after   int    // so many calls succeed first
	errno   syscall.Errno
}

// faultyLibrary compiles the library that fails calls.
func faultyLibrary(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the library is for Linux")
	}
	library := filepath.Join(t.TempDir(), "faulty.so")
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, filepath.Join("testdata", "faulty.c"), "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return library
}

// run runs a child to its end and returns what it told; "killed" if nothing.
func (f faults) run(t *testing.T, job ...string) (code, told string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), faultyEnv+"="+strings.Join(job, "\n"), "LD_PRELOAD="+f.library,
		"FAULTY_FILE="+f.file, "FAULTY_CALLS="+f.calls, "FAULTY_AFTER="+strconv.Itoa(f.after), "FAULTY_ERRNO="+strconv.Itoa(int(f.errno)))
	var exit *exec.ExitError
	out, err := cmd.Output()
	if err != nil && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL) {
		t.Fatalf("the child: %v: %s", err, exit.Stderr)
	}
	if len(out) == 0 {
		return "killed", ""
	}
	code, told, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return code, told
}

// copyStore copies a store that nobody has open to a directory of its own.
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

// From each write and sync of the WAL on, all fail. What a commit is said to be
// is what the next process finds: a refusal never turns into a commit. The next
// process repeats the draft, and syncs what it finds before it vouches for it.
func TestFailingCommit(t *testing.T) {
	library := faultyLibrary(t)
	seed := filepath.Join(t.TempDir(), "seed.db")
	makeThings(t, seed)
	errnos := []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, 0}
	for _, calls := range []string{"sync", "write", "sync,write"} {
		for _, errno := range errnos {
			if calls != "sync" && errno != syscall.ENOSPC && !backendtest.Soak() {
				continue
			}
			t.Run(fmt.Sprintf("%s, %v", calls, errno), func(t *testing.T) {
				seen := map[string]int{}
				for after := 0; seen["ok"] == 0; after++ {
					path := copyStore(t, seed)
					code, _ := faults{library, "-wal", calls, after, errno}.run(t, "append", path, "k")
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
				if strings.Contains(calls, "sync") && errno != 0 && seen[string(onto.OutcomeUnknown)] == 0 {
					t.Errorf("no outcome is unknown, although a sync of the WAL fails")
				}
				if calls == "write" && errno == syscall.ENOSPC && seen[string(onto.Full)] == 0 {
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

// A store that was made is on disk.
func TestFailingCreation(t *testing.T) {
	library := faultyLibrary(t)
	path := filepath.Join(t.TempDir(), "store.db")
	// The first sync is that of the head of the WAL.
	if code, _ := (faults{library, "-wal", "sync", 1, syscall.EIO}).run(t, "open", path); code != string(onto.OutcomeUnknown) {
		t.Errorf("got %s, want %s", code, onto.OutcomeUnknown)
	}
}

// The index of the WAL, which grows after the sync, finds no room.
func TestFailingIndex(t *testing.T) {
	library := faultyLibrary(t)
	path := filepath.Join(t.TempDir(), "store.db")
	makeThings(t, path)
	// More pages than the first part of the index takes; that has eight writes.
	code, _ := faults{library, "-shm", "write", 8, syscall.ENOSPC}.run(t, "append large", path)
	head := headOf(t, path)
	if code != string(onto.OutcomeUnknown) {
		t.Errorf("got %s, want %s; the head is %d", code, onto.OutcomeUnknown, head)
	}
}

// From each write and sync of the WAL on, all fail, while a backup takes the
// place of the store. Unless that has certainly not happened, the copy of what
// was there stays.
func TestFailingRestore(t *testing.T) {
	library := faultyLibrary(t)
	dir, b := backedUp(t)
	backup, seed := filepath.Join(dir, "backup.db"), filepath.Join(dir, "seed.db")
	if _, err := b.CopyTo(t.Context(), seed, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		calls string
		errno syscall.Errno
	}{{"sync", syscall.EIO}, {"sync", syscall.ENOSPC}, {"sync", 0}, {"sync,write", syscall.EIO}, {"write", syscall.ENOSPC}} {
		step := 1
		if c.calls != "sync" && !backendtest.Soak() {
			step = 10
		}
		t.Run(fmt.Sprintf("%s, %v", c.calls, c.errno), func(t *testing.T) {
			seen := map[string]int{}
			for after := 0; seen["ok"] == 0; after += step {
				path := copyStore(t, seed)
				code, kept := faults{library, "store.db-wal", c.calls, after, c.errno}.run(t, "restore", backup, path)
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
			if strings.Contains(c.calls, "sync") && c.errno != 0 && seen[string(onto.OutcomeUnknown)] == 0 {
				t.Errorf("no outcome is unknown, although a sync of the WAL fails")
			}
		})
	}
}
