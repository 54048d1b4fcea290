package transfer

import (
	"bufio"
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// parquetFormat is a format that is written and not read: for other programs.
const parquetFormat = "parquet"

// inParquet reports whether an export is to be Parquet, by its format or by the
// name of the file.
func (f *exportFlags) inParquet() bool {
	return f.format == parquetFormat || f.format == "" && strings.HasSuffix(strings.ToLower(f.output), "."+parquetFormat)
}

// exportFormat is the format of an export that is not Parquet. Its errors name all formats
// of an export.
func exportFormat(wanted, file string) (records.Format, error) {
	format, err := recordFormat(wanted, file)
	switch near := suggest.Name(wanted, []string{string(records.JSONL), string(records.CSV), parquetFormat}); {
	case err == nil:
		return format, nil
	case wanted != "" && near != "":
		return "", onto.Errorf(onto.Invalid, "format %.80q is unknown", wanted).WithHint("did you mean %s?", near)
	case wanted != "":
		return "", onto.Errorf(onto.Invalid, "format %.80q is unknown", wanted).WithHint("use jsonl, csv or parquet")
	case strings.HasSuffix(strings.ToLower(file), "."+parquetFormat+".gz"):
		return "", onto.Errorf(onto.Invalid, "%s: Parquet is compressed as it is, and is not packed", file).WithHint("use a name that ends in .parquet")
	}
	return "", onto.Errorf(onto.Invalid, "%s: the name does not tell the format", file).
		WithHint("say --format jsonl, csv or parquet, or use a name that ends in .jsonl, .csv, .parquet, .jsonl.gz or .csv.gz")
}

// exportParquet writes one type as Parquet, with the system columns that the files of a
// lake have and a column for each field.
func exportParquet(ctx context.Context, c *session.Session, parts []*part, f *exportFlags, o *records.ExportOptions) (int64, error) {
	switch len(o.Types) {
	case 0:
		return 0, onto.Errorf(onto.Invalid, "Parquet holds one type; none was named").WithHint("name one, as --type T")
	case 1:
	default:
		return 0, onto.Errorf(onto.Invalid, "Parquet holds one type, not %d", len(o.Types)).WithHint("name one, as --type T")
	}
	if f.output == "-" {
		if c.Out.Terminal {
			return 0, onto.Errorf(onto.Invalid, "Parquet is nothing for a terminal").WithHint("name a file, or send stdout to another program")
		}
		n, err := writeParquet(ctx, parts, c.Out, o)
		if err == nil {
			err = c.Out.Flush()
		}
		return n, err
	}
	file, err := records.Create(f.output, f.force)
	if err != nil {
		return 0, err
	}
	defer file.Discard()
	buffer := bufio.NewWriterSize(file, exportBuffer)
	n, err := writeParquet(ctx, parts, buffer, o)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = file.Keep()
	}
	return n, err
}

func writeParquet(ctx context.Context, parts []*part, w io.Writer, o *records.ExportOptions) (n int64, err error) {
	var out *parquet.Writer
	for _, p := range parts {
		view := p.store.At(p.moment)
		if o.AsStored {
			view = view.AsStored()
		}
		schema, err := view.Type(o.Types[0])
		if err != nil {
			return n, p.explain(err)
		}
		if out == nil {
			schema.Fields = slices.DeleteFunc(slices.Clone(schema.Fields), func(f onto.Field) bool { return f.Compute != nil })
			if out, err = parquet.NewWriter(w, parquet.NewTable(&schema)); err != nil {
				return 0, err
			}
		}
		for v, err := range parquetRows(ctx, view.FindKind(schema.Kind, schema.Name), o) {
			if err == nil {
				v.Type = schema.Name // a former name shows in histories
				v.Fields = computed.Strip(v.Fields)
				err = out.Write(&v)
			}
			if err != nil {
				return n, p.explain(err)
			}
			if n++; o.Progress != nil && n%1000 == 0 {
				o.Progress(n, 0)
			}
		}
		p.records = n
	}
	_, err = out.Close()
	return n, err
}

// parquetRows yields what is exported: what there is, or all versions since a
// commit.
func parquetRows(ctx context.Context, q store.Query[onto.Version], o *records.ExportOptions) iter.Seq2[onto.Version, error] {
	if !o.History {
		return q.All(ctx)
	}
	return func(yield func(onto.Version, error) bool) {
		for p, err := range q.Versions(ctx, o.Since) {
			if !yield(p.Version, err) || err != nil {
				return
			}
		}
	}
}
