package s3_test

import (
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/buckettest"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
	"github.com/ontologia/onto/backend/lake/bucket/s3/s3fake"
	"github.com/ontologia/onto/internal/effort"
)

func TestContractOnFake(t *testing.T) {
	endpoint := s3fake.Serve(t, "stuff")
	for _, prefix := range []string{"", "a/lake"} {
		if prefix == "" && !effort.Thorough(t) {
			continue // it is the simpler one
		}
		t.Run("prefix "+prefix, func(t *testing.T) {
			buckettest.Run(t, func(t testing.TB) bucket.Bucket {
				return openAt(t, endpoint, prefix)
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
