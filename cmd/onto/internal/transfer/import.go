package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// importFlags is what an import is asked for, as it was typed.
type importFlags struct {
	session.WriteFlags
	input, format, typ       string
	onConflict, precondition string
	dryRun, apply            bool

	facts                     bool
	subject, validFrom, since string
	skip                      []string

	delimiter, rejects string
	maxErrors          int
	emptyClears        bool
}

// Import is the verb import: records from a file, as one commit.
func Import(c *session.Session) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --input FILE",
		Short: "Import records from JSON Lines or CSV, as one commit",
		Long: `Import makes entities, relations and facts look as the records of a file say, all in
one commit or none, however many there are. Without --apply it is a dry run, which
only tells what would happen.

A record of JSON Lines is a line like one of these. The key may also stand among
the fields; with "op":"delete" and without fields, a record removes its identity.

  {"kind":"entity","type":"Customer","key":"c1","fields":{"name":"Ada"}}
  {"kind":"relation","type":"Subscription","left_key":"c1","right_key":"p1","fields":{}}
  {"kind":"fact","type":"Contract","subject":"ada","attribute":"salary","fact_id":"f1","fields":{"salary":4000}}

With --type, JSON Lines are plain objects of that type instead, with the key among the
fields. Those of relations have left_key and right_key, and instance_key if there is one,
beside their fields, those of facts subject, attribute and value.

A CSV file holds one type, which --type names. Its first row has the fields, and
for relations left_key, right_key and instance_key, for facts subject, attribute and
fact_id. Empty cells are absent values. What exists keeps the fields that have no column
or an empty cell; with --empty-clears, empty cells empty their fields. New things get
defaults. Fields of declared objects have columns such as home.city; home is the object as a
whole, in JSON. Lists, maps and other values are JSON; a text cell that starts with a
double quote is a JSON string. --delimiter names what separates the cells, if that is
no comma. The format is told by the name of the file, which
may end in .gz as well.

The input may also be a directory: its files of JSON Lines are read one after the other, by
name. So is what the original program exports; its type_kind and type_name are known.

--on-conflict decides on what exists with other fields than its record has: abort
stores nothing at all, skip leaves it as it is, upsert replaces it: all its fields by
those of a record in JSON Lines, and by a row of CSV those that have a value there, so
that home.city leaves home.zip as it is. The plan counts the values that are emptied. --precondition
must_exist or must_not_exist is for every identity of the file; if_commit_id:N
wants the head to be commit N.

A record that is malformed, does not fit its type or contradicts an earlier one ends the
import, and nothing is stored. With --max-errors N, up to N such records are named and
left out, and the rest is stored. With --rejects FILE they also go into that file, any
number of them without --max-errors: as they came, with the header of CSV, so that the
file can be mended and imported. FILE` + reasonsEnd + ` tells line, code and reason of each,
in the same order. Both appear when the rest is stored, and are never overwritten; a dry
run writes neither. What conflicts with the store is left to --on-conflict.

With --facts, the file is any table, as CSV or as objects on lines, and its rows are
brought in as facts of the type that --type names: each cell that has a value tells the
attribute that its column is named after, about the subject in the column --subject, since
the time in the column --valid-from. Columns that are no attribute are named with --skip.
A row without a time, or a table without that column, holds since --since, or always.
At any time the row with the latest time by then speaks, in whatever order and in however
many files the rows come; a table without any times speaks in place of all that is known
by then. Each cell since another time is a fact, also if it repeats the value of an earlier
time: it ends what a late row says of the time in between. The same rows again change
nothing. Two rows that say different things of the same time are refused in one file; in a
later file the row is a correction. Rows that are gone end nothing.

While an apply reads, others cannot write to a SQLite file. To a lake they can; if
somebody commits meanwhile, a long import is decided once more, and others wait
until that is done. It prints what it did, and a dry run what it would do; exit
status 6 if that is to refuse. Records that --max-errors or --rejects leave out are
named and counted, and the exit status stays 0.`,
		Example: `  onto import --input customers.jsonl
  onto import --input customers.jsonl --apply --on-conflict upsert --actor daemon:crm
  onto import --input customers.jsonl --type Customer --max-errors 100
  onto import --input tiers.csv --type Customer --on-conflict upsert --empty-clears
  onto import --input people.csv --type Customer --delimiter ';' --apply --rejects bad.csv
  onto import --input products.csv.gz --type Product --apply --precondition must_not_exist
  onto import --input staff.csv --facts --type Contract --subject id --valid-from updated_at --skip photo --apply
  onto export --output - --db old.db | onto import --input - --apply --db new.db`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return importRecords(c, cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "the `FILE` to read, or a directory; - for stdin")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only tell what would happen; this is the default")
	flags.BoolVar(&f.apply, "apply", false, "store the records")
	flags.StringVar(&f.onConflict, "on-conflict", string(records.Abort), "what to do, a `WORD`, about things that exist with other fields: abort, skip or upsert")
	flags.StringVar(&f.precondition, "precondition", "", "the `CONDITION`: must_exist, must_not_exist or if_commit_id:N")
	flags.StringVar(&f.format, "format", "", "the `FORMAT`: jsonl or csv (default by the file's name)")
	flags.StringVar(&f.typ, "type", "", "the `TYPE` of the rows of CSV, of plain objects, or of facts")
	flags.StringVar(&f.delimiter, "delimiter", "", "what separates the cells of CSV: one `CHARACTER`, or tab (default a comma)")
	flags.BoolVar(&f.emptyClears, "empty-clears", false, "empty cells of CSV empty the fields of things that exist")
	flags.IntVar(&f.maxErrors, "max-errors", 0, "leave out and name up to `N` bad records")
	flags.StringVar(&f.rejects, "rejects", "", "leave out bad records, and put them into this new `FILE`")
	flags.BoolVar(&f.facts, "facts", false, "bring in the rows of a table as facts")
	flags.StringVar(&f.subject, "subject", "", "with --facts: the `COLUMN` that names what a row is about")
	flags.StringVar(&f.validFrom, "valid-from", "", "with --facts: the `COLUMN` with the time since when a row holds")
	flags.StringVar(&f.since, "since", "", "with --facts: the `TIME` since when rows without one hold (default always)")
	flags.StringArrayVar(&f.skip, "skip", nil, "with --facts: leave out this `COLUMN`; may be repeated")
	f.Register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("type", session.CompleteType(c)) // the flag exists
	return cmd
}

// importGCPercent is how much garbage an import leaves uncollected, relative to what it
// remembers.
const importGCPercent = 25

func importRecords(c *session.Session, cmd *cobra.Command, f *importFlags) error {
	ctx := cmd.Context()
	opts, err := f.options(c, cmd)
	if err != nil {
		return err
	}
	bad, err := newRejects(cmd, f.rejects, f.maxErrors, !f.apply)
	if err != nil {
		return err
	}
	defer bad.discard()
	in, err := openInput(ctx, c, f.input)
	if err != nil {
		return err
	}
	defer in.close()
	if bad != nil {
		opts.Reject = bad.add
	}
	how, do := place.Reading, records.Plan
	if f.apply {
		how, do = place.Writing, records.Import
	}
	// What an import remembers of each record holds no pointers: frequent garbage
	// collection costs little, and rare collection would double the memory.
	defer debug.SetGCPercent(debug.SetGCPercent(importGCPercent))
	return c.WithStore(ctx, how, func(s *store.Store) error {
		m := c.Meter("reading "+f.input, in.share)
		opts.Progress = m.Report()
		out, err := do(ctx, s, in.Reader, opts)
		m.Done()
		bad.name(c, err != nil)
		if err != nil {
			return err
		}
		kept := bad.keep()
		err = printOutcome(c, opts.Draft, &out, bad, !f.apply)
		if kept != nil {
			return onto.Errorf(onto.CodeOf(kept), "what is good was stored, but the bad records could not be put into %s: %w", f.rejects, kept)
		}
		return err
	})
}

// options reads the flags.
func (f *importFlags) options(c *session.Session, cmd *cobra.Command) (*records.ImportOptions, error) {
	switch {
	case f.input == "":
		return nil, onto.Errorf(onto.Invalid, "--input is missing").WithHint("name the file to read, or - for stdin")
	case f.dryRun && f.apply:
		return nil, onto.Errorf(onto.Invalid, "--dry-run and --apply contradict each other").WithHint("give one of them")
	}
	d, err := f.Draft(c, cmd)
	if err != nil {
		return nil, err
	}
	o := &records.ImportOptions{Type: f.typ, OnConflict: records.Policy(f.onConflict), EmptyClears: f.emptyClears, Draft: d}
	if cmd.Flags().Changed("precondition") {
		if err := addPrecondition(o, f.precondition); err != nil {
			return nil, err
		}
	}
	o.Format, err = recordFormat(f.format, f.input)
	if err == nil {
		o.Rows, err = f.rows(cmd)
	}
	if err == nil && f.delimiter != "" {
		o.Delimiter, err = parseDelimiter(f.delimiter)
	}
	return o, err
}

// parseDelimiter reads --delimiter.
func parseDelimiter(text string) (byte, error) {
	switch {
	case text == "tab" || text == `\t`:
		return '\t', nil
	case len(text) == 1:
		return text[0], nil
	}
	return 0, onto.Errorf(onto.Invalid, "--delimiter %.80q is not one character", text).WithHint("use ';', '|' or tab, in quotes")
}

// rows reads what --facts goes with; nil if the file has records.
func (f *importFlags) rows(cmd *cobra.Command) (*records.Rows, error) {
	if !f.facts {
		for _, name := range []string{"subject", "valid-from", "since", "skip"} {
			if cmd.Flags().Changed(name) {
				return nil, onto.Errorf(onto.Invalid, "--%s is for tables", name).WithHint("add --facts to bring in the rows of a table as facts")
			}
		}
		return nil, nil
	}
	if cmd.Flags().Changed("on-conflict") {
		return nil, onto.Errorf(onto.Invalid, "--on-conflict does not go with --facts").WithHint("facts are added and never overwritten: leave it out")
	}
	since, err := session.ParseTime("since", f.since)
	return &records.Rows{Subject: f.subject, From: f.validFrom, Since: since, Skip: f.skip}, err
}

// addPrecondition reads --precondition.
func addPrecondition(o *records.ImportOptions, text string) error {
	p := records.Precondition(text)
	if p == records.MustExist || p == records.MustNotExist {
		o.Precondition = p
		return nil
	}
	if number, ok := strings.CutPrefix(text, "if_commit_id:"); ok {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 0 {
			return onto.Errorf(onto.Invalid, "--precondition %.80q has no commit id", text).WithHint("write if_commit_id:12; 0 is the empty store")
		}
		o.Draft = o.Draft.ExpectHead(id)
		return nil
	}
	return onto.Errorf(onto.Invalid, "--precondition %.80q is unknown", text).WithHint("use must_exist, must_not_exist or if_commit_id:N")
}

// recordFormat is the requested format, or that of the file's name. Standard input and
// output have none, nor has a directory: they get JSON Lines.
func recordFormat(wanted, file string) (records.Format, error) {
	switch {
	case wanted != "":
		return records.ParseFormat(wanted)
	case file == "-" || isFolder(file):
		return records.JSONL, nil
	}
	return records.FormatOf(file)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// input is what an import reads: the text of a file, or of those in a directory.
type input struct {
	io.Reader
	raw    countingReader // the file as it is, packed or not
	size   int64          // of the file; 0 if it is not known
	file   *os.File
	folder *records.Folder
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n int64
}

// Read reads on.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// openInput opens the file to import.
func openInput(ctx context.Context, c *session.Session, path string) (*input, error) {
	if path == "-" {
		return &input{Reader: c.Stdin(ctx)}, nil
	}
	if isFolder(path) {
		folder, err := records.OpenFolder(path)
		return &input{Reader: folder, folder: folder}, err
	}
	file, err := openWaiting(ctx, path)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "input: %w", err)
	}
	in := &input{file: file, raw: countingReader{r: file}}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		in.size = info.Size()
	default: // a read of a pipe can wait for ever
		in.raw.r = session.WaitingReader(ctx, file)
	}
	if err == nil {
		in.Reader, err = records.Unpack(path, &in.raw)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return in, nil
}

// openWaiting opens a file until ctx ends. A pipe opens when something writes to it,
// which may never happen; the wait is abandoned then, since the process ends.
func openWaiting(ctx context.Context, path string) (*os.File, error) {
	var file *os.File
	var err error
	opened := make(chan struct{})
	go func() {
		file, err = os.Open(path)
		close(opened)
	}()
	select {
	case <-opened:
		return file, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// share is how much of the file was read.
func (in *input) share() (part, whole int64) {
	if in.folder != nil {
		return in.folder.Share()
	}
	return in.raw.n, in.size
}

func (in *input) close() {
	if in.file != nil {
		in.file.Close()
	}
	if in.folder != nil {
		in.folder.Close()
	}
}

// printOutcome prints what an import did. A dry run fails where an apply would be
// refused.
func printOutcome(c *session.Session, d onto.Draft, out *records.Outcome, bad *rejects, dryRun bool) error {
	err := showOutcome(c, d, out, bad, dryRun)
	if err == nil {
		err = c.Out.Flush()
	}
	if id := out.Result.ID; err != nil && id != 0 && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("commit %d was made, but this could not be printed: %w", id, err)
	}
	if err != nil || !dryRun {
		return err
	}
	if out.Conflicts > 0 {
		return onto.Errorf(onto.Conflict, "an apply would refuse %s and store nothing", terminal.Count(out.Conflicts, "record", "records")).
			WithHint("take them out, or choose another --on-conflict or --precondition")
	}
	c.Say("this was a dry run; to store it, say it again with --apply")
	return nil
}

func showOutcome(c *session.Session, d onto.Draft, out *records.Outcome, bad *rejects, dryRun bool) error {
	doc := document.NewImport(out, dryRun)
	if bad != nil && bad.listed != nil {
		doc.Rejects = bad.listed
	}
	doc.Emitted = document.Emitted(d, out.Result)
	if c.JSON {
		return c.Document(doc)
	}
	list := terminal.NewList(c.Printer, terminal.FormatTable, terminal.WholeColumns("records", "inserts", "updates", "unchanged", "deletes", "skipped", "conflicts", "repeated", "rejected", "commit"), terminal.Itself, importCells)
	if err := list.Add(doc); err != nil {
		return err
	}
	if err := list.Close(""); err != nil {
		return err
	}
	bad.explain(c)
	explainOutcome(c, d, out, dryRun)
	return nil
}

func importCells(d document.Import) ([]string, error) {
	var cells []string
	for _, n := range []int64{d.Records, d.Inserts, d.Updates, d.Unchanged, d.Deletes, d.Skipped, d.Conflicts, d.Repeated, d.Rejected} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	commit := ""
	if d.CommitID != nil {
		commit = strconv.FormatInt(*d.CommitID, 10)
	}
	return append(cells, commit), nil
}

// explainOutcome explains the numbers.
func explainOutcome(c *session.Session, d onto.Draft, out *records.Outcome, dryRun bool) {
	for _, x := range out.First {
		c.Say("%s", x)
	}
	if more := out.Conflicts - int64(len(out.First)); more > 0 {
		c.Say("and %d more", more)
	}
	if out.Emptied > 0 {
		verb := map[bool]string{true: "would be emptied or get their default", false: "were emptied or got their default"}[dryRun]
		c.Say("%s of updated things %s", terminal.Count(out.Emptied, "value", "values"), verb)
	}
	switch {
	case dryRun && out.Untracked > 0:
		c.Say("the last %s were not compared with earlier ones; an apply does that", terminal.Count(out.Untracked, "record", "records"))
	case out.Result.Repeated:
		c.Say("committed before with this idempotency key")
	case !dryRun && !out.Result.Changed():
		c.SayNoCommit(d, "nothing changed")
	}
}
