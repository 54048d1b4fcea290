package store

import (
	"context"
	"iter"
	"reflect"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store/internal/catalog"
)

// GroupsAs yields groups as structs: the fields of T, in their order, are what is grouped
// by, then what is computed, each decoded as from JSON. A null leaves its field zero; a
// pointer tells it from a zero. A T with another number of fields is Invalid.
func GroupsAs[T any](ctx context.Context, g Groups) iter.Seq2[T, error] {
	err := checkRow(reflect.TypeFor[T](), len(g.by)+len(g.compute), "a group has %d values")
	if err != nil {
		return failed[T](err)
	}
	return func(yield func(T, error) bool) {
		for group, err := range g.All(ctx) {
			var row T
			if err == nil {
				err = fillGroup(reflect.ValueOf(&row).Elem(), group)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func fillGroup(row reflect.Value, g onto.Group) error {
	for i := range row.NumField() {
		list, at := g.By, i
		if i >= len(g.By) {
			list, at = g.Values, i-len(g.By)
		}
		if list[at] == nil {
			continue
		}
		if err := codec.Decode(list[at], row.Field(i).Addr().Interface()); err != nil {
			return onto.Errorf(onto.Invalid, "a group's value %s does not fit field %s of %v: %w", list[at], row.Type().Field(i).Name, row.Type(), err)
		}
	}
	return nil
}

// RoutesAs yields routes as structs: the first field of T is the source, then come, for
// each hop, the relation and the entity that it leads to. A field is a Go struct of that
// type, or an onto.Version for any. A T that does not have these fields is Invalid.
func RoutesAs[T any](ctx context.Context, t Traversal) iter.Seq2[T, error] {
	return anew(func() (iter.Seq2[T, error], error) {
		w, ask, err := t.start(ctx)
		if err != nil {
			return nil, err
		}
		stops, err := w.stops(ask.Type, reflect.TypeFor[T]())
		if err != nil {
			return nil, err
		}
		return func(yield func(T, error) bool) {
			w.run(ask, func(r Route, err error) bool {
				var row T
				if err == nil {
					err = fillRoute(reflect.ValueOf(&row).Elem(), stops, &r)
				}
				return yield(row, err) && err == nil
			})
		}, nil
	})
}

// stops returns, for each field of a row, the type that it is decoded with; nil for an
// onto.Version.
func (w *walk) stops(source string, row reflect.Type) ([]*catalog.Type, error) {
	if err := checkRow(row, 1+2*len(w.legs), "a route has its source, and a relation and an entity for each hop, so %d things"); err != nil {
		return nil, err
	}
	names := []onto.TypeName{{Kind: onto.KindEntity, Name: source}}
	for _, l := range w.legs {
		names = append(names, l.relation.Schema.TypeName(), onto.TypeName{Kind: onto.KindEntity, Name: l.to})
	}
	stops := make([]*catalog.Type, len(names))
	for i, name := range names {
		f := row.Field(i)
		if f.Type == reflect.TypeFor[onto.Version]() {
			continue
		}
		t, err := w.v.structType(f.Type)
		if err != nil {
			return nil, err
		}
		if t.Schema.TypeName() != name {
			return nil, onto.Errorf(onto.Invalid, "field %s of %v is of %s, but the route has %s there", f.Name, row, t.Schema.TypeName(), name)
		}
		stops[i] = t
	}
	return stops, nil
}

func fillRoute(row reflect.Value, stops []*catalog.Type, r *Route) error {
	for i, t := range stops {
		v := &r.Source
		if i > 0 {
			step := &r.Path[(i-1)/2]
			if v = &step.Entity; i%2 == 1 {
				v = &step.Relation
			}
		}
		if t == nil {
			row.Field(i).Set(reflect.ValueOf(*v))
		} else if err := t.Decode(v, row.Field(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// checkRow refuses a Go type that is no struct with so many fields, all exported. Has
// says what it is to hold.
func checkRow(row reflect.Type, fields int, has string) error {
	if row.Kind() != reflect.Struct {
		return onto.Errorf(onto.Invalid, "Go type %v is not a struct", row)
	}
	for i := range row.NumField() {
		if f := row.Field(i); !f.IsExported() {
			return onto.Errorf(onto.Invalid, "field %s of %v is not exported, so it cannot be filled in", f.Name, row)
		}
	}
	if row.NumField() != fields {
		return onto.Errorf(onto.Invalid, has+"; %v has %d fields", fields, row, row.NumField())
	}
	return nil
}
