package sqlite

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/backup"
	"github.com/ontologia/onto/backend/sqlite/internal/disk"
	"github.com/ontologia/onto/backend/sqlite/internal/layout"
)

var _ backend.Copier = (*Backend)(nil)

// CopyTo writes one moment of the store to a new file and returns the head of that
// moment. Writers may continue. The copy holds no leases. Progress, if not nil, is
// called now and then with numbers of bytes. After an error there is no file.
func (b *Backend) CopyTo(ctx context.Context, path string, progress func(done, total int64)) (onto.Commit, error) {
	return b.reader.copyTo(ctx, path, func(done, total int64) error {
		if progress != nil {
			progress(done, total)
		}
		return b.writer.reached("copy")
	})
}

func (rd *reader) copyTo(ctx context.Context, path string, told backup.Report) (onto.Commit, error) {
	st, err := disk.Stage(path)
	if err != nil {
		return onto.Commit{}, err
	}
	defer st.Discard()
	var head onto.Commit
	err = rd.read(ctx, func(r *reading) (err error) {
		if head, err = layout.NewestCommit(r.Conn); err != nil {
			return err
		}
		return backup.Fill(ctx, st, r.Conn, time.Now().Add(DefaultLockTimeout), told)
	})
	if err == nil {
		err = st.Publish(rd.at.File)
	}
	if err != nil {
		return onto.Commit{}, err
	}
	return head, nil
}
