package work

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store/records"
	"github.com/ontologia/onto/work"
)

// importFlags is a CSV file, as it was typed.
type importFlags struct {
	input, actor string
	rows         int64
}

func importCommand(c *session.Session) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --input FILE",
		Short: "Add items from CSV, as another queue has them",
		Long: `Import adds the items of a CSV file with the columns of work_items, as export writes
it, or sqlite3 -csv -header ingest_state.db "SELECT * FROM work_items". Items keep
their ids, parents and runs. Those that were pending or in progress are pending; those
that were completed, failed or skipped are skipped, with a reason that says so, and
recrawl makes them pending. Items that are known stay as they are.

The whole file is checked before the first item is added. With --rows, a file that does
not have as many rows is refused. An import that was interrupted can be repeated.`,
		Example: `  onto work import --input queue.csv --rows 1250
  sqlite3 -csv -header ingest_state.db "SELECT * FROM work_items" | onto work import --input - --actor operator:ana`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return importItems(c, cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "the `FILE` to read; - for stdin")
	flags.Int64Var(&f.rows, "rows", 0, "refuse a file that has not `N` rows")
	flags.StringVar(&f.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote; it is recorded")
	return cmd
}

func importItems(c *session.Session, cmd *cobra.Command, f *importFlags) error {
	o := &work.ImportOptions{Rows: f.rows}
	if f.rows < 0 || f.rows == 0 && cmd.Flags().Changed("rows") {
		return onto.Errorf(onto.Invalid, "--rows %d is too small", f.rows).WithHint("leave it out if it is not known")
	}
	var err error
	if cmd.Flags().Changed("actor") {
		if o.By, err = onto.ParseActor(f.actor); err != nil {
			return err
		}
	}
	in, err := openInput(cmd.Context(), c, f.input)
	if err != nil {
		return err
	}
	defer in.Close()
	return with(c, cmd, place.Writing, func(ctx context.Context, q *work.Queue) error {
		did, err := q.ImportCSV(ctx, in, o)
		if err != nil && did.Fresh > 0 {
			return onto.Errorf(onto.CodeOf(err), "%s added: %w", terminal.Count(did.Fresh, "item was", "items were"), err).WithHint("import the file again: items that were added change nothing")
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Document(document.ImportedWork{Items: did.Rows, New: did.Fresh, Known: did.Known, Skipped: did.Done})
		}
		return c.Out.Line("%s: %d new, of which %d had ended and are skipped; %d known", terminal.Count(did.Rows, "row", "rows"), did.Fresh, did.Done, did.Known)
	})
}

func exportCommand(c *session.Session) *cobra.Command {
	s := selection{withStatus: true, limited: true}
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "export --output FILE",
		Short: "Write items as CSV",
		Long: `Export writes the items of the queue as CSV, with the columns of work_items, in the
order in which they are fetched. It says how many rows that is, for --rows of import.
A file that exists is left alone, unless --force is given.`,
		Example: `  onto work export --output queue.csv
  onto work export --output - --status failed --source docs`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return exportItems(c, cmd, &s, output, force) },
	}
	s.register(c, cmd)
	cmd.Flags().StringVar(&output, "output", "", "the `FILE` to write; - for stdout")
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return cmd
}

func exportItems(c *session.Session, cmd *cobra.Command, s *selection, output string, force bool) error {
	query, err := s.query(cmd)
	if err != nil {
		return err
	}
	switch {
	case output == "":
		return onto.Errorf(onto.Invalid, "--output is missing").WithHint("name a file, or - for stdout")
	case c.JSON && output == "-":
		return onto.Errorf(onto.Invalid, "--json and CSV on stdout contradict each other").WithHint("write to a file with --output")
	}
	return with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
		if output == "-" {
			n, err := q.ExportCSV(ctx, c.Out, query)
			if err == nil {
				c.Say("%s", terminal.Count(n, "row", "rows"))
			}
			return err
		}
		n, err := exportFile(ctx, q, query, output, force)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Document(document.Count{Count: n})
		}
		c.Say("%s", terminal.Count(n, "row", "rows"))
		return nil
	})
}

// exportFile writes the items to a file, which is there when all are in it.
func exportFile(ctx context.Context, q *work.Queue, query *backend.WorkQuery, path string, force bool) (int64, error) {
	file, err := records.Create(path, force)
	if err != nil {
		return 0, err
	}
	defer file.Discard()
	n, err := q.ExportCSV(ctx, file, query)
	if err == nil {
		err = file.Keep()
	}
	return n, err
}
