package filtertest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

// ledger records what was written to a store, and computes answers from it with package
// filter.
type ledger struct {
	schemas  []*onto.Schema
	versions []onto.Version // by commit, then identity
	head     int64
}

func (l *ledger) schema(kind onto.Kind, name string) *onto.Schema {
	for _, s := range l.schemas {
		if s.Kind == kind && s.Name == name {
			return s
		}
	}
	return nil
}

// register registers the types in a backend.
func (l *ledger) register(ctx context.Context, b backend.Backend) error {
	r := backend.Registration{Runtime: "test", Reason: "initial"}
	for _, s := range l.schemas {
		r.Schemas = append(r.Schemas, *s)
	}
	_, err := b.Register(ctx, &r)
	return err
}

// draft makes a commit of writes and keeps what it changes.
func (l *ledger) draft(writes []backend.Write) *backend.Draft {
	d := &backend.Draft{Writes: slices.Clone(writes)}
	slices.SortFunc(d.Writes, func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) })
	var changes []onto.Version
	for i := range d.Writes {
		w := &d.Writes[i]
		if w.SchemaVersion = 1; !backend.Changes(w, l.newest(w.Identity, l.head)) {
			continue
		}
		v := onto.Version{Identity: w.Identity, Op: w.Op, Commit: l.head + 1, SchemaVersion: 1, Fields: w.Fields}
		if w.Op == onto.Delete {
			v.Fields = json.RawMessage("{}")
		}
		changes = append(changes, v)
	}
	if len(changes) > 0 {
		l.head++
		l.versions = append(l.versions, changes...)
	}
	return d
}

// newest returns the newest version of an identity as of a commit, nil if it
// has none.
func (l *ledger) newest(id onto.Identity, at int64) *onto.Version {
	for i := len(l.versions) - 1; i >= 0; i-- {
		if v := &l.versions[i]; v.Identity == id && (v.Commit <= at || at == backend.Head) {
			return v
		}
	}
	return nil
}

// row returns a version as a filter sees it. Endpoints are as of the moment of
// the question, in a history as of the version's own.
func (l *ledger) row(q *backend.Query, v *onto.Version) *filter.Row {
	r := &filter.Row{Own: v.Fields}
	s := l.schema(v.Kind, v.Type)
	at := q.At
	if q.Mode == backend.History {
		at = v.Commit
	}
	end := func(typ, key string) json.RawMessage {
		if typ == "" {
			return nil
		}
		if e := l.newest(onto.EntityID(typ, key), at); e != nil && e.Live() {
			return e.Fields
		}
		return nil
	}
	r.Left, r.Right = end(s.Left, v.Left), end(s.Right, v.Right)
	return r
}

// answer returns the versions that a question asks for by everything but words
// and pages.
func (l *ledger) answer(q *backend.Query) []*onto.Version {
	var list []*onto.Version
	for i := range l.versions {
		v := &l.versions[i]
		switch {
		case v.TypeName() != q.TypeName(), q.At != backend.Head && v.Commit > q.At:
		case q.Mode == backend.History && v.Commit <= q.Since, !among(q, v.Identity):
		case q.Mode == backend.State && (!v.Live() || l.newest(v.Identity, q.At) != v):
		case q.Where != nil && !filter.Match(q.Where, l.row(q, v)):
		default:
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b *onto.Version) int { return comparePlaces(q, l.place(q, a), l.place(q, b)) })
	return list
}

// among reports whether an identity is one that a question is about.
func among(q *backend.Query, id onto.Identity) bool {
	return (q.Mode == backend.State || q.Identity == nil || *q.Identity == id) &&
		(q.Keys == nil || slices.Contains(q.Keys, id.Key)) &&
		(q.LeftKeys == nil || slices.Contains(q.LeftKeys, id.Left)) &&
		(q.RightKeys == nil || slices.Contains(q.RightKeys, id.Right))
}

// page returns the part of an answer that a question asks for.
func (l *ledger) page(q *backend.Query) []*onto.Version {
	list := l.answer(q)
	if q.After != nil {
		list = slices.DeleteFunc(list, func(v *onto.Version) bool { return comparePlaces(q, l.place(q, v), q.After) <= 0 })
	}
	list = list[min(q.Offset, len(list)):]
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return list
}

// comparePlaces is the order of an answer.
func comparePlaces(q *backend.Query, a, b *backend.Place) int {
	for i, o := range q.Order {
		x, y := a.Values[i], b.Values[i]
		c := filter.Compare(x, y)
		if o.Desc && x != nil && y != nil {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Identity.Compare(b.Identity))
}

// place returns the place of a version in an answer.
func (l *ledger) place(q *backend.Query, v *onto.Version) *backend.Place {
	p := &backend.Place{Identity: v.Identity}
	if q.Mode == backend.History {
		p.Commit = v.Commit
	}
	for _, o := range q.Order {
		p.Values = append(p.Values, l.row(q, v).Value(o.Operand))
	}
	return p
}

// keyOf writes the key of an identity as the corpus does.
func keyOf(id onto.Identity) string {
	switch {
	case id.Kind == onto.KindEntity:
		return id.Key
	case id.Instance == "":
		return id.Left + "/" + id.Right
	}
	return id.Left + "/" + id.Right + "/" + id.Instance
}

// show identifies a version among others of its type.
func show(v *onto.Version) string {
	if v.Op == onto.Delete {
		return fmt.Sprintf("%s@%d deleted", keyOf(v.Identity), v.Commit)
	}
	return fmt.Sprintf("%s@%d", keyOf(v.Identity), v.Commit)
}
