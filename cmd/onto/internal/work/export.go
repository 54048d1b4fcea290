package work

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"

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

func exportCommand(c *session.Session) *cobra.Command {
	s := selection{withStatus: true, limited: true}
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --output FILE",
		Short: "Write items as CSV or JSON Lines",
		Long: `Export writes the items of the queue with the columns of work_items, in the order in
which they are fetched: as JSON Lines if --format or the name of the file says so (.jsonl),
with all attempts, otherwise as CSV, with their number. It says how many items that is, for
--rows of import. A file that exists is left alone, unless --force is given.`,
		Example: `  onto work export --output queue.csv
  onto work export --output queue.jsonl
  onto work export --output - --status failed --source docs`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return exportItems(c, cmd, &s, &f) },
	}
	s.register(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.output, "output", "", "the `FILE` to write; - for stdout")
	flags.StringVar(&f.format, "format", "", "the `FORMAT`: jsonl or csv (default by the file's name)")
	flags.BoolVar(&f.force, "force", false, "replace a file that exists")
	return cmd
}

// exportFlags is an export, as it was typed.
type exportFlags struct {
	output, format string
	force          bool
}

// lines reports whether the items are written as JSON Lines.
func (f *exportFlags) lines() (bool, error) {
	switch f.format {
	case "":
		return filepath.Ext(f.output) == ".jsonl" || filepath.Ext(f.output) == ".ndjson", nil
	case "jsonl", "csv":
		return f.format == "jsonl", nil
	}
	return false, onto.Errorf(onto.Invalid, "--format %.80q is unknown", f.format).WithHint("use jsonl or csv")
}

func exportItems(c *session.Session, cmd *cobra.Command, s *selection, f *exportFlags) error {
	query, err := s.query(cmd)
	if err != nil {
		return err
	}
	write := (*work.Queue).ExportCSV
	if lines, err := f.lines(); err != nil {
		return err
	} else if lines {
		query.Attempts, write = true, exportLines
	}
	switch {
	case f.output == "":
		return onto.Errorf(onto.Invalid, "--output is missing").WithHint("name a file, or - for stdout")
	case c.JSON && f.output == "-":
		return onto.Errorf(onto.Invalid, "--json and items on stdout contradict each other").WithHint("write to a file with --output")
	}
	return with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
		if f.output == "-" {
			n, err := write(q, ctx, c.Out, query)
			if err == nil {
				c.Say("%s", terminal.Count(n, "row", "rows"))
			}
			return err
		}
		n, err := exportFile(f, func(out io.Writer) (int64, error) { return write(q, ctx, out, query) })
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

// exportLines writes items as JSON Lines.
func exportLines(q *work.Queue, ctx context.Context, out io.Writer, query *backend.WorkQuery) (int64, error) {
	buffered := bufio.NewWriter(out)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	return q.Export(ctx, query, func(i *backend.WorkState) error {
		if i == nil {
			return buffered.Flush()
		}
		return enc.Encode(document.NewExportedWork(*i))
	})
}

// exportFile writes the items to a file, which is there when all are in it.
func exportFile(f *exportFlags, write func(io.Writer) (int64, error)) (int64, error) {
	file, err := records.Create(f.output, f.force)
	if err != nil {
		return 0, err
	}
	defer file.Discard()
	n, err := write(file)
	if err == nil {
		err = file.Keep()
	}
	return n, err
}
