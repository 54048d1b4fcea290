package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/internal/sqlgen"
)

// Pages of an order in the past. No index leads to the versions of a moment in the order
// of a field, so a page costs a pass over the type. The past does not change: the pass
// of the second page remembers the identities in their order, and further pages take
// theirs from there.

// keptOrders is the orders that are remembered, the one used last at the end.
type keptOrders struct {
	mu   sync.Mutex // guards list
	list []*keptOrder
}

// keptOrder is the identities of an answer, in its order.
type keptOrder struct {
	of      string   // the statement that found them, with its arguments
	keys    []string // of all identities, one after the other
	size    int      // bytes of keys
	tooLong bool     // for more than maxKept bytes; there are no keys
}

const (
	maxKept   = 64 << 20 // bytes of all orders together
	maxOrders = 16
	// keyOverhead is what a key takes besides its bytes.
	keyOverhead = 16
)

// get returns an order, if it is remembered.
func (k *keptOrders) get(of string) (*keptOrder, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, func(o *keptOrder) bool { return o.of == of })
	if i < 0 {
		return nil, false
	}
	o := k.list[i]
	k.list = append(slices.Delete(k.list, i, i+1), o)
	return o, true
}

// put remembers an order, and forgets those that were not used for the longest time.
func (k *keptOrders) put(o *keptOrder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(slices.DeleteFunc(k.list, func(has *keptOrder) bool { return has.of == o.of }), o)
	total := 0
	for _, kept := range k.list {
		total += kept.size
	}
	for len(k.list) > maxOrders || total > maxKept {
		total -= k.list[0].size
		k.list = slices.Delete(k.list, 0, 1)
	}
}

// keepsOrder reports whether the question is for a further page of an order in the past.
func (a *question) keepsOrder() bool {
	q := a.Query
	return a.plain == "" && !a.isCurrent() && q.Mode == backend.State && len(q.Order) > 0 && q.After != nil && q.Limit > 0 && !a.source.narrowed
}

// ordered is the statement that finds the identities of the whole answer in order.
func (a *question) ordered() sqlgen.Part {
	s := &a.source
	statement := sqlgen.Select{Columns: raw(a.t.List(s.keys)), From: s.from, Where: slices.Concat(s.where, a.Where), Keys: a.Keys, Order: s.order}
	return statement.Statement(a.Scope.Dialect)
}

// versionsOf is the statement that finds the versions of some identities. They come in
// the order of the keys, since the outer loop of a CROSS JOIN is the table on its left.
func (r *reading) versionsOf(a *question, keys []string) sqlgen.Part {
	columns := a.t.Columns[1:]
	list, same := []byte{'['}, "s."+a.t.Columns[0]+" = +?"
	for i, key := range keys {
		switch {
		case i > 0 && i%len(columns) == 0:
			list = append(list, "],["...)
		case i > 0:
			list = append(list, ',')
		default:
			list = append(list, '[')
		}
		list, _ = codec.AppendString(list, key)
	}
	for i, c := range columns {
		same += fmt.Sprintf(" AND s.%s = k.value ->> %d", c, i)
	}
	return filled(fmt.Sprintf(`SELECT %s, h.commit_id, h.op, h.schema_version_id, CAST(h.fields_json AS BLOB), %s
		FROM json_each(?) k CROSS JOIN %s h ON h.id =
			(SELECT s.id FROM %[3]s s WHERE %[4]s AND s.commit_id <= ? ORDER BY s.commit_id DESC, s.id LIMIT 1)`, a.t.List("h"), a.t.Sum("h"), a.t.History, same),
		string(append(list, "]]"...)), a.Query.Type, r.commitID(a.Query.At))
}

// nameOf is what an order is remembered by. A purge changes how often types have
// changed.
func (r *reading) nameOf(ordered sqlgen.Part) string {
	return fmt.Sprintf("%d %s %q", r.changes, ordered.SQL, ordered.Args)
}

// pageInPast pushes the page of a question that keeps an order. It reports false, and
// has pushed nothing, if the order is too long to be kept, or the place is not in it:
// the question is then answered in the usual way.
func (rd *reader) pageInPast(r *reading, a *question, push func(onto.Version) error) (answered bool, err error) {
	o, err := rd.order(r, a)
	if err != nil || o.tooLong {
		return false, err
	}
	from, ok, err := rd.placeIn(r, a, o)
	if err != nil || !ok {
		return false, err
	}
	width := len(a.t.Columns) - 1
	from = min(len(o.keys), from+max(0, a.Query.Offset)*width)
	until := min(len(o.keys), from+a.Query.Limit*width)
	for keys := range slices.Chunk(o.keys[from:until], width*smallPage) {
		if err := r.eachVersion(a, keys, push); err != nil {
			return true, err
		}
	}
	return true, nil
}

// order returns the order of a question.
func (rd *reader) order(r *reading, a *question) (*keptOrder, error) {
	ordered := a.ordered()
	o := &keptOrder{of: r.nameOf(ordered)}
	if known, ok := rd.kept.get(o.of); ok {
		return known, nil
	}
	err := r.Each(ordered.SQL, ordered.Args, func(rows *driver.Rows) error {
		for i := range a.t.Columns[1:] {
			key := rows.Text(i + 1)
			o.keys = append(o.keys, key)
			o.size += len(key) + keyOverhead
		}
		if o.size > maxKept {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		o.keys, o.size, o.tooLong, err = nil, 0, true, nil
	}
	if err != nil {
		return nil, err
	}
	rd.kept.put(o)
	return o, nil
}

// placeIn finds where the page begins, if the place to start after is in the order.
func (rd *reader) placeIn(r *reading, a *question, o *keptOrder) (int, bool, error) {
	after, at := a.Query.After, -1
	place := keysOf(&after.Identity)
	for i := 0; i+len(place) <= len(o.keys); i += len(place) {
		if slices.Equal(o.keys[i:i+len(place)], place) {
			at = i
			break
		}
	}
	if at < 0 || after.Identity.TypeName() != a.Query.TypeName() {
		return 0, false, nil
	}
	var v onto.Version
	err := r.eachVersion(a, place, func(found onto.Version) error { v = found; return nil })
	if err != nil {
		return 0, false, err
	}
	has, err := exec.PlaceOf(a.Query, &v, rd.endpoints(r, a.Query))
	if err != nil {
		return 0, false, err
	}
	for i, value := range has.Values {
		if string(value) != string(after.Values[i]) {
			return 0, false, nil
		}
	}
	return at + len(place), true, nil
}

// eachVersion pushes the versions of some identities at the moment of the question.
func (r *reading) eachVersion(a *question, keys []string, push func(onto.Version) error) error {
	sql := r.versionsOf(a, keys)
	err := r.Each(sql.SQL, sql.Args, func(rows *driver.Rows) error {
		v, err := r.version(a, rows)
		if err != nil {
			return err
		}
		has := keysOf(&v.Identity)
		if len(keys) < len(has) || !slices.Equal(keys[:len(has)], has) {
			return layout.DamagedRow(&v, "it is not in its place")
		}
		keys = keys[len(has):]
		return push(v)
	})
	if err == nil && len(keys) > 0 {
		err = onto.Errorf(onto.Corrupt, "%s %q has no version at commit %d any more", a.Query.Type, keys[:len(a.t.Columns)-1], a.Query.At).
			WithHint("%s", layout.RestoreRemedy)
	}
	return err
}

// keysOf is the keys of an identity, as an order has them.
func keysOf(id *onto.Identity) []string {
	if id.Kind == onto.KindEntity {
		return []string{id.Key}
	}
	return []string{id.Left, id.Right, id.Instance}
}
