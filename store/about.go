package store

import (
	"context"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/bitemporal"
	"github.com/ontologia/onto/store/internal/catalog"
)

// About returns what the facts about a subject say that hold at the valid time of the
// view, see [View.ValidAt], as a struct that embeds an onto.About. An attribute on which
// nothing speaks leaves its field zero; a pointer tells that from a zero. An attribute
// with many values has them in the order in which they were asserted. NotFound if nothing
// speaks at all.
func About[T any](ctx context.Context, v View, subject string) (value T, err error) {
	if v.stored {
		return value, onto.Errorf(onto.Invalid, "a view as stored shows facts, not %v", reflect.TypeFor[T]()).WithHint("use View.Facts")
	}
	f := Facts{q: newQuestion(v, func(v View) (*catalog.Type, error) { return v.factStruct(reflect.TypeFor[T]()) })}.About(subject)
	err = again(func() error {
		r, err := f.start(ctx)
		if err != nil {
			return err
		}
		r.Spans = true // values of one attribute are sorted
		about := r.q.t.NewAbout(subject)
		for g, err := range r.Groups(ctx) {
			if err != nil {
				return err
			}
			for _, i := range bitemporal.Sorted(g.Claims) {
				about.Add(&g.Facts[i])
			}
		}
		if about.Empty() {
			if err := onto.FactID(r.Ask.Type, subject, "attribute", "id").Check(); err != nil {
				return err
			}
			return onto.Errorf(onto.NotFound, "no fact of type %s about %q holds at %s", r.Ask.Type, subject, r.q.valid).
				WithHint("see all facts about it").WithCommand("query", "facts", r.Ask.Type, "--subject="+subject, "--every")
		}
		return about.Decode(&value)
	})
	return value, err
}

// factStruct is the type of facts that a Go struct is bound to.
func (v View) factStruct(t reflect.Type) (*catalog.Type, error) {
	found, err := v.catalog().OfStruct(t)
	if err == nil && found.Schema.Kind != onto.KindFact {
		return nil, onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", found.Schema.Name, found.Schema.Kind, onto.KindFact).
			WithHint("use store.Get")
	}
	return found, err
}
