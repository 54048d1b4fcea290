package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// Small files that decompress to gigabytes, or claim to, are refused before they have
// taken much memory.
func TestBombs(t *testing.T) {
	long := `{"s":"` + strings.Repeat("x", 60<<10) + `"}`
	made := func(e parquettest.Entities) []byte {
		t.Helper()
		e.Type = "Person"
		data, err := e.File()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	claims := func(data []byte, is, says int64) []byte {
		t.Helper()
		data, n := parquettest.Claim(data, is, says)
		if n == 0 {
			t.Fatalf("the footer does not say %d", is)
		}
		return data
	}
	plain := made(parquettest.Entities{Rows: 4001, Fields: long})
	bytesOf := int64(0)
	for _, size := range fieldBytes(t, plain) {
		bytesOf += size
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a dictionary of long fields", made(parquettest.Entities{Rows: 16 << 10, Fields: long, SameKey: true, Dictionary: true}), "has a dictionary"},
		{"compressed fields", plain, "row group 1 unfolds to more than"},
		{"compressed fields that are said to be few", claims(plain, bytesOf, 1000), "fields_json"},
		{"compressed fields that are said to be some", claims(plain, bytesOf, 60<<20), "fields_json of row group 1: its pages unfold to more than"},
		{"more rows than there are", claims(made(parquettest.Entities{Rows: 999_983, Fields: "{}"}), 999_983, 1_000_003), ""},
		{"many rows in one group", made(parquettest.Entities{Rows: 2 << 20, Fields: "{}", SameKey: true}), "has 2097152 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := consume(c.data)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes: got %v, want corrupt: %s", len(c.data), err, c.want)
			}
			t.Logf("%d bytes: %d MB were allocated: %v", len(c.data), (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 512<<20 {
				t.Errorf("%d bytes took %d of memory", len(c.data), grown)
			}
		})
	}
}

// fieldBytes is what the row groups of a file say that the fields unfold to.
func fieldBytes(t *testing.T, data []byte) []int64 {
	t.Helper()
	list, err := parquettest.Unfolded(data, "fields_json")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// consume reads a file in every way, without keeping anything.
func consume(data []byte) error {
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), onto.KindEntity, "Person")
	if err != nil {
		return err
	}
	if err := f.CheckTyped(); err != nil {
		return err
	}
	if _, err := f.Find(context.Background(), []onto.Identity{onto.EntityID("Person", "k00000001")}, 9); err != nil {
		return err
	}
	for _, err := range f.All(context.Background()) {
		if err != nil {
			return err
		}
	}
	return nil
}
