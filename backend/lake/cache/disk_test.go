package cache_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/cache"
)

// A copy that was damaged on disk is detected at the first use by a process, dropped,
// and fetched again.
func TestDamagedCopies(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"changed": func(name string) error { return os.WriteFile(name, body(9, 100), 0o600) },
		"cut":     func(name string) error { return os.Truncate(name, 50) },
		"longer":  func(name string) error { return os.Truncate(name, 101) },
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"link":    func(name string) error { return errors.Join(os.Remove(name), os.Symlink("/etc/passwd", name)) },
		"link home": func(name string) error {
			folder := filepath.Base(filepath.Dir(name))
			target := "../../objects/" + folder + strings.Repeat("/.", 5) + "/" + filepath.Base(name) + "x" // 100 bytes too
			return errors.Join(os.Rename(name, name+"x"), os.Symlink(target, name))
		},
		"gone": os.Remove,
	} {
		for _, links := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				first := open(t, dir, 0)
				load(t, first, 1, 100)
				first.Close()
				shared := sharedFile(dir, objectOf(1, body(1, 100)))
				if err := damage(shared); err != nil {
					t.Fatal(err)
				}
				c := open(t, dir, 0)
				if !links {
					c.ForbidLinks()
				}
				got, release := get(t, c, 1, 100, giving(body(1, 100)))
				defer release()
				if s := c.Stats(); s.Misses != 1 || s.Files != 1 {
					t.Errorf("stats: got %+v, want one miss", s)
				}
				wantFile(t, shared, body(1, 100))
				for _, file := range []string{got, shared} {
					if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
						t.Errorf("%s: got %v, error %v, want a regular file", file, info.Mode(), err)
					}
				}
			})
		}
	}
}

// A folder that leads out of the directory is an error, and nothing is written
// where it leads.
func TestLinksDoNotLeadOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	c := open(t, dir, 0)
	o := objectOf(1, body(1, 100))
	if err := os.Symlink(outside, filepath.Join(dir, "objects", o.SHA256[:2])); err != nil {
		t.Fatal(err)
	}
	_, _, err := c.Get(t.Context(), o, giving(body(1, 100)))
	wantCode(t, err, onto.Unavailable, dir, "cache_dir", o.Key)
	if left := files(t, outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
	if left := files(t, c.Directory()); len(left) != 1 {
		t.Errorf("in the folder of the process: %v, want the lock alone", left)
	}
	c.Close()
	inside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(inside, "process")); err != nil {
		t.Fatal(err)
	}
	_, err = cache.Open(&cache.Options{Directory: inside})
	wantCode(t, err, onto.Unavailable, inside, "cache_dir")
}

func TestDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := cache.Open(&cache.Options{Directory: dir})
		wantCode(t, err, onto.Unavailable, dir, "cache_dir")
	}
	t.Setenv("TMPDIR", file)
	_, err := cache.Open(nil)
	wantCode(t, err, onto.Unavailable, file, "cache_dir")
}

// A write that fails in the middle leaves nothing, and the next one works.
func TestFailedWrite(t *testing.T) {
	for want, code := range map[error]onto.Code{
		syscall.ENOSPC: onto.Full, syscall.EDQUOT: onto.Full, syscall.EFBIG: onto.Full,
		syscall.EROFS: onto.Unavailable, syscall.EIO: onto.Unavailable,
	} {
		dir := t.TempDir()
		c := open(t, dir, 0)
		before := files(t, dir)
		c.FailWrites(2, want)
		o := objectOf(1, body(1, 100))
		c.Put(o, body(1, 100))
		_, _, err := c.Get(t.Context(), o, giving(body(1, 100)))
		wantCode(t, err, code, dir, "cache_dir", o.Key)
		if !errors.Is(err, want) {
			t.Errorf("got %v, want the system's %v", err, want)
		}
		if after := files(t, dir); !slices.Equal(after, before) {
			t.Errorf("%v: got the files %v, want %v", want, after, before)
		}
		load(t, c, 1, 100)
	}
}

// On a full disk, copies that are not in use are removed.
func TestFullDiskMakesRoom(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	ticking(c)
	_, release := get(t, c, 0, 100, giving(body(0, 100)))
	for n := 1; n < 5; n++ {
		load(t, c, n, 100)
	}
	c.FailWrites(1, syscall.ENOSPC)
	load(t, c, 5, 100)
	wantPresent(t, dir, 6, 100, "0 3 4 5")
	release()
}

// The directory is emptied while the cache is open.
func TestEmptiedDirectory(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	now := ticking(c)
	load(t, c, 1, 100)
	for _, name := range []string{"objects", "process"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	*now = now.Add(2 * time.Minute)
	load(t, c, 1, 100)
	load(t, c, 2, 100)
	wantPresent(t, dir, 3, 100, "1 2")
}

// Folders of dead processes are removed, those of living ones are not.
func TestStaleFolders(t *testing.T) {
	dir := t.TempDir()
	alive := open(t, dir, 0)
	name, release := get(t, alive, 1, 100, giving(body(1, 100)))
	defer release()
	folder := func(name string, age time.Duration, files ...string) string {
		name = filepath.Join(dir, "process", name)
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(name, file), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
		return name
	}
	dead := folder("dead", 0, "lock", "~tmp-1")
	old := folder("old", 25*time.Hour, "~tmp-1")
	fresh := folder("fresh", time.Hour) // its lock may be about to be made
	open(t, dir, 0)
	for _, name := range []string{dead, old} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s: got error %v, want it gone", name, err)
		}
	}
	for _, name := range []string{fresh, alive.Directory()} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	wantFile(t, name, body(1, 100))
}

// A directory of its own that a dead process left goes with the next Open.
func TestStaleTemporaryDirectories(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	alive, err := cache.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	dead := filepath.Join(tmp, "onto-cache-dead")
	other := filepath.Join(tmp, "other")
	for _, dir := range []string{dead, other} {
		if err := os.MkdirAll(filepath.Join(dir, "process", "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "process", "x", "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	home := filepath.Dir(filepath.Dir(alive.Directory()))
	for _, dir := range []string{dead, other, home} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := cache.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s: got error %v, want it gone", dead, err)
	}
	for _, dir := range []string{other, alive.Directory()} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
