package sqlite_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/internal/exec"
)

// pages reads an answer page by page. Between calls each page, with its question.
func pages(t *testing.T, b *sqlite.Backend, q backend.Query, between func(page int, q *backend.Query)) []string {
	t.Helper()
	var list []string
	for page := 1; ; page++ {
		before := len(list)
		var last onto.Version
		for v, err := range b.Scan(t.Context(), &q) {
			if err != nil {
				t.Fatal(err)
			}
			list, last = append(list, v.Key+string(v.Fields)), v
		}
		if q.Limit == 0 || len(list)-before < q.Limit {
			return list
		}
		place, err := exec.PlaceOf(&q, &last, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.After = &place
		between(page, &q)
	}
}

// change puts a customer that sorts before all others.
func change(t *testing.T, b *sqlite.Backend, n int) {
	t.Helper()
	fields := fmt.Sprintf(`{"age":%d,"city":"A %d","id":"c07"}`, -n, n)
	w := backend.Write{Identity: onto.EntityID("Customer", "c07"), Op: onto.Put, Fields: json.RawMessage(fields), SchemaVersion: 1}
	if _, err := b.Append(t.Context(), &backend.Draft{Writes: []backend.Write{w}}); err != nil {
		t.Fatal(err)
	}
}

// The pages of a past moment are those of the whole answer, whatever is committed
// meanwhile, and from the third on they are read without sorting or reading the type
// again.
func TestPagesOfThePast(t *testing.T) {
	b := makeShop(t)
	read := 0
	for _, order := range []string{"$.city", "$.age", "$.age:desc, $.city", "$.plain"} {
		for _, where := range []string{"", `$.city >= "Town 3"`} {
			for at := int64(1); at <= 3; at++ {
				change(t, b, read) // so that commit 3 is in the past
				q := about("Customer")
				q.At, q.Order, q.Where = at, checkedOrder(t, q, order), checkedFilter(t, q, where)
				want := pages(t, b, *q, nil)
				q.Limit = 7
				got := pages(t, b, *q, func(page int, q *backend.Query) {
					read++
					change(t, b, read)
					e, err := b.Explain(t.Context(), q, nil)
					if plan := strings.Join(e.Plan, "\n"); err != nil || page > 1 && (strings.Contains(plan, "B-TREE") || strings.Contains(plan, "entity_current") || !strings.Contains(plan, "PRIMARY KEY (rowid=?)")) {
						t.Errorf("commit %d by %s, after page %d: %v\n%s\n%s", at, order, page, err, e.Statement, plan)
					}
				})
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("commit %d by %s where %s\n got: %s\nwant: %s", at, order, where, got, want)
				}
			}
		}
	}
	t.Log(read, "pages")
}

// A place that is not in the answer, or has other values there, is one of its order
// all the same.
func TestPlacesThatNoPageGave(t *testing.T) {
	b := makeShop(t)
	for _, key := range []string{"c03", "c99"} {
		q := about("Customer")
		q.At, q.Order = 1, checkedOrder(t, q, "$.city")
		q.After = &backend.Place{Identity: onto.EntityID("Customer", key), Values: []json.RawMessage{[]byte(`"Town 5"`)}}
		want := pages(t, b, *q, nil)
		q.Limit = 1000
		if got := pages(t, b, *q, nil); len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("after %s\n got: %s\nwant: %s", key, got, want)
		}
	}
}

// A purge removes what an order remembers.
func TestPurgeEndsKeptOrders(t *testing.T) {
	b := makeShop(t)
	q := about("Customer")
	q.At, q.Order, q.Limit = 1, checkedOrder(t, q, "$.city"), 7
	if n := len(pages(t, b, *q, func(_ int, next *backend.Query) { q.After = next.After })); n != 40 {
		t.Errorf("got %d customers, want 40", n)
	}
	evolve(t, b, ending(backend.EndedType{Kind: onto.KindEntity, Type: "Customer", Purge: true}))
	if got := pages(t, b, *q, nil); len(got) != 0 {
		t.Errorf("got %s after the purge", got)
	}
}

// An index is followed from the place on, not from its beginning.
func TestPagesStartAtThePlace(t *testing.T) {
	b := makeShop(t)
	for _, order := range []string{"$.city", "$.age", "$.age:desc"} {
		q := about("Customer")
		q.Order, q.Limit = checkedOrder(t, q, order), 7
		second := false
		pages(t, b, *q, func(page int, q *backend.Query) {
			e, err := b.Explain(t.Context(), q, nil)
			if string(q.After.Values[0]) == "" {
				return // those without a value come by their keys
			}
			second = true
			first, _, _ := strings.Cut(e.Statement, ";")
			if bounds := strings.Count(first, ">= ?") + strings.Count(first, "<= ?"); err != nil || bounds != 1 || !strings.Contains(e.Plan[0], "INDEX onto_field_") {
				t.Errorf("by %s, after page %d: got %d bounds (error %v), want 1\n%s\n%s", order, page, bounds, err, e.Statement, e.Plan)
			}
		})
		if !second {
			t.Errorf("by %s: there is no second page", order)
		}
	}
}
