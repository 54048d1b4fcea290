package file_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/filetest"
	"github.com/ontologia/onto/internal/effort"
)

// none is the value of an object that does not exist.
const none = "none"

// ledger is what objects may be after a power failure, by key: the newest acknowledged
// value, and later ones with an unknown outcome.
type ledger map[string][]string

// note records the outcome of a write.
func (l ledger) note(key, value string, err error) {
	if len(l[key]) == 0 {
		l[key] = []string{none}
	}
	switch {
	case err == nil:
		l[key] = []string{value}
	case !certain(err):
		l[key] = append(l[key], value)
	}
}

// certain reports whether an error means that nothing has changed.
func certain(err error) bool {
	for _, target := range []error{bucket.ErrRefused, bucket.ErrExists, bucket.ErrChanged, bucket.ErrNotFound, bucket.ErrThrottled} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func valueOf(t *testing.T, b bucket.Bucket, key string) string {
	t.Helper()
	o, err := b.Get(context.WithoutCancel(t.Context()), key, bucket.Range{}, "")
	switch {
	case err == nil:
		return string(o.Data)
	case errors.Is(err, bucket.ErrNotFound):
		return none
	}
	t.Errorf("get %s: %v", key, err)
	return "?"
}

// write is the story of a process: it makes, replaces and deletes objects in
// directories that exist already and in some that do not.
func (l ledger) write(t *testing.T, dir string, disk file.Disk) {
	t.Helper()
	b, err := file.Open(dir, &file.Options{Create: true, Disk: disk})
	if err != nil {
		return // no outcome
	}
	defer b.Close()
	ctx := t.Context()
	for _, key := range []string{"meta/head", "commits/1/a", "commits/1/b"} {
		_, err := b.Create(ctx, key, []byte(key))
		l.note(key, key, err)
	}
	for i := range 2 {
		if o, err := b.Get(ctx, "meta/head", bucket.Range{}, ""); err == nil {
			next := fmt.Sprintf("head %d", i)
			_, err = b.Swap(ctx, "meta/head", []byte(next), o.Tag)
			l.note("meta/head", next, err)
		}
	}
	l.note("commits/1/b", none, b.Delete(ctx, "commits/1/b"))
}

// vouch is the story of a process that answers from what it reads.
func (l ledger) vouch(t *testing.T, dir string, disk file.Disk) {
	t.Helper()
	b, err := file.Open(dir, &file.Options{Disk: disk})
	if err != nil {
		return
	}
	defer b.Close()
	for key := range l {
		now := valueOf(t, b, key)
		if now != none && b.Sync(t.Context(), key) == nil {
			l[key] = []string{now}
		}
	}
}

// crash lets the power fail, with nothing left that was not synced, with all of it, and
// with some. It returns what is left and should not be.
func (l ledger) crash(disk *filetest.Disk, seed uint64) []string {
	var wrong []string
	for what, survives := range filetest.Survivors(seed) {
		left := disk.PowerFailure(survives)
		for key, may := range l {
			now := none
			if data, there := left[filepath.Join(filetest.Place, key)]; there {
				now = string(data)
			}
			if !slices.Contains(may, now) {
				wrong = append(wrong, fmt.Sprintf("%s is %q, want one of %q, if %s survives that was not synced", key, now, may, what))
			}
		}
	}
	return wrong
}

// errnos are the errors with which calls fail.
func errnos() []error { return []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT} }

// fits picks the calls for which a fault differs from a plain failure.
func fits(fault filetest.Fault) func(call string) bool {
	return func(call string) bool {
		switch fault {
		case filetest.Half:
			return strings.HasPrefix(call, "write")
		case filetest.Done:
			return !strings.HasPrefix(call, "write") && !strings.HasPrefix(call, "sync")
		}
		return true
	}
}

// Every single call of a process fails, in every way, or is its last. What was
// acknowledged is there afterwards, what was refused is not, and an unknown outcome is
// either of them; also after a power failure, and also for a second process that
// answers from what the first has left, or continues to write.
func TestEveryCallFails(t *testing.T) {
	runs, random := map[filetest.Fault]int{}, effort.Rand(t)
	errnos := []error{syscall.EIO, syscall.ENOSPC}
	for _, fault := range filetest.Faults() {
		for _, errno := range errnos {
			if (fault == filetest.Kill || fault == filetest.Done) && errno != syscall.EIO {
				continue // a call without room has no effect
			}
			for at, hit := 1, true; hit; at++ {
				for _, second := range []string{"nothing", "answers", "writes"} {
					disk, dir := filetest.ForTest(t)
					first := disk.Process(filetest.Plan{At: at, Fault: fault, Err: errno, On: fits(fault)})
					l := ledger{}
					l.write(t, dir, first)
					switch second {
					case "answers":
						l.vouch(t, dir, disk.Process(filetest.Plan{}))
					case "writes":
						l.write(t, dir, disk.Process(filetest.Plan{}))
					}
					if wrong := l.crash(disk, random.Uint64()); wrong != nil {
						t.Fatalf("%s %d (%s), %v, a second process: %s: %v; calls:\n%s", fault, at, first.Hit(), errno, second, wrong, strings.Join(first.Trace(), "\n"))
					}
					hit = first.Hit() != ""
					runs[fault]++
				}
			}
		}
	}
	t.Logf("runs: %v", runs)
}

// Every call of the second process fails, after the first was killed at any point.
func TestEveryCallOfTheNextProcessFails(t *testing.T) {
	runs, random := 0, effort.Rand(t)
	for at, killed := 1, true; killed; at++ {
		for then, hit := 1, true; hit; then++ {
			disk, dir := filetest.ForTest(t)
			first := disk.Process(filetest.Plan{At: at, Fault: filetest.Kill})
			second := disk.Process(filetest.Plan{At: then, Fault: filetest.Fail, Err: syscall.EIO})
			l := ledger{}
			l.write(t, dir, first)
			l.vouch(t, dir, second)
			l.write(t, dir, disk.Process(filetest.Plan{}))
			if wrong := l.crash(disk, random.Uint64()); wrong != nil {
				t.Fatalf("killed at %d (%s), then %d failed (%s): %v; calls:\n%s", at, first.Hit(), then, second.Hit(), wrong, strings.Join(second.Trace(), "\n"))
			}
			killed, hit = first.Hit() != "", second.Hit() != ""
			runs++
		}
	}
	t.Logf("%d runs", runs)
}

// forgetful is a disk that skips some syncs.
type forgetful struct {
	file.Disk
	forgets func(path string) bool
}

func (d forgetful) Sync(f *os.File) error {
	if d.forgets(filepath.Clean(f.Name())) {
		return nil
	}
	return d.Disk.Sync(f)
}

// Leaving out any one sync is detected by the disk.
func TestForgottenSyncIsFound(t *testing.T) {
	for name, forgets := range map[string]func(string) bool{
		"new files":                  func(p string) bool { return strings.Contains(p, "~tmp-") },
		"the directory of an object": func(p string) bool { return strings.HasSuffix(p, "commits/1") },
		"the directory of the head":  func(p string) bool { return strings.HasSuffix(p, "/meta") },
		"a directory made":           func(p string) bool { return strings.HasSuffix(p, "/commits") },
		"the root":                   func(p string) bool { return strings.HasSuffix(p, filetest.Place) },
		"the root's entry":           func(p string) bool { return strings.HasSuffix(p, filepath.Dir(filetest.Place)) },
		"an entry above":             func(p string) bool { return !strings.Contains(p, filepath.Dir(filetest.Place)) },
	} {
		disk, dir := filetest.ForTest(t)
		l := ledger{}
		l.write(t, dir, forgetful{disk.Process(filetest.Plan{}), forgets})
		if l.crash(disk, 1) == nil {
			t.Errorf("%s: nothing that was acknowledged is missing after a power failure", name)
		}
	}
}

// A bucket that could not sync a directory says so once, and takes no further writes:
// they have no effect. It can be read. A bucket that is opened afterwards works.
func TestHaltsAfterFailedSync(t *testing.T) {
	for _, errno := range errnos() {
		disk, dir := filetest.ForTest(t)
		p := disk.Process(filetest.Plan{At: 1, Fault: filetest.Fail, Err: errno, On: func(call string) bool {
			return call == "sync "+filetest.Place+"/meta"
		}})
		b := openBucket(t, dir, &file.Options{Create: true, Disk: p})
		_, err := b.Create(t.Context(), "meta/head", []byte("one"))
		if !errors.Is(err, bucket.ErrUnsynced) || !errors.Is(err, errno) || onto.CodeOf(err) != onto.Unavailable {
			t.Fatalf("%v: got %v, want %v and Unavailable", errno, err, bucket.ErrUnsynced)
		}
		o, err := b.Get(t.Context(), "meta/head", bucket.Range{}, "")
		if err != nil {
			t.Fatalf("%v: reading goes on: %v", errno, err)
		}
		_, create := b.Create(t.Context(), "a", nil)
		_, swap := b.Swap(t.Context(), "meta/head", []byte("two"), o.Tag)
		for call, err := range map[string]error{
			"create": create, "swap": swap, "delete": b.Delete(t.Context(), "meta/head"), "sync": b.Sync(t.Context(), "meta/head"),
		} {
			if !errors.Is(err, bucket.ErrRefused) || onto.CodeOf(err) != onto.Unavailable || onto.HintOf(err).Text == "" || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v: %s: got %v, want %v with the directory and a hint", errno, call, err, bucket.ErrRefused)
			}
		}
		next := openBucket(t, dir, &file.Options{Disk: disk.Process(filetest.Plan{})})
		wantData(t, next, "meta/head", "one")
		if _, err := next.Swap(t.Context(), "meta/head", []byte("two"), o.Tag); err != nil {
			t.Errorf("%v: the next process: %v", errno, err)
		}
	}
}

// A file that cannot be synced never gets its name: that outcome is certain, and
// nothing else is in doubt.
func TestFailedSyncOfData(t *testing.T) {
	for errno, code := range map[error]onto.Code{syscall.EIO: "", syscall.ENOSPC: onto.Full, syscall.EDQUOT: onto.Full} {
		disk, dir := filetest.ForTest(t)
		p := disk.Process(filetest.Plan{At: 1, Fault: filetest.Fail, Err: errno, On: func(call string) bool {
			return strings.HasPrefix(call, "sync") && strings.HasSuffix(call, "~tmp")
		}})
		b := openBucket(t, dir, &file.Options{Create: true, Disk: p})
		_, err := b.Create(t.Context(), "a/b", []byte("one"))
		if !errors.Is(err, bucket.ErrRefused) || !errors.Is(err, errno) || onto.CodeOf(err) != code {
			t.Errorf("%v: got %v, want %v and the code %q", errno, err, bucket.ErrRefused, code)
		}
		if now := valueOf(t, b, "a/b"); now != none {
			t.Errorf("%v: got %q, want nothing", errno, now)
		}
		if left := temps(t, dir); len(left) > 0 {
			t.Errorf("%v: temporary files are left: %v", errno, left)
		}
		mustCreate(t, b, "a/b", "two")
	}
}
