package care

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// Backup is the verb backup: a copy of a SQLite store.
func Backup(c *session.Session) *cobra.Command {
	var noCheck bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy one moment of a SQLite store to a new file",
		Long: `Copy one moment of the store to a new file, while others go on writing, and
check the copy. A file that exists is not overwritten. The copy has no
leases. Exit status 3 if the check finds an error; the copy stays.

SQLite only: a lake is copied with the tools of its bucket, meta/head.json first.`,
		Example: `  onto backup monday.db
  onto backup /mnt/backups/crm.db --db crm.db --json
  onto backup quick.db --no-check`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return backup(cmd.Context(), c, args[0], !noCheck) },
	}
	cmd.Flags().BoolVar(&noCheck, "no-check", false, "do not check the copy")
	return cmd
}

func backup(ctx context.Context, c *session.Session, file string, check bool) error {
	head, err := copyStore(ctx, c, file)
	if err != nil {
		return err
	}
	doc := document.Backup{File: file, Head: document.NewHead(head), Checked: check}
	bad := 0
	if check {
		var copied onto.Commit
		if copied, bad, err = checkFile(ctx, file); err != nil {
			return err
		}
		if copied.ID != head.ID || !copied.Time.Equal(head.Time) {
			return onto.Errorf(document.CheckFailed, "the copy ends at commit %d, not at commit %d", copied.ID, head.ID)
		}
	}
	if doc.SHA256, doc.Bytes, err = hashFile(file); err != nil {
		return err
	}
	if c.JSON {
		err = c.Document(doc)
	} else {
		err = printBackup(c, doc, head)
	}
	if err != nil || bad == 0 {
		return err
	}
	return onto.Errorf(document.CheckFailed, "the check of the copy found %s", terminal.Count(bad, "error", "errors")).
		WithHint("see them").WithCommand("doctor", "--db", file)
}

// copyStore copies the store to a new file and returns the head of the copy.
func copyStore(ctx context.Context, c *session.Session, file string) (head onto.Commit, err error) {
	b, _, err := c.OpenBackend(ctx, place.Reading)
	if err != nil {
		return onto.Commit{}, err
	}
	defer c.Shut(b)
	copier, ok := backend.As[backend.Copier](b)
	if !ok {
		return onto.Commit{}, c.Unsupported("backup", "cannot copy itself to a file",
			"copy the bucket with its own tools, meta/head.json before the rest, or keep the records", "export", "--output", "FILE")
	}
	progress, done := c.Progress("copying")
	defer done()
	return copier.CopyTo(ctx, file, progress)
}

// checkFile checks a file that is not changed by that, and returns its head and
// how many errors there are.
func checkFile(ctx context.Context, file string) (head onto.Commit, bad int, err error) {
	b, err := sqlite.Open(ctx, file, &sqlite.Options{ReadOnly: true})
	if err != nil {
		return onto.Commit{}, 0, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	err = session.Each(b.Check(ctx), func(f onto.Finding) error {
		if f.Severity == onto.SeverityError {
			bad++
		}
		return nil
	})
	if err == nil {
		head, err = b.Resolve(ctx, onto.Point{})
	}
	return head, bad, err
}

// hashFile returns the SHA-256 of a file and its size. No connection may be open:
// closing the file here would release SQLite's locks.
func hashFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), n, err
}

func printBackup(c *session.Session, doc document.Backup, head onto.Commit) error {
	checked := "no"
	if doc.Checked {
		checked = "yes"
	}
	return c.Pairs([][2]string{
		{"file", doc.File}, {"head", terminal.Head(head)}, {"size", terminal.Bytes(doc.Bytes)}, {"sha256", doc.SHA256}, {"checked", checked},
	})
}
