package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Clean implements [backend.Bus].
func (b *Backend) Clean(ctx context.Context, c *backend.Cleaning, progress func(done, total int64)) (backend.CleanPlan, error) {
	plan, err := b.clean(ctx, c)
	if err == nil && c.Apply && progress != nil {
		progress(plan.Events, plan.Events)
	}
	return plan, err
}

func (b *Backend) clean(ctx context.Context, c *backend.Cleaning) (backend.CleanPlan, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.Apply {
		err := b.usable(ctx)
		if err != nil {
			return backend.CleanPlan{}, err
		}
		_, plan := s.bus.outdated(c)
		return plan, nil
	}
	if err := b.writable(ctx); err != nil {
		return backend.CleanPlan{}, err
	}
	gone, plan := s.bus.outdated(c)
	s.bus.forget(c)
	s.bus.remove(gone)
	s.wrote()
	return plan, nil
}

// outdated returns the events that a cleaning removes, and its plan.
func (b *bus) outdated(c *backend.Cleaning) ([]onto.Event, backend.CleanPlan) {
	var gone []onto.Event
	var plan backend.CleanPlan
	rows := map[[2]string]backend.CleanType{}
	for _, e := range b.events {
		if c.Namespace != "" && c.Namespace != e.Namespace || !e.Time.Before(c.Before) {
			continue
		}
		name := [2]string{e.Namespace, e.Type}
		row := rows[name]
		row.Namespace, row.Type = e.Namespace, e.Type
		if !c.Unhandled && b.wanted(&e, c.Forget) {
			row.Kept++
			plan.Kept++
		} else {
			row.Events++
			plan.Events++
			plan.Bytes += int64(len(e.Payload))
			gone = append(gone, e)
		}
		rows[name] = row
	}
	for n := range b.claims {
		if slices.ContainsFunc(gone, func(e onto.Event) bool { return e.ID == n.event }) {
			plan.Claims++
		}
	}
	for _, row := range rows {
		plan.Types = append(plan.Types, row)
	}
	slices.SortFunc(plan.Types, func(x, y backend.CleanType) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Type, y.Type))
	})
	return gone, plan
}

// wanted reports whether a handler has still to handle an event, except for handlers
// that are forgotten.
func (b *bus) wanted(e *onto.Event, forgotten []string) bool {
	for n, c := range b.claims {
		if n.event == e.ID && c.open() && !slices.Contains(forgotten, n.handler) {
			return true
		}
	}
	for n, h := range b.handlers {
		if n.namespace == e.Namespace && h.asked[e.Type] && !slices.Contains(forgotten, n.handler) &&
			b.claims[claimName{e.ID, n.handler}] == nil {
			return true
		}
	}
	return false
}

// forget removes what is kept for handlers: what they know, and their open claims.
func (b *bus) forget(c *backend.Cleaning) {
	for n := range b.handlers {
		if slices.Contains(c.Forget, n.handler) && (c.Namespace == "" || c.Namespace == n.namespace) {
			delete(b.handlers, n)
		}
	}
	for n, claim := range b.claims {
		if slices.Contains(c.Forget, n.handler) && claim.open() && (c.Namespace == "" || c.Namespace == b.event(n.event).Namespace) {
			delete(b.claims, n)
		}
	}
}

// remove removes events with their claims.
func (b *bus) remove(gone []onto.Event) {
	is := map[string]bool{}
	for _, e := range gone {
		is[e.ID] = true
	}
	b.events = slices.DeleteFunc(b.events, func(e onto.Event) bool { return is[e.ID] })
	for n := range b.claims {
		if is[n.event] {
			delete(b.claims, n)
		}
	}
	for n, h := range b.handlers {
		for _, e := range gone {
			delete(h.known, e.ID)
			if n.namespace == e.Namespace {
				b.next(h, n.handler, &e)
			}
		}
	}
}
