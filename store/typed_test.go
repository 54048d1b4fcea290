package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// What is to be gone is named by a struct, an identity or a version.
func TestTypedDelete(t *testing.T) {
	type Visit struct {
		onto.Link[Customer, Product]
		Day string `json:"-" onto:"instance=day"`
	}
	type Seat struct {
		Number int `json:"number" onto:"key"`
		Row    int `json:"row"`
	}
	s := newStore(t, onto.TypeOf[Customer](), onto.TypeOf[Product](), onto.TypeOf[Subscription](), onto.TypeOf[Visit](), onto.TypeOf[Seat]())
	between := onto.Between[Customer, Product]
	everything := onto.Draft{}.Ensure(
		Customer{"c1", "Ada", "Gold"}, Customer{"c2", "Bo", "Gold"}, Product{"p1", "Lamp"}, Product{"p2", "Desk"},
		Subscription{between("c1", "p1"), 3}, Subscription{between("c2", "p1"), 3},
		Visit{between("c1", "p1"), "mon"}, Visit{between("c1", "p1"), "tue"}, Seat{7, 1}, Seat{8, 1},
	)
	mustCommit(t, s, everything)
	lamp, err := s.Now().Get(t.Context(), onto.EntityID("Product", "p1"))
	if err != nil {
		t.Fatal(err)
	}
	all := len(slices.Collect(everything.Intents()))
	for _, c := range []struct {
		name  string
		thing any
		want  []onto.Identity
	}{
		{"a struct, by its key alone", Customer{ID: "c1"}, []onto.Identity{onto.EntityID("Customer", "c1")}},
		{"a pointer", &Customer{ID: "c1", Name: "another"}, []onto.Identity{onto.EntityID("Customer", "c1")}},
		{"a relation", Subscription{Link: between("c1", "p1")}, []onto.Identity{onto.RelationID("Subscription", "c1", "p1")}},
		{"a keyed relation", Visit{between("c1", "p1"), "tue"}, []onto.Identity{onto.RelationID("Visit", "c1", "p1").WithInstance("tue")}},
		{"a number for a key", Seat{Number: 8}, []onto.Identity{onto.EntityID("Seat", "8")}},
		{"a version", lamp, []onto.Identity{lamp.Identity}},
		{"several", []any{Customer{ID: "c2"}, onto.EntityID("Seat", "7")}, []onto.Identity{onto.EntityID("Customer", "c2"), onto.EntityID("Seat", "7")}},
		{"identities", []onto.Identity{onto.EntityID("Customer", "c2")}, []onto.Identity{onto.EntityID("Customer", "c2")}},
		{"a sequence", slices.Values([]Product{{SKU: "p1"}, {SKU: "p2"}}), []onto.Identity{onto.EntityID("Product", "p1"), onto.EntityID("Product", "p2")}},
		{"what does not exist", Customer{ID: "c9"}, nil},
	} {
		res := mustCommit(t, s, onto.Draft{}.Delete(c.thing))
		var got []onto.Identity
		if res.Changed() {
			for change, err := range s.Changes(t.Context(), res.ID) {
				if err != nil || change.Operation() != onto.OperationDelete {
					t.Errorf("%s: got %v, %v", c.name, change, err)
				}
				got = append(got, change.Identity)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: deleted %v, want %v", c.name, got, c.want)
		}
		if res := mustCommit(t, s, everything); res.Operations != len(c.want) || all != 10 {
			t.Errorf("%s: %d of %d came back, want %d", c.name, res.Operations, all, len(c.want))
		}
	}
	head, _ := s.Head(t.Context())
	for _, c := range []struct {
		thing any
		text  string
	}{
		{Customer{}, "Customer key is empty"},
		{Subscription{Link: between("c1", "")}, "right key is empty"},
		{Visit{Link: between("c1", "p1")}, "needs its instance key day"},
		{onto.Identity{}, "nil value"},
		{nil, "nil value"},
		{[]any{Product{SKU: "p1"}, nil}, "nil value"},
		{(*Customer)(nil), "nil *store_test.Customer"},
		{"c1", "a string cannot be deleted"},
		{onto.Entity{Type: "Customer", Key: "c1"}, "a onto.Entity cannot be deleted"},
		{Counter{ID: "c"}, "is not a type of this store"},
		{onto.EntityID("Ghost", "g"), "Ghost does not exist"},
	} {
		_, err := s.Commit(t.Context(), onto.Draft{}.Delete(Product{SKU: "p1"}).Delete(c.thing))
		wantError(t, err, onto.Invalid, c.text)
	}
	if now, err := s.Head(t.Context()); err != nil || now.ID != head.ID {
		t.Errorf("got head %d, %v; want %d", now.ID, err, head.ID)
	}
}

// An old version brings its state back, whether it was there then or not.
func TestEnsureVersion(t *testing.T) {
	s := crm(t)
	between := onto.Between[Customer, Product]
	mustCommit(t, s, onto.Draft{}.Ensure(Customer{"c1", "Ada", "Silver"}, Customer{"c2", "Bo", "Gold"}, Subscription{between("c1", "p1"), 3}))
	mustCommit(t, s, onto.Draft{}.Ensure(Customer{"c1", "Ada", "Gold"}, Subscription{between("c1", "p1"), 5}).Delete(Customer{ID: "c2"}))
	var old, gone []onto.Version
	for _, name := range []string{"Customer", "Subscription"} {
		for v, err := range s.At(1).Find(name).All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			old = append(old, v)
		}
	}
	for e, err := range s.History(t.Context(), onto.EntityID("Customer", "c2")) {
		if err != nil {
			t.Fatal(err)
		}
		gone = append(gone, e.Version)
	}
	res := mustCommit(t, s, onto.Draft{}.Ensure(old))
	if got := differences(t, s, 1, res.ID); got != "" || res.Operations != 3 {
		t.Errorf("after %d operations the store differs from that of commit 1: %s", res.Operations, got)
	}
	mustCommit(t, s, onto.Draft{}.Ensure(&gone[1]))
	_, err := store.Get[Customer](t.Context(), s.Now(), "c2")
	wantError(t, err, onto.NotFound, "was deleted by commit 4")
	if res := mustCommit(t, s, onto.Draft{}.Ensure(gone[1])); res.Changed() {
		t.Errorf("again: got %+v", res)
	}
	mustCommit(t, s, onto.Draft{}.Merge(onto.Version{Identity: onto.EntityID("Customer", "c1"), Op: onto.Put, Fields: []byte(`{"tier":"Bronze"}`)}))
	if got, err := store.Get[Customer](t.Context(), s.Now(), "c1"); err != nil || got != (Customer{"c1", "Ada", "Bronze"}) {
		t.Errorf("merged: got %+v, %v", got, err)
	}
	_, err = s.Commit(t.Context(), onto.Draft{}.Merge(gone[1]))
	wantError(t, err, onto.Invalid, "no fields to merge")
	bad := old[0]
	bad.Op = ""
	_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(bad))
	wantError(t, err, onto.Invalid, `Customer "c1" has the op ""`)
	bad = old[0]
	bad.Key = "c7"
	_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(bad))
	wantError(t, err, onto.Invalid, "c7", "c1")
	bad = old[0]
	bad.Fields = []byte(`{"id":"c1","name":"Ada","tier":7}`)
	_, err = s.Commit(t.Context(), onto.Draft{}.Ensure(bad))
	wantError(t, err, onto.Invalid, "field tier")
}

func TestGroupsAs(t *testing.T) {
	s := shop(t)
	seats := onto.Path("seats")
	groups := store.Find[Subscription](s.At(1)).GroupBy(onto.Left("tier"), onto.Right("title")).Compute(onto.Count(), seats.Sum(), seats.Avg())
	type row struct {
		Tier    string
		Title   *string
		N, Sum  int
		Average any
	}
	var got []string
	for r, err := range store.GroupsAs[row](t.Context(), groups) {
		if err != nil {
			t.Fatal(err)
		}
		title := "none"
		if r.Title != nil {
			title = *r.Title
		}
		got = append(got, fmt.Sprintf("%s %s %d %d %v", r.Tier, title, r.N, r.Sum, r.Average))
	}
	var want []string
	for g, err := range groups.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		text := func(list ...[]byte) (words []any) {
			for _, raw := range list {
				v, _ := codec.DecodeObject(fmt.Appendf(nil, `{"v":%s}`, raw))
				words = append(words, v["v"])
			}
			return words
		}
		want = append(want, fmt.Sprintf("%v %v %v %v %v", text(g.By[0], g.By[1], g.Values[0], g.Values[1], g.Values[2])...))
	}
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("got %q, want %q", got, want)
	}

	nothing := store.Find[Subscription](s.At(1)).Where(seats.Gt(1000)).GroupBy().Compute(onto.Count(), seats.Max())
	for r, err := range store.GroupsAs[struct {
		N    int64
		Most *int
	}](t.Context(), nothing) {
		if err != nil || r.N != 0 || r.Most != nil {
			t.Errorf("of nothing: got %+v, %v", r, err)
		}
	}

	first := func(seq func(func(any, error) bool)) (err error) {
		seq(func(_ any, e error) bool { err = e; return false })
		return err
	}
	wantError(t, first(anyOf(store.GroupsAs[struct{ N int }](t.Context(), nothing))), onto.Invalid, "has 2 values", "has 1 field")
	wantError(t, first(anyOf(store.GroupsAs[int](t.Context(), nothing))), onto.Invalid, "int is not a struct")
	wantError(t, first(anyOf(store.GroupsAs[struct{ N, most int }](t.Context(), nothing))), onto.Invalid, "most", "not exported")
	wantError(t, first(anyOf(store.GroupsAs[struct{ N, Most string }](t.Context(), nothing))), onto.Invalid, "value 0 does not fit field N")
	wantError(t, first(anyOf(store.GroupsAs[struct{ N, Most int }](t.Context(), nothing.Limit(-1)))), onto.Invalid, "negative")
}

func anyOf[T any](seq func(func(T, error) bool)) func(func(any, error) bool) {
	return func(yield func(any, error) bool) {
		seq(func(v T, err error) bool { return yield(v, err) })
	}
}

func TestRoutesAs(t *testing.T) {
	s := shop(t)
	routes := store.Find[Customer](s.At(1)).Traverse(store.Via("Subscription"), store.Back("Subscription"))
	type row struct {
		From Customer
		Has  Subscription
		What Product
		Had  onto.Version
		To   Customer
	}
	i := 0
	want := []string{"c1>c1-p1>p1>c2-p1>c2", "c2>c2-p1>p1>c1-p1>c1"}
	for r, err := range store.RoutesAs[row](t.Context(), routes) {
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s>%s-%s>%s>%s-%s>%s", r.From.ID, r.Has.Left, r.Has.Right, r.What.SKU, r.Had.Left, r.Had.Right, r.To.ID)
		if i == len(want) || got != want[i] || r.From.Name == "" || r.What.Title == "" || r.Has.Seats == 0 {
			t.Errorf("route %d: got %s, %+v", i, got, r)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("got %d routes, want %d", i, len(want))
	}
	for range store.RoutesAs[row](t.Context(), routes) {
		break
	}
	fails := func(seq func(func(any, error) bool), texts ...string) {
		t.Helper()
		seq(func(_ any, err error) bool {
			wantError(t, err, onto.Invalid, texts...)
			return true
		})
	}
	fails(anyOf(store.RoutesAs[Customer](t.Context(), routes)), "so 5 things", "has 3 fields")
	fails(anyOf(store.RoutesAs[struct{ A, B, C, D, E Customer }](t.Context(), routes)), "field B", "entity Customer", "relation Subscription")
	fails(anyOf(store.RoutesAs[struct{ A, B, C, D, E Counter }](t.Context(), routes)), "is not a type of this store")
	fails(anyOf(store.RoutesAs[struct{ A, B, C, D, E onto.Version }](t.Context(), routes.Limit(-1))), "negative")
	fails(anyOf(store.RoutesAs[row](t.Context(), s.At(1).AsStored().Find("Customer").Traverse(store.Via("Subscription"), store.Back("Subscription")))), "as stored")
}
