package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/check"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

var _ backend.Surveyor = (*Backend)(nil)

// Check examines the file: its structure, the log, and the projection against history.
// It reads one snapshot and needs little memory.
func (b *Backend) Check(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return b.CheckSteps(ctx, func(string) {})
}

// CheckSteps is Check that reports each step before it is taken. A step that damage
// ends early does not stop the others.
func (b *Backend) CheckSteps(ctx context.Context, step func(name string)) iter.Seq2[onto.Finding, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Finding) error) error {
		return check.All(b.subject(), &r.Moment, step, push)
	})
}

// subject is what a check or a survey examines.
func (s *store) subject() *check.Store {
	return &check.Store{Path: s.at.Path, File: s.at.File, Tables: s.tables, Now: s.now()}
}

// Checksum implements [backend.Checksummer].
func (b *Backend) Checksum(ctx context.Context) (sum string, commit int64, err error) {
	err = b.reader.read(ctx, func(r *reading) error {
		sum, commit, err = r.Checksum()
		return err
	})
	return sum, commit, err
}

// CompareChecksum implements [backend.Checksummer].
func (b *Backend) CompareChecksum(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Finding) error) error {
		return check.Checksum(b.subject(), &r.Moment, push)
	})
}

// KeepChecksum implements [backend.Checksummer].
func (b *Backend) KeepChecksum(ctx context.Context) error {
	var sum string
	var covers, types int64
	err := b.reader.read(ctx, func(r *reading) (err error) {
		covers = r.Head
		if types, err = r.QueryInt(`SELECT derived FROM onto_meta`); err == nil {
			sum, err = layout.ProjectionSum(ctx, r.Conn, &b.tables)
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.writer.changeLeases(ctx, b.deadline(), func(w *driver.Conn) error {
		// A purge since would have removed what the checksum covers.
		return w.Exec(`UPDATE onto_meta SET checksum = ?, checksum_commit = ? WHERE derived = ?`, sum, covers, types)
	})
}

// Survey examines the circumstances of the file: room, locks, the clock, and how
// statements are answered. It writes nothing and reads little.
func (b *Backend) Survey(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return b.survey(ctx, check.UsualLimits())
}

func (b *Backend) survey(ctx context.Context, l check.Limits) iter.Seq2[onto.Finding, error] {
	return pushed(ctx, b.reader, func(r *reading, push func(onto.Finding) error) error {
		return check.Survey(b.subject(), &r.Moment, l, push)
	})
}
