package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

func orderStories() []tale {
	return []tale{
		{"an order sorts", func(s *story) { s.disorderly(); s.tellOrder() }},
		{"an order by fields that are indexed later", func(s *story) { s.disorderly(); s.indexAll(); s.tellOrder() }},
		{"an order as of each commit", orderAsOf},
		{"offset and limit", offsets},
		{"page by page in every order", pagesInOrder},
		{"pages of a history", pagesOfHistory},
		{"a place between two versions", placeBetween},
	}
}

// disorderly writes persons with values of every kind, several of them equal.
func (s *story) disorderly() {
	s.Helper()
	var writes []backend.Write
	for key, fields := range map[string]string{
		"a": `{"n":2,"t":"x","v":"b"}`,
		"b": `{"n":1,"t":"x","v":{"a":1}}`,
		"c": `{"n":2,"t":"y"}`,
		"d": `{"t":"X","v":9007199254740993}`,
		"e": `{"n":1,"v":true}`,
		"f": `{"n":-1,"t":"é","v":9007199254740992}`,
		"g": `{"t":"e","v":"B"}`,
		"h": `{"n":1,"t":"x","v":[2]}`,
		"i": `{"v":-0.5}`,
		"j": `{"n":9007199254740993,"v":false}`,
		"k": `{"n":9007199254740992}`,
		"l": `{"t":"","v":"é"}`,
		"m": `{"t":"😀","v":{"a":null}}`,
		"o": `{"t":"\uffff","v":1.5e300}`,
		"p": `{"v":""}`,
		"q": `{"v":"10"}`,
		"r": `{"v":"9"}`,
		"s": `{"v":3}`,
	} {
		writes = append(writes, set(person(key), fields))
	}
	s.commit(writes...)
}

// tellOrder asks about disorderly. How values compare is defined by the cases of
// package filtertest.
func (s *story) tellOrder() {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	for _, test := range []struct {
		order []onto.Order
		want  string
	}{
		{nil, "a b c d e f g h i j k l m o p q r s"},
		{[]onto.Order{v.Asc()}, "j e i s f d o p q r g a l b h m c k"},
		{[]onto.Order{n.Desc()}, "j k a c b e h f d g i l m o p q r s"},
		{[]onto.Order{t.Desc(), v.Desc(), n.Asc()}, "m o f c b h a g d l r q p s i e j k"},
	} {
		for _, at := range []int64{backend.Head, 1} {
			q := persons(at)
			q.Order = test.order
			s.askAll([]asking{{q, test.want}})
			q.Limit = 3
			s.askAll([]asking{{q, strings.Join(strings.Fields(test.want)[:3], " ")}})
		}
	}
}

func orderAsOf(s *story) {
	s.changing()
	s.commit(put(person("c"), 2), put(person("d"), 1), put(person("a"), 9))
	for at, want := range map[int64]string{0: "", 1: "b a", 2: "a b", 3: "a", 4: "a b", 5: "b", 6: "a b c d"} {
		q := persons(at)
		q.Order = []onto.Order{onto.Path("n").Desc()}
		s.askAll([]asking{{q, want}})
	}
}

func offsets(s *story) {
	s.disorderly()
	s.commit(put(person("zoe"), 1))
	n := onto.Path("n")
	for _, order := range [][]onto.Order{nil, {n.Asc()}, {n.Desc(), onto.Path("t").Asc()}} {
		for _, at := range []int64{1, backend.Head} {
			q := persons(at)
			q.Order, q.Where = order, n.IsNotNull()
			whole := strings.Fields(s.ask(q))
			for _, offset := range []int{0, 1, 5, len(whole), len(whole) + 1, 1 << 40} {
				for _, limit := range []int{0, 1, 4, 100} {
					q.Offset, q.Limit = offset, limit
					want := whole[min(offset, len(whole)):]
					if limit > 0 {
						want = want[:min(limit, len(want))]
					}
					s.askAll([]asking{{q, strings.Join(want, " ")}})
				}
			}
		}
	}
}

// placeOf returns the place of a version in the answer to a clean query.
func placeOf(ctx context.Context, b backend.Backend, q *backend.Query, v onto.Version) (*backend.Place, error) {
	p := &backend.Place{Identity: v.Identity}
	at := q.At
	if q.Mode == backend.History {
		p.Commit, at = v.Commit, v.Commit
	}
	row := filter.Row{Own: v.Fields}
	for _, end := range []struct {
		of  *onto.Schema
		key string
		row *json.RawMessage
	}{{q.Left, v.Left, &row.Left}, {q.Right, v.Right, &row.Right}} {
		if end.of == nil {
			continue
		}
		var err error
		if *end.row, err = fieldsAt(ctx, b, onto.EntityID(end.of.Name, end.key), at); err != nil {
			return nil, err
		}
	}
	for _, o := range q.Order {
		p.Values = append(p.Values, row.Value(o.Operand))
	}
	return p, nil
}

// fieldsAt returns the fields of an identity, or nil if it did not exist.
func fieldsAt(ctx context.Context, b backend.Backend, id onto.Identity, at int64) (json.RawMessage, error) {
	v, err := b.Get(ctx, id, at)
	if errors.Is(err, onto.NotFound) || err == nil && !v.Live() {
		return nil, nil
	}
	return v.Fields, err
}

// inPages reads the answer to a clean query page by page.
func inPages(ctx context.Context, b backend.Backend, q backend.Query, size int) ([]onto.Version, error) {
	var all []onto.Version
	for {
		q.Limit = size
		var last *onto.Version
		n := 0
		for v, err := range b.Scan(ctx, &q) {
			if err != nil {
				return all, err
			}
			all, last = append(all, v), &v
			n++
		}
		if n > size {
			return all, fmt.Errorf("a page of %d holds %d", size, n)
		}
		if n < size {
			return all, nil
		}
		var err error
		if q.After, err = placeOf(ctx, b, &q, *last); err != nil {
			return all, err
		}
		if len(all) > 1000 {
			return all, errors.New("the pages do not end")
		}
	}
}

// wantPages compares a whole answer with its pages.
func (s *story) wantPages(q backend.Query, sizes ...int) {
	s.Helper()
	c := clean(s.T, q, testSchemas())
	whole := s.names(c)
	for _, size := range sizes {
		found, err := inPages(s.ctx, s, *c, size)
		s.must(err)
		var names []string
		for _, v := range found {
			names = append(names, nameOf(q.Mode, v))
		}
		s.want(fmt.Sprintf("%s, in pages of %d", describeQuery(c), size), strings.Join(names, " "), whole)
	}
}

// someOrders returns orders with ties, nulls and mixed kinds in them.
func someOrders() [][]onto.Order {
	n, t, v := onto.Path("n"), onto.Path("t"), onto.Path("v")
	return [][]onto.Order{
		nil, {v.Asc()}, {v.Desc()}, {n.Asc()}, {n.Desc()}, {t.Desc()},
		{t.Asc(), n.Desc()}, {n.Desc(), v.Asc()}, {v.Desc(), t.Desc(), n.Asc()}, {onto.Path("v", "a").Desc(), n.Asc()},
	}
}

func pagesInOrder(s *story) {
	s.disorderly()
	s.commit(put(person("a"), 7), remove(person("m")), put(person("zoe"), 1))
	for _, indexed := range []bool{false, true} {
		if indexed {
			s.indexAll()
		}
		for _, order := range someOrders() {
			for _, at := range []int64{1, backend.Head} {
				q := persons(at)
				q.Order = order
				s.wantPages(q, 1, 2, 5, 19)
				q.Where = onto.Path("n").IsNull()
				s.wantPages(q, 1, 4)
			}
		}
	}
}

func pagesOfHistory(s *story) {
	s.disorderly()
	s.changing()
	b := person("b")
	for _, order := range someOrders() {
		q := *historyOf(onto.KindEntity, tPerson, backend.Head)
		q.Order = order
		s.wantPages(q, 1, 3, 7)
		q.Since, q.At = 1, 5
		s.wantPages(q, 1, 2)
		q.Since, q.Identity = 0, &b
		s.wantPages(q, 1, 2)
	}
}

// placeBetween continues from places that no version has.
func placeBetween(s *story) {
	s.commit(set(person("a"), `{"n":1,"v":1}`), set(person("c"), `{"n":1,"v":1}`), set(person("d"), `{"n":3,"v":3}`), set(person("e"), `{}`), set(person("g"), `{}`))
	n, v := onto.Path("n"), onto.Path("v")
	for _, test := range []struct {
		order        onto.Order
		value, after string // value is "" for null
		want         string
	}{
		{n.Asc(), "", "f", "g"},
		{n.Asc(), "0", "z", "a c d e g"},
		{n.Asc(), "1", "b", "c d e g"},
		{n.Asc(), "1", "c", "d e g"},
		{n.Asc(), "2.5", "a", "d e g"},
		{n.Asc(), "4", "a", "e g"},
		{n.Desc(), "1", "b", "c e g"},
		{n.Desc(), "2", "z", "a c e g"},
		{n.Desc(), "3", "d", "a c e g"},
		{n.Desc(), "0", "a", "e g"},
		{n.Desc(), "", "f", "g"},
		{v.Asc(), `""`, "a", "e g"},
		{v.Asc(), "{}", "a", "e g"},
		{v.Asc(), "false", "a", "a c d e g"},
		{v.Desc(), `"x"`, "z", "d a c e g"},
		{v.Desc(), "[]", "z", "d a c e g"},
		{v.Desc(), "true", "a", "e g"},
	} {
		q := persons(backend.Head)
		q.Order = []onto.Order{test.order}
		q.After = &backend.Place{Values: make([]json.RawMessage, 1), Identity: person(test.after)}
		if test.value != "" {
			q.After.Values[0] = json.RawMessage(test.value)
		}
		s.askAll([]asking{{q, test.want}})
		q.Limit = 1
		s.askAll([]asking{{q, slices.Concat(strings.Fields(test.want), []string{""})[0]}})
	}
}
