package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/emission"
)

// The defaults of handlers.
const (
	DefaultConcurrency = 8
	DefaultTimeout     = 10 * time.Minute
)

// Part is what a Run consists of: a [Handler] or a [Schedule].
type Part interface {
	// join adds the part to a plan. It fails if the part is not well formed.
	join(p *plan) error
}

// Handler reacts to events. It does not change while a Run uses it.
type Handler struct {
	name        string
	types       []string
	concurrency int
	attempts    int // 0 for that of Options
	priority    int
	timeout     time.Duration
	call        func(context.Context, *onto.Claim) (onto.Draft, error)
	err         error // why it cannot run
}

// On is a handler of the events of a struct. The events' type is the name of the struct,
// or as it says itself, see [onto.EventTyper].
func On[T any](name string, f func(context.Context, *Claim[T]) error) *Handler {
	typ, err := emission.TypeOf(reflect.TypeFor[T]())
	h := newHandler(name, []string{typ}, f, func(text json.RawMessage, to *T) error { return codec.Decode(text, to) })
	h.err = cmp.Or(err, h.err)
	return h
}

// OnTypes is a handler of events whose types are named at run time.
func OnTypes(name string, types []string, f func(context.Context, *Claim[json.RawMessage]) error) *Handler {
	h := newHandler(name, slices.Compact(slices.Sorted(slices.Values(types))), f, func(text json.RawMessage, to *json.RawMessage) error {
		*to = text
		return nil
	})
	if len(types) == 0 {
		h.err = onto.Errorf(onto.Invalid, "handler %s has no event types", name).WithHint("name at least one")
	}
	return h
}

func newHandler[T any](name string, types []string, f func(context.Context, *Claim[T]) error, decode func(json.RawMessage, *T) error) *Handler {
	var err error
	if f == nil {
		err = onto.Errorf(onto.Invalid, "handler %s has no function", name)
	}
	return &Handler{
		err:  err,
		name: name, types: types, concurrency: DefaultConcurrency, timeout: DefaultTimeout,
		call: func(ctx context.Context, claim *onto.Claim) (onto.Draft, error) {
			c := &Claim[T]{Claim: *claim}
			if err := decode(claim.Event.Payload, &c.Payload); err != nil {
				return onto.Draft{}, Reject(onto.Errorf(onto.Invalid, "the payload does not fit %s: %w", reflect.TypeFor[T](), err))
			}
			c.Draft = onto.Draft{Actor: onto.Component(claim.Handler), Causation: claim.Commit, Correlation: claim.Root}
			err := f(ctx, c)
			return c.Draft, err
		},
	}
}

// Concurrency sets how many events the handler handles at a time in one process.
func (h *Handler) Concurrency(n int) *Handler { h.concurrency = n; return h }

// Attempts sets how often the handler may fail, or be started, before an event is a dead
// letter.
func (h *Handler) Attempts(n int) *Handler {
	h.attempts = n
	if n < 1 && h.err == nil {
		h.err = onto.Errorf(onto.Invalid, "handler %s has %d attempts, and needs at least 1", h.name, n)
	}
	return h
}

// Priority sets which handlers of a process claim first: those with higher numbers. The
// default is 0. It has nothing to do with the priority of events.
func (h *Handler) Priority(n int) *Handler { h.priority = n; return h }

// Timeout sets how long the handler may take for an event. Then its context ends, and it
// has failed.
func (h *Handler) Timeout(d time.Duration) *Handler { h.timeout = d; return h }

func (h *Handler) join(p *plan) error {
	if err := onto.CheckBusName("handler", h.name); err != nil {
		return err
	}
	if h.err != nil {
		return h.err
	}
	for _, t := range h.types {
		if err := onto.CheckBusName("event type", t); err != nil {
			return err
		}
	}
	switch {
	case h.concurrency < 1:
		return onto.Errorf(onto.Invalid, "handler %s has the concurrency %d, and needs at least 1", h.name, h.concurrency)
	case h.timeout <= 0:
		return onto.Errorf(onto.Invalid, "handler %s has the timeout %v", h.name, h.timeout).WithHint("leave it out for %v", DefaultTimeout)
	case slices.ContainsFunc(p.handlers, func(o *Handler) bool { return o.name == h.name }):
		return onto.Errorf(onto.Invalid, "two handlers are named %s", h.name).
			WithHint("each would get some of the events: name them differently, or handle both types in one with OnTypes")
	}
	p.handlers = append(p.handlers, h)
	return nil
}

// Claim is an event in the hands of a handler. It is for one goroutine at a time.
type Claim[T any] struct {
	onto.Claim   // the event, and what is known of earlier attempts
	Payload    T // what the event says

	// Draft is the commit that is made if the handler returns nil, with the ack in it. The
	// handler may change its header, add expectations, and say what it was computed from, see
	// [onto.Draft.Given]: if that has changed the event is handled again, which is no failure.
	Draft onto.Draft
}

// Ensure adds things that should look as given, see [onto.Draft.Ensure].
func (c *Claim[T]) Ensure(things ...any) { c.Draft = c.Draft.Ensure(things...) }

// Merge adds things of which some fields should be as given, see [onto.Draft.Merge].
func (c *Claim[T]) Merge(things ...any) { c.Draft = c.Draft.Merge(things...) }

// Delete adds things that should not exist, see [onto.Draft.Delete].
func (c *Claim[T]) Delete(things ...any) { c.Draft = c.Draft.Delete(things...) }

// Emit adds events, see [onto.Draft.Emit]. They go on the chain of the event that is
// handled, and are in its namespace unless they name another one. They are emitted also
// if the commit changes nothing.
func (c *Claim[T]) Emit(things ...any) {
	for _, t := range things {
		c.Draft = c.Draft.Emit(follow(&c.Event, t))
	}
}

// follow is an emission that was caused by an event.
func follow(cause *onto.Event, thing any) onto.Emission {
	e, ok := thing.(onto.Emission)
	if p, pointer := thing.(*onto.Emission); pointer && p != nil {
		e, ok = *p, true
	}
	if !ok {
		e = onto.Emission{Payload: thing}
	}
	if e.Namespace == "" {
		e.Namespace = cause.Namespace
	}
	if e.Cause == nil {
		e.Cause = cause
	}
	return e
}

// Reject is for a handler to return: the event is a dead letter without further attempts.
func Reject(err error) error {
	if err == nil {
		err = errors.New("the handler rejected the event")
	}
	return &rejection{err}
}

type rejection struct{ err error }

func (r *rejection) Error() string { return r.err.Error() }
func (r *rejection) Unwrap() error { return r.err }

// Snooze is for a handler to return: the event is handled again after a time, and this
// attempt does not count. The time is at least 10 ms, so that a handler which can do
// nothing yet does not keep the store busy.
func Snooze(d time.Duration) error { return &snooze{max(d, minSnooze)} }

const minSnooze = 10 * time.Millisecond

type snooze struct{ d time.Duration }

func (s *snooze) Error() string { return "put off for " + s.d.String() }
