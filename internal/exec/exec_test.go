package exec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/exec"
)

// source yields versions and counts how many were asked for.
type source struct {
	versions []onto.Version
	err      error // after the last one
	asked    int
	released bool
}

func (s *source) rows() iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		s.asked, s.released = 0, false
		defer func() { s.released = true }()
		for _, v := range s.versions {
			s.asked++
			if !yield(v, nil) {
				return
			}
		}
		if s.err != nil {
			yield(onto.Version{}, s.err)
		}
	}
}

// people makes versions of entities from lines like: a@1 {"n":1}, in the order
// given. A line without fields is a delete.
func people(lines ...string) *source {
	s := &source{}
	for _, line := range lines {
		head, fields, put := strings.Cut(line, " ")
		key, commit, _ := strings.Cut(head, "@")
		v := onto.Version{Identity: onto.EntityID("Person", key), Op: onto.Delete, Fields: json.RawMessage("{}")}
		if put {
			v.Op, v.Fields = onto.Put, json.RawMessage(fields)
		}
		if _, err := fmt.Sscan(commit, &v.Commit); err != nil && commit != "" {
			panic(err)
		}
		s.versions = append(s.versions, v)
	}
	return s
}

// names lists what a query selects.
func names(t *testing.T, q *backend.Query, s *source, ends exec.Endpoints) string {
	t.Helper()
	var list []string
	for v, err := range exec.Select(q, s.rows(), ends) {
		if err != nil {
			t.Fatal(err)
		}
		name := v.Key + v.Left
		if q.Mode == backend.History {
			name = fmt.Sprintf("%s@%d", name, v.Commit)
		}
		list = append(list, name)
	}
	if !s.released {
		t.Error("the source was not released")
	}
	return strings.Join(list, " ")
}

// numbers is a state with ties, nulls and other kinds.
func numbers() *source {
	return people(`a {"n":2}`, `b {"n":1}`, `c {}`, `d {"n":"x"}`, `e {"n":1}`, `f {"n":[1]}`, `g {"n":null}`, `h {"n":true}`)
}

func TestSelect(t *testing.T) {
	n := onto.Path("n")
	up, down := []onto.Order{n.Asc()}, []onto.Order{n.Desc()}
	place := func(value, key string) *backend.Place {
		p := &backend.Place{Identity: onto.EntityID("Person", key), Values: []json.RawMessage{nil}}
		if value != "" {
			p.Values[0] = json.RawMessage(value)
		}
		return p
	}
	for _, test := range []struct {
		name string
		q    backend.Query
		want string
	}{
		{"all", backend.Query{}, "a b c d e f g h"},
		{"where", backend.Query{Where: n.Eq(int64(1))}, "b e"},
		{"limit", backend.Query{Limit: 3}, "a b c"},
		{"offset", backend.Query{Offset: 6}, "g h"},
		{"offset beyond the end", backend.Query{Offset: 9}, ""},
		{"offset and limit", backend.Query{Offset: 1, Limit: 2, Where: n.IsNotNull()}, "b d"},
		{"after", backend.Query{After: &backend.Place{Identity: onto.EntityID("Person", "e")}}, "f g h"},
		{"after and limit", backend.Query{After: &backend.Place{Identity: onto.EntityID("Person", "bb")}, Limit: 2}, "c d"},
		{"up", backend.Query{Order: up}, "h b e a d f c g"},
		{"down", backend.Query{Order: down}, "f d a b e h c g"},
		{"up, the first", backend.Query{Order: up, Limit: 2}, "h b"},
		{"down, from the second", backend.Query{Order: down, Offset: 1, Limit: 3}, "d a b"},
		{"up, beyond the end", backend.Query{Order: up, Offset: 7, Limit: 9}, "g"},
		{"up after a tie", backend.Query{Order: up, After: place("1", "b")}, "e a d f c g"},
		{"up between ties", backend.Query{Order: up, After: place("1", "c")}, "e a d f c g"},
		{"down after a tie", backend.Query{Order: down, After: place("1", "b"), Limit: 2}, "e h"},
		{"down after a null", backend.Query{Order: down, After: place("", "c")}, "g"},
		{"up after a null", backend.Query{Order: up, After: place("", "c")}, "g"},
		{"a null written out", backend.Query{Order: up, After: place("null", "c")}, "g"},
		{"offset after a place", backend.Query{Order: up, After: place("1", "b"), Offset: 1, Limit: 2}, "a d"},
		{"two orders", backend.Query{Order: []onto.Order{n.Asc(), onto.Path("none").Desc()}}, "h b e a d f c g"},
		{"more than there can be", backend.Query{Order: up, Offset: 1 << 62, Limit: 1 << 62}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := names(t, &test.q, numbers(), nil); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSelectFromHistory(t *testing.T) {
	s := people(`a@1 {"n":1}`, `b@1 {"n":2}`, `a@2 {"n":2}`, `b@3`, `a@4 {"n":1}`)
	n := onto.Path("n")
	for _, test := range []struct {
		name string
		q    backend.Query
		want string
	}{
		{"in the order of the log", backend.Query{}, "a@1 b@1 a@2 b@3 a@4"},
		{"ties by commit, then identity", backend.Query{Order: []onto.Order{n.Desc()}}, "b@1 a@2 a@1 a@4 b@3"},
		{"after a commit and an identity", backend.Query{After: &backend.Place{Commit: 1, Identity: onto.EntityID("Person", "a")}}, "b@1 a@2 b@3 a@4"},
		{"after a tie", backend.Query{
			Order: []onto.Order{n.Desc()},
			After: &backend.Place{Values: []json.RawMessage{json.RawMessage("2")}, Commit: 1, Identity: onto.EntityID("Person", "b")},
		}, "a@2 a@1 a@4 b@3"},
		{"deletes have no fields", backend.Query{Where: n.IsNull()}, "b@3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.q.Mode = backend.History
			if got := names(t, &test.q, s, nil); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestSelectKeepsWhatComesFirst compares every offset and limit with the whole
// sorted answer.
func TestSelectKeepsWhatComesFirst(t *testing.T) {
	s := &source{}
	for i := range 300 {
		fields := fmt.Sprintf(`{"n":%d}`, i*7919%41)
		s.versions = append(s.versions, onto.Version{Identity: onto.EntityID("Person", fmt.Sprintf("%03d", i)), Op: onto.Put, Fields: json.RawMessage(fields)})
	}
	order := []onto.Order{onto.Path("n").Desc()}
	whole := strings.Fields(names(t, &backend.Query{Order: order}, s, nil))
	for _, offset := range []int{0, 1, 17, 150, 299, 300} {
		for _, limit := range []int{1, 2, 33, 150, 299, 300, 301} {
			want := strings.Join(whole[offset:min(offset+limit, 300)], " ")
			if got := names(t, &backend.Query{Order: order, Offset: offset, Limit: limit}, s, nil); got != want {
				t.Errorf("offset %d, limit %d: got %q, want %q", offset, limit, got, want)
			}
		}
	}
}

func TestSelectAsksForNoMoreThanItNeeds(t *testing.T) {
	s := numbers()
	if got := names(t, &backend.Query{Offset: 1, Limit: 2}, s, nil); got != "b c" || s.asked != 3 {
		t.Errorf("got %q after %d versions, want b c after 3", got, s.asked)
	}
	for v, err := range exec.Select(&backend.Query{}, s.rows(), nil) {
		if err != nil || v.Key != "a" {
			t.Errorf("got %v and error %v, want a", v, err)
		}
		break
	}
	if s.asked != 1 || !s.released {
		t.Errorf("got %d versions, released %v; want 1, released", s.asked, s.released)
	}
}

func TestSelectEndsWithItsError(t *testing.T) {
	planted := errors.New("the source broke")
	for _, q := range []backend.Query{
		{}, {Offset: 99}, {Where: onto.Path("n").IsNull(), Order: []onto.Order{onto.Path("n").Asc()}, Limit: 1},
	} {
		s := numbers()
		s.err = planted
		failed := 0
		for _, err := range exec.Select(&q, s.rows(), nil) {
			if failed > 0 {
				t.Errorf("%+v: goes on after its error", q)
			}
			if err != nil {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%+v: got %d errors, want 1", q, failed)
		}
	}
	var err error
	for _, e := range exec.Select(&backend.Query{Order: []onto.Order{onto.Path("n").Asc()}, After: &backend.Place{}}, numbers().rows(), nil) {
		err = e
	}
	if !errors.Is(err, onto.Invalid) {
		t.Errorf("a place without its values: got error %v, want code %q", err, onto.Invalid)
	}
}

func TestSearch(t *testing.T) {
	s := people(`a {"k":"grace","t":"Ada Lovelace"}`, `b {"k":"Ada","t":"hopper"}`, `c {"k":"ada","t":7}`, `d {"t":["ada"]}`, `e {"u":"ada hopper"}`)
	marked := &onto.Schema{Fields: []onto.Field{{Name: "k", Search: true}, {Name: "t", Search: true}, {Name: "u"}}}
	ada, hop := backend.Word{Text: "ada"}, backend.Word{Text: "hop", Prefix: true}
	for _, test := range []struct {
		schema *onto.Schema
		search []backend.Word
		want   string
	}{
		{marked, nil, "a b c d e"},
		{marked, []backend.Word{ada}, "a b c"},
		{marked, []backend.Word{ada, hop}, "b"},
		{marked, []backend.Word{{Text: "hop"}}, ""},
		{&onto.Schema{Fields: []onto.Field{{Name: "u"}}}, []backend.Word{ada}, ""},
		{nil, []backend.Word{ada}, ""},
	} {
		if got := names(t, &backend.Query{Schema: test.schema, Search: test.search}, s, nil); got != test.want {
			t.Errorf("search %v: got %q, want %q", test.search, got, test.want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	s := &source{}
	for _, key := range []string{"a", "b", "c"} {
		s.versions = append(s.versions, onto.Version{Identity: onto.RelationID("Knows", key, "x"), Op: onto.Put, Fields: json.RawMessage("{}")})
	}
	asked := 0
	ends := func(v *onto.Version) (left, right json.RawMessage, err error) {
		asked++
		left = map[string]json.RawMessage{"a": json.RawMessage(`{"n":1}`), "c": json.RawMessage(`{"n":0}`)}[v.Left]
		return left, json.RawMessage(`{"n":5}`), nil
	}
	for _, test := range []struct {
		q     backend.Query
		want  string
		asked int
	}{
		{backend.Query{Where: onto.Path("n").IsNull()}, "a b c", 0},
		{backend.Query{Where: onto.Left("n").IsNotNull()}, "a c", 3},
		{backend.Query{Where: onto.Right("n").Eq(int64(5)), Limit: 1}, "a", 1},
		{backend.Query{Order: []onto.Order{onto.Left("n").Asc()}}, "c a b", 3},
	} {
		asked = 0
		if got := names(t, &test.q, s, ends); got != test.want || asked != test.asked {
			t.Errorf("%+v: got %q and asked %d times, want %q and %d times", test.q, got, asked, test.want, test.asked)
		}
	}
	planted := errors.New("unreadable")
	broken := func(*onto.Version) (json.RawMessage, json.RawMessage, error) { return nil, nil, planted }
	for _, err := range exec.Select(&backend.Query{Where: onto.Left("n").IsNull()}, s.rows(), broken) {
		if err != planted {
			t.Errorf("got error %v, want %v", err, planted)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	q := &backend.Query{Mode: backend.History, Order: []onto.Order{onto.Path("n").Desc(), onto.Left("n").Asc(), onto.Path("none").Asc()}}
	v := &onto.Version{Identity: onto.RelationID("Knows", "a", "x"), Commit: 7, Fields: json.RawMessage(`{"n":2}`)}
	ends := func(*onto.Version) (json.RawMessage, json.RawMessage, error) {
		return json.RawMessage(`{"n":"l"}`), nil, nil
	}
	p, err := exec.PlaceOf(q, v, ends)
	if err != nil {
		t.Fatal(err)
	}
	copy(v.Fields, `{"n":9}`)
	got := fmt.Sprintf("%s %d %s", p.Values, p.Commit, p.Identity)
	if want := `[2 "l" ] 7 Knows "a" → "x"`; got != want || p.Values[2] != nil {
		t.Errorf("got %s, want %s", got, want)
	}
	p, err = exec.PlaceOf(&backend.Query{}, v, nil)
	if err != nil || p.Commit != 0 || p.Values != nil || p.Identity != v.Identity {
		t.Errorf("in a state without orders: got %+v and error %v, want the identity alone", p, err)
	}
}
