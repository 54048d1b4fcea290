package care

import (
	"context"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/place"
)

// OpenLake opens lakes for all verbs. It is here, and the others do not know lakes, since
// what imports them is linked with DuckDB.
func OpenLake(ctx context.Context, b bucket.Bucket, set *place.LakeSettings) (backend.Backend, error) {
	l, err := lake.Open(ctx, b, lakeOptions(set))
	if err != nil {
		return nil, err
	}
	return l, nil
}

func lakeOptions(set *place.LakeSettings) *lake.Options {
	return &lake.Options{
		MustExist: set.MustExist, Target: set.Target, Location: set.Location, Runtime: set.Runtime, Patience: set.Patience, LockTimeout: set.LockTimeout, MigrationWait: set.MigrationWait,
		CacheDir: set.CacheDir, CacheBytes: set.CacheBytes, Memory: set.Memory,
	}
}
