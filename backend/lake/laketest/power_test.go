package laketest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/backend/lake/bucket/filetest"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/flock"
)

// outcome is what a client knows about a thing that it wrote.
type outcome string

const (
	refused      outcome = "refused"
	maybe        outcome = "unknown"
	acknowledged outcome = "acknowledged"
)

// outcomes is the outcomes by thing.
type outcomes map[string]outcome

// note records the outcome of a write of a thing.
func (l outcomes) note(key string, err error) {
	switch was := l[key]; {
	case err == nil:
		l[key] = acknowledged
	case was == acknowledged || was == maybe:
	case onto.CodeOf(err) == onto.OutcomeUnknown:
		l[key] = maybe
	default:
		l[key] = refused
	}
}

// onDisk opens the lake of a process.
func onDisk(ctx context.Context, dir string, disk file.Disk, patience time.Duration) (*lake.Backend, error) {
	b, err := file.Open(dir, &file.Options{Create: true, Disk: disk})
	if err != nil {
		return nil, err
	}
	return lake.Open(ctx, b, &lake.Options{Trusted: true, Patience: patience})
}

// keyed is a draft that a client can send again.
func keyed(key string) *backend.Draft {
	d := thing(key)
	d.IdempotencyKey = key
	return d
}

// write is the story of a process: it makes the lake, commits, compacts, commits
// once more, and repeats itself.
func (l outcomes) write(ctx context.Context, dir string, disk file.Disk) {
	b, err := onDisk(ctx, dir, disk, 30*time.Millisecond)
	if err != nil {
		return
	}
	defer b.Close()
	if _, err := b.Register(ctx, thingTypes()); err != nil {
		return
	}
	for i := range 5 {
		if i == 3 {
			if plan, err := b.PlanCompaction(ctx, &backend.CompactionOptions{All: true}); err == nil {
				_, _ = b.Compact(ctx, plan, nil)
			}
		}
		key := fmt.Sprint("thing-", i)
		_, err := b.Append(ctx, keyed(key))
		l.note(key, err)
	}
	l.answer(ctx, b)
}

// answer lets the client send everything again: first with its idempotency key,
// and then without, which changes nothing.
func (l outcomes) answer(ctx context.Context, b backend.Backend) {
	for key := range l {
		_, err := b.Append(ctx, keyed(key))
		if l.note(key, err); err == nil {
			_, err = b.Append(ctx, thing(key))
			l.note(key, err)
		}
	}
}

func thingTypes() *backend.Registration {
	return &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Thing", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
	}}
}

// crash lets the power fail, and compares what is left with what clients were told.
func (l outcomes) crash(t *testing.T, disk *filetest.Disk, seed uint64) (wrong []string) {
	t.Helper()
	for what, survives := range filetest.Survivors(seed) {
		dir := t.TempDir()
		if err := filetest.WriteTo(dir, disk.PowerFailure(survives)); err != nil {
			t.Fatal(err)
		}
		for _, w := range l.compare(t.Context(), filepath.Join(dir, filetest.Place)) {
			wrong = append(wrong, fmt.Sprintf("if %s survives that was not synced: %s", what, w))
		}
	}
	return wrong
}

// compare returns what is in a lake and should not be, or is not and should.
func (l outcomes) compare(ctx context.Context, dir string) (wrong []string) {
	b, err := onDisk(ctx, dir, file.System{}, time.Second)
	if onto.CodeOf(err) == onto.Unavailable && !slices.Contains(slices.Collect(maps.Values(l)), acknowledged) {
		return nil // the directory itself is not durable, and says so
	}
	if err != nil {
		return []string{err.Error()}
	}
	defer b.Close()
	for f, err := range b.Check(ctx) {
		if err != nil {
			return []string{err.Error()}
		}
		if f.Severity == onto.SeverityError {
			wrong = append(wrong, f.Code+": "+f.Message)
		}
	}
	there := map[string]bool{}
	for v, err := range b.Scan(ctx, &backend.Query{Kind: onto.KindEntity, Type: "Thing", At: backend.Head}) {
		if err != nil && onto.CodeOf(err) != onto.Invalid { // there may be no type
			return append(wrong, err.Error())
		}
		there[v.Key] = true
	}
	for key, was := range l {
		if was == acknowledged && !there[key] || was == refused && there[key] {
			wrong = append(wrong, fmt.Sprintf("%s was %s; it is there: %v", key, was, there[key]))
		}
	}
	return wrong
}

// Calls of a process that makes a lake, commits and compacts fail, one at a time and in
// every way, or are its last. What was acknowledged is there after a power failure,
// what was refused is not, an unknown outcome is either of them, and the lake is whole;
// also if a second process answers the same client.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	runs, told, random := 0, map[outcome]int{}, effort.Rand(t)
	for i, fault := range []filetest.Plan{
		{Fault: filetest.Fail, Err: syscall.EIO}, {Fault: filetest.Fail, Err: syscall.ENOSPC}, {Fault: filetest.Half, Err: syscall.ENOSPC},
		{Fault: filetest.Done, Err: syscall.EIO}, {Fault: filetest.Kill},
	} {
		for at, hit := 1, true; hit; at++ {
			if !effort.Includes(t, at+i) || !effort.Thorough(t) && (at+i)/10%3 != 0 { // calls are many
				continue
			}
			fault.At = at
			disk, dir := filetest.ForTest(t)
			first := disk.Process(fault)
			l := outcomes{}
			l.write(t.Context(), dir, first)
			for _, was := range l {
				told[was]++
			}
			if wrong := l.crash(t, disk, random.Uint64()); wrong != nil {
				t.Fatalf("%s %d (%s), %v: %s; calls:\n%s", fault.Fault, at, first.Hit(), fault.Err, strings.Join(wrong, "\n"), strings.Join(first.Trace(), "\n"))
			}
			if b, err := onDisk(t.Context(), dir, disk.Process(filetest.Plan{}), time.Second); err == nil {
				if _, err := b.Register(t.Context(), thingTypes()); err == nil {
					l.answer(t.Context(), b)
				}
				b.Close()
			}
			if wrong := l.crash(t, disk, random.Uint64()); wrong != nil {
				t.Fatalf("%s %d (%s), %v, then a second process: %s; calls of the first:\n%s", fault.Fault, at, first.Hit(), fault.Err, strings.Join(wrong, "\n"), strings.Join(first.Trace(), "\n"))
			}
			hit = first.Hit() != ""
			runs++
		}
	}
	t.Logf("%d runs, the client of the first process was told %v", runs, told)
}

// syncOfHead picks the sync of the directory that has the head.
func syncOfHead(call string) bool { return call == "sync "+filetest.Place+"/meta" }

// newLake makes a lake on a disk, with the type that is written.
func newLake(t *testing.T, disk *filetest.Disk, dir string) {
	t.Helper()
	b, err := onDisk(t.Context(), dir, disk.Process(filetest.Plan{}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Register(t.Context(), thingTypes()); err != nil {
		t.Fatal(err)
	}
}

// If the head's directory could not be synced, a commit may be published and may be
// gone after a power failure: reading it proves nothing, whatever the error was. From
// then on the process confirms nothing. The next one does.
func TestFailedSyncOfHead(t *testing.T) {
	for _, errno := range []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT} {
		disk, dir := filetest.ForTest(t)
		newLake(t, disk, dir)
		p := disk.Process(filetest.Plan{At: 1, Fault: filetest.Fail, Err: errno, On: syncOfHead})
		b, err := onDisk(t.Context(), dir, p, time.Hour) // nothing waits that long
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		wantCode := func(what string, err error, code onto.Code) {
			t.Helper()
			if onto.CodeOf(err) != code || onto.HintOf(err).Text == "" {
				t.Errorf("%v, %s: got %v (%s), want %s with a hint", errno, what, err, onto.CodeOf(err), code)
			}
		}
		_, err = b.Append(t.Context(), keyed("one"))
		wantCode("the commit", err, onto.OutcomeUnknown)
		_, err = b.Append(t.Context(), keyed("one"))
		wantCode("the same again", err, onto.OutcomeUnknown)
		if _, err := b.Schemas(t.Context()); err != nil {
			t.Errorf("%v: reading: %v", errno, err)
		}
		_, err = b.Append(t.Context(), thing("one"))
		wantCode("what is there", err, onto.Unavailable)
		_, err = b.Append(t.Context(), thing("two"))
		wantCode("another commit", err, onto.Unavailable)
		l := outcomes{"one": maybe, "two": refused}
		if wrong := l.crash(t, disk, 1); wrong != nil {
			t.Errorf("%v: %s", errno, wrong)
		}
		next, err := onDisk(t.Context(), dir, disk.Process(filetest.Plan{}), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		res, err := next.Append(t.Context(), keyed("one"))
		if l.note("one", err); err != nil || !res.Repeated {
			t.Errorf("%v: the next process: got %+v, error %v, want it repeated", errno, res, err)
		}
		if wrong := l.crash(t, disk, 1); wrong != nil {
			t.Errorf("%v: %s", errno, wrong)
		}
	}
}

// trusting is a bucket that takes what it reads for durable.
type trusting struct{ bucket.Bucket }

func (trusting) Sync(context.Context, string) error { return nil }

// A process is killed after it has given the head its name and before it has synced it.
// A client that sends the draft again, or a no-op, is answered after the head is
// durable. Without the sync it would be lost, as the disk shows.
func TestAnswersAreDurable(t *testing.T) {
	for name, draft := range map[string]*backend.Draft{"repeated": keyed("one"), "unchanged": thing("one")} {
		for _, trusts := range []bool{false, true} {
			disk, dir := filetest.ForTest(t)
			newLake(t, disk, dir)
			first, err := onDisk(t.Context(), dir, disk.Process(filetest.Plan{At: 1, Fault: filetest.Kill, On: syncOfHead}), 30*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := first.Append(t.Context(), keyed("one")); onto.CodeOf(err) != onto.OutcomeUnknown {
				t.Errorf("%s: the first process: got %v, want %s", name, err, onto.OutcomeUnknown)
			}
			first.Close()
			files, err := file.Open(dir, &file.Options{Disk: disk.Process(filetest.Plan{})})
			if err != nil {
				t.Fatal(err)
			}
			var b bucket.Bucket = files
			if trusts {
				b = trusting{files}
			}
			second, err := lake.Open(t.Context(), b, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := second.Append(t.Context(), draft)
			if err != nil || res.Repeated != (name == "repeated") || name == "unchanged" && res.ID != 0 {
				t.Errorf("%s: the second process: got %+v, error %v", name, res, err)
			}
			second.Close()
			lost := outcomes{"one": acknowledged}.crash(t, disk, 1) != nil
			if lost != trusts {
				t.Errorf("%s, the bucket takes what it reads for durable: %v; it was lost: %v", name, trusts, lost)
			}
		}
	}
}

// A full disk refuses a commit at once, whatever the patience, and what was written of
// it is removed. Reads continue, and so do commits when there is room again.
func TestFullDisk(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		for _, call := range []string{"write", "create", "mkdir", "link", "rename"} {
			disk, dir := filetest.ForTest(t)
			newLake(t, disk, dir)
			fill := &filling{Disk: disk.Process(filetest.Plan{At: 1, Stays: true, Fault: filetest.Half, Err: errno, On: func(line string) bool {
				return strings.HasPrefix(line, call)
			}}), roomy: disk.Process(filetest.Plan{})}
			b, err := onDisk(t.Context(), dir, fill, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Append(t.Context(), keyed("one")); onto.CodeOf(err) != onto.Full || onto.HintOf(err).Text == "" {
				t.Errorf("%v of %s: got %v, want %s with a hint", errno, call, err, onto.Full)
			}
			if _, err := b.Schemas(t.Context()); err != nil {
				t.Errorf("%v of %s: reading: %v", errno, call, err)
			}
			l := outcomes{"one": refused}
			if wrong := l.crash(t, disk, 1); wrong != nil {
				t.Errorf("%v of %s: %s", errno, call, wrong)
			}
			fill.Disk = fill.roomy
			_, err = b.Append(t.Context(), keyed("one"))
			if l.note("one", err); err != nil {
				t.Errorf("%v of %s: with room again: %v", errno, call, err)
			}
			if wrong := l.crash(t, disk, 1); wrong != nil {
				t.Errorf("%v of %s: %s", errno, call, wrong)
			}
		}
	}
}

// filling is a disk that is full until room is made.
type filling struct {
	file.Disk
	roomy file.Disk
}

// uploading is a disk that reports when the manifest of a round is there.
type uploading struct {
	file.System
	uploaded func()
}

func (u uploading) Link(root *os.Root, name, as string) error {
	err := u.System.Link(root, name, as)
	if filepath.Base(as) == "manifest.json" {
		u.uploaded()
	}
	return err
}

// A process that hangs holds the bucket's lock. A commit that waits for it ends
// with its context, and was not made; nor was one that ran out of patience.
func TestWaitForLockEnds(t *testing.T) {
	dir := newThings(t, t.TempDir())
	held, err := os.OpenFile(filepath.Join(dir, "~lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if ok, err := flock.Try(held); err != nil || !ok {
		t.Fatalf("the lock: got %v, %v", ok, err)
	}
	for _, code := range []onto.Code{"", onto.LockContention} {
		patience := time.Hour
		if code != "" {
			patience = 30 * time.Millisecond
		}
		ctx, cancel := context.WithCancel(t.Context())
		disk := uploading{uploaded: func() {}}
		if code == "" {
			disk.uploaded = cancel
		}
		b, err := onDisk(t.Context(), dir, disk, patience)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Append(ctx, keyed("one"))
		if cancel(); onto.CodeOf(err) != code || code == "" && !errors.Is(err, context.Canceled) {
			t.Errorf("with the patience %v: got %v (%s), want the code %q", patience, err, onto.CodeOf(err), code)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if wrong := (outcomes{"one": refused}).compare(t.Context(), dir); wrong != nil {
			t.Error(wrong)
		}
	}
}
