package sqlite

import (
	"context"
	"iter"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite/internal/check"
)

// Surveyed is a backend whose survey has other limits.
type Surveyed struct {
	*Backend
	limits check.Limits
}

// WithFree says how many bytes the volume has free.
func (b *Backend) WithFree(free int64) Surveyed {
	s := Surveyed{b, check.UsualLimits()}
	s.limits.Free = func(string) (int64, bool) { return free, true }
	return s
}

// WithWALLimit says how many bytes of the WAL are not too many.
func (b *Backend) WithWALLimit(limit int64) Surveyed {
	s := Surveyed{b, check.UsualLimits()}
	s.limits.WAL = limit
	return s
}

// Survey judges by the given limits.
func (s Surveyed) Survey(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return s.survey(ctx, s.limits)
}
