package parquet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// object is a field with declared fields.
func object(name string, fields ...onto.Field) onto.Field {
	return onto.Field{Name: name, Type: onto.Object, Optional: true, Fields: fields}
}

// people with a home, in the versions of their type.
func homes(versions ...[]onto.Field) *parquet.Layout {
	for _, fields := range versions {
		sortFields(fields)
	}
	return parquet.NewLayout(onto.KindEntity, "Person", versionsOf(onto.KindEntity, "Person", versions...))
}

// What is reached through declared fields of objects has a column, and nothing below a list
// or a map, or what has too long a path.
func TestColumnNamesOfNestedFields(t *testing.T) {
	text := onto.Field{Name: "s", Type: onto.String}
	list := homes([]onto.Field{
		object("home", onto.Field{Name: "city", Type: onto.String}, onto.Field{Name: "City", Type: onto.String}, onto.Field{Name: "é", Type: onto.Int},
			onto.Field{Name: "É", Type: onto.Int}, onto.Field{Name: `a "b".c`, Type: onto.Bool}, object("geo", onto.Field{Name: "lat", Type: onto.Float}),
			object("none"), onto.Field{Name: "day", Type: onto.DateOnly}, onto.Field{Name: strings.Repeat("x", 81), Type: onto.Int}),
		{Name: "lines", Type: onto.List, Items: &onto.Field{Type: onto.Object, Fields: []onto.Field{text}}},
		{Name: "labels", Type: onto.Object, Values: &onto.Field{Type: onto.String}},
		object("a", object(strings.Repeat("b", 80), object(strings.Repeat("c", 80), object(strings.Repeat("d", 80), onto.Field{Name: "tail", Type: onto.Int},
			onto.Field{Name: "much_too_long", Type: onto.Int})))),
	})
	var names []string
	for _, c := range list.Columns {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	want := []string{"a." + strings.Repeat("b", 80) + "." + strings.Repeat("c", 80) + "." + strings.Repeat("d", 80) + ".tail",
		`home."a \"b\".c"`, `home."É"`, `home."é"__int`, "home.City", "home.city__string", "home.day", "home.geo.lat"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q\nwant %q", names, want)
	}
	if c, ok := list.Column([]string{"home", `a "b".c`}); !ok || c.Name != `home."a \"b\".c"` || c.Type != onto.Bool {
		t.Errorf("got %+v, %t", c, ok)
	}
	if c, ok := list.Column([]string{"home.city"}); ok {
		t.Errorf("a name with a dot: got %+v", c)
	}
}

// A path has a column for answers unless a version of the type could have something else
// there.
func TestColumnOfNestedField(t *testing.T) {
	city, number := onto.Field{Name: "city", Type: onto.String}, onto.Field{Name: "city", Type: onto.Int}
	for _, c := range []struct {
		what     string
		versions [][]onto.Field
		want     bool
	}{
		{"one type", [][]onto.Field{{object("home", city)}}, true},
		{"added with the object", [][]onto.Field{{}, {object("home", city)}}, true},
		{"added to the object", [][]onto.Field{{object("home", onto.Field{Name: "zip", Type: onto.Int})}, {object("home", city)}}, true},
		{"added to an object without fields", [][]onto.Field{{{Name: "home", Type: onto.Object, Fields: []onto.Field{}}}, {object("home", city)}}, true},
		{"removed and added again", [][]onto.Field{{object("home", city)}, {}, {object("home", city)}}, true},
		{"once a text in place of the object", [][]onto.Field{{{Name: "home", Type: onto.String}}, {object("home", city)}}, true},
		{"once another type", [][]onto.Field{{object("home", number)}, {object("home", city)}}, false},
		{"once undeclared", [][]onto.Field{{{Name: "home", Type: onto.Object}}, {object("home", city)}}, false},
		{"undeclared since", [][]onto.Field{{object("home", city)}, {{Name: "home", Type: onto.Object}}}, false},
		{"once anything", [][]onto.Field{{{Name: "home", Type: onto.Any}}, {object("home", city)}}, false},
		{"once a map", [][]onto.Field{{{Name: "home", Type: onto.Object, Values: &onto.Field{Type: onto.String}}}, {object("home", city)}}, false},
		{"never declared", [][]onto.Field{{{Name: "home", Type: onto.Object}}}, false},
		{"an object itself", [][]onto.Field{{object("home", object("city", city))}}, false},
	} {
		if got, ok := homes(c.versions...).Column([]string{"home", "city"}); ok != c.want || ok && got.Type != onto.String {
			t.Errorf("%s: got %+v, %t", c.what, got, ok)
		}
	}
}

// Columns of nested fields have what the fields have, and a file is typed only if they say
// all of it.
func TestNestedColumns(t *testing.T) {
	before := []onto.Field{{Name: "home", Type: onto.Object}}
	after := []onto.Field{object("home", onto.Field{Name: "city", Type: onto.String}, onto.Field{Name: "zip\n", Type: onto.Int},
		object("geo", onto.Field{Name: "lat", Type: onto.Float}))}
	for _, c := range []struct {
		fields, city, zip, lat string
		typed                  bool
	}{
		{`{}`, "<nil>", "<nil>", "<nil>", true},
		{`{"home":null}`, "<nil>", "<nil>", "<nil>", true},
		{`{"home":{"city":"Oslo","geo":{"lat":59.5},"zip\n":7}}`, "Oslo", "7", "59.5", true},
		{`{"home":{"city":null,"geo":null}}`, "<nil>", "<nil>", "<nil>", true},
		{`{"home":{"city":7,"geo":{"lat":1}}}`, "<nil>", "<nil>", "1", false},
		{`{"home":{"geo":{"lat":"north"}}}`, "<nil>", "<nil>", "<nil>", false},
		{`{"home":"Oslo"}`, "<nil>", "<nil>", "<nil>", true}, // the path has no value there
		{`{"home":[{"city":"Oslo"}]}`, "<nil>", "<nil>", "<nil>", true},
	} {
		for _, old := range []bool{false, true} {
			l, v := homes(after), entity("a", 1, c.fields)
			if old {
				l = homes(before, after)
				v.SchemaVersion = 2
			}
			undeclared := entity("b", 2, `{"home":{"city":"Rome","geo":{"lat":2},"zip\n":3}}`)
			list := []onto.Version{v}
			if old { // what the type did not declare yet is not in the columns
				list = append(list, undeclared)
			}
			data, sum := encode(t, l, list)
			if want := c.typed || old; sum.Typed != want {
				t.Errorf("%s, undeclared before: %t: typed %t, want %t", c.fields, old, sum.Typed, want)
			}
			for name, want := range map[string]string{"home.city": c.city, `home."zip\n"`: c.zip, "home.geo.lat": c.lat} {
				got, err := parquettest.Column(data, name)
				if err != nil || fmt.Sprint(got[0]) != want || old && got[1] != nil {
					t.Errorf("%s, undeclared before: %t: %s has %v, %v, want %s", c.fields, old, name, got, err, want)
				}
			}
			found := flaws(t, open(t, l, data), l)
			if (len(found) == 0) != sum.Typed {
				t.Errorf("%s, undeclared before: %t: got the flaws %q", c.fields, old, found)
			}
		}
	}
}

// A file from before a nested field was added has no flaw, unless a row has the field.
func TestCheckOfNestedFieldAddedLater(t *testing.T) {
	before, after := []onto.Field{object("home")}, []onto.Field{object("home", onto.Field{Name: "city", Type: onto.String})}
	before[0].Fields = []onto.Field{}
	wrote, by := homes(before), homes(before, after)
	for fields, want := range map[string]int{`{"home":{}}`: 0, `{"home":{"city":"Oslo"}}`: 1} {
		data, _ := encode(t, wrote, []onto.Version{entity("a", 1, fields)})
		if got := flaws(t, open(t, by, data), by); len(got) != want {
			t.Errorf("%s: got %q, want %d", fields, got, want)
		}
	}
}
