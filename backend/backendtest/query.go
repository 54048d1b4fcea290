package backendtest

import (
	"fmt"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

func persons(at int64) backend.Query { return *stateOf(onto.KindEntity, tPerson, at) }

// schemaOf returns the type of that name out of a list.
func schemaOf(list []onto.Schema, name string) *onto.Schema {
	for _, s := range list {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// failer is what can end a test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// clean makes a query as the store passes it on: with its types, and with filter and
// orders checked against them.
func clean(t failer, q backend.Query, types []onto.Schema) *backend.Query {
	t.Helper()
	q.Schema = schemaOf(types, q.Type)
	q.Left, q.Right = schemaOf(types, q.Schema.Left), schemaOf(types, q.Schema.Right)
	scope := &filter.Scope{Schema: q.Schema, Left: q.Left, Right: q.Right}
	var err error
	if q.Where != nil {
		if q.Where, err = filter.Check(q.Where, scope); err != nil {
			t.Fatalf("filter: %v", err)
		}
	}
	order := q.Order
	q.Order = nil
	for _, o := range order {
		if o.Operand, err = filter.CheckOperand(o.Operand, scope); err != nil {
			t.Fatalf("order: %v", err)
		}
		q.Order = append(q.Order, o)
	}
	return &q
}

// ask answers a query with the names of what it found. It asks a second time without
// the type, which must make no difference.
func (s *story) ask(q backend.Query) string {
	s.Helper()
	c := clean(s.T, q, testSchemas())
	answer := s.names(c)
	c.Schema = nil
	s.want(describeQuery(c)+", without the type", s.names(c), answer)
	return answer
}

// names lists the versions a query finds, by name.
func (s *story) names(q *backend.Query) string {
	s.Helper()
	return strings.Join(list(s, s.Scan(s.ctx, q), func(v onto.Version) string { return nameOf(q.Mode, v) }), " ")
}

// nameOf names a version: a, a>b or a>b/1, in a history with the commit and,
// for a delete, a minus before it.
func nameOf(mode backend.Mode, v onto.Version) string {
	name := v.Key
	if v.Kind != onto.KindEntity {
		name = v.Left + ">" + v.Right
		if v.Instance != "" {
			name += "/" + v.Instance
		}
	}
	if mode == backend.History {
		name = fmt.Sprintf("%s@%d", name, v.Commit)
	}
	if !v.Live() {
		name = "-" + name
	}
	return name
}

// asking is a question and the names of its answer.
type asking struct {
	q    backend.Query
	want string
}

func (s *story) askAll(tests []asking) {
	s.Helper()
	for _, test := range tests {
		s.want(describeQuery(&test.q), s.ask(test.q), test.want)
	}
}

// describeQuery formats a query.
func describeQuery(q *backend.Query) string {
	text := "state of "
	if q.Mode == backend.History {
		text = "history of "
	}
	text += q.Type
	if q.At != backend.Head {
		text += fmt.Sprintf(" as of %d", q.At)
	}
	for _, part := range []struct {
		name string
		on   bool
		what any
	}{
		{"since", q.Since > 0, q.Since}, {"of", q.Identity != nil, q.Identity},
		{"keys", q.Keys != nil, q.Keys}, {"left keys", q.LeftKeys != nil, q.LeftKeys}, {"right keys", q.RightKeys != nil, q.RightKeys},
		{"search", q.Search != nil, q.Search}, {"offset", q.Offset > 0, q.Offset}, {"limit", q.Limit > 0, q.Limit},
	} {
		if part.on {
			text += fmt.Sprintf(", %s %+v", part.name, part.what)
		}
	}
	if q.Where != nil {
		text += ", where " + filter.Format(q.Where)
	}
	for _, o := range q.Order {
		text += ", by " + filter.FormatOperand(o.Operand)
		if o.Desc {
			text += " down"
		}
	}
	if q.After != nil {
		text += fmt.Sprintf(", after %s %s @%d", q.After.Values, q.After.Identity, q.After.Commit)
	}
	return text
}
