package backendtest_test

import (
	"context"
	"iter"

	"github.com/ontologia/onto/backend"
)

// entries is a log.
type entries = iter.Seq2[backend.LogEntry, error]

// archived passes everything on, and is an archive if the backend is one.
type archived struct{ backend.Backend }

func (b archived) Unwrap() backend.Backend { return b.Backend }

// archive is the archive that is passed on to.
func (b archived) archive() backend.Archive {
	a, _ := backend.As[backend.Archive](b.Backend)
	return a
}

func (b archived) Origin(ctx context.Context) (string, error) { return b.archive().Origin(ctx) }

func (b archived) LogSize(ctx context.Context, since int64) (backend.LogSize, error) {
	return b.archive().LogSize(ctx, since)
}

func (b archived) Log(ctx context.Context, since int64) entries { return b.archive().Log(ctx, since) }

func (b archived) Restore(ctx context.Context, r *backend.Restoration) error {
	return b.archive().Restore(ctx, r)
}

func (b archived) CopyState(ctx context.Context) (backend.CopyState, error) {
	return b.archive().CopyState(ctx)
}
