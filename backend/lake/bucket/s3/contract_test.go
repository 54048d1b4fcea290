package s3_test

import (
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// exact is the fake's memory with S3's answer to an If-Match on an object that
// does not exist: 404 and not 412. The fake has all other conditions right.
type exact struct {
	*s3mem.Backend
	mu *sync.Mutex // makes the look and the write one
}

func (e exact) PutObject(name, key string, meta map[string]string, in io.Reader, size int64, c *gofakes3.PutConditions) (gofakes3.PutObjectResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c != nil && c.IfMatch != nil {
		o, err := e.HeadObject(name, key)
		if err != nil {
			return gofakes3.PutObjectResult{}, err
		}
		if o.IsDeleteMarker {
			return gofakes3.PutObjectResult{}, gofakes3.KeyNotFound(key)
		}
	}
	return e.Backend.PutObject(name, key, meta, in, size, c)
}

func (e exact) DeleteObject(name, key string) (gofakes3.ObjectDeleteResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Backend.DeleteObject(name, key)
}

func TestContractOnFake(t *testing.T) {
	memory := exact{s3mem.New(), &sync.Mutex{}}
	if err := memory.CreateBucket("stuff"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	defer server.Close()
	for _, prefix := range []string{"", "a/lake"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			buckettest.Run(t, func(t testing.TB) bucket.Bucket {
				return openAt(t, server.URL, prefix)
			})
		})
	}
}

// openAt opens the bucket stuff of a server that the test started.
func openAt(t testing.TB, endpoint, prefix string) bucket.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), s3.Options{
		Bucket: "stuff", Prefix: prefix, Endpoint: endpoint,
		AccessKey: accessKey, SecretKey: secretKey, RequestTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
