package records

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// ExportOptions say what is exported and how. Nil and the zero value export
// everything there is now as JSON Lines.
type ExportOptions struct {
	Format Format
	Types  []string   // nil for all but those of states, which follow from facts; CSV needs exactly one
	At     onto.Point // the moment

	// AsStored exports fields as they were written, under the names that types
	// had then, and not as the present types have them.
	AsStored bool

	// History exports all versions that commits after Since made, deletes
	// included, each with its commit_id and op.
	History bool
	Since   int64

	Metadata bool // each record with its commit_id, schema_version_id and op

	// Progress, if not nil, is called now and then with how many records and
	// bytes were written.
	Progress func(records, bytes int64)
}

// Export writes what a store holds as records and returns how many there are. They all
// show one snapshot. Entities come before facts and these before relations, types by
// name, records by identity, and the versions of a history by commit. The same contents always give the
// same bytes.
//
// Each record is one call of w.Write, so w should be buffered.
func Export(ctx context.Context, s *store.Store, w io.Writer, o *ExportOptions) (int64, error) {
	var opts ExportOptions
	if o != nil {
		opts = *o
	}
	var err error
	if opts.Format, err = opts.Format.check(); err != nil {
		return 0, err
	}
	moment, err := s.View(opts.At).Commit(ctx)
	if err != nil {
		return 0, err
	}
	e := &exporter{w: w, opts: opts, view: s.At(moment.ID)}
	if opts.AsStored {
		e.view = e.view.AsStored()
	}
	schemas, err := chosen(ctx, e.view, &opts)
	if err != nil {
		return 0, err
	}
	for i := range schemas {
		if err := e.export(ctx, &schemas[i]); err != nil {
			return e.records, err
		}
	}
	return e.records, nil
}

// chosen returns the types to export, in order.
func chosen(ctx context.Context, v store.View, o *ExportOptions) ([]onto.Schema, error) {
	for _, name := range o.Types {
		if _, err := v.Type(name); err != nil {
			return nil, err
		}
	}
	list := v.EveryType()
	if !o.History {
		var err error
		if list, err = v.Types(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range o.Types {
		if slices.ContainsFunc(list, func(t onto.Schema) bool { return t.Name == name }) {
			continue
		}
		if _, err := v.Find(name).Exists(ctx); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, onto.OwnPrefix) {
			t, err := v.Type(name)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	if o.Types != nil {
		list = slices.DeleteFunc(list, func(t onto.Schema) bool { return !slices.Contains(o.Types, t.Name) })
	} else {
		list = slices.DeleteFunc(list, store.MadeByFold)
	}
	if o.Format == CSV && len(list) != 1 {
		return nil, onto.Errorf(onto.Invalid, "CSV holds one type, not %d", len(list)).
			WithHint("name one, as --type T, or use --format jsonl; the types are %s", typeNames(list))
	}
	return list, nil
}

func typeNames(list []onto.Schema) string {
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// exporter writes records.
type exporter struct {
	w       io.Writer
	opts    ExportOptions
	view    store.View
	records int64
	bytes   int64
	room    []byte // for the text of a record
}

// encoder writes versions of one type as records.
type encoder interface {
	// header appends what stands before the records.
	header(dst []byte) []byte
	// record appends a version.
	record(dst []byte, v *onto.Version) ([]byte, error)
}

// metadata lists the members or columns that records get besides their own.
func (o *ExportOptions) metadata() []string {
	switch {
	case o.Metadata:
		return []string{commitID, schemaVersion, opName}
	case o.History:
		return []string{commitID, opName}
	}
	return nil
}

// export writes one type.
func (e *exporter) export(ctx context.Context, schema *onto.Schema) error {
	var enc encoder = jsonlEncoder{e.opts.metadata()}
	if e.opts.Format == CSV {
		shown, err := e.view.Type(schema.Name) // as stored, where it cannot be as it is now
		if err != nil {
			return err
		}
		schema = &shown
		enc = newCSVEncoder(schema, e.opts.metadata())
	}
	if err := e.write(enc.header(nil)); err != nil {
		return err
	}
	for v, err := range e.versions(ctx, schema) {
		if err != nil {
			return err
		}
		if e.room, err = enc.record(e.room[:0], &v); err != nil {
			return err
		}
		if err := e.write(e.room); err != nil {
			return err
		}
		e.count()
	}
	return nil
}

// versions yields what is exported of a type.
func (e *exporter) versions(ctx context.Context, schema *onto.Schema) iter.Seq2[onto.Version, error] {
	q := e.view.FindKind(schema.Kind, schema.Name)
	if !e.opts.History {
		return q.All(ctx)
	}
	return func(yield func(onto.Version, error) bool) {
		for p, err := range q.Versions(ctx, e.opts.Since) {
			if !yield(p.Version, err) || err != nil {
				return
			}
		}
	}
}

func (e *exporter) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	n, err := e.w.Write(text)
	e.bytes += int64(n)
	return err
}

func (e *exporter) count() {
	e.records++
	if e.opts.Progress != nil && e.records%progressStep == 0 {
		e.opts.Progress(e.records, e.bytes)
	}
	if cap(e.room) > keptRoom {
		e.room = nil
	}
}
