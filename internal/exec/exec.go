// Package exec answers queries in process: it filters, searches, sorts, groups
// and pages versions that were read one after the other.
package exec

import (
	"encoding/json"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/words"
)

// Endpoints returns the fields of a relation's endpoints at the moment of the version,
// nil for one that does not exist. It is called only if needed.
type Endpoints func(v *onto.Version) (left, right json.RawMessage, err error)

// Select answers a query. The versions are those of its type, mode, moment and keys, in
// the order of its mode; Where, Search, Order, After, Offset and Limit are applied
// here. The fields of a version must not be changed afterwards.
//
// Without Order, versions pass through one at a time. With Order and Limit, no
// more than twice Offset and Limit together are kept, otherwise all.
func Select(q *backend.Query, rows iter.Seq2[onto.Version, error], ends Endpoints) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		s := newSelection(q, q.Ends(), ends)
		if err := s.checkAfter(); err != nil {
			yield(onto.Version{}, err)
			return
		}
		found := s.beyond(s.matching(rows))
		if len(q.Order) > 0 {
			found = sorted(found, s.compare, reach(q.Offset, q.Limit))
		}
		for r, err := range page(found, q.Offset, q.Limit) {
			if err != nil {
				yield(onto.Version{}, err)
				return
			}
			if !yield(r.version, nil) {
				return
			}
		}
	}
}

// row is a version and what a query reads of it.
type row struct {
	version onto.Version
	fields  filter.Row
	values  []json.RawMessage // of each Order
}

// selection is a query prepared for many rows.
type selection struct {
	q      *backend.Query
	where  *filter.Matcher
	search []onto.Operand // the fields with words
	ends   Endpoints      // nil if the question does not use them
}

// newSelection prepares a query. Looked is the endpoints that the question uses.
func newSelection(q *backend.Query, looked backend.Ends, ends Endpoints) *selection {
	s := &selection{q: q, where: filter.Compile(q.Where)}
	if looked.Any() {
		s.ends = ends
	}
	if q.Schema != nil && len(q.Search) > 0 {
		for _, f := range q.Schema.Fields {
			if f.Search {
				s.search = append(s.search, onto.Path(f.Name))
			}
		}
	}
	return s
}

// matching yields the rows that Where and Search select.
func (s *selection) matching(versions iter.Seq2[onto.Version, error]) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		r := new(row) // reused until it is yielded
		for v, err := range versions {
			if err == nil {
				err = s.read(r, v)
			}
			if err != nil {
				yield(&row{version: v}, err)
				return
			}
			if !s.matches(r) {
				continue
			}
			if !yield(r, nil) {
				return
			}
			r = new(row)
		}
	}
}

// read fills a row with what the query needs.
func (s *selection) read(r *row, v onto.Version) (err error) {
	r.version, r.fields = v, filter.Row{Own: v.Fields}
	if s.ends != nil {
		r.fields.Left, r.fields.Right, err = s.ends(&r.version)
	}
	return err
}

func (s *selection) matches(r *row) bool {
	return s.where.Match(&r.fields) && (len(s.q.Search) == 0 || words.Match(s.q.Search, s.texts(r)...))
}

// texts returns the strings that can be searched.
func (s *selection) texts(r *row) []string {
	var texts []string
	for _, o := range s.search {
		if v := r.fields.Value(o); v != nil && codec.KindOf(v) == codec.String {
			texts = append(texts, codec.Unquote(v))
		}
	}
	return texts
}
