package check

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/audit"
)

// history is a walk through the versions of a type, oldest file first.
type history struct {
	*checker
	name  onto.TypeName
	files []protocol.FileEntry // still to be read
	read  []protocol.FileEntry // that were read
	done  int64                // versions up to this commit were checked
	at    span                 // the range of the file that is being checked, or of its parts
	again int64                // some versions up to this commit were checked, and come again

	layout   *parquet.Layout // without columns if it is not known which fields there are
	versions *audit.History  // that were checked
}

func newHistory(c *checker, t onto.TypeName) *history {
	schemas := c.schemas
	if c.rules.Doubtful(t) {
		schemas = nil
	}
	h := &history{checker: c, name: t, files: c.files[t], layout: parquet.NewLayout(t.Kind, t.Name, schemas), versions: audit.NewHistory()}
	h.versions.Loose = c.broken
	return h
}

// span is a range of commits.
type span struct{ first, last int64 }

// contents is what was seen of a file.
type contents struct {
	rows     int64
	version  int
	repeated string // an identity that comes twice, out of order or is deleted
	before   onto.Version
	columns  []columnFlaw
	hashes   strings.Builder // of the identities, if the entry has them
}

// file checks all versions of an intact file.
func (h *history) file(f *protocol.FileEntry, data io.ReaderAt) error {
	file, err := parquet.Open(data, f.Bytes, f.Kind, f.Type)
	if err != nil {
		return err
	}
	var seen contents
	for row, err := range file.Check(h.ctx, h.layout) {
		if err != nil {
			return err
		}
		if err := h.row(f, &seen, &row); err != nil {
			return err
		}
	}
	if err := h.lake.Usable(h.ctx); err != nil {
		return err
	}
	return errors.Join(h.claims(f, &seen), h.columns(f, &seen))
}

// claims compares what was seen of a file with its entry.
func (h *history) claims(f *protocol.FileEntry, seen *contents) error {
	switch {
	case seen.rows != f.Rows:
		return h.report(audit.FileDiffers, "%s: it has %d rows, not %d", f.Path, seen.rows, f.Rows)
	case seen.version != f.Version:
		return h.report(audit.FileDiffers, "%s: its newest rows are of schema version %d, not %d", f.Path, seen.version, f.Version)
	case f.Unique && seen.repeated != "":
		return h.report(audit.FileDiffers, "%s: %s, though it is said that no identity comes twice and none is deleted", f.Path, seen.repeated)
	case f.Identities != seen.hashes.String():
		return h.report(audit.FileDiffers, "%s: it does not hold the identities whose hashes are given", f.Path)
	}
	return nil
}

// repetition tells why a version and the one before it make a file not unique; "" if
// they do not.
func repetition(before, v *onto.Version) string {
	switch {
	case v.Op == onto.Delete:
		return fmt.Sprintf("%s is deleted by commit %d", v.Identity, v.Commit)
	case before.Identity == v.Identity:
		return fmt.Sprintf("%s comes twice, with commits %d and %d", v.Identity, before.Commit, v.Commit)
	case before.Commit != 0 && before.Identity.Compare(v.Identity) > 0:
		return fmt.Sprintf("%s comes after %s", v.Identity, before.Identity)
	}
	return ""
}

// row checks one version.
func (h *history) row(f *protocol.FileEntry, seen *contents, row *parquet.Checked) error {
	v, before := &row.Version, seen.before
	seen.rows++
	seen.version = max(seen.version, v.SchemaVersion)
	if f.Identities != "" && (seen.rows == 1 || before.Identity != v.Identity) {
		seen.hashes.WriteString(datafile.IdentityHash(&v.Identity))
	}
	if seen.repeated == "" {
		seen.repeated = repetition(&before, v)
	}
	seen.before = onto.Version{Identity: v.Identity, Commit: v.Commit}
	if v.SchemaVersion <= h.purged[h.name] || v.Commit <= h.done && f.First <= h.done || v.Commit > h.head.CommitID && f.Last > h.head.CommitID {
		return nil // it does not exist, was checked before, or came later
	}
	if v.Commit <= h.again && v.Commit <= h.versions.Newest(v.Identity) {
		return nil
	}
	rules := h.rules.At(f.Path)
	if seen.rows > 1 {
		if err := rules.Order(&before, v); err != nil {
			return err
		}
	}
	switch {
	case v.Commit < 1 || v.Commit > h.head.CommitID:
		h.left.Hide(f.First, f.Last)
		return h.report(audit.VersionWithoutCommit, "%s: %s is of commit %d, which does not exist", f.Path, v.Identity, v.Commit)
	case v.Commit < f.First || v.Commit > f.Last:
		h.left.Hide(f.First, f.Last)
		return h.report(audit.FileDiffers, "%s: %s is of commit %d, and the file of commits %d to %d", f.Path, v.Identity, v.Commit, f.First, f.Last)
	}
	h.left.Add(v.Commit, -1)
	sound, err := rules.Version(v)
	if sound {
		seen.compare(f, row)
	}
	err = errors.Join(err, rules.Stamp(v))
	if h.copied(v.Commit) {
		h.versions.Take(v)
		return err
	}
	return errors.Join(err, rules.Change(h.versions, v))
}
