package lake

import (
	"cmp"
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/exec"
)

// merge reads files of a type and writes their rows into one, sorted by identity,
// then commit, or into several if one would be too large. Rows that were purged are
// left out.
func (b *Backend) merge(ctx context.Context, s *shelf, files []protocol.FileEntry, disk *disk) ([]protocol.DataFile, error) {
	t := files[0].TypeName()
	_, release, err := b.files.locals(ctx, files) // side by side, before they are read one by one
	if err != nil {
		return nil, err
	}
	defer release()
	rows := make([]iter.Seq2[onto.Version, error], len(files))
	for i := range files {
		rows[i] = b.files.all(ctx, &files[i], s.types.Purged[t])
	}
	out := &partWriter{disk: disk, layout: s.types.layout(t), limit: b.opts.FileBytes + b.opts.FileBytes/4}
	var last onto.Version
	for v, err := range exec.Merge(rows, compareVersions) {
		if err != nil {
			return nil, err
		}
		if v.Identity == last.Identity && v.Commit == last.Commit {
			continue // a version is kept once
		}
		last = v
		if err := out.write(&v); err != nil {
			return nil, err
		}
	}
	return out.end()
}

// compareVersions is the order of the rows of a file.
func compareVersions(a, b *onto.Version) int {
	return cmp.Or(a.Identity.Compare(b.Identity), cmp.Compare(a.Commit, b.Commit))
}

// all yields the rows of a file, but for those of schema versions that were purged.
func (r *reader) all(ctx context.Context, f *protocol.FileEntry, purged int) iter.Seq2[onto.Version, error] {
	return func(yield func(onto.Version, error) bool) {
		file, done, err := r.use(ctx, f)
		if err != nil {
			yield(onto.Version{}, err)
			return
		}
		defer done()
		for v, err := range file.All(ctx) {
			if err != nil {
				yield(onto.Version{}, onto.Errorf(onto.CodeOf(err), "%s: %w", f.Path, err))
				return
			}
			if v.SchemaVersion > purged && !yield(v, nil) {
				return
			}
		}
	}
}
