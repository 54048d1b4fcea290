package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Events implements [backend.Bus].
func (b *Backend) Events(ctx context.Context, q *backend.EventQuery) iter.Seq2[backend.EventState, error] {
	return listed(ctx, b, func(s *Store) []backend.EventState {
		var list []backend.EventState
		for _, e := range s.bus.inOrder() {
			state := s.bus.state(e, s.stamp())
			if (q.Namespace == "" || q.Namespace == e.Namespace) && (q.Types == nil || slices.Contains(q.Types, e.Type)) &&
				(q.ID == "" || q.ID == e.ID) && (q.Commit == 0 || q.Commit == e.Commit) && (q.Status == "" || q.Status == state.Status) {
				list = append(list, state)
			}
		}
		return first(list, q.Limit)
	})
}

// listed yields what a store holds at the moment when iteration starts.
func listed[T any](ctx context.Context, b *Backend, list func(*Store) []T) iter.Seq2[T, error] {
	return each(ctx, b, func(log) ([]T, error) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		return list(b.store), nil
	})
}

// state returns an event and what has become of it.
func (b *bus) state(e onto.Event, now time.Time) backend.EventState {
	s := backend.EventState{Event: copyEvent(e)}
	is := map[onto.EventStatus]bool{}
	for n, c := range b.claims {
		if n.event != e.ID {
			continue
		}
		s.Claims = append(s.Claims, c.ClaimState)
		switch {
		case !c.Dead.IsZero():
			is[onto.EventDead] = true
		case !c.Acked.IsZero():
			is[onto.EventAcked] = true
		case c.leased(now):
			is[onto.EventClaimed] = true
		}
	}
	slices.SortFunc(s.Claims, func(x, y onto.ClaimState) int { return cmp.Compare(x.Handler, y.Handler) })
	s.Status = onto.EventPending
	for _, status := range []onto.EventStatus{onto.EventClaimed, onto.EventAcked, onto.EventDead} {
		if is[status] {
			s.Status = status
		}
	}
	return s
}

// DeadLetters implements [backend.Bus].
func (b *Backend) DeadLetters(ctx context.Context, q *backend.DeadLetterQuery) iter.Seq2[onto.DeadLetter, error] {
	return listed(ctx, b, func(s *Store) []onto.DeadLetter {
		var list []onto.DeadLetter
		for _, l := range s.bus.letters {
			if (q.Namespace == "" || q.Namespace == l.Event.Namespace) && (q.IDs == nil || slices.Contains(q.IDs, l.ID)) &&
				(q.EventID == "" || q.EventID == l.Event.ID) && (q.Handler == "" || q.Handler == l.Handler) &&
				(q.Type == "" || q.Type == l.Event.Type) && strings.Contains(l.Error, q.Error) && (q.Resolved || l.Resolution.Kind == "") {
				l.Event = copyEvent(l.Event)
				list = append(list, l)
			}
		}
		return first(list, q.Limit)
	})
}

// Namespaces implements [backend.Bus].
func (b *Backend) Namespaces(ctx context.Context, ttl time.Duration) ([]backend.Namespace, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var list []backend.Namespace
	for _, name := range s.bus.names() {
		list = append(list, s.bus.namespace(name, s.stamp(), ttl))
	}
	return list, nil
}

// Types implements [backend.Bus].
func (b *Backend) Types(ctx context.Context, namespace string) ([]string, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	var list []string
	for t := range s.bus.types {
		if t.namespace == namespace {
			list = append(list, t.typ)
		}
	}
	slices.Sort(list)
	return list, nil
}

// names returns the names of the namespaces, sorted.
func (b *bus) names() []string {
	names := map[string]bool{}
	for _, e := range b.events {
		names[e.Namespace] = true
	}
	for _, l := range b.letters {
		names[l.Event.Namespace] = true
	}
	for _, s := range b.sessions {
		names[s.Namespace] = true
	}
	for n := range b.handlers {
		names[n.namespace] = true
	}
	for n := range b.ticks {
		names[n.namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// namespace returns what there is in a namespace.
func (b *bus) namespace(name string, now time.Time, ttl time.Duration) backend.Namespace {
	n := backend.Namespace{Name: name}
	types := map[string]int64{}
	for _, e := range b.events {
		if e.Namespace == name {
			n.Events++
			types[e.Type]++
		}
	}
	for _, l := range b.letters {
		if l.Event.Namespace == name && l.Resolution.Kind == "" {
			n.DeadLetters++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.sessions)) {
		if s := b.sessions[id]; s.Namespace == name {
			s.Metadata = bytes.Clone(s.Metadata)
			n.AddSession(s, now, ttl)
		}
	}
	handled := map[string]bool{}
	for h, knows := range b.handlers {
		if h.namespace == name {
			n.Handlers = append(n.Handlers, b.handlerState(h, knows, now))
			maps.Copy(handled, knows.asked)
		}
	}
	slices.SortFunc(n.Handlers, func(x, y backend.HandlerState) int { return cmp.Compare(x.Name, y.Name) })
	for _, t := range slices.Sorted(maps.Keys(types)) {
		n.Types = append(n.Types, backend.TypeState{Name: t, Events: types[t], Handled: handled[t]})
	}
	for s, tick := range b.ticks {
		if s.namespace == name {
			n.Schedules = append(n.Schedules, backend.Tick{Namespace: name, Schedule: s.schedule, Time: tick})
		}
	}
	slices.SortFunc(n.Schedules, func(x, y backend.Tick) int { return cmp.Compare(x.Schedule, y.Schedule) })
	return n
}

// handlerState returns what there is for a handler.
func (b *bus) handlerState(n handlerName, h *handler, now time.Time) backend.HandlerState {
	s := backend.HandlerState{Name: n.handler, Types: slices.Sorted(maps.Keys(h.asked))}
	for _, e := range b.events {
		if e.Namespace != n.namespace || !h.asked[e.Type] || b.done(e.ID, n.handler) {
			continue
		}
		s.Waiting++
		if c := b.claims[claimName{e.ID, n.handler}]; c != nil && c.leased(now) {
			s.Claimed++
		}
	}
	return s
}
