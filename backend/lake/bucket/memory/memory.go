// Package memory is a bucket in the process: plain and exact. It is the reference for
// the others, and the storage below package faulty in tests.
package memory

import (
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// Options says how a bucket behaves where the contract leaves it open. The zero
// value is the default.
type Options struct {
	// SameTag gives equal bytes equal tags, as S3 does. Without it, every write
	// has a tag of its own. A lake must be right with both.
	SameTag bool

	// Now is the time of a write; time.Now if nil.
	Now func() time.Time
}

// Bucket is a bucket in the process.
type Bucket struct {
	sameTag bool
	now     func() time.Time

	mu      sync.Mutex // guards what follows
	objects map[string]object
	writes  int64
	closed  bool
}

type object struct {
	data     []byte // never changed in place
	tag      bucket.Tag
	modified time.Time
}

// New returns an empty bucket.
func New(opts *Options) *Bucket {
	if opts == nil {
		opts = &Options{}
	}
	b := &Bucket{sameTag: opts.SameTag, now: opts.Now, objects: map[string]object{}}
	if b.now == nil {
		b.now = time.Now
	}
	return b
}

// enter checks what all methods check, and locks the bucket. The caller unlocks
// it, also after an error.
func (b *Bucket) enter(ctx context.Context, key string) error {
	b.mu.Lock()
	if err := bucket.CheckKey(key); err != nil {
		return err
	}
	return b.usable(ctx)
}

func (b *Bucket) usable(ctx context.Context) error {
	if b.closed {
		return onto.Errorf(onto.Closed, "the bucket was closed")
	}
	return ctx.Err()
}

// Get returns an object or a part of it.
func (b *Bucket) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	err := b.enter(ctx, key)
	defer b.mu.Unlock()
	if err != nil {
		return bucket.Object{}, err
	}
	o, there := b.objects[key]
	from, to, err := r.Cut(int64(len(o.data)))
	switch {
	case err != nil:
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, err)
	case !there:
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, bucket.ErrNotFound)
	case ifNot == o.tag:
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, bucket.ErrNotModified)
	}
	if err := r.Allows(int64(len(o.data))); err != nil {
		return bucket.Object{}, fmt.Errorf("get %s: %w", key, err)
	}
	return bucket.Object{Data: bytes.Clone(o.data[from:to]), Tag: o.tag, Size: int64(len(o.data))}, nil
}

// Create writes an object where there is none.
func (b *Bucket) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	err := b.enter(ctx, key)
	defer b.mu.Unlock()
	if err != nil {
		return "", err
	}
	if _, there := b.objects[key]; there {
		return "", fmt.Errorf("create %s: %w", key, bucket.ErrExists)
	}
	return b.put(key, data), nil
}

// Swap replaces the object that has the tag.
func (b *Bucket) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	err := b.enter(ctx, key)
	defer b.mu.Unlock()
	if err != nil {
		return "", err
	}
	o, there := b.objects[key]
	switch {
	case old == "":
		return "", fmt.Errorf("swap %s: the tag of the present object is empty", key)
	case !there:
		return "", fmt.Errorf("swap %s: %w", key, bucket.ErrNotFound)
	case o.tag != old:
		return "", fmt.Errorf("swap %s: %w", key, bucket.ErrChanged)
	}
	return b.put(key, data), nil
}

// put writes an object under the lock. Tags have quotes, as those of S3 have, so that
// code that strips them fails.
func (b *Bucket) put(key string, data []byte) bucket.Tag {
	b.writes++
	tag := bucket.Tag(fmt.Sprintf(`"%d"`, b.writes))
	if b.sameTag {
		tag = bucket.Tag(fmt.Sprintf(`"%x"`, md5.Sum(data)))
	}
	b.objects[key] = object{bytes.Clone(data), tag, b.now()}
	return tag
}

// Delete removes an object.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	err := b.enter(ctx, key)
	defer b.mu.Unlock()
	if err == nil {
		delete(b.objects, key)
	}
	return err
}

// List returns objects in order of their keys.
func (b *Bucket) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	if err := bucket.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("list %q: the limit is %d, it must be at least 1", prefix, limit)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var list []bucket.Entry
	for key, o := range b.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			list = append(list, bucket.Entry{Key: key, Size: int64(len(o.data)), Modified: o.modified})
		}
	}
	slices.SortFunc(list, func(x, y bucket.Entry) int { return strings.Compare(x.Key, y.Key) })
	return list[:min(limit, len(list))], nil
}

// Sync has nothing to do: no object outlives the process.
func (b *Bucket) Sync(ctx context.Context, key string) error {
	err := b.enter(ctx, key)
	b.mu.Unlock()
	return err
}

// Close forbids further use. The objects are gone with the bucket.
func (b *Bucket) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
