package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/effort"
)

// flaws are those of all rows, as texts.
func flaws(t fataler, f *parquet.File, l *parquet.Layout) []string {
	t.Helper()
	var list []string
	for row, err := range f.Check(context.Background(), l) {
		if err != nil {
			t.Fatalf("after %v: %v", list, err)
		}
		for _, flaw := range row.Flaws {
			list = append(list, fmt.Sprintf("%s@%d %s: %s stored %s unfit %v", row.Identity, row.Commit, flaw.Column.Name, flaw.Fields, flaw.Stored, flaw.Unfit))
		}
	}
	return list
}

// What a writer has written has no flaws but those that keep it from being typed,
// and Check yields what All yields.
func TestCheckOfWhatWasWritten(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		effort.Check(t, 1000, func(t *rapid.T) {
			l := people(kind)
			versions := rapid.SliceOfN(version(kind, 5), 0, 20).Draw(t, "versions")
			data, sum := encode(t, l, versions)
			var rows []onto.Version
			typed := true
			for row, err := range open(t, l, data).Check(context.Background(), l) {
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row.Version)
				for _, flaw := range row.Flaws {
					typed = false
					if !flaw.Unfit || flaw.Stored != "" {
						t.Fatalf("%v: got %+v", row.Version, flaw)
					}
				}
			}
			sameVersions(t, rows, versions)
			if typed != sum.Typed {
				t.Fatalf("typed: got %v, want %v", typed, sum.Typed)
			}
		})
	})
}

// lying is a layout whose column n holds what the fields have under another name.
func lying(typ onto.FieldType) (lies, honest *parquet.Layout) {
	honest = parquet.NewLayout(onto.KindEntity, "Person", versionsOf(onto.KindEntity, "Person", []onto.Field{{Name: "n", Type: typ}}))
	return &parquet.Layout{Kind: onto.KindEntity, Type: "Person", Columns: []parquet.Column{{Name: "n", Path: []string{"lie"}, Type: typ}}}, honest
}

func TestCheckFindsFlaws(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, c := range []struct {
		typ    onto.FieldType
		fields string
		want   string // the flaw's value in the fields, in the column, and whether it is unfit
	}{
		{onto.Int, `{"lie":7,"n":7}`, ""},
		{onto.Int, `{"lie":7,"n":8}`, "8 stored 7 unfit false"},
		{onto.Int, `{"n":8}`, "8 stored  unfit false"},
		{onto.Int, `{"lie":7}`, " stored 7 unfit false"},
		{onto.Int, `{"lie":7,"n":null}`, "null stored 7 unfit false"},
		{onto.Int, `{"n":"x"}`, `"x" stored  unfit true`},
		{onto.String, `{"lie":"a","n":"a"}`, ""},
		{onto.String, `{"lie":"a","n":"b"}`, `"b" stored "a" unfit false`},
		{onto.String, `{"lie":"","n":"a"}`, `"a" stored "" unfit false`},
		{onto.String, `{"n":""}`, `"" stored  unfit false`},
		{onto.String, `{"lie":"a","n":"` + long + `"}`, `"` + long[:62] + `… stored "a" unfit false`},
		{onto.Time, `{"lie":"2020","n":"2021"}`, `"2021" stored "2020" unfit false`},
		{onto.Float, `{"lie":1.5,"n":1.5}`, ""},
		{onto.Float, `{"lie":1.5,"n":2.5}`, "2.5 stored 1.5 unfit false"},
		{onto.Float, `{"n":9007199254740993}`, "9007199254740993 stored  unfit true"},
		{onto.Bool, `{"lie":true,"n":true}`, ""},
		{onto.Bool, `{"lie":true,"n":false}`, "false stored true unfit false"},
	} {
		lies, honest := lying(c.typ)
		data, _ := encode(t, lies, []onto.Version{entity("a", 1, `{}`), entity("b", 2, c.fields), entity("c", 3, `{}`)})
		got := strings.Join(flaws(t, open(t, honest, data), honest), "; ")
		want := c.want
		if want != "" {
			want = `Person "b"@2 n: ` + want
		}
		if got != want {
			t.Errorf("%s %s: got %s, want %s", c.typ, c.fields, got, want)
		}
	}
}

// A flaw is found wherever it is, in all row groups and batches.
func TestCheckOfManyRows(t *testing.T) {
	lies, honest := lying(onto.String)
	const rows, at = 40000, 33333
	var list []onto.Version
	for i := range rows {
		fields := fmt.Sprintf(`{"lie":"value %d","n":"value %d"}`, i, i)
		switch {
		case i == at:
			fields = `{"lie":"x","n":"y"}`
		case i%3 == 0:
			fields = `{}`
		}
		list = append(list, entity(fmt.Sprintf("%06d", i), 1, fields))
	}
	data, _ := encode(t, lies, list)
	got := flaws(t, open(t, honest, data), honest)
	want := fmt.Sprintf(`Person "%06d"@1 n: "y" stored "x" unfit false`, at)
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Files that were written before a field came, or before it had another type, have
// no flaws for that; one that has the field and no column is not typed.
func TestCheckOfOlderLayouts(t *testing.T) {
	number, text := []onto.Field{{Name: "rank", Type: onto.Int}}, []onto.Field{{Name: "rank", Type: onto.String}}
	kind := onto.KindEntity
	none := parquet.NewLayout(kind, "Person", versionsOf(kind, "Person", nil))
	one := parquet.NewLayout(kind, "Person", versionsOf(kind, "Person", nil, number))
	both := parquet.NewLayout(kind, "Person", versionsOf(kind, "Person", nil, number, text))
	for _, c := range []struct {
		name      string
		wrote, by *parquet.Layout
		version   int
		fields    string
		want      int
	}{
		{"no column", none, one, 1, `{}`, 0},
		{"null without a column", none, one, 1, `{"rank":null}`, 0},
		{"a value without a column", none, one, 1, `{"rank":1}`, 1},
		{"a value without a column, of several types", none, both, 1, `{"rank":1}`, 0},
		{"before it had another type", one, both, 2, `{"rank":1}`, 0},
		{"before it had another type, and of no version", one, both, 1, `{"rank":1}`, 0},
		{"with another type", both, both, 3, `{"rank":"x"}`, 0},
	} {
		v := entity("a", 1, c.fields)
		v.SchemaVersion = c.version
		data, _ := encode(t, c.wrote, []onto.Version{v})
		if got := flaws(t, open(t, c.by, data), c.by); len(got) != c.want {
			t.Errorf("%s: got %v, want %d", c.name, got, c.want)
		}
	}
}

// A column that is not of the field's type, or there twice, is damage.
func TestCheckOfOtherColumns(t *testing.T) {
	_, honest := lying(onto.Int)
	for what, columns := range map[string][]parquet.Column{
		"another type": {{Name: "n", Path: []string{"n"}, Type: onto.String}},
		"another case": {{Name: "N", Path: []string{"n"}, Type: onto.Int}},
		"twice":        {{Name: "N", Path: []string{"n"}, Type: onto.Int}, {Name: "n", Path: []string{"n"}, Type: onto.Int}},
	} {
		data, _ := encode(t, &parquet.Layout{Kind: onto.KindEntity, Type: "Person", Columns: columns}, []onto.Version{entity("a", 1, `{}`)})
		var got error
		for _, err := range open(t, honest, data).Check(t.Context(), honest) {
			got = err
		}
		if !errors.Is(got, onto.Corrupt) {
			t.Errorf("%s: got %v, want corrupt", what, got)
		}
	}
}

// Fields that are not canonical do not stop a check.
func TestCheckOfOtherFields(t *testing.T) {
	empty := parquet.NewLayout(onto.KindEntity, "Person", nil)
	_, honest := lying(onto.Int)
	for _, fields := range []string{`{"n}`, `{"n":1,"n":2}`, `{"n": 1}`, `{n}`, `{"n":}`} {
		data, _ := encode(t, empty, []onto.Version{entity("a", 1, fields), entity("b", 1, `{}`)})
		n := 0
		for _, err := range open(t, honest, data).Check(t.Context(), honest) {
			if err != nil {
				t.Errorf("%s: %v", fields, err)
			}
			n++
		}
		if n != 2 {
			t.Errorf("%s: got %d rows, want 2", fields, n)
		}
	}
}
