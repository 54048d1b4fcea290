package object

import (
	"context"
	"iter"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/store"
)

// question is a clause as it is asked of each shard.
type question[T any] struct {
	*query
	kind   *kind
	find   func(store.View) store.Query[T]
	where  onto.Filter // nil for no condition
	from   *cursor     // nil for the beginning
	prefix string      // of the keys of all answers; "" if that is not known
}

// check refuses what does not fit the type.
func (q *question[T]) check() error {
	k := q.kind
	scope := &filter.Scope{Schema: &k.schema}
	if f := q.filter(); f != nil {
		var err error
		if q.where, err = filter.Check(f, scope); err != nil {
			return err
		}
		k.used.note(k, q.where)
	}
	for _, o := range q.order {
		if _, err := filter.CheckOrder(o.Operand, scope); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		what string
		n    int
	}{{"limit", q.limit}, {"limit per shard", q.perShard}, {"offset", q.offset}} {
		if n.n < 0 {
			return onto.Errorf(onto.Invalid, "the %s %d is negative", n.what, n.n)
		}
	}
	if q.offset > 0 && q.cursor != "" {
		return onto.Errorf(onto.Invalid, "offset %d and a cursor do not go together", q.offset).WithHint("leave out the offset: the cursor tells where to go on")
	}
	if _, searched := k.schema.Field(onto.ComputeText.FieldName()); q.search != "" && !searched && k.goType != nil { // other types are searched as their stores can

		return onto.Errorf(onto.Invalid, "the set %s cannot be searched", k.name()).WithHint("make it ready with WithTextSearch")
	}
	return nil
}

// limitTo adds the shard keys to the condition.
func (q *question[T]) limitTo(shardKeys []string) error {
	if len(shardKeys) == 0 {
		return nil
	}
	path, err := operand(q.kind.key.shardKey)
	if err != nil {
		return err
	}
	for _, key := range shardKeys {
		if key == "" {
			return onto.Errorf(onto.Invalid, "%s: a shard key is empty", q.kind.name())
		}
	}
	only := path.In(shardKeys)
	if q.where != nil {
		only = onto.And{only, q.where}
	}
	q.where = only
	if len(shardKeys) == 1 && !q.kind.key.single() {
		q.prefix = q.kind.key.entityKey("", shardKeys[0])
	}
	return nil
}

// ask is the question to a shard.
func (q *question[T]) ask(from *source) store.Query[T] {
	ask := q.find(from.view).OrderBy(q.order...)
	if q.where != nil {
		ask = ask.Where(q.where)
	}
	if q.search != "" {
		ask = ask.Search(q.search)
	}
	return ask
}

// part is the question for the part of an answer that a merge over shards needs of each.
func (q *question[T]) part(from *source) store.Query[T] {
	ask := q.ask(from)
	n := 0
	if q.limit > 0 {
		n = max(0, q.offset+q.limit) // which may be more than an int
	}
	if q.perShard > 0 && (n == 0 || q.perShard < n) {
		n = q.perShard
	}
	switch {
	case q.from != nil:
		ask = ask.StartAfter(q.from.place(q.kind))
	case q.ranged():
		ask = ask.StartAfter(store.Place{Identity: q.kind.id(q.prefix)})
	}
	return ask.Limit(n)
}

// ranged reports whether the answers are a range of keys, which ends with those that do not have
// the prefix.
func (q *question[T]) ranged() bool { return q.prefix != "" && len(q.order) == 0 }

// rows yields the answers of a shard. Their places are needed to merge them.
func (q *question[T]) rows(ctx context.Context, from *source, places bool) iter.Seq2[found[T], error] {
	return func(yield func(found[T], error) bool) {
		if from.empty {
			return
		}
		ask := q.part(from)
		var place func(*onto.Version) (store.Place, error)
		if places {
			var err error
			if place, err = ask.Placer(ctx); err != nil {
				yield(found[T]{}, from.shard.explain(err))
				return
			}
		}
		for row, err := range ask.Rows(ctx) {
			f := found[T]{from: from, value: row.Value, version: row.Version}
			if err == nil && q.ranged() && !strings.HasPrefix(row.Version.Key, q.prefix) {
				return
			}
			if err == nil && places {
				f.place, err = place(&row.Version)
			}
			if !yield(f, from.shard.explain(err)) || err != nil {
				return
			}
		}
	}
}

// merge yields the answers of all shards in the order of the question, within its limit and
// offset.
func (q *question[T]) merge(ctx context.Context, sources []*source, places bool) iter.Seq2[found[T], error] {
	if len(sources) == 1 {
		return page(q.rows(ctx, sources[0], places), q.offset, q.limit)
	}
	compare := q.ask(sources[0]).ComparePlaces
	parts := make([]func(context.Context) iter.Seq2[found[T], error], len(sources))
	for i, from := range sources {
		parts[i] = func(ctx context.Context) iter.Seq2[found[T], error] { return q.rows(ctx, from, true) }
	}
	merged := exec.MergeAhead(ctx, parts, func(a, b *found[T]) int { return compare(a.place, b.place) })
	return page(merged, q.offset, q.limit)
}

// page yields what follows the first offset items, up to the limit if there is one.
func page[T any](items iter.Seq2[T, error], offset, limit int) iter.Seq2[T, error] {
	if offset == 0 && limit == 0 {
		return items
	}
	return func(yield func(T, error) bool) {
		n := 0
		for item, err := range items {
			if err == nil {
				if n++; n <= offset {
					continue
				}
			}
			if !yield(item, err) || err != nil || n == offset+limit {
				return
			}
		}
	}
}
