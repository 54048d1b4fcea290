package memory

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// handler is what a handler knows in a namespace.
type handler struct {
	asked map[string]bool   // the types that it has asked for
	known map[string]bool   // the events of these types as of the last claim for them
	play  map[string]string // by ordering key: the event in play
}

// handler returns what a handler knows, and makes it if there is none.
func (b *bus) handler(n handlerName) *handler {
	h := b.handlers[n]
	if h == nil {
		h = &handler{asked: map[string]bool{}, known: map[string]bool{}, play: map[string]string{}}
		b.handlers[n] = h
	}
	return h
}

// learn makes the events of some types known to a handler. Of each ordering key that
// has none in play, the first one comes into play.
func (b *bus) learn(n handlerName, types []string) (news bool) {
	h := b.handler(n)
	for _, t := range types {
		news = news || !h.asked[t]
		h.asked[t] = true
	}
	for _, e := range b.events {
		if e.Namespace != n.namespace || !slices.Contains(types, e.Type) || h.known[e.ID] {
			continue
		}
		h.known[e.ID] = true
		if h.play[e.OrderingKey] == "" && e.OrderingKey != "" && !b.done(e.ID, n.handler) {
			h.play[e.OrderingKey] = e.ID
		}
	}
	return news
}

// done reports whether a handler has acked or buried an event.
func (b *bus) done(event, handler string) bool {
	c := b.claims[claimName{event, handler}]
	return c != nil && !c.open()
}

// handled brings the next event of a key into play after one was acked or buried.
func (b *bus) handled(event, handler string) {
	e := b.event(event)
	if h := b.handlers[handlerName{e.Namespace, handler}]; h != nil {
		b.next(h, handler, e)
	}
}

// next brings the next event of a key into play, by arrival, if that of e is over.
func (b *bus) next(h *handler, name string, e *onto.Event) {
	if e.OrderingKey == "" || h.play[e.OrderingKey] != e.ID {
		return
	}
	delete(h.play, e.OrderingKey)
	for _, o := range b.events {
		if o.OrderingKey == e.OrderingKey && h.known[o.ID] && !b.done(o.ID, name) {
			h.play[o.OrderingKey] = o.ID
			return
		}
	}
}

// Claim implements [backend.Bus].
func (b *Backend) Claim(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return backend.Claimed{}, err
	}
	now := s.stamp()
	got := backend.Claimed{Verdicts: s.settle(r.Settle, now)}
	if s.bus.learn(handlerName{r.Namespace, r.Handler}, r.Types) {
		s.wrote()
	}
	turns := s.bus.turns(r)
	for _, e := range turns {
		if len(got.Claims) < r.Limit && !s.bus.freeFrom(&e, r.Handler, now).After(now) {
			got.Claims = append(got.Claims, s.bus.take(&e, r, now))
			s.wrote()
		}
	}
	for _, e := range turns {
		free := s.bus.freeFrom(&e, r.Handler, now)
		if free.After(now) && (got.Next.IsZero() || free.Before(got.Next)) {
			got.Next = free
		}
	}
	return got, nil
}

// turns returns the events that a handler has still to handle and that wait for no
// other one, in order.
func (b *bus) turns(r *backend.ClaimRequest) []onto.Event {
	h := b.handler(handlerName{r.Namespace, r.Handler})
	return slices.DeleteFunc(b.inOrder(), func(e onto.Event) bool {
		return e.Namespace != r.Namespace || !slices.Contains(r.Types, e.Type) || b.done(e.ID, r.Handler) ||
			e.OrderingKey != "" && h.play[e.OrderingKey] != e.ID
	})
}

// freeFrom is when a handler can claim an event.
func (b *bus) freeFrom(e *onto.Event, handler string, now time.Time) time.Time {
	if c := b.claims[claimName{e.ID, handler}]; c != nil {
		return c.free(now)
	}
	return e.NotBefore
}

// take makes a claim on an event, or takes an open one over.
func (b *bus) take(e *onto.Event, r *backend.ClaimRequest, now time.Time) onto.Claim {
	n := claimName{e.ID, r.Handler}
	c, again := b.claims[n]
	lost := again && !c.returned
	if !again {
		c = &claim{ClaimState: onto.ClaimState{Handler: r.Handler, Available: now}}
		if !e.NotBefore.IsZero() {
			c.Available = e.NotBefore
		}
		b.claims[n] = c
	}
	c.since(now)
	c.returned, c.Session, c.Claimed, c.Until = false, r.Session, now, stored(now.Add(r.Lease))
	return onto.Claim{
		Event: copyEvent(*e), Handler: r.Handler, Session: r.Session, Claimed: c.Claimed, Until: c.Until,
		Attempts: c.Attempts, Deliveries: c.Deliveries, Lost: lost,
	}
}
