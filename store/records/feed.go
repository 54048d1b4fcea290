package records

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// record is one record of an import.
type record struct {
	schema *onto.Schema
	id     onto.Identity
	op     onto.Op
	fields []byte // canonical JSON object; valid until the next record is read
	line   int64  // where it starts

	// Some fields are not given: they stay as they are, unless there is no such thing yet.
	// Initial has further ones for that case; nil for none.
	sparse  bool
	initial []byte

	text []byte // as it came, valid until the next record is read; nil if nobody asks for it
}

// source reads records. Its errors carry the line.
type source interface {
	// next returns io.EOF after the last record.
	next() (record, error)
}

// feed passes records to a store and counts them.
type feed struct {
	opts   ImportOptions
	store  *store.Store
	types  catalogue
	src    source
	files  *folderSource // the same, if it reads several files
	header []byte        // of CSV, as it came; nil if nobody asks for it
	input  *cancellable
	seen   *seen
	out    Outcome
	line   int64 // of the record that was read last
	given  bool  // the store has that record and has not requested the next
}

func newFeed(ctx context.Context, s *store.Store, r io.Reader, o *ImportOptions) (*feed, error) {
	opts, err := o.check()
	if err != nil {
		return nil, err
	}
	f := &feed{opts: opts, store: s, input: &cancellable{tally{r: r}, ctx.Err}, seen: newSeen(maxSeen)}
	types := newCatalogue(s)
	f.types = types
	if folder, ok := r.(*Folder); ok {
		return f.withFolder(folder, types)
	}
	text, err := skipMark(f.input)
	if err != nil {
		return nil, err
	}
	lines := &lineReader{r: text, limit: maxRecord, keeps: opts.Reject != nil}
	switch {
	case opts.Rows != nil:
		f.src, err = newRowSource(ctx, s, lines, types, &opts)
	case opts.Format == CSV:
		f.src, err = newCSVReader(&rowReader{lines: lines, comma: opts.Delimiter}, types, &opts)
	case opts.Type != "":
		f.src, err = newObjectReader(lines, types, opts.Type)
	default:
		f.src = &jsonlReader{lines: lines, types: types}
	}
	if opts.Format == CSV {
		f.header = bytes.Clone(lines.text)
	}
	return f, err
}

// withFolder reads the files of a folder.
func (f *feed) withFolder(folder *Folder, types catalogue) (*feed, error) {
	if f.opts.Format != JSONL || f.opts.Rows != nil || f.opts.Type != "" {
		return nil, onto.Errorf(onto.Invalid, "a directory is read as records in JSON Lines only").WithHint("name a file")
	}
	f.files = &folderSource{folder: folder, open: func() (source, error) {
		text, err := skipMark(f.input)
		return &jsonlReader{lines: &lineReader{r: text, limit: maxRecord, keeps: f.opts.Reject != nil}, types: types}, err
	}}
	f.src, f.seen.place = f.files, f.files.place
	return f, nil
}

// skipMark buffers a reader and skips the byte order mark that some programs
// put in front of UTF-8.
func skipMark(r io.Reader) (*bufio.Reader, error) {
	const mark = "\ufeff"
	text := bufio.NewReaderSize(r, 64<<10)
	start, err := text.Peek(len(mark))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, atLine(1, err)
	}
	if string(start) == mark {
		_, err = text.Discard(len(mark))
		return text, err
	}
	return text, nil
}

// cancellable is a tally that ends when its context does.
type cancellable struct {
	tally
	ended func() error
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	return c.tally.Read(p)
}

// things yields the records in the store's form.
func (f *feed) things() iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for {
			rec, err := f.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			f.given = true
			if !yield(rec.thing(), nil) {
				return
			}
			f.given = false
		}
	}
}

// next returns the next record that does not repeat an earlier one.
func (f *feed) next() (record, error) {
	for {
		rec, err := f.src.next()
		if err == nil {
			err = f.check(&rec)
		}
		if err != nil {
			if err = f.reject(err); err != nil {
				return rec, err
			}
			continue
		}
		first, err := f.seen.add(&rec)
		if err != nil {
			if err = f.reject(f.badRecord(&rec, err)); err != nil {
				return rec, err
			}
			continue
		}
		f.line = rec.line
		f.out.Records++
		if f.opts.Progress != nil && f.out.Records%progressStep == 0 {
			f.opts.Progress(f.out.Records, f.input.n)
		}
		switch {
		case first == untracked:
			f.out.Untracked++
		case first != 0:
			f.out.Repeated++
			continue
		}
		return rec, nil
	}
}

// thing is the record in the store's form.
func (r *record) thing() any {
	if r.sparse && r.op == onto.Put {
		in := onto.Intent{Op: onto.Put, Value: r.whole(), Merge: true}
		if r.initial != nil {
			in.Initial = json.RawMessage(r.initial)
		}
		return in
	}
	return r.whole()
}

// whole is the record as if it gave all fields.
func (r *record) whole() any {
	switch {
	case r.op == onto.Delete:
		return r.id
	case r.id.Kind == onto.KindEntity:
		return onto.Entity{Type: r.id.Type, Key: r.id.Key, Fields: json.RawMessage(r.fields)}
	case r.id.Kind == onto.KindFact:
		return onto.Version{Identity: r.id, Op: onto.Put, Fields: json.RawMessage(r.fields)}
	}
	return onto.Relation{
		Type: r.id.Type, Left: r.id.Left, Right: r.id.Right, Instance: r.id.Instance, Fields: json.RawMessage(r.fields),
	}
}

// explain adds the line to a store's error about a record. Other errors have it, or
// have none.
func (f *feed) explain(err error) error {
	switch onto.CodeOf(err) {
	case onto.Invalid, onto.TooLarge:
		if f.given {
			return atPlace(f.files.place, f.line, err)
		}
	}
	return err
}

// atPlace puts a place in front of an error: the line, and the file if there are several.
func atPlace(place func(int64) (string, int64), line int64, err error) error {
	file, line := place(line)
	if file == "" {
		return atLine(line, err)
	}
	return onto.Errorf(onto.CodeOf(err), "%s: %w", file, atLine(line, err))
}

// atLine puts a line in front of an error.
func atLine(line int64, err error) error {
	if code := onto.CodeOf(err); code != "" {
		return onto.Errorf(code, "line %d: %w", line, err)
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// catalogue finds the types of a store.
type catalogue struct {
	s     *store.Store
	types map[onto.Kind]map[string]*onto.Schema
}

func newCatalogue(s *store.Store) catalogue {
	c := catalogue{s, map[onto.Kind]map[string]*onto.Schema{}}
	for _, kind := range onto.Kinds() {
		c.types[kind] = map[string]*onto.Schema{}
	}
	for _, schema := range s.Types() {
		c.types[schema.Kind][schema.Name] = &schema
	}
	return c
}

// find returns a type by its name and, unless that is empty, its kind.
func (c catalogue) find(kind onto.Kind, name []byte) (*onto.Schema, error) {
	if schema, ok := c.types[kind][string(name)]; ok {
		return schema, nil
	}
	schema, err := c.s.Type(string(name))
	switch {
	case err != nil:
		return nil, err
	case kind == "":
		return c.types[schema.Kind][schema.Name], nil
	}
	return nil, onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", name, schema.Kind, kind)
}
