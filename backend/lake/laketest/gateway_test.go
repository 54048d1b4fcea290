package laketest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
	"github.com/ontologia/onto/backend/lake/bucket/s3/s3fake"
	"github.com/ontologia/onto/backend/lake/bucket/s3/versitygw"
	"github.com/ontologia/onto/filter/filtertest"
)

const accessKey, secretKey = "things-access", "things-secret"

// Processes share a lake on a real S3 server.
func TestProcessesOnVersitygw(t *testing.T) {
	shareLake(t, gateway(t))
}

// A lake on a real S3 server keeps the contract.
func TestContractOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	backendtest.Run(t, backendtest.Target{
		Operations: 300, Again: 3,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			return open(t, openBucket(t, endpoint, p.Name), p, 0)
		},
	})
}

// A lake on an S3 server in this process keeps the contract too, in short.
func TestContractOnFake(t *testing.T) {
	if !longTurn(t, 1) {
		return
	}
	endpoint := s3fake.Serve(t, "things")
	backendtest.Run(t, backendtest.Target{
		Operations: 100,
		Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
			return open(t, openBucket(t, endpoint, p.Name), p, 0)
		},
	})
}

// The answers of a lake on a real S3 server are right.
func TestQuestionsOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	lakes := 0
	onGateway := func(t testing.TB, _ string) backend.Backend {
		lakes++
		prefix := fmt.Sprint("lake-", lakes)
		return newDivided(3, func(inProcess int64) backend.Backend {
			return openTrusted(t, openBucket(t, endpoint, prefix), inProcess)
		})
	}
	t.Run("corpus", func(t *testing.T) { filtertest.RunSome(t, onGateway) })
	t.Run("random", func(t *testing.T) { agree(t, onGateway) })
}

// gateway starts a real S3 server with the bucket things.
func gateway(t *testing.T) string {
	t.Helper()
	return versitygw.Start(t, "things", accessKey, secretKey)
}

// openBucket opens a prefix of the server's bucket.
func openBucket(t testing.TB, endpoint, prefix string) bucket.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), s3.Options{
		Bucket: "things", Prefix: prefix, Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A client with unknown credentials is told so, and not that there is no bucket.
func TestCredentialsOnVersitygw(t *testing.T) {
	endpoint := gateway(t)
	for _, keys := range [][2]string{{accessKey, "wrong-secret"}, {"nobody", secretKey}} {
		_, err := s3.Open(t.Context(), s3.Options{Bucket: "things", Endpoint: endpoint, AccessKey: keys[0], SecretKey: keys[1]})
		if err == nil || !strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), keys[1]) {
			t.Errorf("%s: got %v, want a word about credentials", keys[0], err)
		}
	}
	if _, err := s3.Open(t.Context(), s3.Options{Bucket: "nothing", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey}); onto.CodeOf(err) != onto.NotFound {
		t.Errorf("got %v, want that there is no such bucket", err)
	}
}
