package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/words"
)

// shopSchemas are customers with indexes, one of which is on a field that may be
// absent, and what they buy.
func shopSchemas() []onto.Schema {
	return []onto.Schema{
		{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
			{Name: "age", Type: onto.Int, Optional: true, Index: true}, {Name: "city", Type: onto.String, Index: true},
			{Name: "free", Type: onto.Any, Optional: true, Index: true}, {Name: "id", Type: onto.String},
			{Name: "note", Type: onto.String, Optional: true, Search: true}, {Name: "plain", Type: onto.String, Optional: true},
		}},
		{Kind: onto.KindEntity, Name: "Product", Key: "sku", Fields: []onto.Field{{Name: "sku", Type: onto.String}}},
		{Kind: onto.KindRelation, Name: "Buys", Left: "Customer", Right: "Product", Fields: []onto.Field{{Name: "n", Type: onto.Int}}},
	}
}

// makeShop makes a store with a few customers.
func makeShop(t *testing.T) *sqlite.Backend {
	t.Helper()
	b := open(t, filepath.Join(t.TempDir(), "shop.db"), nil)
	if _, err := b.Register(t.Context(), &backend.Registration{Schemas: shopSchemas()}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var d backend.Draft
		for j := range 40 {
			key := fmt.Sprintf("c%02d", j)
			fields := fmt.Sprintf(`{"age":%d,"city":"Town %d","id":%q,"note":"likes lamps %d"}`, i+j%9, j%7, key, i)
			if j%5 == 0 {
				fields = fmt.Sprintf(`{"city":"Town %d","id":%q}`, i+j%7, key)
			}
			d.Writes = append(d.Writes, backend.Write{Identity: onto.EntityID("Customer", key), Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1})
		}
		if _, err := b.Append(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// about returns a query of a type with its schemas.
func about(typ string) *backend.Query {
	s := shopSchemas()
	if typ == "Buys" {
		return &backend.Query{Kind: onto.KindRelation, Type: typ, At: backend.Head, Schema: &s[2], Left: &s[0], Right: &s[1]}
	}
	return &backend.Query{Kind: onto.KindEntity, Type: typ, At: backend.Head, Schema: &s[0]}
}

// TestPlans requires that indexes and primary keys are used where they help.
func TestPlans(t *testing.T) {
	b := makeShop(t)
	const byIndex, byKey = "INDEX onto_field_", "USING PRIMARY KEY (entity_type=? AND entity_key=?)"
	for _, test := range []struct {
		typ, where, order string
		limit             int
		want              string
	}{
		{"Customer", `$.city == "Town 3"`, "", 0, byIndex},
		{"Customer", `$.city == "Town 3" & $.plain == "x"`, "", 0, byIndex},
		{"Customer", `$.free == "x"`, "", 0, byIndex},
		{"Customer", `$.age.in_([3, 4, 5])`, "", 0, byIndex},
		{"Customer", `$.city.startswith("Town 3")`, "", 0, byIndex},
		{"Customer", `$.age >= 3 & $.age < 5`, "", 0, byIndex},
		{"Customer", `$.age < 5`, "$.age", 10, byIndex},
		{"Customer", `$.age >= 5`, "$.age:desc", 10, byIndex},
		{"Customer", ``, "$.city", 10, byIndex},
		{"Customer", ``, "$.city:desc", 10, byIndex},
		{"Customer", ``, "$.age", 10, byIndex}, // also where some have none
		{"Customer", ``, "$.age:desc, $.city", 10, byIndex},
		{"Customer", ``, "$.age", 1000 + 1, byIndex}, // a page of 1,000 and whether there is another
		{"Customer", `$.id == "c07"`, "", 0, byKey},
		{"Customer", `$.id == "c07" & $.city == "Town 0"`, "", 0, byKey},
		{"Customer", `$.id.in_(["c07", "c08"]) & $.city == "Town 0"`, "", 0, "entity_key=?)"},
		{"Customer", `$.plain == "x"`, "", 0, "USING PRIMARY KEY (entity_type=?)"},
		{"Buys", `left.$.id == "c07"`, "", 0, "USING PRIMARY KEY (relation_type=? AND left_key=?)"},
		{"Buys", `left.$.city == "Town 3"`, "", 0, byIndex},
	} {
		q := about(test.typ)
		q.Where, q.Order, q.Limit = checkedFilter(t, q, test.where), checkedOrder(t, q, test.order), test.limit
		e, err := b.Explain(t.Context(), q, nil)
		plan := strings.Join(e.Plan, "\n")
		if err != nil || !strings.Contains(plan, test.want) {
			t.Errorf("%s %s order %s limit %d\n got: %s (error %v)\nwant: %s\n%s", test.typ, test.where, test.order, test.limit, plan, err, test.want, e.Statement)
		}
	}
}

func checkedFilter(t *testing.T, q *backend.Query, text string) onto.Filter {
	t.Helper()
	if text == "" {
		return nil
	}
	f, err := filter.Parse(text)
	if err == nil {
		f, err = filter.Check(f, &filter.Scope{Schema: q.Schema, Left: q.Left, Right: q.Right})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checkedOrder(t *testing.T, q *backend.Query, text string) []onto.Order {
	t.Helper()
	var list []onto.Order
	for part := range strings.SplitSeq(text, ", ") {
		if part == "" {
			continue
		}
		o, err := filter.ParseOrder(part)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

// TestExplain requires the statement, how it is answered and what is left to the
// process.
func TestExplain(t *testing.T) {
	b := makeShop(t)
	found := about("Customer")
	found.Where, found.Search = checkedFilter(t, found, `$.plain == "secret"`), words.Query("lamps")
	past := about("Customer")
	past.At, past.Search, past.Limit = 1, words.Query("lamps"), 3
	groups := &backend.Aggregation{Query: *about("Customer"), By: []onto.Operand{onto.Path("city")}, Compute: []onto.Operand{onto.Path("age").Avg()}}
	for _, test := range []struct {
		name               string
		q                  *backend.Query
		a                  *backend.Aggregation
		statement, process []string
		plan               string
	}{
		{"search", found, nil, []string{"MATCH ?", "ORDER BY c.entity_type, c.entity_key"}, nil, "USING PRIMARY KEY (entity_type=? AND entity_key=?)"},
		{"search in the past", past, nil, []string{"FROM"}, []string{"there is no index of words for this moment", "search", "page"}, "SEARCH"},
		{"groups", nil, groups, []string{"GROUP BY v1"}, []string{"sort the groups"}, "USE TEMP B-TREE FOR GROUP BY"},
	} {
		e, err := b.Explain(t.Context(), test.q, test.a)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for _, part := range test.statement {
			if !strings.Contains(e.Statement, part) {
				t.Errorf("%s: got statement %s, want %s in it", test.name, e.Statement, part)
			}
		}
		if strings.Contains(e.Statement, "secret") || strings.Contains(e.Statement, "lamps") {
			t.Errorf("%s: got values in the statement: %s", test.name, e.Statement)
		}
		if !strings.Contains(strings.Join(e.Plan, "\n"), test.plan) || !slices.Equal(e.Process, test.process) {
			t.Errorf("%s: got plan %q and process %q, want %q and %q", test.name, e.Plan, e.Process, test.plan, test.process)
		}
	}
}

// TestPagesAlongAnIndex goes through all customers by a field that some lack,
// page by page, and wants what one sorted scan gives.
func TestPagesAlongAnIndex(t *testing.T) {
	b := makeShop(t)
	for _, order := range []string{"$.age", "$.age:desc", "$.city:desc, $.age", "$.age, $.city:desc"} {
		q := about("Customer")
		q.Order = checkedOrder(t, q, order)
		want := keysOf(t, b, q)
		if len(want) != 40 {
			t.Fatalf("%s: got %d customers, want 40", order, len(want))
		}
		for _, size := range []int{1, 7, 40} {
			q.Limit = size
			var got []string
			for q.After = nil; len(got) <= len(want); {
				page := keysOf(t, b, q)
				got = append(got, page...)
				if len(page) < size {
					break
				}
				q.After = placeOf(t, b, q, page[size-1])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s by %d\n got: %q\nwant: %q", order, size, got, want)
			}
		}
		q.After, q.Limit, q.Offset = nil, 5, 30
		if got := keysOf(t, b, q); !slices.Equal(got, want[30:35]) {
			t.Errorf("%s from 30: got %q, want %q", order, got, want[30:35])
		}
	}
}

func keysOf(t *testing.T, b backend.Backend, q *backend.Query) []string {
	t.Helper()
	var keys []string
	for v, err := range b.Scan(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, v.Key)
	}
	return keys
}

func placeOf(t *testing.T, b backend.Backend, q *backend.Query, key string) *backend.Place {
	t.Helper()
	v, err := b.Get(t.Context(), onto.EntityID(q.Type, key), backend.Head)
	if err != nil {
		t.Fatal(err)
	}
	p := &backend.Place{Identity: v.Identity}
	row := filter.Row{Own: v.Fields}
	for _, o := range q.Order {
		p.Values = append(p.Values, row.Value(o.Operand))
	}
	return p
}
