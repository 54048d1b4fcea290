package s3_test

import (
	"context"
	"sync"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/s3/versitygw"
)

// A real S3 server on a file system keeps the contract.
func TestContractOnVersitygw(t *testing.T) {
	endpoint := versitygw.Start(t, "stuff", accessKey, secretKey)
	var mu sync.RWMutex
	buckettest.Run(t, func(t testing.TB) bucket.Bucket {
		return deletesAlone{openAt(t, endpoint, "lake"), &mu}
	})
}

// deletesAlone keeps deletions apart from writes. The gateway holds a lock while it
// evaluates a condition and publishes an object, but does not take it to delete one: a
// swap that is under way can bring back what was deleted meanwhile. Nothing in a lake
// deletes what it swaps. Everything else is done by the gateway itself.
type deletesAlone struct {
	bucket.Bucket
	mu *sync.RWMutex // shared by writes, exclusive for deletions
}

func (d deletesAlone) Create(ctx context.Context, key string, data []byte) (bucket.Tag, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Bucket.Create(ctx, key, data)
}

func (d deletesAlone) Swap(ctx context.Context, key string, data []byte, old bucket.Tag) (bucket.Tag, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Bucket.Swap(ctx, key, data, old)
}

func (d deletesAlone) Delete(ctx context.Context, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Bucket.Delete(ctx, key)
}
