package s3_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// slowly answers a read with bytes that come slowly, and a write at the end of its
// time.
type slowly struct {
	size  int
	takes time.Duration
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{"Etag": {`"1"`}}, Request: r}
	switch r.Method {
	case http.MethodGet:
		resp.ContentLength = int64(s.size)
		resp.Header.Set("Content-Length", strconv.Itoa(s.size))
		resp.Body = io.NopCloser(&slowBody{s, r, time.Now()})
	case http.MethodPut:
		if err := wait(r, s.takes); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

type slowBody struct {
	slowly
	r     *http.Request
	begun time.Time
}

func (b *slowBody) Read(p []byte) (int, error) {
	if err := wait(b.r, time.Until(b.begun.Add(b.takes))); err != nil {
		return 0, err
	}
	if b.size == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.size)
	b.size -= n
	return n, nil
}

// wait lets the bubble's time pass.
func wait(r *http.Request, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// A request may take its timeout and a second for each MiB of its body.
func TestLargeBodiesHaveTime(t *testing.T) {
	const size = 20 << 20
	for takes, ok := range map[time.Duration]bool{29 * time.Second: true, 31 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			b, err := s3.Open(t.Context(), s3.Options{
				Bucket: "stuff", Endpoint: "http://127.0.0.1:1", AccessKey: accessKey, SecretKey: secretKey,
				HTTPClient: &http.Client{Transport: slowly{size, takes}},
			})
			if err != nil {
				t.Fatal(err)
			}
			o, err := b.Get(t.Context(), "a", bucket.Range{}, "")
			if ok && (err != nil || len(o.Data) != size) || !ok && !errors.Is(err, onto.Unavailable) {
				t.Errorf("a read of %s: got %d bytes, %v", takes, len(o.Data), err)
			}
			_, err = b.Create(t.Context(), "a", make([]byte, size))
			if ok && err != nil || !ok && !errors.Is(err, bucket.ErrUnknown) {
				t.Errorf("a write of %s: got %v", takes, err)
			}
		})
	}
}

// Each wait is random, and up to twice as long as the one before.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for attempt := 1; attempt < s3.MaxAttempts; attempt++ {
			ceiling := 100 * time.Millisecond << (attempt - 1)
			for range 50 {
				begin := time.Now()
				if err := s3.Backoff(t.Context(), attempt); err != nil {
					t.Fatal(err)
				}
				waited := time.Since(begin)
				if waited < ceiling/4 || waited > ceiling {
					t.Errorf("attempt %d waited %s, want %s to %s", attempt, waited, ceiling/4, ceiling)
				}
				seen[waited] = true
			}
		}
		if len(seen) < 50 {
			t.Errorf("only %d different waits", len(seen))
		}
	})
}
