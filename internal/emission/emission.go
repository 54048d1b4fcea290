// Package emission turns what a program emits into events.
package emission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/uuid"
)

// Rules are what holds for the events of a program.
type Rules struct {
	Namespace string // of events that name none
	MaxDepth  int    // of chains
}

// Events makes events of structs and emissions, see [onto.Draft.Emit].
func (r Rules) Events(things []any) ([]backend.NewEvent, error) {
	if len(things) == 0 {
		return nil, nil
	}
	list := make([]backend.NewEvent, len(things))
	for i, t := range things {
		var err error
		if list[i], err = r.Event(t); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Event makes an event of a struct or an emission.
func (r Rules) Event(thing any) (backend.NewEvent, error) {
	em, ok := thing.(onto.Emission)
	if p, isPointer := thing.(*onto.Emission); isPointer && p != nil {
		em, ok = *p, true
	}
	if !ok {
		em = onto.Emission{Payload: thing}
	}
	e := backend.NewEvent{Event: onto.Event{ID: uuid.V7(), Namespace: em.Namespace, Type: em.Type, OrderingKey: em.OrderingKey, Priority: onto.DefaultPriority}}
	if e.Namespace == "" {
		e.Namespace = r.Namespace
	}
	if em.Priority != nil {
		e.Priority = *em.Priority
	}
	if err := describe(&e, em.Payload); err != nil {
		return e, err
	}
	e.Delay, e.NotBefore = em.Delay, em.NotBefore.UTC().Truncate(time.Microsecond)
	if em.NotBefore.IsZero() {
		e.NotBefore = time.Time{}
	}
	e.Root = e.ID
	if c := em.Cause; c != nil {
		e.Root, e.Depth, e.Parent = c.Root, c.Depth+1, c.ID
	}
	return e, r.check(&e)
}

// describe fills in type, ordering key and payload.
func describe(e *backend.NewEvent, payload any) error {
	v := reflect.ValueOf(payload)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		f, err := formOf(v.Type())
		if err != nil {
			return err
		}
		if e.Type == "" {
			e.Type = f.name
		}
		if f.key != nil && e.OrderingKey == "" {
			if key, err := v.FieldByIndexErr(f.key); err == nil { // not within a nil pointer
				e.OrderingKey = key.String()
			}
		}
	} else if e.Type == "" {
		return onto.Errorf(onto.Invalid, "a %T is no event", payload).
			WithHint("emit a struct, or an onto.Emission that names its type")
	}
	text, err := encode(payload)
	if err != nil {
		return onto.Errorf(onto.Invalid, "event %s: its payload is not JSON: %w", e.Type, err)
	}
	e.Payload = text
	return nil
}

// encode is the canonical JSON of a payload.
func encode(payload any) (json.RawMessage, error) {
	if raw, ok := payload.(json.RawMessage); ok {
		return codec.AppendCanonical(nil, raw)
	}
	return codec.AppendValue(nil, reflect.ValueOf(payload))
}

// check refuses what cannot be stored or would never be handled.
func (r Rules) check(e *backend.NewEvent) error {
	for _, n := range []struct{ what, name string }{{"event type", e.Type}, {"namespace", e.Namespace}} {
		if err := onto.CheckBusName(n.what, n.name); err != nil {
			return err
		}
	}
	if err := onto.CheckOrderingKey(e.OrderingKey); err != nil {
		return onto.Errorf(onto.CodeOf(err), "event %s: %w", e.Type, err)
	}
	switch {
	case len(e.Payload) > onto.MaxPayload:
		return onto.Errorf(onto.TooLarge, "event %s has a payload of %d bytes, the limit is %d", e.Type, len(e.Payload), onto.MaxPayload).
			WithHint("store the data as an entity, and emit its key")
	case e.Priority != int(int32(e.Priority)):
		return onto.Errorf(onto.Invalid, "event %s: priority %d is not between %d and %d", e.Type, e.Priority, -1<<31, 1<<31-1)
	case e.Delay < 0:
		return onto.Errorf(onto.Invalid, "event %s: the delay %v is negative", e.Type, e.Delay)
	case e.Delay > 0 && !e.NotBefore.IsZero():
		return onto.Errorf(onto.Invalid, "event %s has a delay and a time", e.Type).WithHint("give one of them")
	case e.OrderingKey != "" && (e.Delay > 0 || !e.NotBefore.IsZero()):
		return onto.Errorf(onto.Invalid, "event %s has an ordering key and a delay, and would hold up the others of its key", e.Type).
			WithHint("leave one of them out")
	case r.MaxDepth > 0 && e.Depth > r.MaxDepth:
		return onto.Errorf(onto.EventLoopLimit, "event %s would be number %d of the chain that began with event %s, the limit is %d", e.Type, e.Depth, e.Root, r.MaxDepth).
			WithHint("look for handlers that emit what leads back to them, or raise the limit")
	}
	if !e.NotBefore.IsZero() {
		if err := codec.CheckTime(e.NotBefore); err != nil {
			return onto.Errorf(onto.Invalid, "event %s: %w", e.Type, err)
		}
	}
	return nil
}

// form is what a struct says about its events.
type form struct {
	name string
	key  []int // the field with the ordering key; nil if there is none
	err  error // why it cannot be an event
}

var (
	forms sync.Map // from reflect.Type to *form
	typer = reflect.TypeFor[onto.EventTyper]()
)

// TypeOf is the event type of a struct: as it says itself, or its name. It fails if the
// struct cannot be an event.
func TypeOf(t reflect.Type) (string, error) {
	f, err := formOf(t)
	return f.name, err
}

func formOf(t reflect.Type) (*form, error) {
	if f, ok := forms.Load(t); ok {
		return f.(*form), f.(*form).err
	}
	f := readForm(t)
	forms.Store(t, f)
	return f, f.err
}

func readForm(t reflect.Type) *form {
	if t.Kind() != reflect.Struct {
		return &form{err: onto.Errorf(onto.Invalid, "%s is no struct, and so no event", t).WithHint("use a struct")}
	}
	f := &form{name: t.Name()}
	if reflect.PointerTo(t).Implements(typer) {
		f.name = reflect.New(t).Interface().(onto.EventTyper).EventType()
	}
	if f.err = onto.CheckBusName("event type", f.name); f.err != nil {
		return f
	}
	for _, field := range reflect.VisibleFields(t) {
		if !slices.Contains(strings.Split(field.Tag.Get("onto"), ","), "ordering") {
			continue
		}
		switch {
		case field.Type.Kind() != reflect.String || !field.IsExported():
			f.err = onto.Errorf(onto.Invalid, "field %s of %s is marked ordering, and is no exported string", field.Name, t)
		case f.key != nil:
			f.err = onto.Errorf(onto.Invalid, "%s has more than one field marked ordering", t).WithHint("mark one")
		}
		f.key = field.Index
	}
	return f
}
