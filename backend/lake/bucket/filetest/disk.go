// Package filetest is a disk for tests of package file: it forgets at a power
// failure what was not synced, and its calls fail by a plan.
//
// Files are real, so that everything can be read as usual. Beside them the disk records
// what would be on the platter: the contents of a file when it was last synced, and the
// entries of a directory when that was. A failed sync drops the changes that it was to
// write, as file systems do: a later sync that succeeds does not bring them back.
package filetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// Disk is the files below a directory.
type Disk struct {
	base string

	mu   sync.Mutex // guards root and what is below
	root *node
}

// node is a file or a directory.
type node struct {
	data   []byte // of a file
	synced []byte // of it that is on the platter; nil if nothing is
	lost   bool   // a sync of it has failed

	names   map[string]*node // of a directory; nil for a file
	kept    map[string]*node // those on the platter
	givenUp map[string]*node // changes that a failed sync was to write; nil for a removed name
	author  map[string]*Process
}

func newDir() *node {
	return &node{names: map[string]*node{}, kept: map[string]*node{}, givenUp: map[string]*node{}, author: map[string]*Process{}}
}

// New returns the disk that has a directory. What is in it already is durable.
func New(base string) (*Disk, error) {
	d := &Disk{base: base, root: newDir()}
	err := filepath.WalkDir(base, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == base {
			return err
		}
		n := newDir()
		if !e.IsDir() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			n = &node{data: data, synced: data}
		}
		above, base := d.find(filepath.Dir(name)), filepath.Base(name)
		above.names[base], above.kept[base] = n, n
		return nil
	})
	return d, err
}

// find returns the node at a path; nil if it is not on this disk.
func (d *Disk) find(path string) *node {
	rel, err := filepath.Rel(d.base, filepath.Clean(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}
	n := d.root
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		if n != nil && name != "." {
			n = n.names[name]
		}
	}
	return n
}

// entry returns the directory of a name within a root, and its last element.
func (d *Disk) entry(root *os.Root, name string) (*node, string) {
	path := filepath.Join(root.Name(), name)
	n := d.find(filepath.Dir(path))
	if n == nil {
		panic(fmt.Sprintf("filetest: %s is not on the disk", path))
	}
	return n, filepath.Base(path)
}

// sync puts a node on the platter, except for changes that were dropped before.
func (n *node) sync() {
	if n.names == nil {
		if !n.lost {
			n.synced = append([]byte{}, n.data...)
		}
		return
	}
	for name := range n.all() {
		now := n.names[name]
		if given, is := n.givenUp[name]; is && given == now {
			continue
		}
		delete(n.givenUp, name)
		if n.kept[name] = now; now == nil {
			delete(n.kept, name)
		}
	}
}

// failed reports whether a change of a process was dropped. The process has the
// directory open since before the change, so the system reports that to it, too.
func (n *node) failed(p *Process) bool {
	for name, given := range n.givenUp {
		if given == n.names[name] && n.author[name] == p {
			return true
		}
	}
	return false
}

// failSync drops what is not on the platter.
func (n *node) failSync() {
	n.lost = n.names == nil && !bytes.Equal(n.data, n.synced)
	for name := range n.all() {
		if n.names[name] != n.kept[name] {
			n.givenUp[name] = n.names[name]
		}
	}
}

// all returns the names of a directory, on the platter or not.
func (n *node) all() map[string]bool {
	all := map[string]bool{}
	for name := range maps.Keys(n.names) {
		all[name] = true
	}
	for name := range maps.Keys(n.kept) {
		all[name] = true
	}
	return all
}

// PowerFailure returns the files that are left after a power failure, by their paths
// from the disk's directory: what was synced, and of the rest what survives.
func (d *Disk) PowerFailure(survives func() bool) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := map[string][]byte{}
	d.root.restore("", left, survives)
	return left
}

func (n *node) restore(path string, left map[string][]byte, survives func() bool) {
	if n.names == nil {
		if left[path] = n.synced; !bytes.Equal(n.data, n.synced) && survives() {
			left[path] = n.data
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.all())) {
		there := n.kept[name]
		if n.names[name] != there && survives() {
			there = n.names[name]
		}
		if there != nil {
			there.restore(filepath.Join(path, name), left, survives)
		}
	}
}

// WriteTo writes what is left into a directory.
func WriteTo(dir string, left map[string][]byte) error {
	for path, data := range left {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

var _ file.Disk = (*Process)(nil)
