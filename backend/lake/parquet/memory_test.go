package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// Row groups that share their bytes are refused: a footer could have any number of them.
func TestGroupsShareBytes(t *testing.T) {
	data, _ := encode(t, people(onto.KindEntity), many(1000, onto.KindEntity))
	ending := len(data) - 8
	at := ending - int(binary.LittleEndian.Uint32(data[ending:]))
	f, err := format.ReadFile(data[at:ending])
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		f.Groups, f.Rows = append(f.Groups, f.Groups[0]), f.Rows+f.Groups[0].Rows
	}
	out := format.AppendFile(bytes.Clone(data[:at]), f)
	out = append(binary.LittleEndian.AppendUint32(out, uint32(len(out)-at)), format.Magic...)
	_, err = parquet.Open(bytes.NewReader(out), int64(len(out)), onto.KindEntity, "Person")
	if want := "its columns have more bytes than the file"; !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want corrupt: %s", err, want)
	}
}

// A small file of many equal rows keeps the indexes of some of them, and finds what is in
// the others.
func TestFindInManyEqualRows(t *testing.T) {
	const rows, groups = 1 << 20, 8
	one := make([]int64, rows)
	texts := func(text string) (v flat.Values) {
		for range rows {
			v.Texts = append(v.Texts, []byte(text))
		}
		return v
	}
	var columns []flat.Column
	for _, name := range parquet.System(onto.KindEntity) {
		c := flat.Column{Column: format.Column{Name: name, Type: format.ByteArray}}
		switch name {
		case "commit_id", "schema_version_id":
			c.Type = format.Int64
		case "entity_type", "op":
			c.Folding = flat.Folded
		}
		columns = append(columns, c)
	}
	var buf bytes.Buffer
	w, err := flat.NewWriter(&buf, columns)
	if err != nil {
		t.Fatal(err)
	}
	values := []flat.Values{{Ints: one}, texts("Person"), texts("k"), {Ints: one}, texts("put"), texts("{}")}
	for range groups {
		if err := w.Group(rows, values); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close("a test"); err != nil {
		t.Fatal(err)
	}
	values = nil
	f, err := parquet.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), onto.KindEntity, "Person")
	if err != nil {
		t.Fatal(err)
	}
	before := live()
	for range 2 {
		found, err := f.Find(t.Context(), []onto.Identity{onto.EntityID("Person", "other")}, 1)
		if err != nil || len(found) > 0 {
			t.Fatalf("got %v, %v", found, err)
		}
	}
	if kept := live() - before; kept > 110<<20 { // 24 bytes for each of 4 Mi rows, instead of 8
		t.Errorf("an open file of %d bytes keeps %d", buf.Len(), kept)
	}
	found, err := f.Find(t.Context(), []onto.Identity{onto.EntityID("Person", "k")}, 1)
	if err != nil || len(found) != 1 || found[0].Key != "k" {
		t.Errorf("got %v, %v", found, err)
	}
	runtime.KeepAlive(f)
}

// live is how much memory is in use.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
