package object_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

type (
	messageSet    = object.Set[Message, MessageID, ChatID]
	messageTenant = object.Tenant[Message, MessageID, ChatID]
)

// watch counts the calls of the backends that its openers open, and can make appends fail.
type watch struct {
	calls atomic.Int64
	spare atomic.Int64 // how many of the next appends succeed before some fail
	fails atomic.Int64 // how many of those that follow fail
}

func (w *watch) openers() []backend.Opener {
	list := []backend.Opener{sqlite.Opener, memory.Opener, lake.Opener}
	for i := range list {
		open := list[i].Open
		list[i].Open = func(ctx context.Context, uri string, create bool) (backend.Backend, error) {
			w.calls.Add(1)
			b, err := open(ctx, uri, create)
			if err != nil {
				return nil, err
			}
			return &watched{b, b.(backend.Leaser), w}, nil
		}
	}
	return list
}

// watched is a backend whose calls are counted.
type watched struct {
	backend.Backend
	backend.Leaser
	w *watch
}

func (b *watched) failing() error {
	b.w.calls.Add(1)
	if b.w.spare.Add(-1) < 0 && b.w.fails.Add(-1) >= 0 {
		return onto.Errorf(onto.Unavailable, "the disk is on fire")
	}
	return nil
}

func (b *watched) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	if err := b.failing(); err != nil {
		return onto.Result{}, err
	}
	return b.Backend.Append(ctx, d)
}

func (b *watched) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	if err := b.failing(); err != nil {
		return onto.Result{}, err
	}
	return b.Backend.AppendStream(ctx, d, writes)
}

func (b *watched) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	b.w.calls.Add(1)
	return b.Backend.Resolve(ctx, p)
}

func (b *watched) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	b.w.calls.Add(1)
	return b.Backend.Get(ctx, id, at)
}

func (b *watched) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	b.w.calls.Add(1)
	return b.Backend.Scan(ctx, q)
}

func (b *watched) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	b.w.calls.Add(1)
	return b.Backend.Aggregate(ctx, a)
}

func (b *watched) Commits(ctx context.Context, q *backend.CommitQuery) iter.Seq2[onto.Commit, error] {
	b.w.calls.Add(1)
	return b.Backend.Commits(ctx, q)
}

// onEachWatched is onEach with backends that are watched, for one tenant.
func onEachWatched(t *testing.T, f func(t *testing.T, v *object.Vaults, w *watch)) {
	for _, l := range layouts {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			w := &watch{}
			v, err := object.Open(t.Context(), object.Config{"chat": {"acme": l.uris(t.TempDir(), "acme")}}, w.openers()...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { v.Close() })
			must(t, v.Init(t.Context(), "chat", "acme"))
			f(t, v, w)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// insert stores so many messages, and returns them.
func insert(t *testing.T, acme messageTenant, n int) []Message {
	t.Helper()
	var all []Message
	for i := range n {
		all = append(all, message(i))
	}
	must(t, acme.Insert(t.Context(), all...))
	return all
}

// as is a context for writes of an operator.
func as(t testing.TB, name string) context.Context {
	return object.With(t.Context(), onto.Draft{Actor: onto.Operator(name)})
}
