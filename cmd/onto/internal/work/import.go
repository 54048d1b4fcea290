package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/source"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/work"
)

// importFlags is an import, as it was typed.
type importFlags struct {
	rows    int64
	scratch string
	apply   bool
}

func importCommand(c *session.Session) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring the items of another queue over, as they are there",
		Long: `Import adds the items of another queue: of a SQLite file with a table work_items, as
the original program keeps it, alone or beside other tables, or of a file that export
has written, as CSV or JSON Lines. sqlite3 -csv -header ingest_state.db "SELECT * FROM
work_items" writes such a file, too. - stands for CSV or JSON Lines on stdin. Without
--apply it only tells what would happen.

Items keep their status, the number of their attempts, their times, keys, priorities,
runs, parents and errors. JSON Lines and files of this program have the attempts
themselves, and these runs, too. Items that are in progress are pending here, since the
lease of their worker is of the other queue. Items whose keys are known stay as they are,
so an import that was interrupted can be repeated.

The whole file is checked before the first item is added: if an item is refused, none
is. With --rows, a file that does not have as many items is refused. A SQLite file is not
changed, and nothing is made beside it; unless another program has it open, a private copy
is read, for which --scratch names a directory.`,
		Example: `  onto work import ingest_state.db
  onto work import ingest_state.db --apply
  onto work export --output - --db old.db | onto work import - --apply --rows 1250`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return importItems(c, cmd, args[0], &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.apply, "apply", false, "do it")
	flags.Int64Var(&f.rows, "rows", 0, "refuse a file that has not `N` items")
	flags.StringVar(&f.scratch, "scratch", "", "the `DIRECTORY` for a private copy of the file (default that of the system)")
	return cmd
}

func importItems(c *session.Session, cmd *cobra.Command, path string, f *importFlags) error {
	if f.rows < 0 || f.rows == 0 && cmd.Flags().Changed("rows") {
		return onto.Errorf(onto.Invalid, "--rows %d is too small", f.rows).WithHint("leave it out if it is not known")
	}
	if err := checkOther(c, path); err != nil {
		return err
	}
	from, err := openQueue(cmd.Context(), c, path, f.scratch)
	if err != nil {
		return err
	}
	defer from.close()
	do := opened(cmd, func(ctx context.Context, q *work.Queue) error {
		o := &work.ImportOptions{Rows: f.rows, Runs: from.runs}
		if !f.apply {
			plan, err := q.PlanImport(ctx, from.items, o)
			if err != nil {
				return err
			}
			return printImport(c, cmd, path, plan, false)
		}
		did, err := q.Import(ctx, from.items, o)
		if err != nil && did.New > 0 {
			return onto.Errorf(onto.CodeOf(err), "%s added: %w", terminal.Count(did.New, "item was", "items were"), err).WithHint("import the file again: items that were added change nothing")
		}
		if err != nil {
			return err
		}
		return printImport(c, cmd, path, did, true)
	})
	if !f.apply {
		return c.PlanQueue(cmd.Context(), do)
	}
	return c.WithQueue(cmd.Context(), place.Creating, do)
}

// checkOther refuses the file that the queue is in. Reading it beside the store would also
// release the locks that the store has on it.
func checkOther(c *session.Session, path string) error {
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	loc, err := cfg.QueueLocation()
	if err != nil || loc.Path == "" {
		return err
	}
	here, err := os.Stat(loc.Path)
	there, e := os.Stat(path)
	if err == nil && e == nil && os.SameFile(here, there) {
		return onto.Errorf(onto.Invalid, "%s: this is the queue itself", path).WithHint("name with --db the file that the items are to go to")
	}
	return nil
}

// printImport prints what an import does or has done.
func printImport(c *session.Session, cmd *cobra.Command, path string, d work.Imported, applied bool) error {
	if c.JSON {
		if err := c.Document(importDocument(d, applied)); err != nil {
			return err
		}
		return d.Err()
	}
	if err := c.Out.Line("%s: %d new, %d known", terminal.Count(d.Items, "item", "items"), d.New, d.Known); err != nil {
		return err
	}
	for _, s := range onto.WorkStatuses() {
		if n := d.ByStatus[s]; n > 0 {
			if err := c.Out.Line("%-12s%d", s, n); err != nil {
				return err
			}
		}
	}
	for _, l := range []struct {
		n    int64
		text string
	}{
		{d.Released, "in progress there: pending here, since the lease of the worker is of the other queue"},
		{d.Counted, "with attempts that do not explain them: only their number is kept"},
		{d.Renamed, "with another id: another item has theirs"},
	} {
		if l.n > 0 {
			c.Say("%s %s", terminal.Count(l.n, "item", "items"), l.text)
		}
	}
	if d.Runs > 0 {
		c.Say("%s", terminal.Count(d.Runs, "run is new", "runs are new"))
	}
	switch {
	case d.Refused > 0:
		c.Say("%s refused: nothing would be imported", terminal.Count(d.Refused, "item is", "items are"))
		return d.Err()
	case !applied:
		c.SayNext("nothing was changed; do it", append(append([]string{"work", "import", path}, words(cmd, "rows", "scratch")...), "--apply")...)
	}
	return nil
}

func importDocument(d work.Imported, applied bool) document.ImportedWork {
	doc := document.ImportedWork{
		Items: d.Items, New: d.New, Known: d.Known, Released: d.Released, Counted: d.Counted, Renamed: d.Renamed, Runs: d.Runs, Refused: d.Refused, Applied: applied,
	}
	for s, n := range d.ByStatus {
		doc.ByStatus.Add(s, n)
	}
	return doc
}

// queueFile is a file with the items of another queue.
type queueFile struct {
	items iter.Seq2[work.ImportItem, error]
	runs  []onto.WorkRun
	close func()
}

// sqliteStart is what a SQLite database begins with.
const sqliteStart = "SQLite format 3\x00"

// openQueue finds out what a file is, and opens it.
func openQueue(ctx context.Context, c *session.Session, path, scratch string) (*queueFile, error) {
	if path == "-" {
		return spooled(c.Stdin(ctx), scratch)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, onto.Errorf(onto.Invalid, "%w", err).WithHint("name a SQLite file, CSV or JSON Lines; - for stdin")
	}
	start := make([]byte, 512)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		f.Close()
		return nil, onto.Errorf(onto.Invalid, "%w", err).WithHint("name a SQLite file, CSV or JSON Lines; - for stdin")
	}
	if named := slices.Contains([]string{".db", ".sqlite", ".sqlite3"}, strings.ToLower(filepath.Ext(path))); named || bytes.HasPrefix(start[:n], []byte(sqliteStart)) {
		f.Close()
		return openTable(ctx, path, scratch)
	}
	return textFile(f, start[:n]), nil
}

// textFile is a file of CSV or JSON Lines that begins so.
func textFile(f *os.File, start []byte) *queueFile {
	q := &queueFile{items: work.ReadCSV(f), close: func() { f.Close() }}
	if bytes.HasPrefix(bytes.TrimLeft(start, "\ufeff \t\r\n"), []byte("{")) {
		q.items = work.ReadLines(f)
	}
	return q
}

// spooled keeps what comes on stdin in a file, since an import reads it twice.
func spooled(in io.Reader, scratch string) (*queueFile, error) {
	f, err := os.CreateTemp(scratch, "onto-work-*")
	if err != nil {
		return nil, onto.Errorf(onto.Unavailable, "cannot keep what comes on stdin: %w", err).WithHint("name a directory that this user can write: --scratch DIR or TMPDIR")
	}
	_ = os.Remove(f.Name()) // it goes with the last descriptor
	if _, err := io.Copy(f, in); err != nil {
		f.Close()
		return nil, onto.Errorf(onto.Unavailable, "cannot keep what comes on stdin: %w", err)
	}
	start := make([]byte, 512)
	n, _ := f.ReadAt(start, 0) // a short one is looked at as it is
	return textFile(f, start[:n]), nil
}

// openTable opens the table of a SQLite file.
func openTable(ctx context.Context, path, scratch string) (*queueFile, error) {
	w, err := source.OpenWork(ctx, path, scratch)
	if err != nil {
		return nil, err
	}
	runs, err := w.Runs(ctx)
	if err != nil {
		w.Close()
		return nil, err
	}
	items := func(yield func(work.ImportItem, error) bool) {
		for row, err := range w.Rows(ctx) {
			if err != nil {
				yield(work.ImportItem{}, err)
				return
			}
			if !yield(work.NewImportItem(fmt.Sprintf("item %.80q", row.WorkItemID), row.Row, row.Attempts), nil) {
				return
			}
		}
	}
	return &queueFile{items, runs, func() { w.Close() }}, nil
}
