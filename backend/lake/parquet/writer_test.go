package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
	"github.com/ontologia/onto/internal/effort"
)

func TestRoundTrip(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		effort.Check(t, 1000, func(t *rapid.T) {
			l := people(kind)
			versions := rapid.SliceOfN(version(kind, 5), 0, 20).Draw(t, "versions")
			data, sum := encode(t, l, versions)
			f := open(t, l, data)
			got, err := all(f)
			if err != nil {
				t.Fatal(err)
			}
			sameVersions(t, got, versions)
			if n := int64(len(versions)); f.Rows() != n || sum.Rows != n {
				t.Fatalf("rows: got %d and %d, want %d", f.Rows(), sum.Rows, n)
			}
			again, _ := encode(t, l, versions)
			if !bytes.Equal(data, again) {
				t.Fatal("the same versions gave other bytes")
			}
			want, typed := expected(l, versions)
			if got := columns(t, l, data); got != want {
				t.Fatalf("typed columns: got\n%s\nwant\n%s", got, want)
			}
			if sum.Typed != typed {
				t.Fatalf("typed: got %v, want %v", sum.Typed, typed)
			}
		})
	})
}

// expected is what the typed columns have to hold, and whether they say the same
// as the fields.
func expected(l *parquet.Layout, versions []onto.Version) (string, bool) {
	types := []map[string]onto.FieldType{{"rank": onto.Int}, {"rank": onto.String}, {}}
	var out strings.Builder
	typed := true
	for _, c := range l.Columns {
		fmt.Fprintf(&out, "%s:", c.Name)
		for _, v := range versions {
			m, _ := v.Map()
			x := m[c.Field()]
			fits := holds(c.Type, &x)
			if !fits && x != nil && c.Field() != "rank" {
				typed = false
			}
			if !fits || c.Field() == "rank" && types[v.SchemaVersion-1]["rank"] != c.Type {
				x = nil
			}
			fmt.Fprintf(&out, " %#v", x)
		}
		out.WriteString("\n")
	}
	return out.String(), typed
}

// holds reports whether a column of a type can hold a value, and makes the value
// what it holds.
func holds(t onto.FieldType, x *any) bool {
	switch v := (*x).(type) {
	case string:
		return t == onto.String || t == onto.Time
	case bool:
		return t == onto.Bool
	case float64:
		return t == onto.Float
	case int64:
		if t == onto.Float {
			*x = float64(v)
			return v == -1<<63 || float64(v) < 1<<63 && int64(float64(v)) == v
		}
		return t == onto.Int
	}
	return false
}

// columns reads the typed columns of a file with one row group at most.
func columns(t fataler, l *parquet.Layout, data []byte) string {
	t.Helper()
	var out strings.Builder
	for _, c := range l.Columns {
		list, err := parquettest.Column(data, c.Name)
		if err != nil {
			t.Fatalf("column %s: %v", c.Name, err)
		}
		fmt.Fprintf(&out, "%s:", c.Name)
		for _, x := range list {
			fmt.Fprintf(&out, " %#v", x)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestColumnNames(t *testing.T) {
	var names []string
	for _, c := range people(onto.KindEntity).Columns {
		names = append(names, c.Name)
	}
	want := []string{"age", "alive", "born", "commit_id__int", "name", "op__string", "rank", "rank__string", "score"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// Engines ignore the case of column names.
func TestColumnNamesByCase(t *testing.T) {
	l := parquet.NewLayout(onto.KindEntity, "T", versionsOf(onto.KindEntity, "T", []onto.Field{
		{Name: "OP", Type: onto.String}, {Name: "a", Type: onto.Int}, {Name: "A", Type: onto.Int},
	}))
	var names []string
	for _, c := range l.Columns {
		names = append(names, c.Name)
	}
	if want := []string{"A__int", "OP__string", "a"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if c, ok := l.Column([]string{"A"}); !ok || c.Name != "A__int" {
		t.Errorf("column of A: got %v, %v", c, ok)
	}
}

// Attributes called like columns have their type after the name. The fields that every
// fact has are columns like any other; what an undeclared attribute has is of any type.
func TestColumnNamesOfFacts(t *testing.T) {
	fields := onto.FactFields(true)
	for _, name := range []string{"subject", "Attribute", "fact_id", "fact_type", "left_key", "op"} {
		fields = append(fields, onto.Field{Name: name, Type: onto.String, Optional: true})
	}
	l := parquet.NewLayout(onto.KindFact, "Contract", versionsOf(onto.KindFact, "Contract", fields))
	var names []string
	for _, c := range l.Columns {
		names = append(names, c.Name)
	}
	want := []string{
		"Attribute__string", "asserted", "fact_id__string", "fact_type__string", "kind", "left_key", "op__string", "seq",
		"subject__string", "valid_from", "valid_until",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if c, ok := l.Column([]string{"subject"}); !ok || c.Name != "subject__string" {
		t.Errorf("column of the attribute subject: got %v, %v", c, ok)
	}
}

func TestTyped(t *testing.T) {
	for fields, want := range map[string]bool{
		`{}`:                             true,
		`{"age":null,"name":null}`:       true,
		`{"age":7,"name":"A\"\n\\é"}`:    true,
		`{"age":"7"}`:                    false,
		`{"age":7.5}`:                    false,
		`{"age":1e30}`:                   false,
		`{"name":7}`:                     false,
		`{"name":{"a":1}}`:               false,
		`{"alive":1}`:                    false,
		`{"alive":false}`:                true,
		`{"born":"2020"}`:                true,
		`{"born":2020}`:                  false,
		`{"score":9007199254740992}`:     true,
		`{"score":9007199254740993}`:     false,
		`{"score":9223372036854775807}`:  false,
		`{"score":-9223372036854775808}`: true,
		`{"score":1e300}`:                true,
		`{"rank":"x"}`:                   true, // it has several types
		`{"unknown":1}`:                  true,
	} {
		_, sum := encode(t, people(onto.KindEntity), []onto.Version{entity("a", 1, `{}`), entity("b", 2, fields), entity("c", 3, `{}`)})
		if sum.Typed != want {
			t.Errorf("%s: got %v, want %v", fields, sum.Typed, want)
		}
	}
}

func TestSummary(t *testing.T) {
	gone := entity("b", 9, "{}")
	gone.Op = onto.Delete
	for _, c := range []struct {
		what string
		list []onto.Version
		want parquet.Summary
	}{
		{"empty", nil, parquet.Summary{Typed: true, Unique: true}},
		{"sorted", []onto.Version{entity("a", 5, "{}"), entity("b", 3, "{}")}, parquet.Summary{Rows: 2, Typed: true, Unique: true}},
		{"unsorted", []onto.Version{entity("b", 5, "{}"), entity("a", 3, "{}")}, parquet.Summary{Rows: 2, Typed: true}},
		{"twice", []onto.Version{entity("a", 3, "{}"), entity("a", 5, "{}")}, parquet.Summary{Rows: 2, Typed: true}},
		{"delete", []onto.Version{entity("a", 3, "{}"), gone}, parquet.Summary{Rows: 2, Typed: true}},
	} {
		if _, sum := encode(t, people(onto.KindEntity), c.list); sum != c.want {
			t.Errorf("%s: got %+v, want %+v", c.what, sum, c.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for what, v := range map[string]onto.Version{
		"another type": {Identity: onto.EntityID("Dog", "a"), Op: onto.Put},
		"another kind": {Identity: onto.RelationID("Person", "a", "b"), Op: onto.Put},
		"a fact":       {Identity: onto.FactID("Person", "a", "age", "1"), Op: onto.Put},
		"another op":   {Identity: onto.EntityID("Person", "a"), Op: "patch"},
		"no object":    entity("a", 1, `[1]`),
		"half a text":  entity("a", 1, `{"name":"x}`),
	} {
		w, err := parquet.NewWriter(&bytes.Buffer{}, people(onto.KindEntity))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&v); !errors.Is(err, onto.Invalid) {
			t.Errorf("%s: got %v, want invalid", what, err)
		}
		if _, err := w.Close(); !errors.Is(err, onto.Invalid) {
			t.Errorf("%s: close: got %v, want invalid", what, err)
		}
	}
}

// failing is a writer that fails after some bytes, and must not be closed.
type failing struct {
	t    *testing.T
	left int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk is full")
	}
	return len(p), nil
}

func (f *failing) Close() error {
	f.t.Error("the file was closed")
	return nil
}

func TestFailingWriter(t *testing.T) {
	l := people(onto.KindEntity)
	data, _ := encode(t, l, []onto.Version{entity("a", 1, `{"name":"A"}`)})
	for left := range len(data) + 1 {
		w, err := parquet.NewWriter(&failing{t, left}, l)
		if err == nil {
			v := entity("a", 1, `{"name":"A"}`)
			_ = w.Write(&v)
			_, err = w.Close()
		}
		if done := left == len(data); done != (err == nil) {
			t.Errorf("%d of %d bytes: got %v", left, len(data), err)
		}
	}
}
