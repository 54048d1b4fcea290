package transfer

import (
	"bufio"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// exportFlags is what an export is asked for, as it was typed.
type exportFlags struct {
	output, format, asOf string
	types                []string
	since                int64
	metadata, force      bool
	asStored             bool
}

// Export is the verb export: records to a file.
func Export(c *session.Session) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --output FILE",
		Short: "Export records as JSON Lines, CSV or Parquet",
		Long: `Export writes entities, relations and facts as records that import reads: as JSON Lines,
or one type as CSV, where fields of declared objects have columns such as home.city (but
facts have one for each attribute). All show one moment, now or earlier. The same contents always
give the same bytes. The format is told by the name of the file, which may end in
.gz to be packed as well. One type can also be written as Parquet, for programs
that analyse it: a column for each field (times as TIMESTAMP in UTC; objects, lists and
values of any type as JSON), fields_json with all of them, and commit_id,
schema_version_id and op. What does not fit the type of its column is NULL there.

States that folds make of facts are left out, unless their type is named: an import of
the facts makes them again.

The file appears when it is complete. One that exists is left alone, unless
--force says to replace it.

With --history-since, all versions that were made after a commit are written, type
by type and in order of their commits, deletes included; 0 is the whole history.
The message on stderr tells the commit to go on after.

With --vaults, the shards of a tenant are written one after the other, by their buckets. Each
shows one moment, as of --as-of if that is given, which then is a time.`,
		Example: `  onto export --output all.jsonl
  onto export --output customers.csv.gz --type Customer --as-of 2026-02-10
  onto export --output changes.jsonl --history-since 120
  onto export --output customers.parquet --type Customer
  onto export --output - --type Product --with-metadata | jq .
  onto export --output acme.jsonl --vaults vaults.yaml --tenant acme`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return export(c, cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.output, "output", "", "the `FILE` to write; - for stdout")
	flags.StringArrayVar(&f.types, "type", nil, "only this `TYPE`; may be repeated")
	flags.StringVar(&f.asOf, "as-of", "", session.MomentUsage)
	flags.Int64Var(&f.since, "history-since", 0, "all versions made after commit `ID`")
	flags.BoolVar(&f.metadata, "with-metadata", false, "with commit_id, schema_version_id and op")
	flags.BoolVar(&f.asStored, "as-stored", false, session.AsStoredUsage)
	flags.StringVar(&f.format, "format", "", "the `FORMAT`: jsonl, csv or parquet (default by the file's name)")
	flags.BoolVar(&f.force, "force", false, "replace the file if it exists")
	c.RegisterVaults(flags)
	_ = cmd.RegisterFlagCompletionFunc("type", session.CompleteType(c)) // the flag exists
	return cmd
}

func export(c *session.Session, cmd *cobra.Command, f *exportFlags) error {
	opts, err := f.options(cmd)
	if err != nil {
		return err
	}
	if c.JSON && f.output == "-" {
		return onto.Errorf(onto.Invalid, "--json and --output - both want stdout").WithHint("name a file, or leave out --json")
	}
	ctx := cmd.Context()
	sharded, err := c.Sharded()
	if err != nil {
		return err
	}
	if sharded {
		return exportTenant(ctx, c, f, opts)
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		p := part{store: s, types: opts.Types}
		n, err := exportParts(ctx, c, []*part{&p}, f, opts)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Document(document.Export{Output: f.output, Records: n, CommitID: p.moment})
		}
		c.Say("exported %s as of commit %d", terminal.Count(n, "record", "records"), p.moment)
		return nil
	})
}

// exportParts writes the records of stores, with progress.
func exportParts(ctx context.Context, c *session.Session, parts []*part, f *exportFlags, opts *records.ExportOptions) (int64, error) {
	for _, p := range parts {
		moment, err := p.store.View(opts.At).Commit(ctx)
		if err != nil {
			return 0, p.explain(err)
		}
		p.moment = moment.ID
	}
	m := c.Meter("writing "+f.output, nil)
	defer m.Done()
	opts.Progress = m.Report()
	return exportTo(ctx, c, parts, f, opts)
}

// options reads the flags.
func (f *exportFlags) options(cmd *cobra.Command) (*records.ExportOptions, error) {
	if f.output == "" {
		return nil, onto.Errorf(onto.Invalid, "--output is missing").WithHint("name the file to write, or - for stdout")
	}
	o := &records.ExportOptions{Types: f.types, History: cmd.Flags().Changed("history-since"), Since: f.since, Metadata: f.metadata, AsStored: f.asStored}
	var err error
	if !f.inParquet() {
		if o.Format, err = exportFormat(f.format, f.output); err != nil {
			return nil, err
		}
	}
	if f.asOf != "" {
		if o.At, err = session.ParsePoint(f.asOf); err != nil {
			return nil, err
		}
	}
	return o, session.NotNegative("history-since", f.since)
}

// exportBuffer is how much is written at a time.
const exportBuffer = 64 << 10

// exportTo writes the records to stdout or to a file, which is there only if
// all went well.
func exportTo(ctx context.Context, c *session.Session, parts []*part, f *exportFlags, opts *records.ExportOptions) (int64, error) {
	if f.inParquet() {
		return exportParquet(ctx, c, parts, f, opts)
	}
	if f.output == "-" {
		n, err := writeRecords(ctx, parts, shown{c.Out}, opts)
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
	n, err := exportPacked(ctx, parts, f.output, file, opts)
	if err == nil {
		err = file.Keep()
	}
	return n, err
}

// exportPacked writes the records through a buffer, and packed if the name
// says so.
func exportPacked(ctx context.Context, parts []*part, name string, w io.Writer, opts *records.ExportOptions) (int64, error) {
	packed := records.Pack(name, w)
	buffer := bufio.NewWriterSize(packed, exportBuffer)
	n, err := writeRecords(ctx, parts, buffer, opts)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = packed.Close()
	}
	return n, err
}

// shown writes data to an output, safe for a terminal.
type shown struct{ out *terminal.Output }

// Write writes a record.
func (s shown) Write(p []byte) (int, error) {
	if err := s.out.Data(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
