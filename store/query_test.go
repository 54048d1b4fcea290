package store_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/store"
)

// shop has three customers and two products; then c1 becomes Gold, p2 goes and
// c2 gets more seats.
func shop(t *testing.T) *store.Store {
	t.Helper()
	s := crm(t)
	mustCommit(t, s, onto.Draft{}.Ensure(
		Customer{"c1", "Ada Lovelace", "Silver"}, Customer{"c2", "Grace", "Gold"}, Customer{"c3", "Linus", "Gold"},
		Product{"p1", "Lamp"}, Product{"p2", "Chair"},
		subscription("c1", "p1", 2), subscription("c2", "p1", 4), subscription("c3", "p2", 9),
	))
	mustCommit(t, s, onto.Draft{}.Ensure(Customer{"c1", "Ada Lovelace", "Gold"}))
	mustCommit(t, s, onto.Draft{}.Delete(onto.EntityID("Product", "p2")))
	mustCommit(t, s, onto.Draft{}.Ensure(subscription("c2", "p1", 5)))
	return s
}

func subscription(customer, product string, seats int) Subscription {
	return Subscription{Link: onto.Between[Customer, Product](customer, product), Seats: seats}
}

// keys lists the identities that a query finds.
func keys(t *testing.T, q store.Query[onto.Version]) string {
	t.Helper()
	return list(t, q.All(t.Context()), func(v onto.Version) string { return key(v.Identity) })
}

func key(id onto.Identity) string {
	if id.Kind == onto.KindEntity {
		return id.Key
	}
	return id.Left + "-" + id.Right
}

func list[T any](t *testing.T, seq iter.Seq2[T, error], show func(T) string) string {
	t.Helper()
	var out []string
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, show(v))
	}
	return strings.Join(out, " ")
}

// where reads a filter.
func where(t *testing.T, text string) onto.Filter {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestQueries(t *testing.T) {
	s := shop(t)
	find := func(v store.View, typ, text string) store.Query[onto.Version] {
		return v.Find(typ).Where(where(t, text))
	}
	for _, c := range []struct {
		name string
		q    store.Query[onto.Version]
		want string
	}{
		{"filter", find(s.Now(), "Customer", `$.tier == "Gold"`), "c1 c2 c3"},
		{"filter in the past", find(s.At(1), "Customer", `$.tier == "Gold"`), "c2 c3"},
		{"two filters", find(s.Now(), "Customer", `$.tier == "Gold"`).Where(onto.Path("name").StartsWith("A")), "c1"},
		{"endpoints", find(s.Now(), "Subscription", `left.$.tier == "Gold" & $.seats > 3`), "c2-p1 c3-p2"},
		{"endpoints in the past", find(s.At(1), "Subscription", `left.$.tier == "Gold" & $.seats < 5`), "c2-p1"},
		{"a product that is gone", find(s.Now(), "Subscription", `right.$.sku.is_null()`), "c3-p2"},
		{"a product that was there", find(s.At(2), "Subscription", `right.$.sku.is_null()`), ""},
		{"order", s.Now().Find("Subscription").OrderBy(onto.Path("seats").Desc()), "c3-p2 c2-p1 c1-p1"},
		{"order by an endpoint", s.Now().Find("Subscription").OrderBy(onto.Right("title").Asc(), onto.Path("seats").Desc()), "c2-p1 c1-p1 c3-p2"},
		{"offset", s.Now().Find("Customer").Offset(1), "c2 c3"},
		{"offset and limit", s.Now().Find("Customer").Offset(1).Limit(1), "c2"},
		{"search", s.Now().Find("Customer").Search("LOVE* ada"), "c1"},
		{"search in the past", s.At(1).Find("Customer").Search("gra*"), "c2"},
		{"search and filter", find(s.Now(), "Customer", `$.tier == "Silver"`).Search("ada"), ""},
	} {
		if got := keys(t, c.q); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		n, err := c.q.Count(t.Context())
		if want := len(strings.Fields(c.want)); err != nil || (n != int64(want) && !strings.Contains(c.name, "offset")) {
			t.Errorf("%s: got count %d, error %v, want %d", c.name, n, err, want)
		}
		if ok, err := c.q.Exists(t.Context()); err != nil || ok != (c.want != "") {
			t.Errorf("%s: got exists %t, error %v", c.name, ok, err)
		}
		first, ok, err := c.q.First(t.Context())
		if wants := append(strings.Fields(c.want), ""); err != nil || ok != (c.want != "") || ok && key(first.Identity) != wants[0] {
			t.Errorf("%s: got first %s, %t, error %v; want %q", c.name, first.Identity, ok, err, wants[0])
		}
	}
}

func TestTypedQuery(t *testing.T) {
	s := shop(t)
	gold := store.Find[Customer](s.At(1)).Where(onto.Or{onto.Path("tier").Eq("Gold"), onto.Path("id").In("c9")}).OrderBy(onto.Path("name").Desc())
	if got := list(t, gold.All(t.Context()), func(c Customer) string { return c.Name }); got != "Linus Grace" {
		t.Errorf("got %q, want Linus Grace", got)
	}
	past := store.Find[Customer](s.Now()).Where(onto.Path("id").Eq("c1")).Versions(t.Context(), 0)
	got := list(t, past, func(p store.Versioned[Customer]) string { return fmt.Sprint(p.Commit.ID, p.Value.Tier) })
	if got != "1Silver 2Gold" && got != "1 Silver 2 Gold" {
		t.Errorf("got %q, want both versions of c1", got)
	}
}

func TestPastWithFilter(t *testing.T) {
	s := shop(t)
	show := func(p store.Versioned[onto.Version]) string {
		return fmt.Sprintf("%s@%d", key(p.Value.Identity), p.Commit.ID)
	}
	// The endpoint is seen as it was at the version's commit.
	q := s.Now().Find("Subscription").Where(where(t, `right.$.title.is_not_null()`))
	if got := list(t, q.Versions(t.Context(), 0), show); got != "c1-p1@1 c2-p1@1 c3-p2@1 c2-p1@4" {
		t.Errorf("got %q", got)
	}
	// A delete has no fields.
	q = s.Now().Find("Product").Where(where(t, `$.sku.is_null()`))
	if got := list(t, q.Versions(t.Context(), 0), show); got != "p2@3" {
		t.Errorf("got %q, want the delete of p2", got)
	}
	var paged []string
	q = s.Now().Find("Subscription").OrderBy(onto.Path("seats").Desc()).Limit(1)
	for next := ""; ; {
		page, err := q.After(next).VersionPage(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Items {
			paged = append(paged, show(p))
		}
		if next = page.Next; next == "" {
			break
		}
		mustCommit(t, s, onto.Draft{}.Ensure(subscription("c1", "p1", 100+len(paged))))
	}
	if got := strings.Join(paged, " "); got != "c3-p2@1 c2-p1@4 c2-p1@1 c1-p1@1" {
		t.Errorf("got pages %q", got)
	}
}

func TestQueryMistakes(t *testing.T) {
	s := shop(t)
	now := s.Now()
	for _, c := range []struct {
		q    store.Query[onto.Version]
		want []string
	}{
		{now.Find("Customer").Where(onto.Path("teir").Eq("Gold")), []string{"teir", "tier"}},
		{now.Find("Customer").Where(onto.Path("tier").Eq(nil)), []string{"IsNull"}},
		{now.Find("Customer").Where(onto.Path("tier").Eq(3)), []string{"tier", "string"}},
		{now.Find("Customer").Where(onto.Left("tier").Eq("Gold")), []string{"left"}},
		{now.Find("Customer").Where(onto.Count().Gt(3)), []string{"count"}},
		{now.Find("Customer").OrderBy(onto.Path("nmae").Asc()), []string{"nmae", "name"}},
		{now.Find("Customer").OrderBy(onto.Count().Asc()), []string{"count"}},
		{now.Find("Customer").Offset(-1), []string{"offset -1"}},
		{now.Find("Customer").Limit(-1), []string{"limit -1"}},
		{now.Find("Customer").Offset(1).After("x"), []string{"offset 1 and a cursor"}},
		{now.Find("Customer").Search(" *%"), []string{"no word"}},
		{now.Find("Product").Search("lamp"), []string{"Product", "search: true"}},
	} {
		for _, err := range c.q.All(t.Context()) {
			wantError(t, err, onto.Invalid, c.want...)
		}
		_, err := c.q.Page(t.Context())
		wantError(t, err, onto.Invalid, c.want...)
	}
}

func TestCursorsBelongToTheirQuery(t *testing.T) {
	s := shop(t)
	base := s.Now().Find("Customer").Where(onto.Path("tier").Eq("Gold")).OrderBy(onto.Path("name").Asc()).Limit(1)
	page, err := base.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]store.Query[onto.Version]{
		"another filter": base.Where(onto.Path("name").IsNotNull()),
		"another order":  s.Now().Find("Customer").Where(onto.Path("tier").Eq("Gold")).OrderBy(onto.Path("name").Desc()),
		"no order":       s.Now().Find("Customer").Where(onto.Path("tier").Eq("Gold")),
		"a search":       base.Search("ada"),
		"another type":   s.Now().Find("Product"),
	} {
		if _, err := q.After(page.Next).Page(t.Context()); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "another query") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	_, err = base.After(page.Next).VersionPage(t.Context(), 0)
	wantError(t, err, onto.Invalid, "another query")
	_, err = s.At(1).Find("Customer").Where(onto.Path("tier").Eq("Gold")).OrderBy(onto.Path("name").Asc()).After(page.Next).Page(t.Context())
	wantError(t, err, onto.Invalid, "commit 4, not 1")
}

func TestExplain(t *testing.T) {
	s := shop(t)
	e, err := s.Now().Find("Customer").Where(onto.Path("tier").Eq("Gold")).Explain(t.Context())
	if err != nil || !strings.Contains(e.Statement, "entity_current") || len(e.Plan) == 0 {
		t.Errorf("got %+v, error %v", e, err)
	}
	g, err := s.Now().Find("Customer").GroupBy(onto.Path("tier")).Compute(onto.Count()).Having(onto.Count().Gt(1)).Explain(t.Context())
	if err != nil || !strings.Contains(g.Statement, "GROUP BY") || !strings.Contains(strings.Join(g.Process, " "), "having count > 1") {
		t.Errorf("got %+v, error %v", g, err)
	}
}

func TestDiffWithFilter(t *testing.T) {
	s := shop(t)
	diff := func(typ, text string) string {
		q := store.DiffOptions{From: onto.AtCommit(1), Type: typ, Where: where(t, text)}
		return list(t, s.Diff(t.Context(), q), func(c onto.Change) string { return key(c.Identity) })
	}
	if got := diff("Customer", `$.tier == "Silver"`); got != "c1" {
		t.Errorf("before: got %q, want c1", got)
	}
	if got := diff("Customer", `$.tier == "Bronze"`); got != "" {
		t.Errorf("neither: got %q", got)
	}
	if got := diff("Product", `$.title == "Chair"`); got != "p2" {
		t.Errorf("gone: got %q, want p2", got)
	}
	for typ, text := range map[string]string{"": "$.a == 1", "Subscription": `left.$.tier == "Gold"`} {
		for _, err := range s.Diff(t.Context(), store.DiffOptions{Type: typ, Where: where(t, text)}) {
			wantError(t, err, onto.Invalid)
		}
	}
}

func TestHistoryWithFilter(t *testing.T) {
	s := shop(t)
	id := onto.EntityID("Customer", "c1")
	show := func(e store.Entry) string { return fmt.Sprint(e.Commit.ID) }
	if got := list(t, s.History(t.Context(), id, onto.Path("tier").Eq("Gold")), show); got != "2" {
		t.Errorf("got %q, want the second version", got)
	}
	if got := list(t, s.History(t.Context(), id, onto.Path("tier").Eq("Bronze")), show); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	for _, err := range s.History(t.Context(), onto.EntityID("Customer", "c9"), onto.Path("tier").Eq("Bronze")) {
		wantError(t, err, onto.NotFound, "never did")
	}
}

func TestCancelledQuery(t *testing.T) {
	s := shop(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Now().Find("Customer").Where(onto.Path("tier").Eq("Gold")).All(ctx) {
		if err == nil {
			t.Error("got an answer, want an error")
		}
	}
}
