package laketest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// keepDir is a directory, by the environment variable TEST_KEEP_LAKES, that gets the data
// files of the lakes on files, for readers of other makers; see tools/arrowread. "" keeps none.
var keepDir = os.Getenv("TEST_KEEP_LAKES")

// maxKept is how many bytes of data files are kept of all tests. Stores differ in their ids,
// and so do their files.
const maxKept = 256 << 20

// keeping is a bucket of files. When it is closed, its data files are kept.
type keeping struct {
	*file.Bucket
	dir string // where the objects are
}

func (k keeping) Close() error {
	if keepDir == "" {
		return k.Bucket.Close()
	}
	return errors.Join(keepDataFiles(k.dir, keepDir), k.Bucket.Close())
}

// keepDataFiles copies the data files below one directory to another. They are called
// by their hash: a file that is there already is not copied.
func keepDataFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	room, err := roomFor(to)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // other handles of the store remove files
			return nil
		}
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".parquet" {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name := filepath.Join(to, fmt.Sprintf("%x.parquet", sha256.Sum256(data)))
		if _, known := os.Stat(name); err != nil || known == nil || room < int64(len(data)) {
			return err
		}
		room -= int64(len(data))
		return os.WriteFile(name, data, 0o644)
	})
}

// roomFor is how many bytes may still be kept in a directory.
func roomFor(dir string) (int64, error) {
	room := int64(maxKept)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		room -= info.Size()
	}
	return room, err
}
