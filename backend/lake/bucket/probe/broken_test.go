package probe_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// brokenBucket is a mistake that services make, and the check that detects it.
type brokenBucket struct {
	name, check string
	open        func(*testing.T) bucket.Bucket
}

func brokenBuckets() []brokenBucket {
	twist := func(set func(*twisted)) func(*testing.T) bucket.Bucket {
		return func(*testing.T) bucket.Bucket {
			b := &twisted{Bucket: memory.New(nil), last: map[string]bucket.Object{}}
			set(b)
			return b
		}
	}
	plan := func(text string) func(*testing.T) bucket.Bucket {
		return func(t *testing.T) bucket.Bucket { return planned(t, memory.New(nil), text) }
	}
	return []brokenBucket{
		{"ignores if-match", "stale swap", twist(func(b *twisted) { b.anySwap = true })},
		{"ignores if-none-match", "create twice", twist(func(b *twisted) { b.anyCreate = true })},
		{"a swap is not atomic", "race of swaps", twist(func(b *twisted) { b.slowSwap = true })},
		{"a create is not atomic", "race of creates", twist(func(b *twisted) { b.slowCreate = true })},
		{"a write returns a wrong tag", "tag of a write", twist(func(b *twisted) { b.wrongTag = true })},
		{"reads are stale after a write", "swap", twist(func(b *twisted) { b.stale = true })},
		{"a delete comes late", "create after delete", twist(func(b *twisted) { b.lateDelete = true })},
		{"a swap creates what is missing", "swap of a missing object", twist(func(b *twisted) { b.swapCreates = true })},
		{"ranges are ignored", "parts of an object", twist(func(b *twisted) { b.wholeOnly = true })},
		{"nothing ever changes", "conditional get", twist(func(b *twisted) { b.neverModified = true })},
		{"a refused create is acknowledged", "create twice", twist(func(b *twisted) { b.polite = true })},
		{"a refused swap is acknowledged", "stale swap", twist(func(b *twisted) { b.polite = true })},
		{"all tags are equal", "tag of a write", twist(func(b *twisted) { b.oneTag = true })},
		{"reads are truncated", "read what was written", plan("get:short")},
		{"large reads are truncated", "read what was written", plan("get[read-1048576]:short")},
		{"reads are damaged", "read what was written", plan("get:flip")},
		{"some reads are old", "swap", plan("get:stale%60")},
		{"writes are applied twice", "race of creates", plan("create[race]:again")},
		{"nothing may be written", "read what was written", plan("write:fail")},
		{"nothing may be read", "read what was written", plan("get:fail")},
	}
}

// twisted is a bucket with the selected mistakes.
type twisted struct {
	bucket.Bucket
	anySwap, anyCreate, slowSwap, slowCreate, wrongTag, stale, lateDelete, swapCreates, wholeOnly, neverModified, polite, oneTag bool

	mu      sync.Mutex // guards what follows, and makes put atomic
	last    map[string]bucket.Object
	deleted string
}

// put writes without a condition.
func (b *twisted) put(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Bucket.Delete(ctx, key)
	return b.Bucket.Create(ctx, key, data)
}

// gap is the time between check and write.
func gap() { <-time.After(time.Millisecond) }

func (b *twisted) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	switch {
	case b.anyCreate:
		return b.put(ctx, key, data)
	case b.slowCreate:
		_, err := b.Bucket.Get(ctx, key, bucket.Range{}, "")
		if err == nil {
			return "", bucket.ErrExists
		}
		gap()
		return b.put(ctx, key, data)
	}
	tag, err := b.Bucket.Create(ctx, key, data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lateDelete && err == nil && b.deleted == key {
		b.deleted = ""
		b.Bucket.Delete(ctx, key)
	}
	return b.answer(tag, err)
}

func (b *twisted) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	o, found := b.Bucket.Get(ctx, key, bucket.Range{}, "")
	b.remember(key, o, found)
	switch {
	case found != nil && b.swapCreates:
		return b.put(ctx, key, data)
	case found == nil && b.anySwap:
		return b.put(ctx, key, data)
	case b.slowSwap && found == nil:
		if o.Tag != old {
			return "", bucket.ErrChanged
		}
		gap()
		return b.put(ctx, key, data)
	case b.oneTag && found == nil:
		old = o.Tag
	}
	return b.answer(b.Bucket.Swap(ctx, key, data, old))
}

// remember keeps what the next read returns if reads are stale.
func (b *twisted) remember(key string, o bucket.Object, found error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stale && found == nil {
		b.last[key] = o
	}
}

// recall returns what was remembered, once.
func (b *twisted) recall(key string) (bucket.Object, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, there := b.last[key]
	delete(b.last, key)
	return o, there
}

// answer is what a write returns.
func (b *twisted) answer(tag bucket.Tag, err error) (bucket.Tag, error) {
	switch {
	case b.polite && err != nil:
		return `"0"`, nil
	case b.wrongTag && err == nil:
		return bucket.Tag(strings.Trim(string(tag), `"`)), nil // without its quotes
	case b.oneTag && err == nil:
		return `"same"`, nil
	}
	return tag, err
}

func (b *twisted) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if o, there := b.recall(key); there {
		return o, nil
	}
	if b.neverModified && ifNot != "" {
		return bucket.Object{}, bucket.ErrNotModified
	}
	if b.wholeOnly {
		r = bucket.Range{}
	}
	o, err := b.Bucket.Get(ctx, key, r, ifNot)
	if b.oneTag {
		o.Tag = `"same"`
	}
	return o, err
}

func (b *twisted) Delete(ctx context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lateDelete {
		b.deleted = key
	}
	return b.Bucket.Delete(ctx, key)
}

// ignoresConditionalGet returns objects whether they have changed or not.
type ignoresConditionalGet struct{ bucket.Bucket }

func (b ignoresConditionalGet) Get(ctx context.Context, key string, r bucket.Range, _ bucket.Tag) (bucket.Object, error) {
	return b.Bucket.Get(ctx, key, r, "")
}

// missingIsChanged does not distinguish a missing object from a changed one.
type missingIsChanged struct{ bucket.Bucket }

func (b missingIsChanged) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	tag, err := b.Bucket.Swap(ctx, key, data, old)
	if err != nil {
		err = bucket.ErrChanged
	}
	return tag, err
}

// interrupting cancels the context at a create.
type interrupting struct {
	bucket.Bucket
	mu     sync.Mutex // guards left
	left   int
	cancel func()
}

func (b *interrupting) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	tag, err := b.Bucket.Create(ctx, key, data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left == 0 {
		b.cancel()
	}
	return tag, err
}
