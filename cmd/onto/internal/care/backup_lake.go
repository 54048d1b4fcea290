package care

import (
	"context"
	"errors"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/archive"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
)

// backupLake copies a lake to a new place.
func backupLake(ctx context.Context, c *session.Session, to string, check bool) error {
	at, err := place.Parse(to)
	if err != nil {
		return err
	}
	if at.InMemory() {
		return onto.Errorf(onto.Invalid, "a store in memory is gone when the command ends").WithHint("name a file, or a directory or bucket of a lake")
	}
	from, cfg, err := c.OpenBackend(ctx, place.Reading)
	if err != nil {
		return err
	}
	defer c.Shut(from)
	if err := wantVacant(ctx, c, at, cfg); err != nil {
		return err
	}
	target, err := c.OpenAt(ctx, place.Filling, at, cfg)
	if err != nil {
		return err
	}
	defer c.Shut(target)
	if err := copyLake(ctx, c, from, target); err != nil {
		return err
	}
	doc, flag := document.Backup{File: at.String(), Checked: check}, "--db"
	if at.IsLake() {
		flag = "--storage-uri"
	}
	head, err := target.Resolve(ctx, onto.Point{})
	if err != nil {
		return err
	}
	doc.Head = document.NewHead(head)
	bad := 0
	if checker, ok := backend.As[backend.Checker](target); ok && check {
		err = session.Each(checker.Check(ctx), func(f onto.Finding) error {
			if f.Severity == onto.SeverityError {
				bad++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return reportBackup(c, doc, head, bad, flag)
}

// wantVacant fails if there is a store at a place already.
func wantVacant(ctx context.Context, c *session.Session, at place.Location, cfg place.Settings) error {
	if err := at.CheckFolder(); err != nil {
		return err
	}
	b, err := c.OpenAt(ctx, place.Examining, at, cfg)
	if onto.CodeOf(err) == onto.Uninitialized {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(onto.Errorf(onto.Refused, "%s exists and is not overwritten", at).
		WithHint("name another place, or add to the copy that is there").WithCommand("copy", c.Place().String(), at.String(), "--apply"), b.Close())
}

// copyLake copies everything to an empty target.
func copyLake(ctx context.Context, c *session.Session, from, to backend.Backend) error {
	source, ok := backend.As[backend.Archive](from)
	target, fits := backend.As[backend.Archive](to)
	if !ok || !fits {
		return c.Unsupported("backup", "cannot be copied", "keep the records", "export", "--output", "FILE")
	}
	job := archive.Job{From: source, To: target}
	progress, done := c.Progress("copying")
	if progress != nil {
		job.Progress = func(p archive.Progress) { progress(p.Versions, p.Total) }
	}
	_, err := job.Apply(ctx)
	done()
	return err
}
