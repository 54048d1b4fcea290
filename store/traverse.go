package store

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store/internal/catalog"
)

// Hop is one step of a traversal: over the relations of a type, from left to
// right or back.
type Hop struct {
	Relation string
	Back     bool // from right to left

	where []onto.Filter // on the relation and its ends
	to    []onto.Filter // on the entity that it leads to
}

// Via hops over the relations of a type from left to right.
func Via(relation string) Hop { return Hop{Relation: relation} }

// Back hops over the relations of a type from right to left.
func Back(relation string) Hop { return Hop{Relation: relation, Back: true} }

// Where follows only relations for which all the filters are true. As in a query for
// relations, onto.Left and onto.Right are the fields of their ends. It adds to earlier
// ones.
func (h Hop) Where(filters ...onto.Filter) Hop {
	h.where = append(h.where[:len(h.where):len(h.where)], filters...)
	return h
}

// To goes on only to entities for which all the filters are true. It adds to earlier
// ones.
func (h Hop) To(filters ...onto.Filter) Hop {
	h.to = append(h.to[:len(h.to):len(h.to)], filters...)
	return h
}

// Route is one way that a traversal found.
type Route struct {
	Source onto.Version
	Path   []Step
}

// Step is a relation and the entity it leads to.
type Step struct{ Relation, Entity onto.Version }

// Traversal asks for the routes that lead from the things of a query over relations,
// one hop after the other, all at one moment. A route has every hop, leads through
// entities that exist, and contains no identity twice. Routes come in the order of
// their sources, then of their relations.
type Traversal struct {
	q     question
	hops  []Hop
	limit int
}

// Traverse asks for routes from the entities of the query.
func (q Query[T]) Traverse(hops ...Hop) Traversal { return Traversal{q: q.question, hops: hops} }

// Limit asks for at most n routes. 0 means all. The limit of the query is one
// on its sources.
func (t Traversal) Limit(n int) Traversal {
	t.limit = n
	return t
}

// All yields the routes.
func (t Traversal) All(ctx context.Context) iter.Seq2[Route, error] {
	return anew(func() (iter.Seq2[Route, error], error) {
		w, ask, err := t.start(ctx)
		if err != nil {
			return nil, err
		}
		return func(yield func(Route, error) bool) { w.run(ask, yield) }, nil
	})
}

// Count returns how many routes there are, whatever the limit.
func (t Traversal) Count(ctx context.Context) (int64, error) {
	var n int64
	t = t.Limit(0)
	err := again(func() error {
		w, ask, err := t.start(ctx)
		if err != nil {
			return err
		}
		n = 0
		w.run(ask, func(_ Route, found error) bool {
			n, err = n+1, found
			return found == nil
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// start checks the question and fixes its moment.
func (t *Traversal) start(ctx context.Context) (*walk, *backend.Query, error) {
	if t.limit < 0 {
		return nil, nil, onto.Errorf(onto.Invalid, "limit %d is negative", t.limit).WithHint("0 means all")
	}
	ask, err := t.q.ask(ctx)
	if err == nil {
		err = t.q.pin(ctx, ask)
	}
	if err != nil {
		return nil, nil, err
	}
	if ask.Kind != onto.KindEntity {
		return nil, nil, onto.Errorf(onto.Invalid, "%s is a relation; a traversal starts at entities", ask.Type)
	}
	if len(t.hops) == 0 {
		return nil, nil, onto.Errorf(onto.Invalid, "the traversal has no hop").WithHint("say which relation to follow")
	}
	if known, err := t.q.v.s.relearn(ctx); err != nil {
		return nil, nil, err
	} else if known != t.q.v.types { // the moment may have types that were not known
		return nil, nil, errRelearned
	}
	w := &walk{ctx: ctx, v: t.q.v, source: t.q.reader(), at: ask.At, left: t.limit}
	from := ask.Type
	for _, h := range t.hops {
		leg, err := w.v.leg(h, from)
		if err != nil {
			return nil, nil, err
		}
		w.legs = append(w.legs, leg)
		from = leg.to
	}
	return w, ask, nil
}

// leg is a hop with the type it leads to.
type leg struct {
	relation *catalog.Type
	back     bool
	to       string

	where, toWhere onto.Filter // checked; nil for all
}

func (v View) leg(h Hop, from string) (leg, error) {
	t, err := v.typ(onto.KindRelation, h.Relation)
	if err != nil {
		return leg{}, err
	}
	l, starts := leg{relation: t, back: h.Back, to: t.Schema.Right}, t.Schema.Left
	if h.Back {
		l.to, starts = t.Schema.Left, t.Schema.Right
	}
	if starts == from {
		return l, v.legFilters(&l, h)
	}
	e := onto.Errorf(onto.Invalid, "%s leads from %s to %s; there is no way over it from %s", h.Relation, t.Schema.Left, t.Schema.Right, from)
	if l.to == from {
		e = e.WithHint("follow it the other way round")
	}
	return leg{}, e
}

// legFilters checks the filters of a hop.
func (v View) legFilters(l *leg, h Hop) (err error) {
	if len(h.where) > 0 {
		if l.where, err = filter.Check(onto.And(h.where), v.scope(l.relation)); err != nil {
			return err
		}
	}
	if len(h.to) == 0 {
		return nil
	}
	to, err := v.typ(onto.KindEntity, l.to)
	if err == nil {
		l.toWhere, err = filter.Check(onto.And(h.to), v.scope(to))
	}
	return err
}

// start and end of a relation in the direction of the leg.
func (l leg) ends(id onto.Identity) (start, end string) {
	if l.back {
		return id.Right, id.Left
	}
	return id.Left, id.Right
}

// walk finds routes, depth first, but many at a time: each query to the backend is
// about the ends of up to batch routes.
type walk struct {
	ctx  context.Context
	v    View
	at   int64
	legs []leg
	left int // routes still wanted; 0 for all

	source reader // of where routes start
}

const batch = 256

// run yields the routes from the sources that ask finds.
func (w *walk) run(ask *backend.Query, yield func(Route, error) bool) {
	var pending []Route
	for v, err := range w.source.answer(w.ctx, ask) {
		if err != nil {
			yield(Route{}, err)
			return
		}
		if pending = append(pending, Route{Source: v}); len(pending) == batch {
			if !w.extend(pending, yield) {
				return
			}
			pending = nil
		}
	}
	w.extend(pending, yield)
}

// extend continues routes of equal length and reports whether to go on.
func (w *walk) extend(routes []Route, yield func(Route, error) bool) bool {
	if len(routes) == 0 {
		return true
	}
	if len(routes[0].Path) == len(w.legs) {
		return w.deliver(routes, yield)
	}
	leg := w.legs[len(routes[0].Path)]
	relations, entities, err := w.next(leg, routes)
	if err != nil {
		yield(Route{}, err)
		return false
	}
	var longer []Route
	for _, r := range routes {
		for _, rel := range relations[r.end().Key] {
			_, key := leg.ends(rel.Identity)
			entity, exists := entities[key]
			if !exists || r.meets(rel.Identity) || r.meets(entity.Identity) {
				continue
			}
			longer = append(longer, Route{r.Source, append(slices.Clip(r.Path), Step{rel, entity})})
			if len(longer) == batch {
				if !w.extend(longer, yield) {
					return false
				}
				longer = nil
			}
		}
	}
	return w.extend(longer, yield)
}

func (w *walk) deliver(routes []Route, yield func(Route, error) bool) bool {
	for _, r := range routes {
		if !yield(r, nil) {
			return false
		}
		if w.left > 0 {
			if w.left--; w.left == 0 {
				return false
			}
		}
	}
	return true
}

// next reads the relations that lead on from the routes, by where they start,
// and the entities they lead to.
func (w *walk) next(l leg, routes []Route) (relations map[string][]onto.Version, entities map[string]onto.Version, err error) {
	var starts, ends []string
	for _, r := range routes {
		starts = append(starts, r.end().Key)
	}
	scope := w.v.scope(l.relation)
	ask := &backend.Query{
		Kind: onto.KindRelation, Type: l.relation.Schema.Name, Schema: &l.relation.Schema, Left: scope.Left, Right: scope.Right,
		At: w.at, Where: l.where,
	}
	if l.back {
		ask.RightKeys = distinct(starts)
	} else {
		ask.LeftKeys = distinct(starts)
	}
	relations = map[string][]onto.Version{}
	for v, err := range w.reader(l.relation).answer(w.ctx, ask) {
		if err != nil {
			return nil, nil, err
		}
		start, end := l.ends(v.Identity)
		relations[start] = append(relations[start], v)
		ends = append(ends, end)
	}
	to, err := w.v.typ(onto.KindEntity, l.to)
	if err != nil {
		return nil, nil, err
	}
	entities = map[string]onto.Version{}
	for keys := range slices.Chunk(distinct(ends), 4*batch) {
		ask := &backend.Query{Kind: onto.KindEntity, Type: l.to, Schema: &to.Schema, At: w.at, Keys: keys, Where: l.toWhere}
		for v, err := range w.reader(to).answer(w.ctx, ask) {
			if err != nil {
				return nil, nil, err
			}
			entities[v.Key] = v
		}
	}
	return relations, entities, nil
}

// reader reads a type at the moment of the walk.
func (w *walk) reader(t *catalog.Type) reader { return reader{w.v, t} }

func distinct(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// end is the entity that the route leads to so far.
func (r *Route) end() onto.Identity {
	if n := len(r.Path); n > 0 {
		return r.Path[n-1].Entity.Identity
	}
	return r.Source.Identity
}

// meets reports whether an identity is on the route.
func (r *Route) meets(id onto.Identity) bool {
	return r.Source.Identity == id || slices.ContainsFunc(r.Path, func(s Step) bool {
		return s.Relation.Identity == id || s.Entity.Identity == id
	})
}
