// Package s3fake is an S3 server in the process, for tests.
package s3fake

import (
	"io"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Serve starts a server with an empty bucket, which ends with the test, and returns
// its address.
func Serve(t testing.TB, bucket string) string {
	t.Helper()
	memory := exact{s3mem.New(), &sync.Mutex{}}
	if err := memory.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(server.Close)
	return server.URL
}

// exact is the fake's memory with S3's answer to an If-Match on an object that does not
// exist: 404 and not 412. The fake answers all other conditions correctly.
type exact struct {
	*s3mem.Backend
	mu *sync.Mutex // makes check and write atomic
}

// PutObject implements [gofakes3.Backend].
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

// DeleteObject implements [gofakes3.Backend].
func (e exact) DeleteObject(name, key string) (gofakes3.ObjectDeleteResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Backend.DeleteObject(name, key)
}
