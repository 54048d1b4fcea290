package backendtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/memory"
)

type (
	writes = iter.Seq2[backend.Write, error]
	result = onto.Result
)

// faulty can be made to fail. It is no mistake but the backend for the tests of faults.
type faulty struct {
	archived
	err  error // of the next append or restoration
	late bool  // fail when it is done
}

func (f *faulty) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return f.fail(func() (result, error) { return f.Backend.Append(ctx, d) })
}

func (f *faulty) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	return f.fail(func() (result, error) { return f.Backend.AppendStream(ctx, d, w) })
}

func (f *faulty) Restore(ctx context.Context, r *backend.Restoration) error {
	_, err := f.fail(func() (result, error) { return result{}, f.archived.Restore(ctx, r) })
	return err
}

func (f *faulty) fail(apply func() (result, error)) (result, error) {
	if f.err == nil {
		return apply()
	}
	err := fmt.Errorf("append: %w", f.err)
	f.err = nil
	if f.late {
		_, _ = apply()
	}
	return result{}, err
}

// amnesic keeps a store only while a handle is open.
func amnesic(t backendtest.Target) backendtest.Target {
	var mu sync.Mutex // guards stores and handles
	stores, handles := map[string]*memory.Store{}, map[string]int{}
	t.Open = func(_ testing.TB, p *backendtest.Place) backend.Backend {
		mu.Lock()
		defer mu.Unlock()
		if handles[p.Name]++; handles[p.Name] == 1 {
			stores[p.Name] = memory.New(&memory.Options{Now: p.Now})
		}
		return closing{stores[p.Name].Open(), func() {
			mu.Lock()
			defer mu.Unlock()
			handles[p.Name]--
		}}
	}
	return t
}

type closing struct {
	backend.Backend
	closed func()
}

func (b closing) Close() error {
	b.closed()
	return b.Backend.Close()
}

type lostDelete struct{ backend.Backend }

func (b lostDelete) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Writes = slices.DeleteFunc(slices.Clone(d.Writes), func(w backend.Write) bool { return w.Op == onto.Delete })
	return b.Backend.Append(ctx, &c)
}

// restless hides a number in all fields, so that no write looks unchanged.
type restless struct {
	backend.Backend
	n *atomic.Int64
}

func newRestless(b backend.Backend) restless { return restless{b, new(atomic.Int64)} }

func (b restless) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i, w := range c.Writes {
		if w.Op == onto.Put {
			c.Writes[i].Fields = fmt.Appendf(nil, "%08d%s", b.n.Add(1), w.Fields)
		}
	}
	return b.Backend.Append(ctx, &c)
}

func plain(v *onto.Version) {
	if v != nil {
		v.Fields = v.Fields[bytes.IndexByte(v.Fields, '{'):]
	}
}

func (b restless) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	v, err := b.Backend.Get(ctx, id, at)
	if err == nil {
		plain(&v)
	}
	return v, err
}

func (b restless) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return edit(b.Backend.Scan(ctx, q), plain)
}

func (b restless) Diff(ctx context.Context, q *backend.DiffQuery) iter.Seq2[onto.Change, error] {
	return edit(b.Backend.Diff(ctx, q), func(c *onto.Change) { plain(c.Before); plain(c.After) })
}

// edit changes each item of a sequence.
func edit[T any](seq iter.Seq2[T, error], change func(*T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range seq {
			if err == nil {
				change(&item)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// without returns the draft without some expectations.
func without(d *backend.Draft, gone func(onto.Expectation) bool) *backend.Draft {
	c := *d
	c.Expect = slices.DeleteFunc(slices.Clone(d.Expect), gone)
	return &c
}

type deafToHead struct{ backend.Backend }

func (b deafToHead) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.Backend.Append(ctx, without(d, func(e onto.Expectation) bool { return e.Head }))
}

type deafToVersions struct{ backend.Backend }

func (b deafToVersions) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.Backend.Append(ctx, without(d, func(e onto.Expectation) bool { return !e.Head }))
}

type stampless struct{ backend.Backend }

func (b stampless) Append(ctx context.Context, d *backend.Draft) (result, error) {
	for _, w := range d.Writes {
		tag := onto.Schema{Kind: w.Kind, Name: w.Type, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
		_, _ = b.Backend.Register(ctx, &backend.Registration{Schemas: []onto.Schema{tag}})
	}
	c := *d
	c.Writes = slices.Clone(d.Writes)
	for i := range c.Writes {
		c.Writes[i].SchemaVersion = 1
	}
	return b.Backend.Append(ctx, &c)
}

type keyless struct{ backend.Backend }

func (b keyless) Append(ctx context.Context, d *backend.Draft) (result, error) {
	c := *d
	c.IdempotencyKey = ""
	return b.Backend.Append(ctx, &c)
}

// forgetful knows the keys that came through the same handle.
type forgetful struct {
	backend.Backend
	mine *sync.Map
}

func newForgetful(b backend.Backend) forgetful { return forgetful{b, new(sync.Map)} }

func (b forgetful) Append(ctx context.Context, d *backend.Draft) (result, error) {
	key := d.IdempotencyKey
	if _, ok := b.mine.Load(key); !ok && b.used(ctx, key) != nil {
		return keyless{b.Backend}.Append(ctx, d)
	}
	r, err := b.Backend.Append(ctx, d)
	if r.Changed() {
		b.mine.Store(key, true)
	}
	return r, err
}

// used returns the commit that has a key.
func (b forgetful) used(ctx context.Context, key string) *onto.Commit {
	for c, err := range b.Commits(ctx, &backend.CommitQuery{Until: backend.Head}) {
		if err == nil && key != "" && c.IdempotencyKey == key {
			return &c
		}
	}
	return nil
}

type gullible struct{ backend.Backend }

func (b gullible) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if errors.Is(err, onto.IdempotencyConflict) {
		return result{Commit: *forgetful{Backend: b.Backend}.used(ctx, d.IdempotencyKey), Repeated: true}, nil
	}
	return r, err
}

// greedy counts the key of a no-op draft as used.
type greedy struct {
	backend.Backend
	taken *sync.Map
}

func newGreedy(b backend.Backend) greedy { return greedy{b, new(sync.Map)} }

func (b greedy) Append(ctx context.Context, d *backend.Draft) (result, error) {
	key := d.IdempotencyKey
	if _, ok := b.taken.Load(key); ok {
		return result{}, onto.Errorf(onto.IdempotencyConflict, "key %q is taken", key)
	}
	r, err := b.Backend.Append(ctx, d)
	if err == nil && !r.Changed() && key != "" {
		b.taken.Store(key, true)
	}
	return r, err
}

type nowhere struct{ backend.Backend }

func (b nowhere) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	r.At = r.ID
	return r, err
}

type lateRepeat struct{ backend.Backend }

func (b lateRepeat) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if r.Repeated {
		var head onto.Commit
		head, err = b.Resolve(ctx, onto.Point{})
		r.At = head.ID
	}
	return r, err
}

// wasteful uses up an id for each draft that is refused.
type wasteful struct {
	backend.Backend
	burned atomic.Int64
}

func (b *wasteful) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if err != nil {
		b.burned.Add(1)
	} else if r.Changed() {
		r.ID += b.burned.Load()
	}
	return r, err
}

// unsteady stamps commits with the clock as it is.
type unsteady struct {
	backend.Backend
	place *backendtest.Place
}

func newUnsteady(b backend.Backend, p *backendtest.Place) backend.Backend {
	return unsteady{b, p}
}

func (b unsteady) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if r.Changed() && !r.Repeated {
		r.Time = b.place.Now().UTC().Truncate(time.Microsecond)
	}
	return r, err
}

type halfStream struct{ backend.Backend }

func (b halfStream) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	var failed error
	r, err := b.Backend.AppendStream(context.WithoutCancel(ctx), d, func(yield func(backend.Write, error) bool) {
		for w, err := range w {
			if failed = errors.Join(err, ctx.Err()); failed != nil || !yield(w, nil) {
				return
			}
		}
	})
	return r, errors.Join(err, failed)
}

type piecemeal struct{ backend.Backend }

func (b piecemeal) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	var list []onto.SchemaVersion
	for _, s := range r.Schemas {
		one, err := b.Backend.Register(ctx, &backend.Registration{Schemas: []onto.Schema{s}, Runtime: r.Runtime, Reason: r.Reason, Actor: r.Actor, Comment: r.Comment})
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

type stubborn struct{ backend.Backend }

func (b stubborn) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.Backend.Append(context.WithoutCancel(ctx), d)
}

// stale looks for a new head only at its own appends.
type stale struct {
	backend.Backend
	head atomic.Pointer[onto.Commit]
}

func (b *stale) Append(ctx context.Context, d *backend.Draft) (result, error) {
	r, err := b.Backend.Append(ctx, d)
	if r.Changed() {
		b.head.Store(&r.Commit)
	}
	return r, err
}

func (b *stale) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	if head := b.head.Load(); head != nil && p.IsHead() {
		return *head, nil
	}
	return b.Backend.Resolve(ctx, p)
}

func byLetter(a, b onto.Version) int {
	return strings.Compare(strings.ToLower(a.Identity.String()), strings.ToLower(b.Identity.String()))
}

func byCommit(a, b onto.Version) int { return int(a.Commit - b.Commit) }

// credulous accepts any time of the clock.
func credulous(t backendtest.Target) backendtest.Target {
	open := t.Open
	t.Open = func(tb testing.TB, p *backendtest.Place) backend.Backend {
		fooled := *p
		fooled.Now = func() time.Time {
			if now := p.Now(); now.UTC().Year() >= 1 && now.UTC().Year() <= 9999 {
				return now
			}
			return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return open(tb, &fooled)
	}
	return t
}
