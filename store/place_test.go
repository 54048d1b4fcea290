package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/exec"
	"github.com/ontologia/onto/store"
)

type Parcel struct {
	ID    string   `json:"id" onto:"key"`
	Label string   `json:"label" onto:"index"`
	Size  *float64 `json:"size"`
	Extra any      `json:"extra"`
}

// parcels has things of any kind in every field.
func parcels() []Parcel {
	var list []Parcel
	extras := []any{nil, true, 1, "x", []int{2}, map[string]int{"a": 1}, -3.5, "", false, []int{}}
	for i := range 40 {
		c := Parcel{ID: fmt.Sprintf("c%02d", i*7%40), Label: fmt.Sprint("l", i%4), Extra: extras[i%len(extras)]}
		if i%3 > 0 {
			size := float64(i%5) / 2
			c.Size = &size
		}
		list = append(list, c)
	}
	return list
}

// A query that is asked of several stores and goes on after the place of its last answer gives,
// merged, what one store with everything answers.
func TestPlacesOfSeveralStores(t *testing.T) {
	inMemory := func() *store.Store {
		s, err := store.Open(t.Context(), memory.New(nil).Open(), onto.TypeOf[Parcel]())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	whole := newStore(t, onto.TypeOf[Parcel]())
	parts := []*store.Store{inMemory(), newStore(t, onto.TypeOf[Parcel]()), inMemory()}
	for i, c := range parcels() {
		mustCommit(t, whole, onto.Draft{}.Ensure(c))
		mustCommit(t, parts[i*i%5%3], onto.Draft{}.Ensure(c))
	}
	for _, order := range [][]onto.Order{
		nil,
		{onto.Path("label").Asc()},
		{onto.Path("label").Desc()},
		{onto.Path("size").Asc()},
		{onto.Path("size").Desc(), onto.Path("label").Asc()},
		{onto.Path("extra").Desc()},
		{onto.Path("extra", "a").Asc()},
	} {
		ask := func(s *store.Store) store.Query[Parcel] {
			return store.Find[Parcel](s.Now()).Where(onto.Path("id").Ne("c03")).OrderBy(order...)
		}
		want := list(t, ask(whole).All(t.Context()), func(c Parcel) string { return c.ID })
		for _, size := range []int{1, 3, 7, 100} {
			var got []string
			var last *store.Place
			for range 100 {
				var page []string
				if page, last = mergedPage(t, parts, ask, last, size); len(page) == 0 {
					break
				}
				got = append(got, page...)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("by %v, %d at a time:\ngot  %s\nwant %s", order, size, strings.Join(got, " "), want)
			}
		}
	}
}

// mergedPage asks all stores for what comes after a place, and merges their answers.
func mergedPage(t *testing.T, parts []*store.Store, ask func(*store.Store) store.Query[Parcel], after *store.Place, size int) (page []string, last *store.Place) {
	t.Helper()
	type placed struct {
		row   store.Row[Parcel]
		place store.Place
	}
	var answers []func(context.Context) iter.Seq2[placed, error]
	for _, s := range parts {
		q := ask(s).Limit(size)
		if after != nil {
			q = q.StartAfter(*after)
		}
		answers = append(answers, func(ctx context.Context) iter.Seq2[placed, error] {
			return func(yield func(placed, error) bool) {
				place, err := q.Placer(ctx)
				if err != nil {
					yield(placed{}, err)
					return
				}
				for row, err := range q.Rows(ctx) {
					p := placed{row: row}
					if err == nil {
						p.place, err = place(&row.Version)
					}
					if !yield(p, err) {
						return
					}
				}
			}
		})
	}
	compare := func(a, b *placed) int { return ask(parts[0]).ComparePlaces(a.place, b.place) }
	last = after
	for p, err := range exec.MergeAhead(t.Context(), answers, compare) {
		if err != nil {
			t.Fatal(err)
		}
		if p.row.Version.Key != p.row.Value.ID {
			t.Fatalf("%s was read from %s", p.row.Value.ID, p.row.Version.Identity)
		}
		// A place comes back from JSON as it was.
		text, err := json.Marshal(p.place)
		if err != nil {
			t.Fatal(err)
		}
		last = new(store.Place)
		if err := json.Unmarshal(text, last); err != nil {
			t.Fatal(err)
		}
		if page = append(page, p.row.Value.ID); len(page) == size {
			break
		}
	}
	return page, last
}

func TestPlaceOf(t *testing.T) {
	s := shop(t)
	q := store.Find[Subscription](s.Now()).OrderBy(onto.Left("name").Desc(), onto.Path("seats").Asc())
	var places []store.Place
	for row, err := range q.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.PlaceOf(t.Context(), &row.Version)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	if got := fmt.Sprintf("%s %s", places[0].Values, places[0].Identity); len(places) != 3 || got != `["Linus" 9] Subscription "c3" → "p2"` {
		t.Fatalf("got %d places, %s first", len(places), got)
	}
	if !slices.IsSortedFunc(places, q.ComparePlaces) || q.ComparePlaces(places[0], places[1]) >= 0 || q.ComparePlaces(places[2], places[2]) != 0 {
		t.Errorf("not in order: %v", places)
	}
	rest := list(t, q.StartAfter(places[0]).All(t.Context()), func(v Subscription) string { return v.Left })
	if rest != "c2 c1" {
		t.Errorf("after the first: %s", rest)
	}
	if some, err := q.StartAfter(places[1]).Exists(t.Context()); err != nil || !some {
		t.Errorf("after the second there is one: %v, %v", some, err)
	}
	if some, err := q.StartAfter(places[2]).Exists(t.Context()); err != nil || some {
		t.Errorf("after the last there is none: %v, %v", some, err)
	}
	// Nothing has to stand at a place.
	gone := places[0]
	gone.Values = []json.RawMessage{json.RawMessage(`"Hugo"`), json.RawMessage(`1.0`)}
	if rest := list(t, q.StartAfter(gone).All(t.Context()), func(v Subscription) string { return v.Left }); rest != "c2 c1" {
		t.Errorf("after Hugo: %s", rest)
	}
	// Versions go on by commit.
	all := store.Find[Subscription](s.Now())
	var versions []onto.Version
	for v, err := range all.Versions(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v.Version)
	}
	p, err := all.PlaceOf(t.Context(), &versions[2])
	if err != nil {
		t.Fatal(err)
	}
	if rest := list(t, all.StartAfter(p).Versions(t.Context(), 0), func(v store.Versioned[Subscription]) string { return key(v.Version.Identity) }); rest != "c2-p1" {
		t.Errorf("versions after the third: %s", rest)
	}
}

func TestWrongPlaces(t *testing.T) {
	s := shop(t)
	q := s.Now().Find("Customer").OrderBy(onto.Path("name").Asc())
	fine := store.Place{Values: []json.RawMessage{json.RawMessage(`"Ada"`)}, Identity: onto.EntityID("Customer", "c1")}
	change := func(f func(*store.Place)) store.Place {
		p := fine
		f(&p)
		return p
	}
	for message, p := range map[string]store.Place{
		"has no identity":             {Values: fine.Values},
		"is of entity Product":        change(func(p *store.Place) { p.Identity = onto.EntityID("Product", "p1") }),
		"is of relation Subscription": change(func(p *store.Place) { p.Identity = onto.RelationID("Subscription", "c1", "p1") }),
		"cannot be":                   change(func(p *store.Place) { p.Identity.Key = "" }),
		"is from another order":       change(func(p *store.Place) { p.Values = nil }),
		"is not JSON":                 change(func(p *store.Place) { p.Values = []json.RawMessage{json.RawMessage(`"x`)} }),
		"a negative commit":           change(func(p *store.Place) { p.Commit = -1 }),
	} {
		_, _, err := q.StartAfter(p).First(t.Context())
		wantError(t, err, onto.Invalid, "Customer", message, "the same order")
	}
	_, _, err := q.StartAfter(fine).Offset(1).First(t.Context())
	wantError(t, err, onto.Invalid, "offset 1", "go together")
	page, err := q.Limit(1).Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = q.StartAfter(fine).After(page.Next).First(t.Context())
	wantError(t, err, onto.Invalid, "a cursor and a place")
	_, err = q.StartAfter(fine).Count(t.Context())
	wantError(t, err, onto.Invalid, "a count has no place")
	for _, err := range q.StartAfter(fine).GroupBy(onto.Path("tier")).Compute(onto.Count()).All(t.Context()) {
		wantError(t, err, onto.Invalid, "groups have no place")
	}
	_, err = q.OrderBy(onto.Path("none").Asc()).Placer(t.Context())
	wantError(t, err, onto.Invalid, "none")
	if _, ok, err := q.StartAfter(fine).First(t.Context()); err != nil || !ok {
		t.Errorf("after one that fits: %v, %v", ok, err)
	}
}
