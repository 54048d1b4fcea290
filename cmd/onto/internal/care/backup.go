package care

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
)

// Backup is the verb backup: a copy of a store at one moment.
func Backup(c *session.Session) *cobra.Command {
	var noCheck bool
	cmd := &cobra.Command{
		Use:   "backup TO",
		Short: "Copy one moment of a store to a new place",
		Long: `Copy one moment of the store to a new file, while others go on writing, and
check the copy. A file that exists is not overwritten. The copy has no
leases. Exit status 3 if the check finds an error; the copy stays.

A lake is copied to a new SQLite file, or to an empty place for a lake that a storage URI
names, as onto copy does it: the copy has an id of its own, and if it is interrupted, onto
copy completes it.`,
		Example: `  onto backup monday.db
  onto backup /mnt/backups/crm.db --db crm.db --json
  onto backup quick.db --no-check
  onto backup monday.db --storage-uri s3://my-bucket/crm
  onto backup file:///mnt/backups/crm --storage-uri s3://my-bucket/crm`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return backup(cmd.Context(), c, args[0], !noCheck) },
	}
	cmd.Flags().BoolVar(&noCheck, "no-check", false, "do not check the copy")
	return cmd
}

func backup(ctx context.Context, c *session.Session, file string, check bool) error {
	if c.Place().IsLake() {
		return backupLake(ctx, c, file, check)
	}
	if strings.Contains(file, "://") {
		at, err := place.Parse(file)
		if err != nil {
			return err
		}
		if at.IsLake() {
			return onto.Errorf(onto.Invalid, "%s: a store in a SQLite file is backed up to a file", at).
				WithHint("name a file, or copy the store").WithCommand("copy", c.Place().Path, at.String(), "--apply")
		}
		file = at.Path
	}
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
	return reportBackup(c, doc, head, bad, "--db")
}

// reportBackup prints a backup, and fails if its check has found errors. The flag names the
// copy for the doctor.
func reportBackup(c *session.Session, doc document.Backup, head onto.Commit, bad int, flag string) error {
	var err error
	if c.JSON {
		err = c.Document(doc)
	} else {
		err = printBackup(c, doc, head)
	}
	if err != nil || bad == 0 {
		return err
	}
	return onto.Errorf(document.CheckFailed, "the check of the copy found %s", terminal.Count(bad, "error", "errors")).
		WithHint("see them").WithCommand("doctor", flag, doc.File)
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
		return onto.Commit{}, c.Unsupported("backup", "cannot copy itself to a file", "keep the records", "export", "--output", "FILE")
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
	pairs := [][2]string{{"file", doc.File}, {"head", terminal.Head(head)}}
	if doc.Bytes > 0 {
		pairs = append(pairs, [2]string{"size", terminal.Bytes(doc.Bytes)})
	}
	if doc.SHA256 != "" {
		pairs = append(pairs, [2]string{"sha256", doc.SHA256})
	}
	return c.Pairs(append(pairs, [2]string{"checked", checked}))
}
