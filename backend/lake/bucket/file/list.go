package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// List returns objects in order of their keys. It holds the names of one directory per
// level in memory, and enters only directories that can hold a result. Only regular
// files are objects.
func (b *Bucket) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	if err := bucket.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("list %q: the limit is %d, it must be at least 1", prefix, limit)
	}
	l := listing{b: b, prefix: prefix, after: after, limit: limit}
	if err := l.walk(ctx, path.Dir(prefix+"x")); err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, b.ended(err))
	}
	return l.found, nil
}

type listing struct {
	b             *Bucket
	prefix, after string
	limit         int
	found         []bucket.Entry
}

// walk adds what is in a directory and below it, until the limit is reached.
func (l *listing) walk(ctx context.Context, dir string) error {
	if err := l.b.running(ctx); err != nil {
		return err
	}
	names, err := l.names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(l.found) == l.limit {
			return nil
		}
		if folder, is := strings.CutSuffix(name, "/"); is {
			err = l.walk(ctx, folder)
		} else {
			err = l.add(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add appends an object, unless it is gone by now.
func (l *listing) add(key string) error {
	info, err := l.b.root.Lstat(key)
	if err != nil || !info.Mode().IsRegular() {
		return absentOr(err)
	}
	l.found = append(l.found, bucket.Entry{Key: key, Size: info.Size(), Modified: info.ModTime()})
	return nil
}

// names returns the keys in a directory that are asked for, and its folders that can
// hold such keys, each with a slash at the end: so their order is that of all the keys
// in them.
func (l *listing) names(dir string) ([]string, error) {
	f, err := openDir(l.b.root, dir)
	if err != nil {
		return nil, absentOr(err)
	}
	defer f.Close()
	var names []string
	for {
		batch, err := f.ReadDir(1024)
		for _, d := range batch {
			if name := path.Join(dir, d.Name()); l.wanted(name, d) {
				if d.IsDir() {
					name += "/"
				}
				names = append(names, name)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, absentOr(err)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (l *listing) wanted(name string, d fs.DirEntry) bool {
	if bucket.CheckKey(name) != nil { // the package's own, or not of a bucket
		return false
	}
	if !d.IsDir() {
		return strings.HasPrefix(name, l.prefix) && name > l.after
	}
	name += "/"
	return strings.HasPrefix(name, l.prefix) && (name > l.after || strings.HasPrefix(l.after, name))
}
