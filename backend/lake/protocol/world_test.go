package protocol

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// world is a bucket whose every answer is decided by a seed. Clients block in
// their calls until the scheduler picks one of them. It runs in a synctest
// bubble, so that it knows when all clients wait.
type world struct {
	r     *rand.Rand
	fault map[string]int // how often each kind of fault was active
	trace []string
	calm  bool // no more faults
	exact bool // no stale reads: the storage is linearizable, as S3 is

	objects map[string][]stored  // versions of each object, oldest first; a deleted one has a nil body last
	late    []*call              // writes that were reported as lost and will be applied
	cut     map[string]time.Time // clients that are cut off until then
	tags    int

	patience time.Duration // of the clients
	held     []heldAnswer
	wrong    bool   // the next swap of the head is answered with a wrong tag
	old      string // reads of this object return an earlier version
	passed   int    // times that heads of others passed

	mu      sync.Mutex // guards pending
	pending []*call
}

// stored is one version of an object.
type stored struct {
	body     []byte
	tag      bucket.Tag
	modified time.Time
}

// call is a call of a client that waits for its answer.
type call struct {
	client  string
	op, key string
	body    []byte
	old     bucket.Tag
	after   string
	limit   int
	answer  chan answer
}

type answer struct {
	object  bucket.Object
	tag     bucket.Tag
	entries []bucket.Entry
	err     error
}

func newWorld(seed uint64) *world {
	return &world{
		r: rand.New(rand.NewPCG(seed, 5)), fault: map[string]int{}, objects: map[string][]stored{},
		cut: map[string]time.Time{},
	}
}

// client is the world as one client sees it.
type client struct {
	w    *world
	name string
}

func (c client) do(ctx context.Context, k *call) answer {
	if err := ctx.Err(); err != nil {
		return answer{err: err}
	}
	k.client, k.answer = c.name, make(chan answer, 1)
	c.w.mu.Lock()
	c.w.pending = append(c.w.pending, k)
	c.w.mu.Unlock()
	select {
	case a := <-k.answer:
		return a
	case <-ctx.Done():
		return answer{err: ctx.Err()}
	}
}

func (c client) Get(ctx context.Context, key string, r bucket.Range, _ bucket.Tag) (bucket.Object, error) {
	a := c.do(ctx, &call{op: "get", key: key})
	if a.err == nil {
		a.err = r.Allows(a.object.Size)
	}
	if a.err != nil {
		return bucket.Object{}, a.err
	}
	from, to, err := r.Cut(int64(len(a.object.Data))) // it may be truncated
	a.object.Data = a.object.Data[from:to]
	return a.object, err
}

func (c client) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	a := c.do(ctx, &call{op: "create", key: key, body: data})
	return a.tag, a.err
}

func (c client) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	a := c.do(ctx, &call{op: "swap", key: key, body: data, old: old})
	return a.tag, a.err
}

func (c client) Delete(ctx context.Context, key string) error {
	return c.do(ctx, &call{op: "delete", key: key}).err
}

func (c client) List(ctx context.Context, prefix, after string, limit int) ([]bucket.Entry, error) {
	a := c.do(ctx, &call{op: "list", key: prefix, after: after, limit: limit})
	return a.entries, a.err
}

func (c client) Sync(context.Context, string) error { return nil } // what was shown is durable, as with S3

func (c client) Close() error { return nil }

// run resumes the clients, one call at a time, until all are done.
func (w *world) run(done func() bool) {
	for {
		synctest.Wait()
		if len(w.late) > 0 && w.r.IntN(4) == 0 {
			w.applyLate()
		}
		if !w.calm && w.r.IntN(700) == 0 {
			w.leap()
		}
		w.deliver()
		synctest.Wait() // for those who got their answers
		k := w.pick()
		if k != nil {
			w.send(k, w.decide(k))
			continue
		}
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond) // all clients wait for time to pass
	}
}

// pick takes one of the calls that wait.
func (w *world) pick() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return nil
	}
	slices.SortFunc(w.pending, func(a, b *call) int {
		return cmp.Or(strings.Compare(a.client, b.client), strings.Compare(a.key, b.key), strings.Compare(a.op, b.op))
	})
	i := w.r.IntN(len(w.pending))
	k := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	return k
}

// applyLate applies a write after its caller was told that the outcome is unknown.
func (w *world) applyLate() {
	i := w.r.IntN(len(w.late))
	k := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	a := w.apply(k)
	w.note(k, "late", a.err)
}

func (w *world) note(k *call, how string, err error) {
	w.trace = append(w.trace, fmt.Sprintf("%s %s %s %s %v", k.client, k.op, k.key, how, err))
}

// decide answers a call: correctly, or with one of the faults of a network.
func (w *world) decide(k *call) answer {
	how := "ok"
	switch {
	case k.op == "get" && k.key == w.old:
		how = "stale"
	case w.calm:
	case time.Now().Before(w.cut[k.client]):
		how = "request lost"
		w.fault["cut off"]++
	case w.r.IntN(100) < 18:
		how = faults(k.op)[w.r.IntN(len(faults(k.op)))]
		w.fault[how]++
		if w.r.IntN(12) == 0 {
			w.cut[k.client] = time.Now().Add(time.Duration(1+w.r.IntN(10)) * time.Second)
		}
	}
	a := answer{err: bucket.ErrUnknown}
	switch how {
	case "ok":
		a = w.apply(k)
	case "response lost":
		w.apply(k)
	case "duplicate": // by a proxy, which passes on the first or the last answer
		a = w.apply(k)
		if again := w.apply(k); w.tags%2 == 0 {
			a = again
		}
	case "late":
		w.late = append(w.late, k)
	case "wrong tag":
		a = w.apply(k)
		a.tag, a.object.Tag = "wrong", "wrong"
	case "stale":
		if a = w.apply(k); !w.exact || k.key == w.old {
			a = w.stale(k)
		}
	case "truncated":
		if a = w.apply(k); a.err == nil {
			a.object.Data = a.object.Data[:len(a.object.Data)/2]
		}
	case "old listing":
		if a = w.apply(k); len(a.entries) > 0 {
			a.entries = a.entries[:len(a.entries)/2]
		}
	default:
		if r, ok := w.refuse(k, how); ok {
			a = r
		}
	}
	if w.wrong && k.key == HeadKey && a.tag != "" {
		a.tag, w.wrong = "wrong", false
	}
	w.note(k, how, a.err)
	return a
}

// faults is what can go wrong with an operation.
func faults(op string) []string {
	switch op {
	case "get":
		return []string{"request lost", "throttled", "stale", "truncated", "wrong tag"}
	case "list":
		return []string{"request lost", "throttled", "old listing"}
	case "delete":
		return []string{"request lost", "response lost", "late"}
	}
	return append(refusals(), "request lost", "response lost", "late", "duplicate", "wrong tag")
}

func (w *world) newest(key string) (stored, bool) {
	versions := w.objects[key]
	if n := len(versions); n > 0 && versions[n-1].body != nil {
		return versions[n-1], true
	}
	return stored{}, false
}

func (w *world) put(key string, body []byte) bucket.Tag {
	w.tags++
	tag := bucket.Tag(fmt.Sprintf("%q", HashOf(body)))
	w.objects[key] = append(w.objects[key], stored{slices.Clone(body), tag, time.Now()})
	return tag
}

// apply does what a call asks for.
func (w *world) apply(k *call) answer {
	now, exists := w.newest(k.key)
	switch k.op {
	case "get":
		if !exists {
			return answer{err: bucket.ErrNotFound}
		}
		return answer{object: bucket.Object{Data: slices.Clone(now.body), Tag: now.tag, Size: int64(len(now.body))}}
	case "create":
		if exists {
			return answer{err: bucket.ErrExists}
		}
		return answer{tag: w.put(k.key, k.body)}
	case "swap":
		if !exists {
			return answer{err: bucket.ErrNotFound}
		}
		if now.tag != k.old {
			return answer{err: bucket.ErrChanged}
		}
		return answer{tag: w.put(k.key, k.body)}
	case "delete":
		if exists {
			w.objects[k.key] = append(w.objects[k.key], stored{})
		}
		return answer{}
	}
	var entries []bucket.Entry
	for key := range w.objects {
		if v, ok := w.newest(key); ok && strings.HasPrefix(key, k.key) && key > k.after {
			entries = append(entries, bucket.Entry{Key: key, Size: int64(len(v.body)), Modified: v.modified})
		}
	}
	slices.SortFunc(entries, func(a, b bucket.Entry) int { return strings.Compare(a.Key, b.Key) })
	return answer{entries: entries[:min(len(entries), k.limit)]}
}

// stale answers a read with an earlier version, if there was one.
func (w *world) stale(k *call) answer {
	versions := w.objects[k.key]
	if len(versions) < 2 {
		return w.apply(k)
	}
	back := 2
	if k.key != w.old {
		back += w.r.IntN(2)
	}
	v := versions[max(0, len(versions)-back)]
	if v.body == nil {
		return answer{err: bucket.ErrNotFound}
	}
	return answer{object: bucket.Object{Data: slices.Clone(v.body), Tag: v.tag, Size: int64(len(v.body))}}
}
