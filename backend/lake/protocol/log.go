package protocol

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/parallel"
)

// Settings are the injected dependencies of the protocol.
type Settings struct {
	Now      func() time.Time
	Attempt  func() string       // a new one at each call, unique among processes
	Jitter   func(n int64) int64 // a number from 0 on and below n
	Runtime  string
	Patience time.Duration // how long an attempt looks for the outcome of its swap
	Target   bool          // the lake may be one that a copy has not filled yet
}

// Log is the log of one lake, as one process sees it.
type Log struct {
	b   bucket.Bucket
	set Settings
	bad badObjects

	recent recentRounds

	mu  sync.Mutex // guards tip
	tip *Tip       // the newest head that was seen; nil before the first
}

// NewLog is the log of the lake in a bucket. Nothing is read yet.
func NewLog(b bucket.Bucket, set Settings) *Log { return &Log{b: b, set: set} }

// Tip is a head as it was read or written, with what it names. It is never
// changed.
type Tip struct {
	Head     *Head
	body     []byte
	tag      bucket.Tag // "" if another head has come since
	Manifest *Manifest  // nil if there is no commit
	Catalog  *Catalog
}

// Last returns the newest tip that was seen.
func (l *Log) Last() *Tip {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tip
}

// advance notes a tip, unless a newer one was seen.
func (l *Log) advance(t *Tip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tip == nil || t.Head.Sequence >= l.tip.Head.Sequence {
		l.tip = t
	}
}

// current returns the tip to plan on. It asks the bucket only if the head has probably
// moved.
func (l *Log) current(ctx context.Context) (*Tip, error) {
	if t := l.Last(); t != nil && t.tag != "" {
		return l.opened(t)
	}
	return l.Load(ctx)
}

// Refresh returns the newest tip, with one request if it has not changed.
func (l *Log) Refresh(ctx context.Context) (*Tip, error) {
	if t := l.Last(); t != nil && t.tag != "" {
		if _, err := l.b.Get(ctx, HeadKey, bucket.Range{Max: MaxSmall}, t.tag); errors.Is(err, bucket.ErrNotModified) {
			return l.opened(t)
		}
	}
	return l.Load(ctx)
}

// Load reads the head, and what it names and is not known yet.
func (l *Log) Load(ctx context.Context) (*Tip, error) {
	h, body, tag, err := l.ReadHead(ctx)
	if err != nil {
		return nil, err
	}
	return l.tipOf(ctx, h, body, tag)
}

// tipOf reads what a head names and is not known yet.
func (l *Log) tipOf(ctx context.Context, h *Head, body []byte, tag bucket.Tag) (*Tip, error) {
	known := l.Last()
	if known != nil && known.Head.Attempt == h.Attempt {
		t := *known
		t.tag = tag
		l.advance(&t)
		return &t, nil
	}
	t := &Tip{Head: h, body: body, tag: tag}
	err := SideBySide(2, func(i int) (err error) {
		if i == 0 {
			t.Manifest, err = l.manifestOf(ctx, h, known)
		} else {
			t.Catalog, err = l.catalogOf(ctx, h, known)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	l.advance(t)
	return t, nil
}

// ReadHead reads the head until it is not older than what was seen before. A head that
// stays older means that the bucket was restored to an earlier state. It fails with
// CopyUnfinished if the lake is not to be used.
func (l *Log) ReadHead(ctx context.Context) (*Head, []byte, bucket.Tag, error) {
	wait, looks := l.Waiter(), looks{}
	for {
		h, body, tag, came, err := l.readHeadOnce(ctx)
		stays := err != nil && looks.stays(came, err)
		if err == nil {
			err = l.follows(h, body)
		}
		if err == nil {
			err = l.Opened(h)
		}
		if err == nil || Definite(err) || stays {
			return h, body, tag, err
		}
		if late := wait.Wait(ctx); late != nil {
			return nil, nil, "", errors.Join(err, late)
		}
	}
}

// NoLake is the error for a place without a head.
func NoLake() error {
	return onto.Errorf(onto.Uninitialized, "there is no lake here").WithHint("make one").WithCommand("init")
}

// readHeadOnce also returns the hash of a head that is damaged.
func (l *Log) readHeadOnce(ctx context.Context) (h *Head, body []byte, tag bucket.Tag, came string, err error) {
	object, err := l.b.Get(ctx, HeadKey, bucket.Range{Max: MaxSmall}, "")
	if errors.Is(err, bucket.ErrNotFound) {
		if l.Last() != nil {
			return nil, nil, "", "", headGone(err)
		}
		return nil, nil, "", "", NoLake()
	}
	if err != nil {
		return nil, nil, "", "", oversized(HeadKey, err)
	}
	h, err = ParseHead(object.Data)
	return h, object.Data, object.Tag, wholeHash(&object, err), err
}

// headGone is the error for a head that was there and is not.
func headGone(cause error) error {
	return onto.Errorf(onto.Corrupt, "%s is gone: %w", HeadKey, cause).WithHint("make it again from what it led to").WithCommand("recover")
}

// follows fails unless a head is the one that was seen last or comes after it.
func (l *Log) follows(h *Head, body []byte) error {
	known := l.Last()
	if known == nil {
		return nil
	}
	k := known.Head
	switch {
	case h.StoreID != k.StoreID:
		return rewritten("the bucket holds another store now: %s, not %s", h.StoreID, k.StoreID)
	case h.Sequence < k.Sequence:
		return rewritten("the head has gone back from %d to %d", k.Sequence, h.Sequence)
	case h.Sequence == k.Sequence && h.Attempt != k.Attempt:
		return rewritten("there are two heads with the number %d", h.Sequence)
	case h.Sequence == k.Sequence+1 && h.Previous != HashOf(known.body):
		return rewritten("head %d does not follow the one that was there before", h.Sequence)
	}
	if made, sure := h.made(k.Attempt, k.Sequence); sure && !made {
		return rewritten("head %d does not come after head %d, which was there before", h.Sequence, k.Sequence)
	}
	return nil
}

// rewritten is the error for a bucket that does not hold what it held before.
func rewritten(format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "history was rewound: %w", onto.Errorf(onto.Corrupt, format, args...)).
		WithHint("the bucket was restored or replaced: if that is right, open the store again; if not, bring the newest head back").WithCommand("recover")
}

// manifestOf reads the manifest that a head names.
func (l *Log) manifestOf(ctx context.Context, h *Head, known *Tip) (*Manifest, error) {
	if h.ManifestPath == nil {
		return nil, nil
	}
	if known != nil && known.Head.ManifestPath != nil && *known.Head.ManifestPath == *h.ManifestPath {
		return known.Manifest, nil
	}
	return l.readManifest(ctx, *h.ManifestPath, h.StoreID)
}

// readManifest reads a manifest that a head or a manifest names. It must exist.
func (l *Log) readManifest(ctx context.Context, path, store string) (*Manifest, error) {
	var m *Manifest
	err := l.readWhole(ctx, path, func(body []byte) (err error) {
		if m, err = ParseManifest(path, body); err == nil && m.StoreID != store {
			err = Damaged(path, "it belongs to another store")
		}
		return err
	})
	return m, err
}

func (l *Log) catalogOf(ctx context.Context, h *Head, known *Tip) (*Catalog, error) {
	if known != nil && known.Head.Catalog == h.Catalog {
		return known.Catalog, nil
	}
	var c *Catalog
	err := l.readWhole(ctx, h.Catalog, func(body []byte) (err error) {
		if c, err = ParseCatalog(h.Catalog, body); err == nil {
			if wrong := c.fits(h); wrong != nil {
				err = Damaged(h.Catalog, "%w", wrong)
			}
		}
		return err
	})
	return c, err
}

// sameLooks is how often the same damaged bytes must come before the damage is
// attributed to the storage and not to the transport.
const sameLooks = 2

// looks counts how often the same bytes came.
type looks struct {
	sum   string
	times int
}

// stays reports whether reading again would bring the same damage. Came is the hash of
// all bytes of the object; "" if not all came.
func (k *looks) stays(came string, err error) bool {
	if errors.Is(err, bucket.ErrTooLarge) {
		return true
	}
	if onto.CodeOf(err) != onto.Corrupt || came == "" {
		return false
	}
	if came != k.sum {
		*k = looks{sum: came}
	}
	k.times++
	return k.times >= sameLooks
}

// readWhole reads an immutable document until it is intact. One that stays missing or
// damaged is reported by its name.
func (l *Log) readWhole(ctx context.Context, key string, parse func(body []byte) error) error {
	return l.readAtMost(ctx, key, MaxDocument, parse)
}

// readAtMost is readWhole for documents of a size.
func (l *Log) readAtMost(ctx context.Context, key string, size int64, parse func(body []byte) error) error {
	if err := bucket.CheckKey(key); err != nil {
		return Damaged(key, "no object can have this name")
	}
	return l.persist(ctx, key, func() (came string, err error) {
		object, err := l.b.Get(ctx, key, bucket.Range{Max: size}, "")
		if err != nil {
			return "", err
		}
		if known := l.bad.of(key); known.err != nil && HashOf(object.Data) == known.hash {
			return known.hash, known.err // it is not parsed again
		}
		err = parse(object.Data)
		return wholeHash(&object, err), err
	})
}

// wholeHash is the hash of a damaged object, for looks; "" if it came in part, or is
// not damaged.
func wholeHash(o *bucket.Object, err error) string {
	if onto.CodeOf(err) != onto.Corrupt || int64(len(o.Data)) < o.Size {
		return ""
	}
	return HashOf(o.Data)
}

// listed is how many objects one listing returns.
const listed = 1000

// Each yields the objects below a prefix, by key, as they are listed page by page.
// After an error it ends.
func (l *Log) Each(ctx context.Context, prefix string) iter.Seq2[bucket.Entry, error] {
	return func(yield func(bucket.Entry, error) bool) {
		for after := ""; ; {
			page, err := l.b.List(ctx, prefix, after, listed)
			if err != nil {
				yield(bucket.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Key
			}
			if len(page) < listed {
				return
			}
		}
	}
}

// Definite reports whether a retry would fail with the same error: the storage refuses,
// or is not what it should be.
func Definite(err error) bool {
	switch onto.CodeOf(err) {
	case onto.Unsupported, onto.Uninitialized, onto.CopyUnfinished, onto.ReadOnly, onto.Full, onto.Invalid, onto.NotFound, onto.Closed:
		return true
	}
	return errors.Is(err, bucket.ErrRefused) || errors.Is(err, bucket.ErrUnsynced)
}

// Waiter paces attempts until the patience is over.
type Waiter struct {
	backoff.Backoff
	until    time.Time
	patience time.Duration
}

// Waiter paces attempts from now on.
func (l *Log) Waiter() Waiter {
	pauses := backoff.Backoff{First: 20 * time.Millisecond, Longest: 1280 * time.Millisecond, Jitter: l.set.Jitter}
	return Waiter{pauses, time.Now().Add(l.set.Patience), l.set.Patience}
}

// Wait pauses, longer each time. It fails when the patience is over; the last pause may
// go beyond that.
func (w *Waiter) Wait(ctx context.Context) error {
	if !time.Now().Before(w.until) {
		return onto.Errorf(onto.Unavailable, "the storage did not answer as it should for %v", w.patience).
			WithHint("check the storage and try again")
	}
	return w.Pause(ctx, nil)
}

// AtOnce is how many objects are read side by side.
const AtOnce = 128

// SideBySide calls f for each number, several at a time.
func SideBySide(n int, f func(i int) error) error { return parallel.Do(AtOnce, n, f) }
