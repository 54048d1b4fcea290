package cache

import (
	"cmp"
	"container/list"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ontologia/onto/internal/scratch"
)

// scanShare is the part of the limit that may be added before the shared folder
// is read again, to learn what other processes added and removed.
const scanShare = 16

// learn takes an entry, or brings the known one up to date. The caller holds mu.
func (c *Cache) learn(got *entry) *entry {
	c.stamp++
	e := c.entries[got.sum]
	if e == nil {
		e = got
		e.place = c.order.PushFront(e)
		c.entries[e.sum] = e
		c.added += e.size()
	} else {
		c.held -= e.size()
		users, place := e.users, e.place
		*e = *got
		e.users, e.place = users, place
		c.order.MoveToFront(place)
	}
	e.stamp = c.stamp
	c.held += e.size()
	return e
}

// settle forgets an entry that is nowhere but in the own folder, once it is not in use.
// The caller holds mu.
func (c *Cache) settle(e *entry) {
	if e.users > 0 || e.shared || c.flights[e.sum] != nil || c.entries[e.sum] != e {
		return
	}
	c.forget(e)
}

// forget removes the own file of an entry, and the entry. The caller holds mu.
func (c *Cache) forget(e *entry) {
	if e.own {
		c.root.Remove(c.inFolder(ownName(e.sum)))
	}
	c.held -= e.size()
	c.order.Remove(e.place)
	delete(c.entries, e.sum)
}

// mark writes to disk that a copy is used, at most once a minute. It tells
// whether the own file is still there. The caller holds mu.
func (c *Cache) mark(e *entry) bool {
	now := c.now()
	if since := now.Sub(e.marked); since >= 0 && since < markEvery {
		return true
	}
	c.held -= e.size()
	defer func() { c.held += e.size() }()
	if info, err := c.root.Lstat(c.inFolder(ownName(e.sum))); err != nil || info.Size() != e.bytes {
		e.own = false
		return false
	}
	e.marked = now
	c.root.Chtimes(c.inFolder(scratch.LockName), now, now)
	if e.shared {
		e.shared = !errors.Is(c.root.Chtimes(sharedName(e.sum), now, now), fs.ErrNotExist)
		e.seen = now
	}
	return true
}

// trim removes the copies used longest ago until the limit is kept. Those in
// use stay.
func (c *Cache) trim(limit int64) {
	c.trimming.Lock()
	defer c.trimming.Unlock()
	c.mu.Lock()
	stale, stamp, closed := c.added > c.limit/scanShare, c.stamp, c.drained
	c.mu.Unlock()
	if closed {
		return
	}
	if stale {
		found := c.scan()
		c.mu.Lock()
		c.merge(found, stamp)
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for place := c.order.Back(); place != nil && c.held > limit; {
		e := place.Value.(*entry)
		before := place.Prev()
		if e.users == 0 && c.flights[e.sum] == nil {
			before = c.evict(e, before)
		}
		place = before
	}
}

// makeRoom removes copies of so many bytes, because the disk is full, and tells
// whether there were any.
func (c *Cache) makeRoom(bytes int64) bool {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	c.trim(max(held-bytes, 0))
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held < held
}

// evict removes a copy, unless another process has used it lately. It returns
// the place to go on from. The caller holds mu.
func (c *Cache) evict(e *entry, before *list.Element) *list.Element {
	name := sharedName(e.sum)
	info, err := c.root.Lstat(name)
	if err == nil && e.shared && c.notice(e, info) {
		c.replace(e)
		return c.order.Back()
	}
	if err == nil {
		if c.root.Remove(name) != nil {
			return before
		}
		c.stats.Evictions++
	}
	c.forget(e)
	return before
}

// notice tells whether another process has marked the use of a copy. A mark in
// the future, by a wrong clock, counts once, as of now. The caller holds mu.
func (c *Cache) notice(e *entry, info fs.FileInfo) bool {
	used := info.ModTime()
	if used.Equal(e.seen) {
		return false
	}
	e.seen = used
	if now := c.now(); used.After(now) {
		used = now
	}
	if !used.After(e.used) {
		return false
	}
	e.used = used
	return true
}

// replace moves an entry forward to its place in the order. The caller holds mu.
func (c *Cache) replace(e *entry) {
	for at := e.place.Prev(); at != nil; at = at.Prev() {
		if at.Value.(*entry).used.After(e.used) {
			c.order.MoveAfter(e.place, at)
			return
		}
	}
	c.order.MoveToFront(e.place)
}

// scan reads the shared folder.
func (c *Cache) scan() map[string]fs.FileInfo {
	found := map[string]fs.FileInfo{}
	for _, folder := range scratch.Names(c.root, objectsFolder) {
		f, err := c.root.Open(path.Join(objectsFolder, folder))
		if err != nil {
			continue
		}
		files, _ := f.ReadDir(-1)
		for _, d := range files {
			sum, ours := strings.CutSuffix(d.Name(), suffix)
			if !ours || !isSum(sum) || sum[:2] != folder || !d.Type().IsRegular() {
				continue
			}
			if info, err := d.Info(); err == nil {
				found[sum] = info
			}
		}
		f.Close()
	}
	return found
}

// merge learns what a scan found that began after the given publication, and
// puts all into the order of their use. The caller holds mu.
func (c *Cache) merge(found map[string]fs.FileInfo, stamp int64) {
	c.added = 0
	for sum, info := range found {
		e := c.entries[sum]
		if e == nil {
			e = &entry{sum: sum, stamp: c.stamp}
			c.entries[sum] = e
			e.place = c.order.PushBack(e)
		}
		if !e.own {
			e.bytes = info.Size()
		}
		e.shared = true
		c.notice(e, info)
	}
	for sum, e := range c.entries {
		if found[sum] == nil && e.stamp <= stamp {
			e.shared = false
			c.settle(e)
		}
	}
	entries := make([]*entry, 0, len(c.entries))
	c.held = 0
	for _, e := range c.entries {
		entries = append(entries, e)
		c.held += e.size()
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(b.stamp, a.stamp), cmp.Compare(a.sum, b.sum))
	})
	c.order.Init()
	for _, e := range entries {
		e.place = c.order.PushBack(e)
	}
}
