package lake

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/derived"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/backend/lake/query"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

const (
	// DefaultPatience is how long an attempt to publish looks for its outcome.
	DefaultPatience = 10 * time.Second
	// DefaultLockTimeout is how long a write waits for the holder of the write
	// lease.
	DefaultLockTimeout = 5 * time.Second
	// DefaultMigrationWait is how long a write waits for a migration.
	DefaultMigrationWait = lease.DefaultMigrationWait
)

// Options change how a lake is opened. The zero value is the default.
//
// On a directory, processes take turns to publish. A process gives up when no turn was
// granted for the patience, and after ten times the patience in any case. A write waits
// for each holder of the write lease for LockTimeout, and for ten times that in any case;
// for a migration it waits for MigrationWait, if that is longer.
type Options struct {
	Target    bool             // the lake is, or becomes, the target of a copy: it may be unfinished
	MustExist bool             // fail with Uninitialized instead of making a lake
	Trusted   bool             // the bucket is known to honour conditional writes: it is not probed before a lake is made
	Location  string           // for messages
	Runtime   string           // names this run of the program in heads and manifests
	Patience  time.Duration    // how long to wait for the storage and for other processes; 0 for DefaultPatience
	Now       func() time.Time // the clock; nil for time.Now

	LockTimeout time.Duration // how long a write waits for a holder of the write lease, see above; 0 for DefaultLockTimeout
	StreamBytes int64         // how much of a stream is held in memory; 0 for DefaultStreamBytes
	FileBytes   int64         // how large a file may become when others are merged into it; 0 for DefaultFileBytes
	CacheDir    string        // for local copies of files; "" for a temporary one
	CacheBytes  int64         // that local copies may take; 0 for the cache's default
	Memory      string        // that the query engine may take, such as 256MB; "" for its default
	InProcess   int64         // questions that read at most this many bytes of files are answered without DuckDB; 0 for DefaultInProcess, negative for none

	MigrationWait time.Duration // how long a write waits for a migration, see above; 0 for DefaultMigrationWait

	unread bool // nothing is read when the lake is opened: for checks
}

// Backend is a store on a bucket. A commit is published by swapping the head. Questions
// are answered from local copies of the files that the head leads to.
type Backend struct {
	bucket    bucket.Bucket
	log       *protocol.Log
	publisher *protocol.Publisher
	leases    *protocol.Leases
	janitor   *protocol.Janitor
	opts      Options
	files     *datafile.Reader
	queries   *query.Querier

	writer  *writer
	marked  sync.Once       // the object for other programs was written, or is being written
	aside   sync.WaitGroup  // what is written beside commits, and long streams
	life    context.Context // ends with Close
	end     context.CancelFunc
	deriver *derived.Deriver // writes what is derived from commits
	derived *derived.Objects

	mu        sync.Mutex      // guards what follows
	shelf     *protocol.Shelf // the newest that was needed
	typesSeen int64
	closed    bool
}

// Open opens the lake in a bucket, and makes one if there is none. The lake owns
// the bucket from then on, also when Open fails.
func Open(ctx context.Context, b bucket.Bucket, opts *Options) (*Backend, error) {
	l := newBackend(b, opts)
	if err := l.open(ctx); err != nil {
		l.end()
		b.Close()
		return nil, err
	}
	return l, nil
}

// newBackend is a lake of which nothing was read yet, without files.
func newBackend(b bucket.Bucket, opts *Options) *Backend {
	l := &Backend{bucket: b}
	l.writer = newWriter(l)
	l.life, l.end = context.WithCancel(context.Background())
	if opts != nil {
		l.opts = *opts
	}
	l.opts.setDefaults()
	l.follow(protocol.Settings{
		Now: l.opts.Now, Attempt: newAttempt, Jitter: mathrand.Int64N, Runtime: l.opts.Runtime, Patience: l.opts.Patience,
		Target: l.opts.Target,
	})
	return l
}

// follow lets the backend follow the log in its bucket.
func (b *Backend) follow(set protocol.Settings) {
	b.log = protocol.NewLog(b.bucket, set)
	b.publisher = protocol.NewPublisher(b.log)
	b.leases, b.janitor = protocol.NewLeases(b.publisher), protocol.NewJanitor(b.log, func(ctx context.Context, e bucket.Entry, t onto.TypeName, store string) (string, error) {
		return datafile.Foreign(ctx, b.bucket, e, t, store)
	})
	b.writer.keys = protocol.NewKeyring(b.log)
	b.deriver = derived.NewDeriver(b.publisher, b.bucket)
	b.derived = &derived.Objects{Log: b.publisher, Bucket: b.bucket, Newest: b.newestShelf}
}

func (o *Options) setDefaults() {
	o.Patience = cmp.Or(max(o.Patience, 0), DefaultPatience)
	o.LockTimeout = cmp.Or(max(o.LockTimeout, 0), DefaultLockTimeout)
	o.MigrationWait = cmp.Or(max(o.MigrationWait, 0), DefaultMigrationWait)
	o.StreamBytes = cmp.Or(max(o.StreamBytes, 0), DefaultStreamBytes)
	o.FileBytes = cmp.Or(max(o.FileBytes, 0), DefaultFileBytes)
	o.InProcess = cmp.Or(o.InProcess, DefaultInProcess)
	if o.Now == nil {
		o.Now = time.Now
	}
}

func (b *Backend) open(ctx context.Context) error {
	if !utf8.ValidString(b.opts.CacheDir) {
		return onto.Errorf(onto.Invalid, "the cache directory %q is not UTF-8", b.opts.CacheDir).WithHint("name another one with cache_dir")
	}
	c, err := cache.Open(&cache.Options{Directory: b.opts.CacheDir, Limit: b.opts.CacheBytes})
	if err != nil {
		return err
	}
	if err = b.find(ctx); err != nil {
		c.Close()
		return err
	}
	b.read(datafile.NewReader(b.log, b.bucket, c))
	return nil
}

// read lets the backend answer from files.
func (b *Backend) read(files *datafile.Reader) {
	b.files = files
	b.queries = &query.Querier{Files: files, Newest: b.newestShelf, Usable: b.usable, InProcess: b.opts.InProcess, Memory: b.opts.Memory}
}

// find finds the lake, and makes one if there is none and one may be made.
func (b *Backend) find(ctx context.Context) error {
	if b.opts.unread {
		return nil
	}
	_, err := b.log.Load(ctx)
	if onto.CodeOf(err) == onto.Uninitialized && !b.opts.MustExist {
		if err = b.vacant(ctx); err == nil {
			err = b.probe(ctx)
		}
		if err == nil {
			_, err = b.publisher.MakeLake(ctx, rand.Text())
			b.marked.Do(func() {}) // it has written the object
		}
	}
	return err
}

// vacant fails where there are commits without a head: a new lake would take their
// place, and a janitor would remove them.
func (b *Backend) vacant(ctx context.Context) error {
	found, err := b.bucket.List(ctx, "commits/", "", 1)
	if err != nil || len(found) == 0 {
		return err
	}
	if _, err := b.log.Load(ctx); onto.CodeOf(err) != onto.Uninitialized {
		return err // one was made meanwhile
	}
	return protocol.Damaged(protocol.HeadKey, "it is missing, and there are commits")
}

// probe refuses a bucket that does not keep its promises: commits could be lost
// there.
func (b *Backend) probe(ctx context.Context) error {
	if b.opts.Trusted {
		return nil
	}
	report, err := probe.Probe(ctx, b.bucket, "meta/probe-"+newAttempt())
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return onto.Errorf(onto.Unsupported, "no lake can be kept here: %w", err).
			WithHint("use storage with conditional writes that can be relied on")
	}
	return nil
}

// newAttempt is a name that no other attempt has.
func newAttempt() string { return rand.Text()[:16] }

func (b *Backend) usable(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return refusal.Closed()
	}
	return ctx.Err()
}

// newestShelf returns the shelf of the newest head.
func (b *Backend) newestShelf(ctx context.Context) (*protocol.Shelf, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	t, err := b.newest(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.shelve(ctx, t)
	if errors.Is(err, protocol.ErrStale) { // another call has seen a newer one meanwhile
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.shelf, nil
	}
	return s, err
}

// newest returns the newest tip. The first call looks up the files of the known tip
// meanwhile, since that is mostly the newest.
func (b *Backend) newest(ctx context.Context) (t *protocol.Tip, err error) {
	b.mu.Lock()
	cold := b.shelf == nil
	b.mu.Unlock()
	known := b.log.Last()
	if !cold || known == nil {
		return b.log.Refresh(ctx)
	}
	err = protocol.SideBySide(2, func(i int) (err error) {
		if i == 0 {
			t, err = b.log.Refresh(ctx)
		} else {
			_, _ = b.shelve(ctx, known) // the next question fails with the same error
		}
		return err
	})
	return t, err
}

// shelve returns the shelf of a tip. It fails with [protocol.ErrStale] if a newer tip is
// known.
func (b *Backend) shelve(ctx context.Context, t *protocol.Tip) (*protocol.Shelf, error) {
	b.mu.Lock()
	old := b.shelf
	b.mu.Unlock()
	if old != nil && old.Tip.Head.Sequence == t.Head.Sequence {
		return old, nil
	}
	if old != nil && old.Tip.Head.Sequence > t.Head.Sequence {
		return nil, protocol.ErrStale
	}
	s, err := b.log.Shelve(ctx, t, old)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shelf == nil || b.shelf.Tip.Head.Sequence < t.Head.Sequence {
		if b.shelf == nil || b.shelf.Types.Hash != s.Types.Hash {
			b.typesSeen++
		}
		b.shelf = s
	}
	return s, nil
}

// Schemas implements [backend.Backend].
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	s, err := b.newestShelf(ctx)
	if err != nil {
		return nil, err
	}
	return typelist.Copy(s.Types.All), nil
}

// TypesSeen implements [backend.TypeWatcher].
func (b *Backend) TypesSeen() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.typesSeen
}

// Close implements [backend.Backend]. Publications under way end first; questions and
// long streams under way fail with Closed.
func (b *Backend) Close() error {
	b.writer.queue.Close()
	_ = b.writer.publishing.acquire(context.Background())
	defer b.writer.publishing.release()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	b.end()
	b.deriver.Settle()
	b.aside.Wait()
	return errors.Join(b.queries.Close(), b.files.Close(), b.bucket.Close())
}

// whileOpen calls f with a context that ends when the lake is closed, which waits
// for it.
func (b *Backend) whileOpen(ctx context.Context, f func(context.Context) error) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return refusal.Closed()
	}
	b.aside.Add(1)
	b.mu.Unlock()
	defer b.aside.Done()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	err := f(inner)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return refusal.Closed()
	}
	return err
}

var (
	_ backend.Backend     = (*Backend)(nil)
	_ backend.TypeWatcher = (*Backend)(nil)
	_ backend.Explainer   = (*Backend)(nil)
	_ backend.Leaser      = (*Backend)(nil)
	_ backend.Checker     = (*Backend)(nil)
	_ backend.StepChecker = (*Backend)(nil)
	_ backend.Surveyor    = (*Backend)(nil)
	_ backend.Compactor   = (*Backend)(nil)
	_ backend.Sweeper     = (*Backend)(nil)
	_ backend.Indexer     = (*Backend)(nil)
	_ backend.Archive     = (*Backend)(nil)
)
