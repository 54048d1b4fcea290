// Package memory keeps a store in the memory of the process. It is the
// reference that every other backend is compared with: plain, exact and slow.
// It answers each question by walking the log. Unit tests use it:
//
//	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Customer]())
//
// Handles of one [Store] are to each other as processes with the same file are.
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// Options are the settings of a store. Nil and the zero value are fine.
//
// A write waits for each holder of the write lease for LockTimeout, and for ten times
// that in any case; for a migration it waits for MigrationWait, if that is longer.
type Options struct {
	Now           func() time.Time // the clock; nil for time.Now
	LockTimeout   time.Duration    // how long a write waits for a holder of the write lease; 0 for DefaultLockTimeout
	MigrationWait time.Duration    // how long it waits for a migration; 0 for DefaultMigrationWait
}

// Store is what its handles share. It lives as long as there are references to it.
type Store struct {
	id            string
	now           func() time.Time
	lockTimeout   time.Duration
	migrationWait time.Duration

	mu     sync.Mutex // guards what follows, and closed and seen of every handle
	log    log
	leases leases
	bus    bus
	work   work
	mark   int64         // grows with each write
	next   chan struct{} // closed with the next write
}

// New makes an empty store.
func New(o *Options) *Store {
	s := &Store{id: rand.Text(), now: time.Now, lockTimeout: DefaultLockTimeout, migrationWait: DefaultMigrationWait, bus: newBus(), work: newWork(), mark: 1, next: make(chan struct{})}
	s.leases = leases{held: map[string]onto.Lease{}, epochs: map[string]int64{}}
	if o == nil {
		return s
	}
	if o.Now != nil {
		s.now = o.Now
	}
	s.lockTimeout = cmp.Or(o.LockTimeout, s.lockTimeout)
	s.migrationWait = cmp.Or(o.MigrationWait, s.migrationWait)
	return s
}

// Open returns a new handle on the store. Closing it leaves the store and its
// other handles alone.
func (s *Store) Open() *Backend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Backend{store: s, done: make(chan struct{}), newest: s.newest()}
}

// newest is the newest time of a commit, an event, a work item or an attempt.
func (s *Store) newest() time.Time {
	var at time.Time
	if n := len(s.log.commits); n > 0 {
		at = s.log.commits[n-1].commit.Time
	}
	for _, other := range []time.Time{s.bus.last, s.work.last, s.work.tried} {
		if other.After(at) {
			at = other
		}
	}
	return at
}

// OpenTarget is Open for the target of a copy. Calls on other handles fail with
// CopyUnfinished until the copy has ended.
func (s *Store) OpenTarget() *Backend {
	b := s.Open()
	b.target = true
	return b
}

// Backend is a handle on a store.
type Backend struct {
	store  *Store
	target bool // of a copy
	closed bool
	done   chan struct{} // closed with the handle
	newest time.Time     // see Newest
	seen   int64         // how often types had evolved when a call last looked
}

var (
	_ backend.Archive   = (*Backend)(nil)
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Bus       = (*Backend)(nil)
	_ backend.Checker   = (*Backend)(nil)
	_ backend.Dated     = (*Backend)(nil)
	_ backend.Describer = (*Backend)(nil)
	_ backend.Leaser    = (*Backend)(nil)
	_ backend.Positions = (*Backend)(nil)
	_ backend.Watcher   = (*Backend)(nil)
	_ backend.WorkQueue = (*Backend)(nil)
)

// Newest implements [backend.Dated].
func (b *Backend) Newest(ctx context.Context) (time.Time, error) { return b.newest, ctx.Err() }

// Close makes every later call on the handle fail with Closed.
func (b *Backend) Close() error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.done)
	}
	return nil
}

// log is all that a store holds except leases, the bus and work. Its contents are immutable: commits and
// versions are only appended, and purges and schemas replace lists as a whole, so a
// copy of a log is a snapshot of the store.
type log struct {
	commits  []record       // commit n is at n-1
	versions []onto.Version // by commit, then identity
	schemas  []onto.SchemaVersion
	turns    int64             // how often types have evolved
	copy     backend.CopyState // zero if the store is no copy
}

// head returns the id of the newest commit, or 0.
func (l log) head() int64 { return int64(len(l.commits)) }

// reach returns the commit id that a question as of at is about.
func (l log) reach(at int64) int64 {
	if at == backend.Head || at > l.head() {
		return l.head()
	}
	return at
}

// moment returns the log as it is now.
func (b *Backend) moment(ctx context.Context) (log, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.log, b.usable(ctx)
}

// TypesSeen implements [backend.TypeWatcher].
func (b *Backend) TypesSeen() int64 {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.seen
}

// writable tells whether a call may write. The store is locked.
func (b *Backend) writable(ctx context.Context) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	return refusal.CheckClock(b.store.now())
}

// usable tells whether a call may proceed, which then looks at the log. The store is
// locked.
func (b *Backend) usable(ctx context.Context) error {
	b.seen = b.store.log.turns
	if b.closed {
		return refusal.Closed()
	}
	if c := &b.store.log.copy; c.Unfinished && !b.target {
		return refusal.CopyUnfinished("memory", c)
	}
	return ctx.Err()
}

// each yields what list finds in the log at the moment when iteration starts.
func each[T any](ctx context.Context, b *Backend, list func(log) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		now, err := b.moment(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		items, err := list(now)
		if err != nil {
			yield(none, err)
			return
		}
		for _, item := range items {
			if _, err := b.moment(ctx); err != nil {
				yield(none, err)
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// first returns at most limit items; all if limit is 0.
func first[T any](list []T, limit int) []T {
	if limit == 0 {
		return list
	}
	return list[:min(limit, len(list))]
}
