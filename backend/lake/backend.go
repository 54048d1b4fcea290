package lake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/probe"
	"github.com/ontologia/onto/backend/memory"
)

// DefaultPatience is how long an attempt to publish looks for its outcome.
const DefaultPatience = 10 * time.Second

// Options change how a lake is opened. The zero value is the default.
type Options struct {
	MustExist bool             // fail with Uninitialized instead of making a lake
	Trusted   bool             // the bucket is known to keep its promises: it is not probed before a lake is made
	Location  string           // for messages
	Runtime   string           // names this run of the program in heads and manifests
	Patience  time.Duration    // how long to wait for the storage and for others; 0 for DefaultPatience
	Now       func() time.Time // the clock; nil for time.Now
}

// Backend is a store on a bucket. What is committed is published by swapping the
// head; what is asked is answered from a copy of the log in memory, which follows
// the head.
type Backend struct {
	log  *log
	enc  encoding
	opts Options

	group group          // of callers that want to write
	aside sync.WaitGroup // what is written beside commits

	mu       sync.Mutex // guards what follows
	replica  *memory.Store
	handle   *memory.Backend // on the replica
	sequence int64           // of the head that the replica is as of
	purged   []string        // types whose history the replica leaves out
	closed   bool
}

// Open opens the lake in a bucket, and makes one if there is none. The lake owns
// the bucket from then on, also when Open fails.
func Open(ctx context.Context, b bucket.Bucket, opts *Options) (*Backend, error) {
	l := &Backend{enc: rows{}, group: group{turn: make(chan struct{}, 1)}}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.Patience <= 0 {
		l.opts.Patience = DefaultPatience
	}
	if l.opts.Now == nil {
		l.opts.Now = time.Now
	}
	l.log = &log{b: b, set: settings{
		now: l.opts.Now, attempt: newAttempt, jitter: mathrand.Int64N, runtime: l.opts.Runtime, patience: l.opts.Patience,
	}}
	l.replica = memory.New(&memory.Options{Now: l.opts.Now})
	l.handle = l.replica.Open()
	if err := l.open(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return l, nil
}

func (b *Backend) open(ctx context.Context) error {
	t, err := b.log.load(ctx)
	if onto.CodeOf(err) == onto.Uninitialized && !b.opts.MustExist {
		if err = b.probe(ctx); err == nil {
			t, err = b.log.makeLake(ctx, rand.Text())
		}
	}
	if err != nil {
		return err
	}
	return b.sync(ctx, t)
}

// probe refuses a bucket that does not keep its promises: commits could be lost
// there.
func (b *Backend) probe(ctx context.Context) error {
	if b.opts.Trusted {
		return nil
	}
	report, err := probe.Probe(ctx, b.log.b, "meta/probe-"+newAttempt())
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return onto.Errorf(onto.Unsupported, "no lake can be kept here: %w", err).
			WithHint("use storage with conditional writes that can be relied on")
	}
	return nil
}

// newAttempt is a name that nobody else has.
func newAttempt() string { return rand.Text()[:16] }

// view returns the replica as of the newest head.
func (b *Backend) view(ctx context.Context) (*memory.Backend, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	t, err := b.log.refresh(ctx)
	if err == nil {
		err = b.sync(ctx, t)
	}
	return b.handle, err
}

func (b *Backend) usable(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return onto.Errorf(onto.Closed, "the store was closed")
	}
	return ctx.Err()
}

// refresh returns the newest tip, with one request if it has not changed.
func (l *log) refresh(ctx context.Context) (*tip, error) {
	if t := l.last(); t != nil && t.tag != "" {
		if _, err := l.b.Get(ctx, headKey, bucket.Range{}, t.tag); errors.Is(err, bucket.ErrNotModified) {
			return t, nil
		}
	}
	return l.load(ctx)
}

// sync brings the replica to a tip, unless it is beyond it.
func (b *Backend) sync(ctx context.Context, t *tip) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.head.Sequence <= b.sequence {
		return nil
	}
	purged := purgedTypes(t.catalog)
	if !slices.Equal(purged, b.purged) { // what the replica has may be gone
		b.replica.Reset()
	}
	tail, err := b.tail(ctx, t)
	if err == nil {
		err = b.replica.Extend(tail)
	}
	if err == nil {
		b.sequence, b.purged = t.head.Sequence, purged
	}
	return err
}

// purgedTypes names the types whose history is left out.
func purgedTypes(c *catalog) []string {
	var purged []string
	for _, e := range c.Types {
		if e.End != nil && e.End.Purged {
			purged = append(purged, fmt.Sprint(e.Kind, " ", e.Name, " ", e.Version))
		}
	}
	return purged
}

// tail reads what the replica does not have yet.
func (b *Backend) tail(ctx context.Context, t *tip) (memory.Tail, error) {
	var tail memory.Tail
	for i := range t.catalog.Types {
		v, err := t.catalog.Types[i].schema()
		if err != nil {
			return tail, damaged(t.head.Catalog, "%w", err)
		}
		tail.Schemas = append(tail.Schemas, v)
	}
	known, err := b.handle.Resolve(ctx, onto.Point{})
	if err != nil || t.head.CommitID == known.ID {
		return tail, err
	}
	parts, err := b.log.since(ctx, t, known.ID)
	if err != nil {
		return tail, err
	}
	if tail.Versions, err = b.versions(ctx, parts, t.head.StoreID); err == nil {
		err = follow(parts, known.ID)
	}
	if err != nil {
		return tail, err
	}
	for _, p := range parts {
		for i := range p.manifest.Commits {
			r, err := p.manifest.Commits[i].record()
			if err != nil {
				return tail, damaged(p.path, "%w", err)
			}
			tail.Commits = append(tail.Commits, r)
		}
	}
	leaveOut(&tail)
	return tail, nil
}

// leaveOut takes out the versions of types that were purged after them. Commits
// say how many they still hold.
func leaveOut(tail *memory.Tail) {
	until := map[onto.Identity]int{} // versions of the type
	for _, v := range tail.Schemas {
		if v.End != nil && v.End.Purged {
			t := onto.Identity{Kind: v.Schema.Kind, Type: v.Schema.Name}
			until[t] = max(until[t], v.Version)
		}
	}
	if len(until) == 0 {
		return
	}
	gone := map[int64]int{}
	tail.Versions = slices.DeleteFunc(tail.Versions, func(v onto.Version) bool {
		out := v.SchemaVersion <= until[onto.Identity{Kind: v.Kind, Type: v.Type}]
		if out {
			gone[v.Commit]++
		}
		return out
	})
	for i := range tail.Commits {
		tail.Commits[i].Commit.Operations -= gone[tail.Commits[i].Commit.ID]
	}
}

// versions reads the files of rounds, and the manifests that are missing, side by
// side.
func (b *Backend) versions(ctx context.Context, parts []part, store string) ([]onto.Version, error) {
	var files []*fileEntry
	for i := range parts {
		for j := range parts[i].files {
			files = append(files, &parts[i].files[j])
		}
	}
	found := make([][]onto.Version, len(files))
	err := sideBySide(len(parts)+len(files), func(i int) (err error) {
		if i < len(parts) {
			if parts[i].manifest == nil {
				parts[i].manifest, err = b.log.readManifest(ctx, parts[i].path, store)
			}
			return err
		}
		i -= len(parts)
		body, err := b.log.file(ctx, files[i])
		if err == nil {
			found[i], err = b.enc.decode(files[i], body)
		}
		return err
	})
	list := slices.Concat(found...)
	sortVersions(list)
	return list, err
}

// atOnce is how many objects are read side by side.
const atOnce = 32

// sideBySide calls f for each number, several at a time.
func sideBySide(n int, f func(i int) error) error {
	errs := make([]error, n)
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-free
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// asked is a question to the replica, asked when iteration starts.
func asked[T any](ctx context.Context, b *Backend, question func(*memory.Backend) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		h, err := b.view(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		question(h)(yield)
	}
}

// Resolve implements [backend.Backend].
func (b *Backend) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	h, err := b.view(ctx)
	if err != nil {
		return onto.Commit{}, err
	}
	return h.Resolve(ctx, p)
}

// Get implements [backend.Backend].
func (b *Backend) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	h, err := b.view(ctx)
	if err != nil {
		return onto.Version{}, err
	}
	return h.Get(ctx, id, at)
}

// Scan implements [backend.Backend].
func (b *Backend) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return asked(ctx, b, func(h *memory.Backend) iter.Seq2[onto.Version, error] { return h.Scan(ctx, q) })
}

// Aggregate implements [backend.Backend].
func (b *Backend) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	return asked(ctx, b, func(h *memory.Backend) iter.Seq2[onto.Group, error] { return h.Aggregate(ctx, a) })
}

// Diff implements [backend.Backend].
func (b *Backend) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return asked(ctx, b, func(h *memory.Backend) iter.Seq2[onto.Change, error] { return h.Diff(ctx, q) })
}

// Commits implements [backend.Backend].
func (b *Backend) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	return asked(ctx, b, func(h *memory.Backend) iter.Seq2[onto.Commit, error] { return h.Commits(ctx, q) })
}

// Schemas implements [backend.Backend].
func (b *Backend) Schemas(ctx context.Context) ([]onto.SchemaVersion, error) {
	h, err := b.view(ctx)
	if err != nil {
		return nil, err
	}
	return h.Schemas(ctx)
}

// Check implements [backend.Checker].
func (b *Backend) Check(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return asked(ctx, b, func(h *memory.Backend) iter.Seq2[onto.Finding, error] { return h.Check(ctx) })
}

// TypesSeen implements [backend.TypeWatcher].
func (b *Backend) TypesSeen() int64 { return b.handle.TypesSeen() }

// Close implements [backend.Backend].
func (b *Backend) Close() error {
	b.group.turn <- struct{}{} // a round under way ends first
	defer func() { <-b.group.turn }()
	b.aside.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	return errors.Join(b.handle.Close(), b.log.b.Close())
}

var (
	_ backend.Backend     = (*Backend)(nil)
	_ backend.Checker     = (*Backend)(nil)
	_ backend.TypeWatcher = (*Backend)(nil)
)
