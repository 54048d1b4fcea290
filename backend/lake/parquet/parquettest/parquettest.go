// Package parquettest makes data files that must not be trusted, for tests: small ones
// that decompress to much, and ones that make false claims.
package parquettest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
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
	var columns []flat.Column
	var values []flat.Values
	for _, name := range []string{"commit_id", "entity_type", "entity_key", "schema_version_id", "op", "fields_json"} {
		c := flat.Column{Column: format.Column{Name: name, Type: format.ByteArray, Meaning: format.String}, Folding: flat.Folded}
		switch name {
		case "commit_id", "schema_version_id":
			c.Type, c.Meaning, c.Folding = format.Int64, format.Plain, flat.Unfolded
		case "entity_key", "fields_json":
			if !e.Dictionary {
				c.Folding = flat.Unfolded
			}
		}
		columns, values = append(columns, c), append(values, e.values(name))
	}
	return Write(columns, e.Rows, values)
}

// Write makes a file of one row group, or of none.
func Write(columns []flat.Column, rows int, values []flat.Values) ([]byte, error) {
	var buf bytes.Buffer
	out, err := flat.NewWriter(&buf, columns)
	if err == nil && rows > 0 {
		err = out.Group(rows, values)
	}
	if err == nil {
		err = out.Close("parquettest")
	}
	return buf.Bytes(), err
}

// Empty is a file without rows that has these columns: of integers if they are numbers in
// the files of a lake, and of texts otherwise.
func Empty(names ...string) ([]byte, error) {
	var columns []flat.Column
	for _, name := range names {
		c := flat.Column{Column: format.Column{Name: name, Type: format.ByteArray}}
		if name == "commit_id" || name == "schema_version_id" {
			c.Type = format.Int64
		}
		columns = append(columns, c)
	}
	return Write(columns, 0, nil)
}

// values is a column of the rows.
func (e Entities) values(name string) (v flat.Values) {
	if name == "commit_id" || name == "schema_version_id" {
		for range e.Rows {
			v.Ints = append(v.Ints, 1)
		}
		return v
	}
	for i := range e.Rows {
		text := e.Fields
		switch name {
		case "entity_type":
			text = e.Type
		case "entity_key":
			if text = "k"; !e.SameKey {
				text = fmt.Sprintf("k%08d", i)
			}
		case "op":
			text = "put"
		}
		v.Texts = append(v.Texts, []byte(text))
	}
	return v
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

// footer decodes the footer of a file that a test has written.
func footer(data []byte) (*format.File, error) {
	ending := len(data) - 4 - len(format.Magic)
	length := int(binary.LittleEndian.Uint32(data[ending:]))
	return format.ReadFile(data[ending-length : ending])
}

// Unfolded is what each row group of a file says that a column unfolds to.
func Unfolded(data []byte, column string) ([]int64, error) {
	f, err := footer(data)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, g := range f.Groups {
		for i, c := range f.Columns {
			if c.Name == column {
				list = append(list, g.Chunks[i].Uncompressed)
			}
		}
	}
	return list, nil
}

// Column reads a column of a file of one row group, or of none, as this program reads it:
// nil for NULL.
func Column(data []byte, name string) ([]any, error) {
	f, err := footer(data)
	if err != nil || len(f.Groups) == 0 {
		return nil, err
	}
	number := slices.IndexFunc(f.Columns, func(c format.Column) bool { return c.Name == name })
	if number < 0 {
		return nil, fmt.Errorf("there is no column %s", name)
	}
	r := flat.NewReader(&flat.Chunk{
		Source: bytes.NewReader(data), Meta: &f.Groups[0].Chunks[number], Optional: f.Columns[number].Optional, MaxPage: 1 << 20,
	})
	switch n := int(f.Rows); f.Columns[number].Type {
	case format.Int32, format.Int64:
		return values(n, r.Ints)
	case format.Double:
		return values(n, r.Floats)
	case format.Boolean:
		return values(n, r.Bools)
	default:
		return values(n, func(list []string, levels []uint32) (rows, found int, err error) {
			texts := make([][]byte, len(list))
			rows, found, err = r.Texts(texts, levels)
			for i := range texts[:found] {
				list[i] = string(texts[i])
			}
			return rows, found, err
		})
	}
}

// values reads so many rows.
func values[T any](n int, read func(list []T, levels []uint32) (rows, found int, err error)) ([]any, error) {
	var all []any
	for len(all) < n {
		list, levels := make([]T, n-len(all)), make([]uint32, n-len(all))
		rows, _, err := read(list, levels)
		if err != nil || rows == 0 {
			return all, err
		}
		for _, level := range levels[:rows] {
			if level == 0 {
				all = append(all, nil)
				continue
			}
			all = append(all, list[0])
			list = list[1:]
		}
	}
	return all, nil
}

// DamageAfterFirst overwrites all row groups of a file but the first, and returns how many
// there are.
func DamageAfterFirst(data []byte) (int, error) {
	f, err := footer(data)
	if err != nil {
		return 0, err
	}
	for _, g := range f.Groups[1:] {
		for i := range g.Chunks {
			c := flat.Chunk{Meta: &g.Chunks[i]}
			for at := range c.Meta.Compressed {
				data[c.Start()+at] = 0xff
			}
		}
	}
	return len(f.Groups), nil
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
