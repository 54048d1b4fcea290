package backendtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
)

// rideMutants lists mistakes with events, acks and positions in drafts.
func rideMutants() []mutant {
	return []mutant{
		{"an ack is dropped if nothing changes", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if b.keyUsed(ctx, d) || len(d.Acks) == 0 || d.Lease != nil {
				return send(d)
			}
			if err := b.refusal(ctx, d); err != nil {
				return result{}, err
			}
			bare := *d
			bare.Acks = nil
			r, err := send(&bare)
			if err != nil || !r.Changed() {
				return r, err
			}
			return r, b.ackAll(ctx, d.Acks)
		})},
		{"a position is dropped if nothing changes", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if b.keyUsed(ctx, d) || d.Advance == nil || d.Lease != nil {
				return send(d)
			}
			if err := b.refusal(ctx, d); err != nil {
				return result{}, err
			}
			bare := *d
			bare.Advance = nil
			r, err := send(&bare)
			if err != nil || !r.Changed() {
				return r, err
			}
			p, _ := backend.As[backend.Positions](b.Backend)
			return r, p.Advance(ctx, *d.Advance)
		})},
		{"an event is there without its commit", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			r, err := send(d)
			if err != nil && ctx.Err() == nil {
				b.emitAll(ctx, d.Events)
			}
			return r, err
		})},
		{"an event does not know its commit", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			bare := *d
			bare.Events = nil
			if d.IdempotencyKey != "" {
				return send(d)
			}
			r, err := send(&bare)
			if err == nil && (r.Changed() || len(d.Acks) > 0) {
				b.emitAll(ctx, d.Events)
			}
			return r, err
		})},
		{"events are emitted though nothing changes", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			r, err := send(d)
			if err == nil && !r.Changed() && len(d.Acks) == 0 {
				b.emitAll(ctx, d.Events)
			}
			return r, err
		})},
		{"events beside an ack are lost if nothing changes", "bus traffic", onDrafts(func(_ context.Context, _ *postman, d *backend.Draft, send sending) (result, error) {
			if bare := *d; len(d.Writes) == 0 && len(d.Acks) > 0 && d.IdempotencyKey == "" {
				bare.Events = nil
				return send(&bare)
			}
			return send(d)
		})},
		{"a repeated key emits again", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			r, err := send(d)
			if err == nil && r.Repeated {
				b.emitAll(ctx, d.Events)
			}
			return r, err
		})},
		{"a repeated key does not ack", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if bare := *d; b.keyUsed(ctx, d) {
				bare.Acks = nil
				return send(&bare)
			}
			return send(d)
		})},
		{"a repeated key does not move its position", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if bare := *d; b.keyUsed(ctx, d) {
				bare.Advance = nil
				return send(&bare)
			}
			return send(d)
		})},
		{"a repeated key is refused for a lost claim", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if b.keyUsed(ctx, d) {
				if err := b.refusal(ctx, &backend.Draft{Acks: d.Acks}); err != nil {
					return result{}, err
				}
			}
			return send(d)
		})},
		{"expectations count before acks", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if !b.keyUsed(ctx, d) && len(d.Acks) > 0 && d.Lease == nil {
				if _, err := b.Backend.Append(ctx, &backend.Draft{Expect: d.Expect}); err != nil {
					return result{}, err
				}
			}
			return send(d)
		})},
		{"positions count before acks", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			if !b.keyUsed(ctx, d) && d.Advance != nil && d.Lease == nil {
				if err := b.refusal(ctx, &backend.Draft{Advance: d.Advance}); err != nil {
					return result{}, err
				}
			}
			return send(d)
		})},
		{"an ack in a draft does not count deliveries", "bus traffic", onDrafts(func(ctx context.Context, b *postman, d *backend.Draft, send sending) (result, error) {
			c := *d
			c.Acks = slices.Clone(d.Acks)
			for i := range c.Acks {
				if s, ok := b.present(ctx, &c.Acks[i]); ok {
					c.Acks[i].Deliveries = s.Deliveries
				}
			}
			return send(&c)
		})},
		{"a position is not compared", "bus traffic", around(func(b backend.Backend) eager { return eager{through{b}, true, false} })},
		{"a position is not compared in a draft", "bus traffic", around(func(b backend.Backend) eager { return eager{through{b}, false, true} })},

		{"an ack does not free its key", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.keeps(b, backend.Ack) })},
		{"a dead letter does not free its key", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.keeps(b, backend.Bury) })},
		{"an ack in a draft does not free its key", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.keepsDrafts(b) })},
		{"ordering keys are ignored", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.hides(b, nil) })},
		{"within a key the priority counts", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.hides(b, k.first(b, false)) })},
		{"of a key the oldest of the types asked for is in play", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.hides(b, k.first(b, true)) })},
		{"the delay of an event is ignored", "bus traffic", withKeys(func(b *postman, k *keyKeeper) { k.hurries(b) })},
	}
}

// onDrafts plants a mistake into drafts.
func onDrafts(apply func(context.Context, *postman, *backend.Draft, sending) (result, error)) planting {
	return onBus(func(b *postman) {
		b.draft = func(ctx context.Context, d *backend.Draft, send sending) (result, error) {
			return apply(ctx, b, d, send)
		}
	})
}

// keyUsed reports whether a draft has a key that a commit has.
func (b *postman) keyUsed(ctx context.Context, d *backend.Draft) bool {
	if d.IdempotencyKey == "" {
		return false
	}
	for _, err := range b.Backend.Commits(ctx, &backend.CommitQuery{Until: backend.Head, Key: d.IdempotencyKey}) {
		return err == nil
	}
	return false
}

func (b *postman) ackAll(ctx context.Context, claims []onto.Claim) error {
	var list []backend.Settlement
	for _, c := range claims {
		list = append(list, backend.Settlement{Claim: c, Do: backend.Ack})
	}
	verdicts, err := b.Bus.Settle(ctx, list)
	return errors.Join(append(verdicts, err)...)
}

func (b *postman) emitAll(ctx context.Context, events []backend.NewEvent) {
	_, _ = b.Bus.Emit(ctx, &backend.Emission{Events: events})
}

// keepOnly keeps as many of the claims as were asked for, in an order, those of which
// may says so, and returns the others.
func (b *postman) keepOnly(ctx context.Context, r *backend.ClaimRequest, got backend.Claimed, order func(x, y *onto.Claim) int, may func(*onto.Claim) bool) backend.Claimed {
	if order != nil {
		slices.SortStableFunc(got.Claims, func(x, y onto.Claim) int { return order(&x, &y) })
	}
	var kept []onto.Claim
	for _, c := range got.Claims {
		if len(kept) < r.Limit && (may == nil || may(&c)) {
			kept = append(kept, c)
			continue
		}
		_, _ = b.Bus.Settle(ctx, []backend.Settlement{{Claim: c, Do: backend.Return}})
	}
	got.Claims = kept
	return got
}

// eager moves positions wherever they are.
type eager struct {
	through
	alone, inDrafts bool
}

func (b eager) here(ctx context.Context, a onto.Advance) onto.Advance {
	p, _ := backend.As[backend.Positions](b.Backend)
	list, _ := p.Positions(ctx)
	a.From = 0
	for _, at := range list {
		if at.Name == a.Name {
			a.From = at.Commit
		}
	}
	return a
}

func (b eager) Positions(ctx context.Context) ([]onto.Position, error) {
	p, _ := backend.As[backend.Positions](b.Backend)
	return p.Positions(ctx)
}

func (b eager) Advance(ctx context.Context, a onto.Advance) error {
	p, _ := backend.As[backend.Positions](b.Backend)
	if b.alone {
		a = b.here(ctx, a)
	}
	return p.Advance(ctx, a)
}

func (b eager) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.Backend.Append(ctx, b.moved(ctx, d))
}

func (b eager) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	return b.Backend.AppendStream(ctx, b.moved(ctx, d), w)
}

func (b eager) moved(ctx context.Context, d *backend.Draft) *backend.Draft {
	if d.Advance == nil || !b.inDrafts {
		return d
	}
	c, a := *d, b.here(ctx, *d.Advance)
	c.Advance = &a
	return &c
}

// keyKeeper is what handles of one store remember of events.
type keyKeeper struct {
	mu      sync.Mutex           // guards what follows
	blocked map[[3]string]string // by namespace, handler and key: the event that blocks it
	hidden  map[string]backend.NewEvent
}

// withKeys plants a mistake that needs such a memory.
func withKeys(spoil func(*postman, *keyKeeper)) planting {
	return func(t backendtest.Target) backendtest.Target {
		var keepers sync.Map
		open := t.Open
		t.Open = func(tb testing.TB, p *backendtest.Place) backend.Backend {
			k, _ := keepers.LoadOrStore(p.Name, &keyKeeper{blocked: map[[3]string]string{}, hidden: map[string]backend.NewEvent{}})
			return newPostman(open(tb, p), p, func(b *postman) { spoil(b, k.(*keyKeeper)) })
		}
		return t
	}
}

func queueOf(c *onto.Claim) [3]string { return [3]string{c.Namespace, c.Handler, c.OrderingKey} }

// block blocks the key of a claim, for good.
func (k *keyKeeper) block(c *onto.Claim) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.OrderingKey != "" {
		k.blocked[queueOf(c)] = c.ID
	}
}

// stops makes claims leave out what is blocked.
func (k *keyKeeper) stops(b *postman) {
	b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
		got, err := b.Bus.Claim(ctx, r)
		return b.keepOnly(ctx, r, got, nil, func(c *onto.Claim) bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			id, blocked := k.blocked[queueOf(c)]
			return !blocked || id == c.ID
		}), err
	}
}

func (k *keyKeeper) keeps(b *postman, do backend.Settling) {
	k.stops(b)
	b.edit = func(s *backend.Settlement) {
		if s.Do == do && b.holds(context.Background(), s.Claim) {
			k.block(&s.Claim)
		}
	}
}

func (k *keyKeeper) keepsDrafts(b *postman) {
	k.stops(b)
	b.draft = func(_ context.Context, d *backend.Draft, send sending) (result, error) {
		r, err := send(d)
		for i := range d.Acks {
			if err == nil && !r.Repeated {
				k.block(&d.Acks[i])
			}
		}
		return r, err
	}
}

// hide remembers events and returns them without some of it.
func (k *keyKeeper) hide(list []backend.NewEvent, strip func(*backend.NewEvent)) []backend.NewEvent {
	k.mu.Lock()
	defer k.mu.Unlock()
	list = slices.Clone(list)
	for i := range list {
		k.hidden[list[i].ID] = list[i]
		strip(&list[i])
	}
	return list
}

// stripped makes all events lose something that is shown nevertheless.
func (k *keyKeeper) stripped(b *postman, strip func(*backend.NewEvent), show func(e *onto.Event, was *backend.NewEvent)) {
	b.show = func(e *onto.Event) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if was, ok := k.hidden[e.ID]; ok {
			show(e, &was)
		}
	}
	b.emit = func(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
		c := *e
		c.Events = k.hide(e.Events, strip)
		list, err := b.Bus.Emit(ctx, &c)
		for i := range list {
			b.show(&list[i])
		}
		return list, err
	}
	b.edit = func(s *backend.Settlement) {
		if s.Notice != nil {
			s.Notice = &k.hide([]backend.NewEvent{*s.Notice}, strip)[0]
		}
	}
	b.draft = func(_ context.Context, d *backend.Draft, send sending) (result, error) {
		c := *d
		c.Events = k.hide(d.Events, strip)
		return send(&c)
	}
}

// hides hides ordering keys from the bus. Claims keep those of which may says so.
func (k *keyKeeper) hides(b *postman, may func(context.Context, *backend.ClaimRequest) func(*onto.Claim) bool) {
	k.stripped(b, func(n *backend.NewEvent) { n.OrderingKey = "" }, func(e *onto.Event, was *backend.NewEvent) { e.OrderingKey = was.OrderingKey })
	if may == nil {
		return
	}
	b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
		all := *r
		all.Limit = 1000
		if r.Limit == 0 {
			all.Limit = 0
		}
		got, err := b.Bus.Claim(ctx, &all)
		for i := range got.Claims {
			b.show(&got.Claims[i].Event)
		}
		return b.keepOnly(ctx, r, got, nil, may(ctx, r)), err
	}
}

// first allows one event of each key: the one that is claimed already, or else the first
// one in the order of claims, or by arrival of those whose types this claim asks for.
func (k *keyKeeper) first(b *postman, oldest bool) func(context.Context, *backend.ClaimRequest) func(*onto.Claim) bool {
	return func(ctx context.Context, r *backend.ClaimRequest) func(*onto.Claim) bool {
		return func(c *onto.Claim) bool {
			if c.OrderingKey == "" {
				return true
			}
			var first *onto.Event
			for e, err := range b.Events(ctx, &backend.EventQuery{Namespace: r.Namespace, Types: r.Types}) {
				at := slices.IndexFunc(e.Claims, func(s onto.ClaimState) bool { return s.Handler == r.Handler })
				if err != nil || e.OrderingKey != c.OrderingKey || at >= 0 && (!e.Claims[at].Acked.IsZero() || !e.Claims[at].Dead.IsZero()) {
					continue
				}
				if first == nil || oldest && e.Time.Before(first.Time) {
					first = &e.Event
				}
			}
			return first != nil && first.ID == c.ID
		}
	}
}

// hurries hides from the bus that an event is to be handled later.
func (k *keyKeeper) hurries(b *postman) {
	strip := func(n *backend.NewEvent) { n.Delay, n.NotBefore = 0, time.Time{} }
	k.stripped(b, strip, func(e *onto.Event, was *backend.NewEvent) {
		if e.NotBefore = was.NotBefore; was.Delay > 0 {
			e.NotBefore = e.Time.Add(was.Delay).Truncate(time.Microsecond)
		}
	})
}
