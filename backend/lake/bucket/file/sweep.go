package file

import (
	"io/fs"
	"path"
	"strings"
	"time"
)

// tempAge is how old a temporary file must be to be removed: older than any write that
// is still under way. Nothing depends on the clock being right: a writer whose file is
// removed fails.
const tempAge = 24 * time.Hour

// sweep removes old temporary files. It walks the whole bucket, so it does that once a
// day only. What it cannot remove stays: a read-only bucket is fine.
//
// A bucket that was never written has no mark and nothing to remove: opening a
// wrong directory leaves it as it is.
func (b *Bucket) sweep() {
	info, err := b.root.Lstat(sweptName)
	if err != nil || !b.old(info) {
		return
	}
	now := b.now()
	if err := b.root.Chtimes(sweptName, now, now); err != nil {
		return
	}
	fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(path.Base(name), tempPrefix) {
			return nil // the next sweep removes it
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && b.old(info) {
			b.root.Remove(name)
		}
		return nil
	})
}

func (b *Bucket) old(info fs.FileInfo) bool {
	return b.now().Sub(info.ModTime()) > tempAge
}

// markSwept makes the mark from which the days are counted.
func (b *Bucket) markSwept() {
	f, err := b.disk.Create(b.root, sweptName)
	if err == nil { // else the mark is there, or the write that follows fails too
		f.Close()
	}
}
