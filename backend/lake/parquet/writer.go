package parquet

import (
	"bytes"
	"io"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet/internal/flat"
	"github.com/ontologia/onto/backend/lake/parquet/internal/format"
)

// Summary tells what a file holds.
type Summary struct {
	Rows   int64
	Typed  bool // what Layout.Column names says the same as the fields, in every row
	Unique bool // the rows are in the order of identities, none has two, and none is a delete
}

// Writer writes versions of one type to a file. It is not safe for concurrent
// use.
type Writer struct {
	layout *Layout
	out    *flat.Writer
	typed  []*typedColumn
	fields *typedNode // the same by place
	sum    Summary
	last   onto.Identity // of the row before
	err    error         // ended the file

	// The row group that is being collected.
	commits, schemas []int64
	types, ops, json [][]byte
	keys             [][][]byte // of each part
	text             []byte     // of the keys
	size             int        // of the fields
}

// NewWriter begins a file, which is complete only when the writer is closed.
func NewWriter(w io.Writer, l *Layout) (*Writer, error) {
	out, err := flat.NewWriter(w, columnsOf(l))
	if err != nil {
		return nil, onto.Errorf(onto.Unavailable, "begin a file of %s %s: %w", l.Kind, l.Type, err)
	}
	writer := &Writer{
		layout: l, out: out, sum: Summary{Typed: true, Unique: true},
		keys: make([][][]byte, keyColumns(l.Kind)),
	}
	writer.typed, writer.fields = newTypedColumns(l)
	return writer, nil
}

// Write adds a version. It holds one row group of them at most: fields must not
// be changed before Close. After an error the file cannot be completed.
func (w *Writer) Write(v *onto.Version) error {
	if w.err == nil {
		w.err = w.write(v)
	}
	return w.err
}

func (w *Writer) write(v *onto.Version) error {
	if err := w.check(v); err != nil {
		return err
	}
	fields := []byte(v.Fields)
	if len(fields) == 0 {
		fields = []byte("{}")
	}
	if err := w.putFields(v, fields); err != nil {
		return err
	}
	w.commits = append(w.commits, v.Commit)
	w.schemas = append(w.schemas, int64(v.SchemaVersion))
	w.types = append(w.types, w.keep(v.Type))
	w.ops = append(w.ops, w.keep(string(v.Op)))
	w.json = append(w.json, fields)
	for part := range w.keys {
		w.keys[part] = append(w.keys[part], w.keep(keyOf(&v.Identity, part)))
	}
	w.summarize(v)
	if w.size += len(fields); w.size >= groupBytes || len(w.commits) >= groupRows {
		return w.flush()
	}
	return nil
}

// check reports whether a version can be a row of the file.
func (w *Writer) check(v *onto.Version) error {
	switch {
	case v.Kind != w.layout.Kind || v.Type != w.layout.Type:
		return onto.Errorf(onto.Invalid, "%s %s cannot be in a file of %s %s", v.Kind, v.Identity, w.layout.Kind, w.layout.Type)
	case v.Op != onto.Put && v.Op != onto.Delete:
		return onto.Errorf(onto.Invalid, "%s has the op %q, which is unknown", v.Identity, v.Op)
	case len(v.Fields) > 0 && (v.Fields[0] != '{' || v.Fields[len(v.Fields)-1] != '}'):
		return onto.Errorf(onto.Invalid, "%s at commit %d has fields that are not a JSON object", v.Identity, v.Commit)
	}
	return nil
}

// putFields fills the typed columns.
func (w *Writer) putFields(v *onto.Version, fields []byte) (err error) {
	if len(w.typed) == 0 {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = onto.Errorf(onto.Invalid, "%s at commit %d has fields that are not canonical JSON: %v", v.Identity, v.Commit, r)
		}
	}()
	for _, c := range w.typed {
		c.begin()
	}
	w.fields.each(fields, func(c *typedColumn, value []byte) {
		if c.sole {
			w.sum.Typed = c.put(value) && w.sum.Typed
		} else if c.in[v.SchemaVersion] {
			c.put(value)
		}
	})
	for _, c := range w.typed {
		c.end()
	}
	return nil
}

// keep copies a text into the row group.
func (w *Writer) keep(s string) []byte {
	start := len(w.text)
	w.text = append(w.text, s...)
	return w.text[start:len(w.text):len(w.text)]
}

// summarize counts a row.
func (w *Writer) summarize(v *onto.Version) {
	if w.sum.Rows > 0 && w.last.Compare(v.Identity) >= 0 || v.Op == onto.Delete {
		w.sum.Unique = false
	}
	w.sum.Rows++
	w.last = v.Identity
}

// flush writes the row group and begins another.
func (w *Writer) flush() error {
	if len(w.commits) == 0 {
		return nil
	}
	values := []flat.Values{{Ints: w.commits}, {Texts: w.types}}
	for _, key := range w.keys {
		values = append(values, flat.Values{Texts: key})
	}
	values = append(values, flat.Values{Ints: w.schemas}, flat.Values{Texts: w.ops}, flat.Values{Texts: w.json})
	for _, c := range w.typed {
		values = append(values, c.values)
	}
	if err := w.out.Group(len(w.commits), values); err != nil {
		return w.failed(err)
	}
	w.forget()
	return nil
}

// forget drops the rows that were written.
func (w *Writer) forget() {
	clear(w.json)
	w.commits, w.schemas, w.types, w.ops, w.json = w.commits[:0], w.schemas[:0], w.types[:0], w.ops[:0], w.json[:0]
	for part := range w.keys {
		w.keys[part] = w.keys[part][:0]
	}
	w.text, w.size = w.text[:0], 0
	for _, c := range w.typed {
		c.forget()
	}
}

func (w *Writer) failed(err error) error {
	return onto.Errorf(onto.Unavailable, "write a file of %s %s: %w", w.layout.Kind, w.layout.Type, err)
}

// Close completes the file and tells what it holds. It does not close what the
// file was written to.
func (w *Writer) Close() (Summary, error) {
	if w.err == nil {
		w.err = w.flush()
	}
	if w.err != nil {
		return Summary{}, w.err
	}
	var pairs []format.Pair
	if w.layout.Store != "" {
		pairs = append(pairs, format.Pair{Key: storeKey, Value: w.layout.Store})
	}
	if err := w.out.Close(createdBy+" version 1.0.0", pairs...); err != nil {
		w.err = w.failed(err)
		return Summary{}, w.err
	}
	w.err = onto.Errorf(onto.Closed, "the file of %s %s was completed", w.layout.Kind, w.layout.Type)
	return w.sum, nil
}

// Encode returns versions as a file.
func Encode(l *Layout, versions []onto.Version) ([]byte, Summary, error) {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, l)
	if err != nil {
		return nil, Summary{}, err
	}
	for i := range versions {
		if err := w.Write(&versions[i]); err != nil {
			return nil, Summary{}, err
		}
	}
	sum, err := w.Close()
	if err != nil {
		return nil, Summary{}, err
	}
	return buf.Bytes(), sum, nil
}
