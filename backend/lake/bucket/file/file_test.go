package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/file"
)

func openBucket(t testing.TB, dir string, opts *file.Options) *file.Bucket {
	t.Helper()
	b, err := file.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func mustCreate(t *testing.T, b bucket.Bucket, key, data string) bucket.Tag {
	t.Helper()
	tag, err := b.Create(t.Context(), key, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// wantData fails unless the object holds the data.
func wantData(t *testing.T, b bucket.Bucket, key, want string) {
	t.Helper()
	if o, err := b.Get(t.Context(), key, bucket.Range{}, ""); err != nil || string(o.Data) != want {
		t.Errorf("get %s: got %q, error %v, want %q", key, o.Data, err, want)
	}
}

// temps returns the temporary files in a directory and below.
func temps(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), "~tmp-") {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestContract(t *testing.T) {
	buckettest.Run(t, func(t testing.TB) bucket.Bucket { return openBucket(t, t.TempDir(), nil) })
}

// Handles of one directory exclude each other as processes do.
func TestHandlesCountTogether(t *testing.T) {
	const handles, each = 4, 25
	dir := t.TempDir()
	mustCreate(t, openBucket(t, dir, nil), "n", "0")
	errs := make([]error, handles)
	var wg sync.WaitGroup
	for i := range handles {
		b := openBucket(t, dir, nil)
		wg.Go(func() {
			for left := each; left > 0 && errs[i] == nil; {
				o, err := b.Get(t.Context(), "n", bucket.Range{}, "")
				if err != nil {
					errs[i] = err
					return
				}
				var n int
				fmt.Sscan(string(o.Data), &n)
				switch _, err = b.Swap(t.Context(), "n", fmt.Append(nil, n+1), o.Tag); {
				case err == nil:
					left--
				case !errors.Is(err, bucket.ErrChanged):
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantData(t, openBucket(t, dir, nil), "n", fmt.Sprint(handles*each))
	if left := temps(t, dir); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	if _, err := file.Open(dir, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open a missing directory: got %v, want an error that names it", err)
	}
	mustCreate(t, openBucket(t, dir, &file.Options{Create: true}), "a/b", "one")
	b := openBucket(t, dir, &file.Options{Create: true})
	wantData(t, b, "a/b", "one")
	if text, err := os.ReadFile(filepath.Join(dir, "a", "b")); err != nil || string(text) != "one" {
		t.Errorf("the key is the path: got %q, error %v", text, err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := b.Create(t.Context(), "c", nil); err == nil {
		t.Error("create after Close: got no error")
	}
	if err := b.Delete(t.Context(), "a/b"); err == nil {
		t.Error("delete after Close: got no error")
	}
}

// Opening and reading leave a directory as it is, also one that is no bucket.
func TestReadingWritesNothing(t *testing.T) {
	dir := t.TempDir()
	b := openBucket(t, dir, nil)
	if list, err := b.List(t.Context(), "", "", 10); err != nil || len(list) > 0 {
		t.Errorf("list: got %v, error %v", list, err)
	}
	if _, err := b.Get(t.Context(), "a", bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
		t.Errorf("get: got %v", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("got the files %v, error %v, want none", names, err)
	}
}

func TestLinksDoNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"out": outside, "file": secret} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b := openBucket(t, dir, nil)
	for _, key := range []string{"out/secret", "file"} {
		if o, err := b.Get(t.Context(), key, bucket.Range{}, ""); err == nil {
			t.Errorf("get %s: got %q, want an error", key, o.Data)
		}
		if _, err := b.Swap(t.Context(), key, []byte("x"), "tag"); err == nil {
			t.Errorf("swap %s: got no error", key)
		}
	}
	if _, err := b.Create(t.Context(), "out/new", []byte("x")); err == nil {
		t.Error("create out/new: got no error")
	}
	b.Delete(t.Context(), "out/secret") // whatever it returns
	if list, err := b.List(t.Context(), "", "", 10); err != nil || len(list) > 0 {
		t.Errorf("list: got %v, error %v, want nothing", list, err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		t.Errorf("outside: got %v, error %v, want the secret alone", names, err)
	}
}

func TestFolderAndObject(t *testing.T) {
	b := openBucket(t, t.TempDir(), nil)
	mustCreate(t, b, "a/b", "one")
	for _, key := range []string{"a", "a/b/c"} {
		if _, err := b.Create(t.Context(), key, nil); err == nil || errors.Is(err, bucket.ErrExists) || !strings.Contains(err.Error(), key) {
			t.Errorf("create %s beside a/b: got %v, want an error of its own that names the key", key, err)
		}
		if _, err := b.Get(t.Context(), key, bucket.Range{}, ""); !errors.Is(err, bucket.ErrNotFound) {
			t.Errorf("get %s: got %v, want %v", key, err, bucket.ErrNotFound)
		}
		if err := b.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %s: %v", key, err)
		}
	}
	long := strings.Repeat("k", 300)
	if _, err := b.Create(t.Context(), long, nil); !errors.Is(err, syscall.ENAMETOOLONG) || !strings.Contains(err.Error(), long) {
		t.Errorf("create a name that is too long: got %v, want an error that names it", err)
	}
	wantData(t, b, "a/b", "one")
}

// A remembered tag is of the file that is there now, also if that has the size
// of an earlier one and its number in the file system, as every second one may.
func TestTagsAreNotStale(t *testing.T) {
	later := func() time.Time { return time.Now().Add(time.Hour) } // all files count as settled
	dir := t.TempDir()
	b, other := openBucket(t, dir, &file.Options{Now: later}), openBucket(t, dir, nil)
	tag := mustCreate(t, b, "a", "0000")
	part := bucket.Range{Offset: 1, Length: 2}
	for i := range 20 {
		text, old := fmt.Sprintf("%04d", i+1), tag
		for _, body := range []string{"----", text} {
			var err error
			if tag, err = other.Swap(t.Context(), "a", []byte(body), tag); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now().Add(time.Duration(i) * time.Second) // as a clock would have it
		if err := os.Chtimes(filepath.Join(dir, "a"), at, at); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if o, err := b.Get(t.Context(), "a", part, old); err != nil || string(o.Data) != text[1:3] || o.Tag != tag {
				t.Fatalf("get after swap %d: got %q, tag %s, error %v, want %q, tag %s", i, o.Data, o.Tag, err, text[1:3], tag)
			}
			if _, err := b.Get(t.Context(), "a", part, tag); !errors.Is(err, bucket.ErrNotModified) {
				t.Fatalf("get after swap %d: got %v, want %v", i, err, bucket.ErrNotModified)
			}
		}
	}
}

func TestOldTemporariesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	mustCreate(t, openBucket(t, dir, nil), "a/b/c", "one")
	now := time.Now()
	old, young := filepath.Join(dir, "a", "b", "~tmp-old"), filepath.Join(dir, "a", "~tmp-young")
	for name, age := range map[string]time.Duration{old: 25 * time.Hour, young: 23 * time.Hour} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(ahead time.Duration) []string {
		b := openBucket(t, dir, &file.Options{Now: func() time.Time { return now.Add(ahead) }})
		if list, err := b.List(t.Context(), "", "", 10); err != nil || len(list) != 1 || list[0].Key != "a/b/c" {
			t.Errorf("list: got %v, error %v, want a/b/c alone", list, err)
		}
		return temps(t, dir)
	}
	if left := at(0); len(left) != 2 {
		t.Errorf("within a day of the first write: got %v, want both", left)
	}
	swept := filepath.Join(dir, "~swept")
	if err := os.Chtimes(swept, now.Add(-25*time.Hour), now.Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left := at(0); len(left) != 1 || left[0] != young {
		t.Errorf("a day after the last sweep: got %v, want the young one", left)
	}
	if left := at(25 * time.Hour); len(left) != 0 {
		t.Errorf("a day later: got %v, want none", left)
	}
	wantData(t, openBucket(t, dir, nil), "a/b/c", "one")
}

// A part whose tag is of no use is read alone, however large the object is.
func TestPartOfALargeObject(t *testing.T) {
	dir := t.TempDir()
	b, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const size = 1 << 36
	f, err := os.Create(filepath.Join(dir, "a"))
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Get(t.Context(), "a", bucket.Range{Offset: size - 3, Length: 8, Max: size, Untagged: true}, "")
	if err != nil || string(o.Data) != "\x00\x00\x00" || o.Size != size {
		t.Errorf("got %q of %d, %v", o.Data, o.Size, err)
	}
}
