package cache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/cache"
)

func open(t testing.TB, dir string, limit int64) *cache.Cache {
	t.Helper()
	c, err := cache.Open(&cache.Options{Directory: dir, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ticking gives a cache a clock that advances with each reading.
func ticking(c *cache.Cache) *time.Time {
	now := time.Now()
	c.SetNow(func() time.Time { now = now.Add(time.Millisecond); return now })
	return &now
}

// body is the data of the nth object, of so many bytes.
func body(n, size int) []byte {
	data := bytes.Repeat([]byte{byte(n)}, size)
	copy(data, fmt.Sprint(n))
	return data
}

func objectOf(n int, data []byte) cache.Object {
	return cache.Object{Key: fmt.Sprintf("data/%d.parquet", n), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Bytes: int64(len(data))}
}

func giving(data []byte) func(context.Context, *cache.Copy) error {
	return fetching(func(context.Context) ([]byte, error) { return data, nil })
}

// fetching is a fetch that has the whole object at once.
func fetching(f func(context.Context) ([]byte, error)) func(context.Context, *cache.Copy) error {
	return func(ctx context.Context, w *cache.Copy) error {
		data, err := f(ctx)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
}

func noFetch(context.Context, *cache.Copy) error { return errors.New("fetched") }

// get returns the path of the nth object and its release. It fails unless the
// file holds the object.
func get(t testing.TB, c *cache.Cache, n, size int, fetch func(context.Context, *cache.Copy) error) (string, func()) {
	t.Helper()
	data := body(n, size)
	name, release, err := c.Get(t.Context(), objectOf(n, data), fetch)
	if err != nil {
		t.Fatalf("get %d: %v", n, err)
	}
	wantFile(t, name, data)
	return name, release
}

// load gets the nth object and releases it.
func load(t testing.TB, c *cache.Cache, n, size int) {
	t.Helper()
	_, release := get(t, c, n, size, giving(body(n, size)))
	release()
}

func wantFile(t testing.TB, name string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes, error %v, want %d bytes", name, len(got), err, len(want))
	}
}

func sharedFile(dir string, o cache.Object) string {
	return filepath.Join(dir, "objects", o.SHA256[:2], o.SHA256+".parquet")
}

// present returns which of the first n objects are in the shared folder.
func present(dir string, n, size int) string {
	var there []string
	for i := range n {
		if _, err := os.Stat(sharedFile(dir, objectOf(i, body(i, size)))); err == nil {
			there = append(there, fmt.Sprint(i))
		}
	}
	return strings.Join(there, " ")
}

func wantPresent(t *testing.T, dir string, n, size int, want string) {
	t.Helper()
	if got := present(dir, n, size); got != want {
		t.Errorf("in the shared folder: got %q, want %q", got, want)
	}
}

// files returns all files below a directory.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantCode(t *testing.T, err error, code onto.Code, words ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("got error %v, want the code %s", err, code)
		return
	}
	for _, word := range words {
		if text := err.Error() + " " + onto.HintOf(err).String(); !strings.Contains(text, word) {
			t.Errorf("the error %q does not name %q", text, word)
		}
	}
}

func TestGetKeepsACopy(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	name, release := get(t, c, 1, 100, giving(body(1, 100)))
	if filepath.Dir(name) != c.Directory() {
		t.Errorf("the path %s is not in %s", name, c.Directory())
	}
	again, releaseAgain := get(t, c, 1, 100, noFetch)
	if again != name {
		t.Errorf("the second path is %s, the first %s", again, name)
	}
	release()
	release() // counts once
	wantFile(t, name, body(1, 100))
	releaseAgain()
	if got, want := c.Stats(), (cache.Stats{Hits: 1, Misses: 1, Bytes: 100, Files: 1}); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
	for path, mode := range map[string]fs.FileMode{name: 0o600, c.Directory(): 0o700, filepath.Join(dir, "objects"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: got %v, error %v, want mode %v", path, info.Mode(), err, mode)
		}
	}
}

func TestPutSparesTheFetch(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 1000)
	c.Put(objectOf(1, body(1, 100)), body(1, 100))
	_, release := get(t, c, 1, 100, noFetch)
	release()
	wrong := objectOf(2, body(2, 100))
	c.Put(wrong, body(3, 100))
	c.Put(wrong, body(2, 99))
	c.Put(objectOf(4, body(4, 1001)), body(4, 1001)) // above the limit
	c.Put(cache.Object{Key: "k", SHA256: "../../x", Bytes: 1}, []byte("x"))
	if s := c.Stats(); s.Files != 1 || s.Bytes != 100 {
		t.Errorf("got %+v, want the first object alone", s)
	}
	_, release = get(t, open(t, dir, 1000), 1, 100, noFetch) // by another process
	release()
}

func TestEmptyObject(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	o := objectOf(1, nil)
	name, release, err := c.Get(t.Context(), o, giving(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	wantFile(t, name, nil)
}

// A fetched body that is not the object is an error, and nothing is kept.
func TestFetchedDataIsVerified(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	o := objectOf(1, body(1, 100))
	before := files(t, dir)
	for _, data := range [][]byte{nil, body(1, 99), body(1, 101), body(2, 100)} {
		_, _, err := c.Get(t.Context(), o, giving(data))
		wantCode(t, err, onto.Corrupt, o.Key, fmt.Sprintf("%d bytes came", len(data)), "100 were expected", "backup")
	}
	if after := files(t, dir); len(after) != len(before) || c.Stats().Files != 0 {
		t.Errorf("files are left: %v, stats %+v", after, c.Stats())
	}
	load(t, c, 1, 100)
}

func TestBadInputIsRefused(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	good := objectOf(1, nil).SHA256
	for _, sum := range []string{"", "abc", strings.ToUpper(good), "../" + good[3:], good + "0", good[1:] + "/", good[1:] + "g"} {
		_, _, err := c.Get(t.Context(), cache.Object{Key: "data/x", SHA256: sum}, noFetch)
		wantCode(t, err, onto.Invalid, "data/x")
	}
	_, _, err := c.Get(t.Context(), cache.Object{Key: "data/x", SHA256: good, Bytes: -1}, noFetch)
	wantCode(t, err, onto.Invalid, "data/x", "-1 bytes")
	_, err = cache.Open(&cache.Options{Directory: t.TempDir(), Limit: -1})
	wantCode(t, err, onto.Invalid, "-1")
}

// The same digest with another length cannot be right, whatever is cached.
func TestLengthOfAKnownCopy(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	load(t, c, 1, 100)
	o := objectOf(1, body(1, 100))
	o.Bytes = 7
	_, _, err := c.Get(t.Context(), o, noFetch)
	wantCode(t, err, onto.Corrupt, o.Key, "100 bytes came", "7 were expected")
	_, release := get(t, c, 1, 100, noFetch)
	release()
}

func TestFetchErrorIsPassedOn(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	broken := onto.Errorf(onto.NotFound, "no such object")
	_, _, err := c.Get(t.Context(), objectOf(1, nil), func(context.Context, *cache.Copy) error { return broken })
	if err != error(broken) {
		t.Errorf("got %v, want the error of fetch", err)
	}
	if s := c.Stats(); s.Misses != 1 || s.Files != 0 {
		t.Errorf("stats: got %+v", s)
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	name, release := get(t, c, 1, 100, giving(body(1, 100)))
	_, second := get(t, c, 2, 100, giving(body(2, 100)))
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	_, _, err := c.Get(t.Context(), objectOf(1, body(1, 100)), noFetch)
	wantCode(t, err, onto.Closed)
	c.Put(objectOf(3, body(3, 100)), body(3, 100))
	second()
	wantFile(t, name, body(1, 100)) // still in use
	release()
	release()
	if _, err := os.Stat(c.Directory()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the process after the last release: %v", err)
	}
	wantPresent(t, dir, 4, 100, "1 2")
}

func TestCloseEndsFetches(t *testing.T) {
	c := open(t, t.TempDir(), 0)
	started, result := make(chan struct{}), make(chan error)
	go func() {
		_, _, err := c.Get(context.Background(), objectOf(1, nil), func(ctx context.Context, _ *cache.Copy) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		})
		result <- err
	}()
	<-started
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wantCode(t, <-result, onto.Closed)
}

func TestOwnDirectoryIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := cache.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	load(t, c, 1, 100)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, error %v", os.TempDir(), left, err)
	}
}
