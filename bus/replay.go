package bus

import (
	"context"
	"maps"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/uuid"
)

// chunk is how many dead letters are resolved at once.
const chunk = 100

// Replay is an event to be emitted again, and the dead letters that this resolves.
type Replay struct {
	Event       onto.Event
	DeadLetters []int64
	Handlers    []string // that gave it up
}

// Replay emits an event again and returns the new one: of the same namespace, type,
// payload, priority and ordering key, at the beginning of a chain of its own. All
// handlers of its type handle it, also those that have handled the first. Its
// unresolved dead letters are resolved with it. It fails with NotFound if neither the
// event nor a dead letter of it exists.
func (b *Bus) Replay(ctx context.Context, eventID string, by onto.Actor) (onto.Event, error) {
	if err := by.Check(); err != nil {
		return onto.Event{}, err
	}
	r := Replay{}
	state, err := b.Event(ctx, eventID)
	missing := err != nil
	if missing && onto.CodeOf(err) != onto.NotFound {
		return onto.Event{}, err
	}
	r.Event = state.Event
	for l, failed := range b.port.DeadLetters(ctx, &backend.DeadLetterQuery{EventID: eventID, Resolved: true}) {
		if failed != nil {
			return onto.Event{}, failed
		}
		if missing {
			r.Event, missing = l.Event, false
		}
		if l.Resolution.Kind == "" {
			r.DeadLetters = append(r.DeadLetters, l.ID)
		}
	}
	if missing {
		return onto.Event{}, err
	}
	made, err := b.replay(ctx, []Replay{r}, by)
	if err != nil {
		return onto.Event{}, err
	}
	return made[0], nil
}

// PlanReplay returns what [Bus.ReplayDeadLetters] would emit again: the events of the dead
// letters that a query selects, each once, in the order of their first dead letter.
func (b *Bus) PlanReplay(ctx context.Context, q *backend.DeadLetterQuery) ([]Replay, error) {
	var list []Replay
	at := map[string]int{}
	letters, err := b.open(ctx, q)
	for _, l := range letters {
		i, ok := at[l.Event.ID]
		if !ok {
			i = len(list)
			at[l.Event.ID] = i
			list = append(list, Replay{Event: l.Event})
		}
		list[i].DeadLetters = append(list[i].DeadLetters, l.ID)
		list[i].Handlers = append(list[i].Handlers, l.Handler)
	}
	return list, err
}

// ReplayDeadLetters emits the events of dead letters again, in the order of their first
// dead letter, and resolves these. A nil query selects all of the bus's namespace. Those
// that another caller resolves at the same time are left out. After an error it returns
// the events that were emitted before it.
func (b *Bus) ReplayDeadLetters(ctx context.Context, q *backend.DeadLetterQuery, by onto.Actor) ([]onto.Event, error) {
	if err := by.Check(); err != nil {
		return nil, err
	}
	plan, err := b.PlanReplay(ctx, q)
	if err != nil {
		return nil, err
	}
	var made []onto.Event
	for part := range slices.Chunk(plan, chunk) {
		list, err := b.replay(ctx, part, by)
		if onto.CodeOf(err) == onto.Conflict {
			list, err = nil, nil
			for i := 0; i < len(part) && err == nil; i++ {
				var one []onto.Event
				if one, err = b.replay(ctx, part[i:i+1], by); onto.CodeOf(err) == onto.Conflict {
					err = nil
				}
				list = append(list, one...)
			}
		}
		if made = append(made, list...); err != nil {
			return made, err
		}
	}
	return made, nil
}

// replay emits events again, all or none.
func (b *Bus) replay(ctx context.Context, list []Replay, by onto.Actor) ([]onto.Event, error) {
	em := &backend.Emission{}
	for _, r := range list {
		e := backend.NewEvent{Event: onto.Event{
			ID: uuid.V7(), Namespace: r.Event.Namespace, Type: r.Event.Type, Payload: r.Event.Payload,
			Priority: r.Event.Priority, OrderingKey: r.Event.OrderingKey, ReplayOf: r.Event.ID,
		}}
		e.Root = e.ID
		em.Events = append(em.Events, e)
		for _, id := range r.DeadLetters {
			em.Resolve = append(em.Resolve, backend.DeadLetterEnd{ID: id, Kind: onto.Replayed, By: by, Replay: e.ID})
		}
	}
	return b.port.Emit(ctx, em)
}

// DropDeadLetters resolves dead letters without handling their events again, and returns
// how many. A nil query selects all of the bus's namespace.
func (b *Bus) DropDeadLetters(ctx context.Context, q *backend.DeadLetterQuery, by onto.Actor) (int, error) {
	if err := by.Check(); err != nil {
		return 0, err
	}
	letters, err := b.open(ctx, q)
	if err != nil {
		return 0, err
	}
	var ends []backend.DeadLetterEnd
	for _, l := range letters {
		ends = append(ends, backend.DeadLetterEnd{ID: l.ID, Kind: onto.Dropped, By: by})
	}
	dropped := 0
	for part := range slices.Chunk(ends, chunk) {
		n, err := b.drop(ctx, part)
		if dropped += n; err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// drop resolves dead letters, all at once or, if another caller has resolved some, singly.
func (b *Bus) drop(ctx context.Context, ends []backend.DeadLetterEnd) (int, error) {
	_, err := b.port.Emit(ctx, &backend.Emission{Resolve: ends})
	if err == nil {
		return len(ends), nil
	}
	if onto.CodeOf(err) != onto.Conflict {
		return 0, err
	}
	n := 0
	for i := range ends {
		switch _, err := b.port.Emit(ctx, &backend.Emission{Resolve: ends[i : i+1]}); {
		case err == nil:
			n++
		case onto.CodeOf(err) != onto.Conflict:
			return n, err
		}
	}
	return n, nil
}

// open returns the unresolved dead letters of a query. It fails with NotFound or Conflict
// if the query names one that does not exist, or that was resolved before.
func (b *Bus) open(ctx context.Context, q *backend.DeadLetterQuery) ([]onto.DeadLetter, error) {
	all := backend.DeadLetterQuery{Namespace: b.o.Namespace}
	if q != nil {
		all = *q
	}
	named := map[int64]bool{}
	for _, id := range all.IDs {
		named[id] = true
	}
	all.Resolved = len(named) > 0
	var list []onto.DeadLetter
	for l, err := range b.port.DeadLetters(ctx, &all) {
		if err != nil {
			return nil, err
		}
		if l.Resolution.Kind != "" {
			return nil, refusal.DeadLetterResolved(l.ID, l.Resolution)
		}
		delete(named, l.ID)
		list = append(list, l)
	}
	if all.Limit > 0 {
		return list, nil
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		return nil, refusal.NoDeadLetter(id)
	}
	return list, nil
}
