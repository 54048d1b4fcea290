package compact

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/exec"
)

// merge reads files of a type and writes their rows into one, sorted by identity,
// then commit, or into several if one would be too large. Rows that were purged are
// left out.
func (c *Compactor) merge(ctx context.Context, s *protocol.Shelf, files []protocol.FileEntry, disk *datafile.Disk) ([]protocol.DataFile, error) {
	t := files[0].TypeName()
	_, release, err := c.Files.Locals(ctx, files) // side by side, before they are read one by one
	if err != nil {
		return nil, err
	}
	defer release()
	rows := make([]iter.Seq2[onto.Version, error], len(files))
	for i := range files {
		rows[i] = c.Files.All(ctx, &files[i], s.Types.Purged[t])
	}
	out := &datafile.Writer{Disk: disk, Layout: datafile.LayoutOf(s.Types, t), Limit: c.FileBytes + c.FileBytes/4}
	var last onto.Version
	for v, err := range exec.Merge(rows, datafile.Compare) {
		if err != nil {
			return nil, err
		}
		if v.Identity == last.Identity && v.Commit == last.Commit {
			continue // a version is kept once
		}
		last = v
		if err := out.Write(&v); err != nil {
			return nil, err
		}
	}
	return out.End()
}
