package duck_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// home is an object with declared fields.
func home(fields ...onto.Field) onto.Field {
	return onto.Field{Name: "home", Type: onto.Object, Optional: true, Fields: fields}
}

// Filters, orders, groups and aggregates of what is reached through declared fields take
// the column, at every depth and whatever the names.
func TestNestedColumns(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := items(t, dir, schema(onto.Field{Name: "home", Type: onto.Object, Fields: []onto.Field{
		{Name: "City", Type: onto.Int}, {Name: `a "b".c`, Type: onto.Bool}, {Name: "city", Type: onto.String},
		{Name: "geo", Type: onto.Object, Optional: true, Fields: []onto.Field{{Name: "lat", Type: onto.Float}, {Name: "seen", Type: onto.DateOnly}}},
	}}), 2,
		[]onto.Version{item("a", 1, `{"home":{"City":1,"a \"b\".c":true,"city":"Oslo","geo":{"lat":59.5,"seen":"2026-02-10"}},"id":"a"}`)},
		[]onto.Version{item("b", 2, `{"home":{"City":2,"a \"b\".c":false,"city":"Bergen","geo":null},"id":"b"}`), item("c", 2, `{"id":"c"}`)})
	city, lat, seen := onto.Path("home", "city"), onto.Path("home", "geo", "lat"), onto.Path("home", "geo", "seen")
	for _, c := range []struct {
		q       backend.Query
		want    string
		through string // is in the statement
	}{
		{backend.Query{Where: city.Eq("Oslo")}, "a@1", `v."home.city__string" = ?`},
		{backend.Query{Where: onto.Path("home", "City").Ge(int64(2))}, "b@2", `v."home.City" >= ?`},
		{backend.Query{Where: onto.Path("home", `a "b".c`).Eq(true)}, "a@1", `v."home.""a \""b\"".c""" = ?`},
		{backend.Query{Where: lat.Gt(59.0)}, "a@1", `v."home.geo.lat" > ?`},
		{backend.Query{Where: seen.Lt("2026-02-11")}, "a@1", `v."home.geo.seen" < ?`},
		{backend.Query{Where: lat.IsNull()}, "b@2 c@2", `v."home.geo.lat" IS NULL`},
		{backend.Query{Where: onto.Path("home", "geo").IsNull()}, "b@2 c@2", `json_`},
		{backend.Query{Order: []onto.Order{city.Asc()}}, "b@2 a@1 c@2", `ORDER BY v."home.city__string"`},
	} {
		c.q.At = backend.Head
		wantFound(t, e, c.q, s, c.want)
		c.q.Kind, c.q.Type = onto.KindEntity, "Item"
		got, err := e.Explain(t.Context(), &c.q, nil, s, nil, nil)
		must(t, err)
		if !strings.Contains(got.Statement, c.through) || strings.Contains(c.through, `v."`) && strings.Contains(got.Statement, "json_") {
			t.Errorf("%s, want %s in it, and no JSON where there is a column", got.Statement, c.through)
		}
	}
	a := backend.Aggregation{By: []onto.Operand{city}, Compute: []onto.Operand{lat.Max()}}
	a.Kind, a.Type, a.At = onto.KindEntity, "Item", backend.Head
	got, err := e.Explain(t.Context(), nil, &a, s, nil, nil)
	must(t, err)
	if !strings.Contains(got.Statement, `v."home.geo.lat"`) || !strings.Contains(got.Statement, `v."home.city__string"`) || strings.Contains(got.Statement, "json_") {
		t.Errorf("got %s, want the columns in it", got.Statement)
	}
}

// A file from before a nested field had a column is answered with the others: the column is
// NULL where no row could have the field, and fields_json counts where any could.
func TestNewNestedColumn(t *testing.T) {
	zip, city := onto.Field{Name: "zip", Type: onto.Int}, onto.Field{Name: "city", Type: onto.String}
	for _, c := range []struct {
		what    string
		before  onto.Field
		fields  string // of a row from before
		oslo    string // those in Oslo
		through string
	}{
		{"declared", home(zip), `{"home":{"zip":1},"id":"a"}`, "b@2", `v."home.city"`},
		{"undeclared", onto.Field{Name: "home", Type: onto.Object}, `{"home":{"city":"Oslo"},"id":"a"}`, "a@1 b@2", "json_"},
		{"of another type", home(onto.Field{Name: "city", Type: onto.List}), `{"home":{"city":["Oslo"]},"id":"a"}`, "b@2", "json_"},
	} {
		dir := t.TempDir()
		e := openEngine(t, dir)
		before, after := schema(c.before), schema(home(city, zip))
		after.Version = 2
		s := items(t, dir, before, 1, []onto.Version{item("a", 1, c.fields)})
		layout := parquet.NewLayout(onto.KindEntity, "Item", []onto.SchemaVersion{before, after})
		newer := item("b", 2, `{"home":{"city":"Oslo"},"id":"b"}`)
		newer.SchemaVersion = 2
		files, typed, _ := writeFiles(t, dir, "newer", layout, [][]onto.Version{{newer}})
		s.Layout, s.Head, s.Files, s.Typed, s.Unique = layout, 2, append(s.Files, files...), s.Typed && typed, false
		q := backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Where: onto.Path("home", "city").Eq("Oslo")}
		wantFound(t, e, q, s, c.oslo)
		got, err := e.Explain(t.Context(), &q, nil, s, nil, nil)
		must(t, err)
		if !strings.Contains(got.Statement, c.through) {
			t.Errorf("%s: got %s, want %s in it", c.what, got.Statement, c.through)
		}
	}
}
