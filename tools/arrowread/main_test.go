package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const (
	rows   = 500
	groups = 2
)

// written is a file with a column of each type, with and without NULL, a page index and
// several pages.
func written(t *testing.T) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String},
		{Name: "number", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "score", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "yes", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	}, nil)
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithPageIndexEnabled(true),
		parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(1000), parquet.WithBatchSize(50))
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for g := range groups {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range rows {
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("key%d%04d", g, i))
			if i%7 == 0 {
				for column := 1; column < schema.NumFields(); column++ {
					b.Field(column).AppendNull()
				}
				continue
			}
			b.Field(1).(*array.Int64Builder).Append(int64(i * i))
			b.Field(2).(*array.Float64Builder).Append(float64(i) / 3)
			b.Field(3).(*array.BooleanBuilder).Append(i%2 == 0)
			b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(i))
		}
		record := b.NewRecordBatch()
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
		record.Release()
		b.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ran is the exit status for a file in a directory, and what is printed.
func ran(t *testing.T, data []byte) (status int, out, problems string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var printed, failures strings.Builder
	status = run([]string{filepath.Dir(name)}, &printed, &failures)
	return status, printed.String(), failures.String()
}

func TestWholeFile(t *testing.T) {
	status, out, problems := ran(t, written(t))
	if want := fmt.Sprintf("1 files, %d rows, 5 columns read\n", groups*rows); status != 0 || out != want || problems != "" {
		t.Errorf("got status %d, %q and %q, want %q", status, out, problems, want)
	}
}

func TestNothingToRead(t *testing.T) {
	for _, args := range [][]string{nil, {t.TempDir()}, {filepath.Join(t.TempDir(), "missing")}} {
		var out, problems strings.Builder
		if status := run(args, &out, &problems); status != 1 || problems.Len() == 0 {
			t.Errorf("%v: got status %d and %q, want 1 and a reason", args, status, problems.String())
		}
	}
}

// Values that were changed are found, wherever their column is.
func TestFlippedValues(t *testing.T) {
	data := written(t)
	in, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for g := range in.NumRowGroups() {
		for c := range in.MetaData().Schema.NumColumns() {
			chunk, err := in.RowGroup(g).MetaData().ColumnChunk(c)
			if err != nil {
				t.Fatal(err)
			}
			damaged := bytes.Clone(data)
			damaged[chunk.DataPageOffset()+chunk.TotalCompressedSize()-10] ^= 0x10 // in the last page
			status, _, problems := ran(t, damaged)
			place := fmt.Sprintf("a.parquet: row group %d, column %s: ", g, in.MetaData().Schema.Column(c).Name())
			if status != 1 || !strings.Contains(problems, place) {
				t.Errorf("got status %d and %q, want 1 and %s", status, problems, place)
			}
		}
	}
}

// Bytes all over the file are flipped in turn. Some have no meaning, such as the name of the
// writer; most of them are found, and none stops the program.
func TestFlippedBytes(t *testing.T) {
	data := written(t)
	flipped, found := 0, 0
	for at := 0; at < len(data); at += 37 {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1 << (at % 8)
		flipped++
		if status, _, _ := ran(t, damaged); status == 1 {
			found++
		}
	}
	t.Logf("%d of %d flipped bytes were found", found, flipped)
	if found < flipped*7/10 {
		t.Errorf("only %d of %d flipped bytes were found", found, flipped)
	}
}

// Bounds that leave a value out, which would hide it from a reader that looks at them first,
// are found: those of row groups, and those of pages.
func TestFalseBounds(t *testing.T) {
	data := written(t)
	found := map[string]int{}
	for _, c := range []struct {
		bound string // of the second row group, and of one of its pages
		says  byte   // instead of its number
	}{{"key10000", '2'}, {"key10499", '0'}} {
		for at := bytes.Index(data, []byte(c.bound)); at >= 0; {
			damaged := bytes.Clone(data)
			damaged[at+len("key")] = c.says
			_, _, problems := ran(t, damaged)
			for _, where := range []string{"statistics", "page index"} {
				if strings.Contains(problems, "row group 1, column key: "+where) && strings.Contains(problems, "is not between") {
					found[where]++
				}
			}
			next := bytes.Index(data[at+1:], []byte(c.bound))
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	if found["statistics"] != 2 || found["page index"] != 2 {
		t.Errorf("got %v, want two bounds in each", found)
	}
}

func TestTruncated(t *testing.T) {
	data := written(t)
	for _, length := range []int{0, 4, 12, len(data) / 2, len(data) - 1} {
		if status, _, problems := ran(t, data[:length]); status != 1 || !strings.Contains(problems, "a.parquet: ") {
			t.Errorf("%d bytes: got status %d and %q", length, status, problems)
		}
	}
}
