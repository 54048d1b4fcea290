package parquet_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/codec"
)

// versionsOf are schema versions 1, 2, … of a type.
func versionsOf(kind onto.Kind, name string, schemas ...[]onto.Field) []onto.SchemaVersion {
	var list []onto.SchemaVersion
	for i, fields := range schemas {
		list = append(list, onto.SchemaVersion{Schema: onto.Schema{Kind: kind, Name: name, Fields: fields}, Version: i + 1})
	}
	return list
}

// sortFields sorts fields at all depths, as they are in a schema.
func sortFields(fields []onto.Field) {
	slices.SortFunc(fields, func(a, b onto.Field) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range fields {
		sortFields(f.Fields)
	}
}

// people is a layout with every type, fields called like system columns, and a
// field of two types.
func people(kind onto.Kind) *parquet.Layout {
	versions := versionsOf(kind, "Person",
		[]onto.Field{
			{Name: "name", Type: onto.String}, {Name: "age", Type: onto.Int}, {Name: "score", Type: onto.Float},
			{Name: "alive", Type: onto.Bool}, {Name: "born", Type: onto.Time}, {Name: "tags", Type: onto.List},
			{Name: "op", Type: onto.String}, {Name: "commit_id", Type: onto.Int}, {Name: "rank", Type: onto.Int},
		},
		[]onto.Field{
			{Name: "name", Type: onto.String}, {Name: "rank", Type: onto.String}, {Name: "more", Type: onto.Object},
		},
	)
	for _, v := range versions {
		sortFields(v.Schema.Fields)
	}
	return parquet.NewLayout(kind, "Person", versions)
}

// fataler is what testing and rapid have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// entity is a version of a person.
func entity(key string, commit int64, fields string) onto.Version {
	return onto.Version{
		Identity: onto.EntityID("Person", key), Op: onto.Put, Commit: commit, SchemaVersion: 1, Fields: []byte(fields),
	}
}

// encode is parquet.Encode without errors.
func encode(t fataler, l *parquet.Layout, versions []onto.Version) ([]byte, parquet.Summary) {
	t.Helper()
	data, sum, err := parquet.Encode(l, versions)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return data, sum
}

// open is parquet.Open without errors.
func open(t fataler, l *parquet.Layout, data []byte) *parquet.File {
	t.Helper()
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), l.Kind, l.Type)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return f
}

// all collects the versions of a file.
func all(f *parquet.File) ([]onto.Version, error) {
	var list []onto.Version
	for v, err := range f.All(context.Background()) {
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// sameVersions fails unless two lists are equal.
func sameVersions(t fataler, got, want []onto.Version) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d versions, want %d\ngot  %v\nwant %v", len(got), len(want), got, want)
	}
	for i := range got {
		if !same(&got[i], &want[i]) {
			t.Fatalf("version %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

func same(a, b *onto.Version) bool {
	return a.Identity == b.Identity && a.Op == b.Op && a.Commit == b.Commit && a.SchemaVersion == b.SchemaVersion && bytes.Equal(a.Fields, b.Fields)
}

// sortVersions sorts by identity and then commit, as files are.
func sortVersions(list []onto.Version) {
	slices.SortFunc(list, func(a, b onto.Version) int {
		if c := a.Identity.Compare(b.Identity); c != 0 {
			return c
		}
		return int(a.Commit - b.Commit)
	})
}

// text draws texts without U+0000.
func text(least int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ09 \"\\/\n\u0001<>éß漢字🎉\u2028\ufeff")), least, 12, -1)
}

// value draws JSON of a depth.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 7
		if depth == 0 {
			most = 5
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "int")
		case 3:
			return rapid.Float64().Draw(t, "float")
		case 4, 5:
			return text(0).Draw(t, "text")
		case 6:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(text(0), value(depth-1), 0, 4).Draw(t, "object")
	})
}

// version draws a version whose fields may disobey the schema.
func version(kind onto.Kind, keys int) *rapid.Generator[onto.Version] {
	return rapid.Custom(func(t *rapid.T) onto.Version {
		key := func(name string) string {
			return fmt.Sprintf("%d%s", rapid.IntRange(0, keys).Draw(t, name), rapid.SampledFrom([]string{"", "é", "\"", "漢"}).Draw(t, name+" end"))
		}
		v := onto.Version{
			Identity: onto.EntityID("Person", key("key")), Op: onto.Put, Commit: rapid.Int64Range(1, 20).Draw(t, "commit"),
			SchemaVersion: rapid.IntRange(1, 3).Draw(t, "schema version"), Fields: []byte("{}"),
		}
		switch kind {
		case onto.KindFact:
			v.Identity = onto.FactID("Person", key("subject"), rapid.SampledFrom([]string{"age", "name", "Name"}).Draw(t, "attribute"), key("id"))
		case onto.KindRelation:
			v.Identity = onto.RelationID("Person", key("left"), key("right")).WithInstance(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "instance"))
		}
		if rapid.IntRange(0, 4).Draw(t, "op") == 0 {
			v.Op = onto.Delete
			return v
		}
		v.Fields = fields().Draw(t, "fields")
		return v
	})
}

// fields draws the fields of a person.
func fields() *rapid.Generator[[]byte] {
	names := []string{"name", "age", "score", "alive", "born", "tags", "op", "commit_id", "rank", "more", "unknown", "q\"uote"}
	return rapid.Custom(func(t *rapid.T) []byte {
		members := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "names") {
			members[name] = value(3).Draw(t, name)
		}
		text, err := codec.AppendValue(nil, reflect.ValueOf(members))
		if err != nil {
			t.Fatalf("%v: %v", members, err)
		}
		return text
	})
}

// eachKind runs a test for each kind.
func eachKind(t *testing.T, do func(t *testing.T, kind onto.Kind)) {
	for _, kind := range onto.Kinds() {
		t.Run(string(kind), func(t *testing.T) { do(t, kind) })
	}
}
