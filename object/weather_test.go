package object_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/object"
)

// secret is in the URIs of stormy shards, and must not be in errors.
const secret = "s3cret"

// weather decides what becomes of the calls of a shard.
type weather int32

const (
	calm    weather = iota
	down            // calls and openings fail with Unavailable
	hanging         // calls and openings wait until their context ends
	broken          // writes fail, and go on failing until the shard is opened again
	lost            // writes succeed, and their answers are lost
	stormy          // any of these at random
)

// place is a store that can be opened many times, in any weather.
type place struct {
	store   *memory.Store
	weather atomic.Int32
	open    atomic.Int32 // handles that are not closed
	opened  atomic.Int32 // handles that were opened ever
}

func (p *place) set(w weather) { p.weather.Store(int32(w)) }

func (p *place) now() weather {
	w := weather(p.weather.Load())
	if w != stormy {
		return w
	}
	if n := rand.IntN(60); n < 4 {
		return []weather{down, broken, lost, lost}[n]
	}
	return calm
}

// before is what a call meets before it is made.
func (p *place) before(ctx context.Context) error {
	switch p.now() {
	case down:
		return onto.Errorf(onto.Unavailable, "the shard is in the dark")
	case hanging:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// handle is a handle on a place.
type handle struct {
	backend.Backend
	place  *place
	broken atomic.Bool
	closed sync.Once
}

func (h *handle) Unwrap() backend.Backend { return h.Backend }

func (h *handle) write(ctx context.Context, write func() (onto.Result, error)) (onto.Result, error) {
	if err := h.place.before(ctx); err != nil {
		return onto.Result{}, err
	}
	if h.place.now() == broken {
		h.broken.Store(true)
	}
	if h.broken.Load() {
		return onto.Result{}, onto.Errorf(onto.Unavailable, "the file is gone: %w", backend.ErrReopen)
	}
	res, err := write()
	if err == nil && h.place.now() == lost {
		return onto.Result{}, onto.Errorf(onto.OutcomeUnknown, "the answer was lost")
	}
	return res, err
}

func (h *handle) Append(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	return h.write(ctx, func() (onto.Result, error) { return h.Backend.Append(ctx, d) })
}

func (h *handle) AppendStream(ctx context.Context, d *backend.Draft, writes iter.Seq2[backend.Write, error]) (onto.Result, error) {
	return h.write(ctx, func() (onto.Result, error) { return h.Backend.AppendStream(ctx, d, writes) })
}

func (h *handle) Resolve(ctx context.Context, p onto.Point) (onto.Commit, error) {
	if err := h.place.before(ctx); err != nil {
		return onto.Commit{}, err
	}
	return h.Backend.Resolve(ctx, p)
}

func (h *handle) Get(ctx context.Context, id onto.Identity, at int64) (onto.Version, error) {
	if err := h.place.before(ctx); err != nil {
		return onto.Version{}, err
	}
	return h.Backend.Get(ctx, id, at)
}

func (h *handle) Scan(ctx context.Context, q *backend.Query) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		if err := h.place.before(ctx); err != nil {
			yield(onto.Version{}, err)
			return
		}
		for v, err := range h.Backend.Scan(ctx, q) {
			if !yield(v, err) {
				return
			}
		}
	}
}

func (h *handle) Aggregate(ctx context.Context, a *backend.Aggregation) iter.Seq2[onto.Group, error] {
	if err := h.place.before(ctx); err != nil {
		return func(yield func(onto.Group, error) bool) { yield(onto.Group{}, err) }
	}
	return h.Backend.Aggregate(ctx, a)
}

func (h *handle) Register(ctx context.Context, r *backend.Registration) ([]onto.SchemaVersion, error) {
	if err := h.place.before(ctx); err != nil {
		return nil, err
	}
	return h.Backend.Register(ctx, r)
}

func (h *handle) Close() error {
	h.closed.Do(func() { h.place.open.Add(-1) })
	return h.Backend.Close()
}

// sky is the places of a tenant, and the vaults.
type sky struct {
	*testing.T
	places []*place
	uris   []string
	vaults *object.Vaults
	set    *messageSet
}

// opener opens bad://user:password@host/NUMBER.
func (s *sky) opener() backend.Opener {
	return backend.Opener{
		Schemes: []string{"bad"},
		Open: func(ctx context.Context, uri string, _ bool) (backend.Backend, error) {
			u, err := url.Parse(uri)
			if err != nil {
				return nil, err
			}
			i, err := strconv.Atoi(strings.TrimPrefix(u.Path, "/"))
			if err != nil {
				return nil, err
			}
			p := s.places[i]
			if err := p.before(ctx); err != nil {
				return nil, err
			}
			p.open.Add(1)
			p.opened.Add(1)
			return &handle{Backend: p.store.Open(), place: p}, nil
		},
		Identity: func(uri string) (string, error) { return uri, nil },
	}
}

// newSky makes a tenant acme with 20 messages on places.
func newSky(t *testing.T, n int) *sky {
	s := &sky{T: t}
	for i := range n {
		s.places = append(s.places, &place{store: memory.New(nil)})
		s.uris = append(s.uris, fmt.Sprintf("bad://user:%s@host/%d?password=%s", secret, i, secret))
	}
	s.reopen()
	if err := s.vaults.Init(t.Context(), "chat", "acme"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := s.acme().Insert(t.Context(), message(i)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, p := range s.places {
			p.set(calm)
		}
		if err := s.vaults.Close(); err != nil {
			t.Error(err)
		}
		for i, p := range s.places {
			if n := p.open.Load(); n != 0 {
				t.Errorf("%d handles on shard %d are open after Close", n, i)
			}
		}
	})
	return s
}

// reopen opens the vaults anew.
func (s *sky) reopen() {
	s.Helper()
	if s.vaults != nil {
		if err := s.vaults.Close(); err != nil {
			s.Fatal(err)
		}
	}
	v, err := object.Open(context.Background(), object.Config{"chat": {"acme": s.uris}}, s.opener())
	if err != nil {
		s.Fatal(err)
	}
	s.vaults, s.set = v, messagesOf(v)
}

func (s *sky) acme() messages { return s.set.Tenant("acme") }

// placeOf returns the number of the place that stores the messages of a chat.
func (s *sky) placeOf(chat ChatID) int {
	s.Helper()
	o, err := s.acme().SelectAllWithMetadata(s.Context(), chat)
	if err != nil || len(o) == 0 {
		s.Fatal(o, err)
	}
	var n int
	if _, err := fmt.Sscanf(o[0].Metadata.Shard, "shard-%d", &n); err != nil {
		s.Fatal(err)
	}
	return n - 1
}
