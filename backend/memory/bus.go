package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
)

// bus is the events of a store and what handlers have made of them. The store's mutex
// guards it.
type bus struct {
	events    []onto.Event // by arrival
	last      time.Time    // of the newest event, also if it was removed
	claims    map[claimName]*claim
	handlers  map[handlerName]*handler
	letters   []onto.DeadLetter // the one with ID n is at n-1
	sessions  map[string]onto.Session
	ticks     map[scheduleName]time.Time // the last of each schedule
	types     map[typeName]bool          // of which events were ever emitted
	positions map[string]int64
}

type (
	claimName    struct{ event, handler string }
	handlerName  struct{ namespace, handler string }
	scheduleName struct{ namespace, schedule string }
	typeName     struct{ namespace, typ string }
)

// claim is the last claim of a handler on an event.
type claim struct {
	onto.ClaimState
	returned bool // it was released or returned: its session does not hold it any more
}

// open reports whether the event is still to be handled.
func (c *claim) open() bool { return c.Acked.IsZero() && c.Dead.IsZero() }

// free is when an open claim can be taken.
func (c *claim) free(now time.Time) time.Time {
	switch {
	case backend.Ahead(c.Until, now):
		return now
	case c.Available.After(c.Until):
		return c.Available
	}
	return c.Until
}

// leased reports whether the lease of a claim goes on.
func (c *claim) leased(now time.Time) bool { return c.Until.After(now) && !backend.Ahead(c.Until, now) }

// since makes a claim available that is held, if the clock went back.
func (c *claim) since(now time.Time) {
	if c.Available.After(now) {
		c.Available = now
	}
}

func newBus() bus {
	return bus{
		claims: map[claimName]*claim{}, handlers: map[handlerName]*handler{}, sessions: map[string]onto.Session{},
		ticks: map[scheduleName]time.Time{}, types: map[typeName]bool{}, positions: map[string]int64{},
	}
}

// event returns an event, or nil.
func (b *bus) event(id string) *onto.Event {
	if i := slices.IndexFunc(b.events, func(e onto.Event) bool { return e.ID == id }); i >= 0 {
		return &b.events[i]
	}
	return nil
}

// inOrder returns the events in the order in which they are claimed.
func (b *bus) inOrder() []onto.Event {
	list := slices.Clone(b.events)
	slices.SortStableFunc(list, func(x, y onto.Event) int { return cmp.Compare(y.Priority, x.Priority) })
	return list
}

// emit adds events, riding in a commit or in none, and returns them.
func (b *bus) emit(list []backend.NewEvent, commit int64, now time.Time) []onto.Event {
	var made []onto.Event
	for _, n := range list {
		e := copyEvent(n.Event)
		e.Commit, e.Time = commit, now
		if first := b.last.Add(time.Microsecond); e.Time.Before(first) {
			e.Time = first
		}
		if n.Delay > 0 {
			e.NotBefore = now.Add(n.Delay)
		}
		e.NotBefore = stored(e.NotBefore)
		e.Root = cmp.Or(e.Root, e.ID)
		b.last = e.Time
		b.types[typeName{e.Namespace, e.Type}] = true
		b.events = append(b.events, e)
		made = append(made, copyEvent(e))
	}
	return made
}

// Emit implements [backend.Bus].
func (b *Backend) Emit(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	if t := e.Tick; t != nil && !s.bus.ticks[scheduleName{t.Namespace, t.Schedule}].Before(stored(t.Time)) {
		return nil, nil
	}
	if err := s.bus.resolvable(e.Resolve); err != nil {
		return nil, err
	}
	now := s.stamp()
	for _, r := range e.Resolve {
		s.bus.letters[r.ID-1].Resolution = onto.Resolution{Kind: r.Kind, Time: now, By: r.By, Replay: r.Replay}
	}
	if t := e.Tick; t != nil {
		s.bus.ticks[scheduleName{t.Namespace, t.Schedule}] = stored(t.Time)
	}
	s.wrote()
	return s.bus.emit(e.Events, 0, now), nil
}

// resolvable fails unless each dead letter exists and nothing was done about it.
func (b *bus) resolvable(list []backend.DeadLetterEnd) error {
	done := map[int64]onto.Resolution{}
	for _, l := range b.letters {
		done[l.ID] = l.Resolution
	}
	for _, r := range list {
		before, exists := done[r.ID]
		if !exists {
			return refusal.NoDeadLetter(r.ID)
		}
		if before.Kind != "" {
			return refusal.DeadLetterResolved(r.ID, before)
		}
		done[r.ID] = onto.Resolution{Kind: r.Kind}
	}
	return nil
}

// Settle implements [backend.Bus].
func (b *Backend) Settle(ctx context.Context, list []backend.Settlement) ([]error, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	return s.settle(list, s.stamp()), nil
}

// settle changes claims one after the other. The store is locked.
func (s *Store) settle(list []backend.Settlement, now time.Time) []error {
	verdicts := make([]error, len(list))
	for i := range list {
		if c := s.bus.held(&list[i].Claim); c == nil {
			verdicts[i] = refusal.ClaimLost(&list[i].Claim)
		} else {
			s.bus.change(c, &list[i], now)
			s.wrote()
		}
	}
	return verdicts
}

// held returns what is known of a claim, or nil if it is not held any more.
func (b *bus) held(c *onto.Claim) *claim {
	now := b.claims[claimName{c.ID, c.Handler}]
	if now == nil || !now.open() || now.returned || now.Session != c.Session || !now.Claimed.Equal(c.Claimed) {
		return nil
	}
	return now
}

// change applies a settlement to a claim that is held.
func (b *bus) change(c *claim, s *backend.Settlement, now time.Time) {
	c.Attempts, c.Deliveries = s.Attempts, s.Deliveries
	switch s.Do {
	case backend.Ack:
		c.Acked = now
		b.handled(s.ID, s.Handler)
	case backend.Release:
		c.returned, c.Until, c.Available, c.Error = true, now, stored(now.Add(s.Delay)), s.Error
	case backend.Return:
		c.returned, c.Until, c.Available = true, now, stored(now.Add(s.Delay))
	case backend.Bury:
		c.Dead, c.Until, c.Available, c.Error = now, now, now, s.Error
		b.handled(s.ID, s.Handler)
		b.letters = append(b.letters, onto.DeadLetter{
			ID: int64(len(b.letters)) + 1, Event: copyEvent(*b.event(s.ID)), Handler: s.Handler, Time: now,
			Attempts: s.Attempts, Deliveries: s.Deliveries, Error: s.Error,
		})
		if s.Notice != nil {
			b.emit([]backend.NewEvent{*s.Notice}, 0, now)
		}
	}
}

// Beat implements [backend.Bus].
func (b *Backend) Beat(ctx context.Context, beat *backend.Beat) ([]onto.Claim, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.writable(ctx); err != nil {
		return nil, err
	}
	s.wrote()
	if beat.End {
		delete(s.bus.sessions, beat.ID)
		return nil, nil
	}
	now := s.stamp()
	session := onto.Session{ID: beat.ID, Namespace: beat.Namespace, Started: now, Beat: now, Metadata: bytes.Clone(beat.Metadata)}
	if before, ok := s.bus.sessions[beat.ID]; ok {
		session.Started = before.Started
	}
	s.bus.sessions[beat.ID] = session
	var lost []onto.Claim
	for _, given := range beat.Claims {
		c := s.bus.held(&given)
		if c == nil {
			lost = append(lost, copyClaim(given))
			continue
		}
		c.since(now)
		c.Until = stored(now.Add(beat.Lease))
	}
	return lost, nil
}

// stored returns a time in the precision that is stored.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// copyEvent returns the event with a payload of its own.
func copyEvent(e onto.Event) onto.Event {
	e.Payload = bytes.Clone(e.Payload)
	return e
}

// copyClaim returns the claim with a payload of its own.
func copyClaim(c onto.Claim) onto.Claim {
	c.Event = copyEvent(c.Event)
	return c
}
