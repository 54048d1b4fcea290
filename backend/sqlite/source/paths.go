package source

import (
	"os"
	"path/filepath"
)

// IsAt reports whether a path leads to a SQLite file or to what SQLite keeps beside it,
// whether these exist or not.
func IsAt(path, file string) bool {
	path = resolved(path)
	info, err := os.Stat(path)
	for _, f := range []string{file, resolved(file)} {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if path == resolved(f+suffix) {
				return true
			}
			if other, e := os.Stat(f + suffix); err == nil && e == nil && os.SameFile(info, other) {
				return true
			}
		}
	}
	return false
}

// IsBelow reports whether a path leads to a directory or to something in it.
func IsBelow(path, dir string) bool {
	path, dir = resolved(path), resolved(dir)
	for {
		if path == dir {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// resolved is an absolute path with symbolic links resolved, also if nothing is there.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	const most = 40 // links that lead on to another one, as systems have it
	for range most {
		if free, err := filepath.EvalSymlinks(path); err == nil {
			return free
		}
		link, err := os.Readlink(path)
		if err != nil {
			break
		}
		if path = filepath.Join(filepath.Dir(path), link); filepath.IsAbs(link) {
			path = link
		}
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return path
}
