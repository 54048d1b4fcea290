package bus

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/suggest"
)

// Events yields events in the order in which they are claimed. A nil query asks for those
// of the bus's namespace.
func (b *Bus) Events(ctx context.Context, q *backend.EventQuery) iter.Seq2[backend.EventState, error] {
	if q == nil {
		q = &backend.EventQuery{Namespace: b.o.Namespace}
	}
	return b.port.Events(ctx, q)
}

// Event returns an event and what has become of it. It fails with NotFound if there is
// none.
func (b *Bus) Event(ctx context.Context, id string) (backend.EventState, error) {
	for e, err := range b.port.Events(ctx, &backend.EventQuery{ID: id}) {
		return e, err
	}
	return backend.EventState{}, onto.Errorf(onto.NotFound, "event %s does not exist", id).
		WithHint("list the events; old ones may have been removed").WithCommand("events", "show")
}

// DeadLetters yields dead letters, oldest first. A nil query asks for the unresolved ones
// of the bus's namespace.
func (b *Bus) DeadLetters(ctx context.Context, q *backend.DeadLetterQuery) iter.Seq2[onto.DeadLetter, error] {
	if q == nil {
		q = &backend.DeadLetterQuery{Namespace: b.o.Namespace}
	}
	return b.port.DeadLetters(ctx, q)
}

// CountDeadLetters counts what [Bus.DeadLetters] yields.
func (b *Bus) CountDeadLetters(ctx context.Context, q *backend.DeadLetterQuery) (int64, error) {
	var n int64
	for _, err := range b.DeadLetters(ctx, q) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Namespaces returns what there is in each namespace, by name. A session is dead after
// [Options].SessionTTL.
func (b *Bus) Namespaces(ctx context.Context) ([]backend.Namespace, error) {
	return b.port.Namespaces(ctx, b.o.SessionTTL)
}

// Namespace returns what there is in a namespace. It fails with NotFound if there is
// nothing.
func (b *Bus) Namespace(ctx context.Context, name string) (backend.Namespace, error) {
	list, err := b.Namespaces(ctx)
	if err != nil {
		return backend.Namespace{}, err
	}
	var names []string
	for _, n := range list {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	e := onto.Errorf(onto.NotFound, "there is nothing in namespace %s", name)
	if len(names) == 0 {
		return backend.Namespace{}, e.WithHint("no event was emitted yet").WithCommand("events", "emit", "--type", "TYPE")
	}
	return backend.Namespace{}, e.WithHint("there are %s", strings.Join(names, ", ")).WithCommand("events", "list-namespaces")
}

// CheckType fails with NotFound if no event of a type was ever emitted in the namespace of the
// bus, and names the types that were. A handler of such a type waits for its first event, which
// may be right: the error is for the operator who has misspelled it.
func (b *Bus) CheckType(ctx context.Context, typ string) error {
	known, err := b.port.Types(ctx, b.o.Namespace)
	if err != nil || slices.Contains(known, typ) {
		return err
	}
	e := onto.Errorf(onto.NotFound, "no event of type %s was ever emitted in namespace %s", typ, b.o.Namespace)
	if len(known) == 0 {
		return e.WithHint("no event of any type was: see what other namespaces have").WithCommand("events", "list-namespaces")
	}
	list, more := suggest.Nearest(typ, known), ""
	if n := len(list) - maxNamed; n > 0 {
		list, more = list[:maxNamed], fmt.Sprintf(" and %d others", n)
	}
	text := "events were emitted of " + strings.Join(list, ", ") + more
	if near := suggest.Name(typ, known); near != "" {
		text = "did you mean " + near + "? " + text
	}
	return e.WithHint("%s", text)
}

// maxNamed is how many types a hint names.
const maxNamed = 10

// Clean plans the removal of old events, and applies it if asked, see [backend.Bus].Clean.
func (b *Bus) Clean(ctx context.Context, c *backend.Cleaning, progress func(done, total int64)) (backend.CleanPlan, error) {
	return b.port.Clean(ctx, c, progress)
}
