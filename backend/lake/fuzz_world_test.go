package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// overlay is a bucket over another one that is never changed.
type overlay struct {
	below *memory.Bucket
	above *memory.Bucket
}

// holder is the bucket that has an object.
func (o overlay) holder(ctx context.Context, key string) bucket.Bucket {
	if _, err := o.above.Get(ctx, key, bucket.Range{Length: 1}, ""); err == nil {
		return o.above
	}
	return o.below
}

func (o overlay) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	return o.holder(ctx, key).Get(ctx, key, r, ifNot)
}

func (o overlay) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if _, err := o.below.Get(ctx, key, bucket.Range{Length: 1}, ""); err == nil {
		return "", bucket.ErrExists
	}
	return o.above.Create(ctx, key, data)
}

func (o overlay) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	now, err := o.Get(ctx, key, bucket.Range{}, "")
	switch {
	case err != nil:
		return "", err
	case now.Tag != old:
		return "", bucket.ErrChanged
	}
	return o.put(ctx, key, data)
}

func (o overlay) Sync(context.Context, string) error { return nil }

// put writes an object, whatever was there.
func (o overlay) put(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := o.above.Delete(ctx, key); err != nil {
		return "", err
	}
	return o.above.Create(ctx, key, data)
}

func (o overlay) Delete(ctx context.Context, key string) error { return o.above.Delete(ctx, key) }

func (o overlay) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	found := map[string]bucket.Entry{}
	for _, b := range []bucket.Bucket{o.below, o.above} {
		list, err := b.List(ctx, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			found[e.Key] = e
		}
	}
	keys := slices.Sorted(maps.Keys(found))
	var list []bucket.Entry
	for _, key := range keys[:min(limit, len(keys))] {
		list = append(list, found[key])
	}
	return list, nil
}

func (o overlay) Close() error { return nil }

// hostile is the sample whose documents are changed, made once.
var hostile struct {
	once sync.Once
	*sample
}

// hostileSample returns the sample. Somebody holds its write lease.
func hostileSample(t testing.TB) *sample {
	hostile.once.Do(func() {
		b := makeSample(t)
		l, err := Open(context.Background(), unclosed{b}, &Options{Trusted: true})
		if err == nil {
			_, err = l.Acquire(context.Background(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: "me", TTL: 24 * time.Hour})
		}
		if err != nil {
			t.Fatal(err)
		}
		hostile.sample = &sample{t, b, l}
	})
	return &sample{t, hostile.bucket, hostile.lake}
}

// mutation changes a document as bytes tell.
type mutation struct {
	left  []byte
	nodes []node
}

// node is a place in a document.
type node struct {
	get func() any
	set func(any)
	cut func() // takes it out; nil if it cannot be
}

// next takes a number below n from the bytes; 0 at their end.
func (m *mutation) next(n int) int {
	if len(m.left) < 2 || n < 1 {
		m.left = nil
		return 0
	}
	k := int(m.left[0])<<8 | int(m.left[1])
	m.left = m.left[2:]
	return k % n
}

// collect finds all places of a document.
func (m *mutation) collect(v any, set func(any), cut func()) {
	m.nodes = append(m.nodes, node{func() any { return v }, set, cut})
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.collect(v[key], func(x any) { v[key] = x }, func() { delete(v, key) })
		}
	case []any:
		for i := range v {
			m.collect(v[i], func(x any) { v[i] = x }, nil)
		}
	}
}

// numbers are those that nobody should use unchecked.
var numbers = []string{"-1", "0", "1", "2", "3", "63", "64", "65", "77", "78", "2147483647", "2147483648", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1e300", "0.5"}

// texts are those that are no name, path, time or hash.
var texts = []string{"", "x", "../../etc/passwd", "meta/head.json", "commits/1-x/manifest.json", "commits/77-/manifest.json", "9999-12-31T23:59:59.999999+00:00",
	"0000-00-00", "entity", "relation", "Person", "Nobody", strings.Repeat("a", 64), strings.Repeat("[", 3000), "\x00", "é"}

// mutate changes a document a few times.
func mutate(body, how []byte) []byte {
	var doc any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return body
	}
	m := &mutation{left: how}
	for range 1 + m.next(4) {
		m.nodes = nil
		m.collect(doc, func(x any) { doc = x }, nil)
		m.change()
	}
	if members, ok := doc.(map[string]any); ok {
		delete(members, "checksum")
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return body
	}
	return text
}

// change changes one place.
func (m *mutation) change() {
	at := m.nodes[m.next(len(m.nodes))]
	v := at.get()
	list, _ := v.([]any)
	switch m.next(9) {
	case 0:
		at.set(json.Number(numbers[m.next(len(numbers))]))
	case 1:
		if at.cut != nil {
			at.cut()
		}
	case 2:
		at.set(copied(m.nodes[m.next(len(m.nodes))].get())) // of another place
	case 3:
		at.set(texts[m.next(len(texts))])
	case 4:
		at.set(nil)
	case 5:
		if len(list) > 0 { // an element twice, or many times
			at.set(append(slices.Clone(list), slices.Repeat([]any{list[m.next(len(list))]}, 1+m.next(300))...))
		}
	case 6:
		if n := len(list); n > 0 {
			at.set(slices.Delete(slices.Clone(list), m.next(n), n))
		}
	case 7:
		at.set([]any{map[string]any{}, []any{}, true, json.Number("7")}[m.next(4)])
	case 8:
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				at.set(json.Number(fmt.Sprint(i + int64(m.next(5)) - 2)))
			}
		}
	}
}

// copied is a value that shares nothing with another one, which may hold it.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for key, value := range v {
			c[key] = copied(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = copied(v[i])
		}
		return c
	}
	return v
}

// sealText gives a document the checksum that it would have.
func sealText(text []byte) []byte {
	if len(text) < 3 || text[0] != '{' {
		return text
	}
	sum := hashOf(text)[:sealDigits]
	return append(bytes.Clone(text[:len(text)-1]), sealBegin+sum+sealEnd...)
}

// endure asks a lake everything, and fails if it does not end or takes too much
// memory.
func endure(t testing.TB, b bucket.Bucket) {
	t.Helper()
	for _, err := range useAll(t, b, time.Nanosecond, 0) {
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("it does not end: %v", err)
		}
	}
}
