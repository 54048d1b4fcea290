package lake

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// history is a walk through the versions of a type, oldest file first.
type history struct {
	*checker
	name  onto.TypeName
	files []fileEntry // still to be read
	read  []fileEntry // that were read
	done  int64       // versions up to this commit were looked at
	at    span        // the range of the file that is looked at, or of its parts
	again int64       // some versions up to this commit were looked at, and come again
	loose bool        // some cannot be read, so it is not known what follows from what

	layout *parquet.Layout // without columns if it is not known which fields there are

	seeds  [2]maphash.Seed
	newest map[[2]uint64]newestState // by the hash of an identity
}

// newestState is the newest version of an identity.
type newestState struct {
	commit int64
	fields uint64 // the hash of its fields
	live   bool
}

func newHistory(c *checker, t onto.TypeName) *history {
	schemas := c.schemas
	if c.doubts[t] {
		schemas = nil
	}
	return &history{
		checker: c, name: t, files: c.files[t], loose: c.broken, layout: parquet.NewLayout(t.Kind, t.Name, schemas),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, newest: map[[2]uint64]newestState{},
	}
}

// hash is how an identity is known.
func (h *history) hash(id onto.Identity) [2]uint64 {
	return [2]uint64{maphash.Comparable(h.seeds[0], id), maphash.Comparable(h.seeds[1], id)}
}

func (h *history) stateOf(v *onto.Version) newestState {
	return newestState{commit: v.Commit, fields: maphash.Bytes(h.seeds[0], v.Fields), live: v.Live()}
}

// contents is what was seen of a file.
type contents struct {
	rows     int64
	version  int
	repeated string // an identity that comes twice, out of order or is deleted
	before   onto.Version
	columns  []columnFlaw
	hashes   strings.Builder // of the identities, if the entry has them
}

// file looks at all versions of a file that is as it was written.
func (h *history) file(f *fileEntry, data io.ReaderAt) error {
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
	if err := h.b.usable(h.ctx); err != nil {
		return err
	}
	return errors.Join(h.claims(f, &seen), h.columns(f, &seen))
}

// claims compares what was seen of a file with what is said of it.
func (h *history) claims(f *fileEntry, seen *contents) error {
	switch {
	case seen.rows != f.Rows:
		return h.report("file_differs", "%s: it has %d rows, not %d", f.Path, seen.rows, f.Rows)
	case seen.version != f.Version:
		return h.report("file_differs", "%s: its newest rows are of schema version %d, not %d", f.Path, seen.version, f.Version)
	case f.Unique && seen.repeated != "":
		return h.report("file_differs", "%s: %s, though it is said that no identity comes twice and none is deleted", f.Path, seen.repeated)
	case f.Identities != seen.hashes.String():
		return h.report("file_differs", "%s: it does not hold the identities whose hashes are given", f.Path)
	}
	return nil
}

// repetition tells what keeps a file from being unique in a row; "" for nothing.
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

// row looks at one version.
func (h *history) row(f *fileEntry, seen *contents, row *parquet.Checked) error {
	v, before := &row.Version, seen.before
	seen.rows++
	seen.version = max(seen.version, v.SchemaVersion)
	if f.Identities != "" && (seen.rows == 1 || before.Identity != v.Identity) {
		seen.hashes.WriteString(identityHash(&v.Identity))
	}
	if seen.repeated == "" {
		seen.repeated = repetition(&before, v)
	}
	seen.before = onto.Version{Identity: v.Identity, Commit: v.Commit}
	if v.SchemaVersion <= h.purged[h.name] || v.Commit <= h.done && f.First <= h.done || v.Commit > h.head.CommitID && f.Last > h.head.CommitID {
		return nil // it does not exist, was looked at before, or came later
	}
	if v.Commit <= h.again && v.Commit <= h.newest[h.hash(v.Identity)].commit {
		return nil
	}
	var errs []error
	if seen.rows > 1 && cmp.Or(before.Identity.Compare(v.Identity), cmp.Compare(before.Commit, v.Commit)) >= 0 {
		errs = append(errs, h.report("version_order", "%s: %s of commit %d is out of order", f.Path, v.Identity, v.Commit))
	}
	if v.Commit < f.First || v.Commit > f.Last {
		h.left.hide(f.First, f.Last)
		errs = append(errs, h.report("version_orphan", "%s: %s is of commit %d, and the file of commits %d to %d", f.Path, v.Identity, v.Commit, f.First, f.Last))
		return errors.Join(errs...)
	}
	h.left.add(v.Commit, -1)
	if !canonicalObject(v.Fields) {
		errs = append(errs, h.report("fields_form", "%s: the fields of %s of commit %d are not a canonical JSON object", f.Path, v.Identity, v.Commit))
	} else {
		seen.compare(f, row)
	}
	return errors.Join(append(errs, h.stamp(f.Path, v), h.follows(f.Path, v))...)
}

// follows checks that a version follows from the one before it.
func (h *history) follows(path string, v *onto.Version) error {
	key := h.hash(v.Identity)
	before := h.newest[key]
	now := h.stateOf(v)
	h.newest[key] = now
	switch {
	case v.Op == onto.Delete && string(v.Fields) != "{}":
		return h.report("delete_fields", "%s: commit %d deletes %s and leaves fields", path, v.Commit, v.Identity)
	case h.loose:
		return nil
	case v.Op == onto.Put && before.live && before.fields == now.fields:
		return h.report("version_unchanged", "%s: %s of commit %d repeats the version of commit %d", path, v.Identity, v.Commit, before.commit)
	case v.Op == onto.Delete && !before.live:
		return h.report("delete_of_nothing", "%s: commit %d deletes %s, which does not exist", path, v.Commit, v.Identity)
	}
	return nil
}
