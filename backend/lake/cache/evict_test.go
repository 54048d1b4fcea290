package cache_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/cache"
)

func TestTheOneUsedLongestAgoGoes(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 300)
	ticking(c)
	for n := range 3 {
		load(t, c, n, 100)
	}
	load(t, c, 0, 100) // used again
	load(t, c, 3, 100)
	wantPresent(t, dir, 10, 100, "0 2 3")
	c.Put(objectOf(4, body(4, 100)), body(4, 100))
	wantPresent(t, dir, 10, 100, "0 3 4")
	load(t, c, 5, 250) // takes the place of three
	wantPresent(t, dir, 10, 100, "")
	if got, want := c.Stats(), (cache.Stats{Hits: 1, Misses: 5, Evictions: 5, Bytes: 250, Files: 1}); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
	if left := files(t, c.Directory()); len(left) != 2 { // with the lock
		t.Errorf("in the folder of the process: %v", left)
	}
}

func TestFilesInUseStay(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 200)
	ticking(c)
	var names []string
	var releases []func()
	for n := range 4 {
		name, release := get(t, c, n, 100, giving(body(n, 100)))
		names, releases = append(names, name), append(releases, release)
	}
	if s := c.Stats(); s.Bytes != 400 || s.Evictions != 0 {
		t.Errorf("all in use: got %+v", s)
	}
	releases[2]()
	releases[0]()
	wantPresent(t, dir, 4, 100, "1 3")
	wantFile(t, names[1], body(1, 100))
	wantFile(t, names[3], body(3, 100))
	releases[1]()
	releases[3]()
	wantPresent(t, dir, 4, 100, "1 3")
}

func TestLargerThanTheLimit(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 100)
	load(t, c, 0, 60)
	name, release := get(t, c, 1, 500, giving(body(1, 500)))
	_, again := get(t, c, 1, 500, noFetch)
	release()
	wantFile(t, name, body(1, 500))
	again()
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("after its last release: %v", err)
	}
	if s := c.Stats(); s.Bytes > 100 {
		t.Errorf("stats: got %+v", s)
	}
}

// What is on disk when a cache opens is in the order of its modification times.
func TestOrderOnDisk(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	for n := range 4 {
		load(t, c, n, 100)
	}
	c.Close()
	for i, n := range []int{2, 0, 3, 1} { // from old to new
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(sharedFile(dir, objectOf(n, body(n, 100))), when, when); err != nil {
			t.Fatal(err)
		}
	}
	stranger := filepath.Join(dir, "objects", "README")
	if err := os.WriteFile(stranger, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	c = open(t, dir, 350)
	wantPresent(t, dir, 4, 100, "0 1 3")
	load(t, c, 0, 100)
	load(t, c, 7, 100)
	wantPresent(t, dir, 8, 100, "0 1 7")
	wantFile(t, stranger, make([]byte, 1000))
}

// Two caches stand for two processes: each may remove copies that the other uses,
// without harm to it.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, 300), open(t, dir, 300)
	if a.Directory() == b.Directory() {
		t.Fatal("both have the same folder")
	}
	name, release := get(t, a, 0, 100, giving(body(0, 100)))
	load(t, a, 1, 100)
	for n := 2; n < 5; n++ {
		load(t, b, n, 100)
	}
	wantPresent(t, dir, 5, 100, "2 3 4")
	wantFile(t, name, body(0, 100))
	_, again := get(t, a, 0, 100, noFetch)
	again()
	release()
	_, release = get(t, a, 3, 100, noFetch) // what the other has fetched
	release()
	load(t, a, 5, 100) // finds the others on disk, and that its own are gone
	wantPresent(t, dir, 6, 100, "3 4 5")
	if s := a.Stats(); s.Bytes != 300 || s.Files != 3 {
		t.Errorf("stats: got %+v, want the three that are there", s)
	}
	_, err := os.Stat(name)
	if !os.IsNotExist(err) {
		t.Errorf("the link to a file that is gone: %v", err)
	}
}

// The use of a copy is written to disk once a minute, and other processes respect it.
func TestUseIsMarkedOnDisk(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, 300), open(t, dir, 300)
	nowA, nowB := ticking(a), ticking(b)
	modified := func() time.Time {
		info, err := os.Stat(sharedFile(dir, objectOf(0, body(0, 100))))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for n := range 3 {
		load(t, b, n, 100)
	}
	load(t, a, 0, 100)
	first := modified()
	*nowA = nowA.Add(30 * time.Second)
	load(t, a, 0, 100)
	if got := modified(); !got.Equal(first) {
		t.Errorf("after half a minute: got %v, want %v", got, first)
	}
	*nowA = nowA.Add(40 * time.Second)
	load(t, a, 0, 100)
	if got := modified(); !got.After(first.Add(time.Minute)) {
		t.Errorf("after more than a minute: got %v, first %v", got, first)
	}
	*nowB = nowB.Add(2 * time.Minute)
	load(t, b, 3, 100)
	wantPresent(t, dir, 4, 100, "0 2 3")
}

// A wrong clock that put copies into the future does not keep them for ever.
func TestTimesInTheFuture(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	for n := range 3 {
		load(t, c, n, 100)
		when := time.Now().AddDate(n+1, 0, 0)
		if err := os.Chtimes(sharedFile(dir, objectOf(n, body(n, 100))), when, when); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	c = open(t, dir, 300)
	ticking(c)
	for n := 3; n < 6; n++ {
		load(t, c, n, 100)
	}
	wantPresent(t, dir, 6, 100, "3 4 5")
}

// Without hard links the files of the process are copies, and count.
func TestWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, 400), open(t, dir, 400)
	ticking(a)
	a.ForbidLinks()
	b.ForbidLinks()
	load(t, a, 0, 100)
	name, release := get(t, a, 1, 100, giving(body(1, 100)))
	if s := a.Stats(); s.Bytes != 400 {
		t.Errorf("two copies twice: got %+v", s)
	}
	_, other := get(t, b, 1, 100, noFetch)
	other()
	load(t, a, 2, 100)
	wantPresent(t, dir, 3, 100, "1 2")
	wantFile(t, name, body(1, 100))
	release()
}
