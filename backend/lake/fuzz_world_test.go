package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
	"github.com/ontologia/onto/backend/lake/cache"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/exec"
)

// overlay is a bucket over another one that is never changed. It counts requests, and
// refuses those after a limit.
type overlay struct {
	below, above *memory.Bucket
	asked        *atomic.Int64
}

// mostAsked is many times what it takes to ask a lake everything.
const mostAsked = 20_000

func newOverlay(below *memory.Bucket) overlay {
	later := smallTime.Add(48 * time.Hour)
	return overlay{below, memory.New(&memory.Options{Now: func() time.Time { return later }}), new(atomic.Int64)}
}

// count counts a request.
func (o overlay) count() error {
	if o.asked.Add(1) > mostAsked {
		return onto.Errorf(onto.Invalid, "there are too many requests")
	}
	return nil
}

// holder is the bucket that has an object.
func (o overlay) holder(ctx context.Context, key string) bucket.Bucket {
	if _, err := o.above.Get(ctx, key, bucket.Range{Length: 1}, ""); err == nil {
		return o.above
	}
	return o.below
}

func (o overlay) Get(ctx context.Context, key string, r bucket.Range, ifNot bucket.Tag) (bucket.Object, error) {
	if err := o.count(); err != nil {
		return bucket.Object{}, err
	}
	return o.holder(ctx, key).Get(ctx, key, r, ifNot)
}

func (o overlay) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	if err := o.count(); err != nil {
		return "", err
	}
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
	if err := o.count(); err != nil {
		return nil, err
	}
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

// nearby is an overlay whose objects need no local copies.
type nearby struct{ overlay }

func (nearby) Turn(_ context.Context, _ time.Duration, meanwhile func()) (func(), error) {
	meanwhile()
	return func() {}, nil
}

// mutation changes a document as its bytes say.
type mutation struct {
	left  []byte
	texts []string // to put in
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

// numbers are those that must not be used unchecked.
var numbers = []string{"-1", "0", "1", "2", "3", "63", "64", "65", "77", "78", "2147483647", "2147483648", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1e300", "0.5"}

// texts are those that are no name, path, time or hash.
var texts = []string{"", "x", "../../etc/passwd", "meta/head.json", "commits/1-x/manifest.json", "commits/77-/manifest.json", "9999-12-31T23:59:59.999999+00:00",
	"0000-00-00", "entity", "relation", "Person", "Nobody", strings.Repeat("a", 64), strings.Repeat("[", 3000), "\x00", "é"}

// mostText is how long a changed document may be: long ones are slow, and have tests of
// their own.
const mostText = 128 << 10

// mutate changes a document a few times. It may put in the keys of objects.
func mutate(body, how []byte, keys []string) []byte {
	var doc any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return body
	}
	m := &mutation{left: how, texts: slices.Concat(texts, keys)}
	for range 1 + m.next(4) {
		m.nodes = nil
		m.collect(doc, func(x any) { doc = x }, nil)
		m.change()
	}
	if members, ok := doc.(map[string]any); ok {
		delete(members, "checksum")
	}
	text, err := json.Marshal(doc)
	if err != nil || len(text) > mostText {
		return body
	}
	return text
}

// change changes one place.
func (m *mutation) change() {
	at := m.nodes[m.next(len(m.nodes))]
	v := at.get()
	list, _ := v.([]any)
	switch m.next(10) {
	case 0:
		at.set(json.Number(numbers[m.next(len(numbers))]))
	case 1:
		if at.cut != nil {
			at.cut()
		}
	case 2:
		at.set(copied(m.nodes[m.next(len(m.nodes))].get())) // of another place
	case 3:
		at.set(m.texts[m.next(len(m.texts))])
	case 4:
		at.set(nil)
	case 5:
		if len(list) > 0 { // an element twice, or many times
			at.set(append(slices.Clone(list), slices.Repeat([]any{list[m.next(len(list))]}, 1+m.next(20))...))
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
	case 9: // a number wherever it is
		if n, ok := v.(json.Number); ok {
			other := json.Number(numbers[m.next(len(numbers))])
			for _, o := range m.nodes {
				if o.get() == any(n) {
					o.set(other)
				}
			}
		}
	}
}

// copied is a deep copy of a value.
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

// sealMember begins the checksum of a document, its last member.
const sealMember = `,"checksum":"`

// sealText gives a document a matching checksum.
func sealText(text []byte) []byte {
	if len(text) < 3 || text[0] != '{' {
		return text
	}
	return append(bytes.Clone(text[:len(text)-1]), sealMember+protocol.HashOf(text)[:16]+`"}`...)
}

// warm writes and reads a data file outside of any bubble of synctest: what compresses
// files is made once, with channels that cannot go from one bubble to the next.
func warm(t testing.TB) {
	t.Helper()
	l := parquet.NewLayout(onto.KindEntity, "T", nil)
	data, _, err := parquet.Encode(l, []onto.Version{{Identity: onto.EntityID("T", "a"), Op: onto.Put}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), l.Kind, l.Type)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range f.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mostBytes is many times the memory that it takes to ask a small lake everything.
const mostBytes = 256 << 20

// endurance asks lakes everything, many in a second: they have no disk, since files are
// small and the cache is closed, and time passes only while everything waits. So the
// speed of the machine does not matter, and a wait without end is found at once.
type endurance struct{ cache *cache.Cache }

func newEndurance(t testing.TB) *endurance {
	t.Helper()
	warm(t)
	c, err := cache.Open(&cache.Options{Directory: t.TempDir(), Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	usual := debug.SetGCPercent(400) // little is held, and much taken
	t.Cleanup(func() { debug.SetGCPercent(usual) })
	return &endurance{c}
}

// test fails if the use of a lake does not end, takes much memory, or loses what was
// acknowledged.
func (e *endurance) test(t *testing.T, b overlay) {
	t.Helper()
	stuck := time.AfterFunc(time.Minute, func() { panic("it does not end") })
	defer stuck.Stop()
	before := allocated()
	synctest.Test(t, func(t *testing.T) { e.visit(t, nearby{b}).all() })
	if n := b.asked.Load(); n > mostAsked {
		t.Errorf("it does not end: there were %d requests", n)
	}
	if n := allocated() - before; n > mostBytes {
		t.Errorf("it took %d bytes of memory", n)
	}
}

func (e *endurance) visit(t testing.TB, b bucket.Bucket) *visit {
	v := &visit{TB: t}
	v.open = func() (*Backend, error) { return e.open(v.ctx, b, false) }
	v.close = func(l *Backend) error { e.close(l); return nil }
	v.check = func() iter.Seq2[onto.Finding, error] {
		return exec.Pushed(func(push func(onto.Finding) error) error {
			l, err := e.open(v.ctx, b, true)
			if err != nil {
				return err
			}
			defer e.close(l)
			return exec.PushAll(v.ctx, l.Check(v.ctx), push)
		})
	}
	return v
}

// open is Open with the cache that is there.
func (e *endurance) open(ctx context.Context, b bucket.Bucket, unread bool) (*Backend, error) {
	l := newBackend(b, &Options{
		Trusted: true, MustExist: true, Patience: time.Nanosecond, LockTimeout: time.Millisecond, InProcess: math.MaxInt64,
		Now: func() time.Time { return smallTime.Add(48 * time.Hour) }, unread: unread,
	})
	if err := l.find(ctx); err != nil {
		return nil, err
	}
	l.read(datafile.NewReader(l.log, b, e.cache))
	return l, nil
}

// close is Close without that of the cache.
func (e *endurance) close(l *Backend) {
	l.end()
	l.deriver.Settle()
	l.aside.Wait()
}

// allocated is how many bytes this process has taken so far.
func allocated() uint64 {
	read := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(read)
	return read[0].Value.Uint64()
}
