package cache

import (
	"context"
	"path/filepath"
	"time"
)

// markEvery is how often the use of a copy is written to disk, for other
// processes to see.
const markEvery = time.Minute

// flight is the work of bringing one copy here, shared by all callers that wait for it.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{} // closed at the end

	// Guarded by the cache's mu.
	waiters  int
	left     bool // no caller waits any more: the work is cancelled
	finished bool
	err      error
}

// Get returns a copy's path. Without one it calls fetch, once for all concurrent
// callers, verifies length and SHA-256 of what it writes and keeps the copy. The file
// stays until release is called. It fails with TooLarge or Full if there is no room for
// the object.
//
// The context of fetch ends when all waiting callers have given up; it has the values
// of the first caller's.
func (c *Cache) Get(ctx context.Context, o Object, fetch func(context.Context, *Copy) error) (path string, release func(), err error) {
	if err := o.check(); err != nil {
		return "", nil, err
	}
	if err := c.Fits(o); err != nil {
		return "", nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		e, f, err := c.ask(ctx, o, fetch)
		if err != nil {
			return "", nil, err
		}
		if e == nil {
			if e, err = c.wait(ctx, o, f); err != nil {
				return "", nil, err
			}
		}
		if e != nil {
			return c.give(o, e)
		}
	}
}

// ask returns the entry, with one more user, or the flight to wait for.
func (c *Cache) ask(ctx context.Context, o Object, fetch func(context.Context, *Copy) error) (*entry, *flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, closedError()
	}
	if e := c.entries[o.SHA256]; e != nil && e.own && c.mark(e) {
		c.stats.Hits++
		c.use(e, 1)
		return e, nil, nil
	}
	f := c.flights[o.SHA256]
	if f == nil {
		var flying context.Context
		f, flying = c.begin(context.WithoutCancel(ctx), o.SHA256)
		go c.fly(flying, f, o, fetch)
	}
	if !f.left {
		f.waiters++
	}
	return nil, f, nil
}

// begin registers a flight. The caller holds mu, and calls land at the end.
func (c *Cache) begin(ctx context.Context, sum string) (*flight, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	f := &flight{cancel: cancel, done: make(chan struct{})}
	c.flights[sum] = f
	c.work.Add(1)
	return f, ctx
}

// wait returns the entry, of which the caller is a user, or nil to ask again.
func (c *Cache) wait(ctx context.Context, o Object, f *flight) (*entry, error) {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case f.left:
		return nil, nil
	case f.finished && f.err != nil:
		return nil, f.err
	case f.finished:
		return c.entries[o.SHA256], nil
	}
	f.waiters--
	if f.waiters == 0 {
		f.left = true
		f.cancel()
	}
	return nil, ctx.Err()
}

// fly looks for a copy in the shared folder, and fetches one otherwise.
func (c *Cache) fly(ctx context.Context, f *flight, o Object, fetch func(context.Context, *Copy) error) {
	now := c.now()
	got := entry{sum: o.SHA256, bytes: o.Bytes, used: now, seen: now, marked: now, own: true}
	fetched := false
	var err error
	if got.shared, got.copied = c.adopt(o, now); !got.shared {
		fetched = true
		w := c.newCopy(o)
		if err = fetch(ctx, w); err == nil {
			got.shared, got.copied, err = c.keep(w, now)
		}
		w.drop()
	}
	c.land(f, &got, fetched, err)
}

// land ends a flight: the waiting callers become users of the entry.
func (c *Cache) land(f *flight, got *entry, fetched bool, err error) {
	defer c.work.Done()
	defer close(f.done)
	defer f.cancel()
	c.mu.Lock()
	delete(c.flights, got.sum)
	f.finished, f.err = true, err
	if fetched {
		c.stats.Misses++
	}
	if err != nil {
		if c.closed {
			f.err = closedError()
		}
		if e := c.entries[got.sum]; e != nil {
			c.settle(e)
		}
		c.mu.Unlock()
		return
	}
	e := c.learn(got)
	c.stats.Hits += int64(f.waiters)
	if fetched && f.waiters > 0 {
		c.stats.Hits--
	}
	c.use(e, f.waiters)
	c.settle(e)
	c.mu.Unlock()
	c.trim(c.limit)
}

// use adds users. The caller holds mu.
func (c *Cache) use(e *entry, n int) {
	e.users += n
	c.users += n
	if n > 0 {
		e.used = c.now()
		c.order.MoveToFront(e.place)
	}
}

// give returns a used entry's path and its release.
func (c *Cache) give(o Object, e *entry) (string, func(), error) {
	given := true
	release := func() {
		c.mu.Lock()
		if !given {
			c.mu.Unlock()
			return
		}
		given = false
		c.use(e, -1)
		c.settle(e)
		full := c.held > c.limit && !c.closed
		if c.drained && c.users == 0 {
			c.remove() // the next Open sweeps what stays
		}
		c.mu.Unlock()
		if full {
			c.trim(c.limit)
		}
	}
	c.mu.Lock()
	bytes := e.bytes
	c.mu.Unlock()
	if bytes != o.Bytes {
		release()
		return "", nil, o.corrupt(bytes, "")
	}
	return c.paths + string(filepath.Separator) + ownName(o.SHA256), release, nil
}

// Doubt checks a copy that could not be read. It reports whether it was damaged or
// gone; then the next Get fetches it again.
func (c *Cache) Doubt(o Object) bool {
	if o.check() != nil || c.intact(o, c.inFolder(ownName(o.SHA256))) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[o.SHA256]
	if e == nil || !e.own || c.closed {
		return false
	}
	c.held -= e.size()
	e.own = false
	c.held += e.size()
	return true
}

// Put keeps a file that was just written elsewhere, so that it need not be fetched. It
// returns no error, since a failure is no reason to fail a commit.
func (c *Cache) Put(o Object, data []byte) {
	if o.check() != nil || o.Bytes > c.limit || o.Bytes != int64(len(data)) {
		return
	}
	c.mu.Lock()
	e := c.entries[o.SHA256]
	if c.closed || c.flights[o.SHA256] != nil || e != nil && e.own {
		c.mu.Unlock()
		return
	}
	f, _ := c.begin(context.Background(), o.SHA256)
	c.mu.Unlock()
	now := c.now()
	got := entry{sum: o.SHA256, bytes: o.Bytes, used: now, seen: now, marked: now, own: true}
	w := c.newCopy(o)
	_, err := w.Write(data)
	if err == nil {
		got.shared, got.copied, err = c.keep(w, now)
	}
	w.drop()
	c.land(f, &got, false, err)
}
