// Package parquettest makes data files that must not be trusted, for tests: small ones
// that decompress to much, and ones that make false claims.
package parquettest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Entities is the rows of a file of an entity type.
type Entities struct {
	Type       string
	Rows       int    // in one row group
	Fields     string // of every row
	SameKey    bool   // all rows have one key; otherwise each has its own
	Dictionary bool   // of keys and fields, as no writer of lakes makes it
}

// File writes the rows of commit 1.
func (e Entities) File() ([]byte, error) {
	text := func(name string) schema.Node {
		n, _ := schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
		return n
	}
	number := func(name string) schema.Node { return schema.NewInt64Node(name, parquet.Repetitions.Required, -1) }
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{
		number("commit_id"), text("entity_type"), text("entity_key"), number("schema_version_id"), text("op"), text("fields_json"),
	}, -1)
	if err != nil {
		return nil, err
	}
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(true), parquet.WithStats(false),
		parquet.WithMaxRowGroupLength(int64(e.Rows)), parquet.WithBatchSize(64), parquet.WithDictionaryPageSizeLimit(64 << 20),
		parquet.WithDictionaryFor("commit_id", false),
	}
	for _, name := range []string{"entity_key", "fields_json"} {
		properties = append(properties, parquet.WithDictionaryFor(name, e.Dictionary))
	}
	var buf bytes.Buffer
	out := file.NewParquetWriter(&buf, root, file.WithWriterProps(parquet.NewWriterProperties(properties...)))
	group, err := out.AppendRowGroupChecked()
	if err != nil {
		return nil, err
	}
	for i := range root.NumFields() {
		column, err := group.NextColumn()
		if err == nil {
			err = e.write(column, root.Field(i).Name())
		}
		if err != nil {
			return nil, err
		}
	}
	if err := group.Close(); err != nil {
		return nil, err
	}
	err = out.Close()
	return buf.Bytes(), err
}

func (e Entities) write(to file.ColumnChunkWriter, name string) error {
	if to, ok := to.(*file.Int64ColumnChunkWriter); ok {
		list := make([]int64, e.Rows)
		for i := range list {
			list[i] = 1
		}
		_, err := to.WriteBatch(list, nil, nil)
		return err
	}
	list := make([]parquet.ByteArray, e.Rows)
	for i := range list {
		switch name {
		case "entity_type":
			list[i] = []byte(e.Type)
		case "entity_key":
			if list[i] = []byte("k"); !e.SameKey {
				list[i] = fmt.Appendf(nil, "k%08d", i)
			}
		case "op":
			list[i] = []byte("put")
		default:
			list[i] = []byte(e.Fields)
		}
	}
	_, err := to.(*file.ByteArrayColumnChunkWriter).WriteBatch(list, nil, nil)
	return err
}

// Claim replaces a number in the footer of a file, wherever it is, by another one of
// no more digits. It reports how many there were.
func Claim(data []byte, is, says int64) ([]byte, int) {
	length := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	at := len(data) - 8 - length
	old, now := zigzag(is, 0), zigzag(says, 0)
	if len(now) > len(old) {
		return nil, 0
	}
	now = zigzag(says, len(old))
	n := bytes.Count(data[at:], old)
	return append(bytes.Clone(data[:at]), bytes.ReplaceAll(data[at:], old, now)...), n
}

// Unfolded is what each row group of a file says that a column unfolds to.
func Unfolded(data []byte, column string) ([]int64, error) {
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var list []int64
	for i := range r.NumRowGroups() {
		chunk, err := r.MetaData().RowGroup(i).ColumnChunk(r.MetaData().Schema.ColumnIndexByName(column))
		if err != nil {
			return nil, err
		}
		list = append(list, chunk.TotalUncompressedSize())
	}
	return list, nil
}

// zigzag is how a footer has a number, padded to so many bytes.
func zigzag(n int64, bytes int) []byte {
	text := binary.AppendVarint(nil, n)
	for len(text) < bytes {
		text[len(text)-1] |= 0x80
		text = append(text, 0)
	}
	return text
}
