package cache

import (
	"os"
	"path"
	"strings"
	"time"

	"github.com/ontologia/onto/internal/scratch"
)

// settleAge is how long a directory is left alone in which a process may be
// about to make its folder.
const settleAge = time.Minute

// openOwn makes this process's folder, and removes those of dead processes, with the
// files half written in them.
func (c *Cache) openOwn() error {
	scratch.Sweep(c.root, processFolder, "", c.now())
	own, err := scratch.Make(c.root, processFolder, "")
	if err != nil {
		return err
	}
	c.own, c.folder = own, own.Name
	return nil
}

// makeTemporary makes a directory for this process, and removes those that dead
// processes left.
func makeTemporary() (string, error) {
	if root, err := os.OpenRoot(os.TempDir()); err == nil {
		for _, name := range scratch.Names(root, ".") {
			if strings.HasPrefix(name, ownPrefix) {
				sweepTemporary(root, name)
			}
		}
		root.Close()
	}
	return os.MkdirTemp("", ownPrefix)
}

// sweepTemporary removes a directory whose one process folder could be removed. A new
// one may still be under construction. Links in it are not followed.
func sweepTemporary(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || time.Since(info.ModTime()) < settleAge {
		return
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return // another user's
	}
	defer dir.Close()
	folders := scratch.Names(dir, processFolder)
	gone := len(folders) > 0
	for _, folder := range folders {
		gone = scratch.Remove(dir, path.Join(processFolder, folder), time.Now()) && gone
	}
	if gone {
		root.RemoveAll(name)
	}
}
