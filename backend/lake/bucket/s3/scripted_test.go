package s3_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

const (
	accessKey = "AKIDTESTTESTTEST"
	secretKey = "hush/secret+key/never/shown"
)

// service answers requests as the test says, and counts them.
type service struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex // guards what follows
	answers  []http.HandlerFunc
	requests []*http.Request
	bodies   []string
}

// newService answers HeadBucket with yes and every other request with the next
// of its answers, the last one again and again.
func newService(t testing.TB, answers ...http.HandlerFunc) *service {
	s := &service{t: t, answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead && (r.URL.Path == "/stuff" || r.URL.Path == "/stuff/") {
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.bodies = append(s.bodies, string(body))
	answer := s.answers[min(len(s.requests), len(s.answers))-1]
	s.mu.Unlock()
	answer(w, r)
}

// seen returns the requests since the bucket was opened.
func (s *service) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// open opens the bucket stuff, without waits between attempts.
func (s *service) open(change ...func(*s3.Options)) *s3.Bucket {
	s.t.Helper()
	o := s3.Options{
		Bucket:         "stuff",
		Prefix:         "lake",
		Endpoint:       s.URL,
		AccessKey:      accessKey,
		SecretKey:      secretKey,
		RequestTimeout: time.Minute,
		HTTPClient:     s.Client(),
	}
	for _, f := range change {
		f(&o)
	}
	b, err := s3.Open(context.Background(), o)
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	b.SetPause(func(ctx context.Context, _ int) error { return ctx.Err() })
	return b
}

// shortly is a timeout that a test waits for.
func shortly(o *s3.Options) { o.RequestTimeout = 50 * time.Millisecond }

// status answers with a status and, if code is not "", an S3 error.
func status(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Request-Id", "REQ1")
		if code == "" {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s said so</Message></Error>`, code, r.Header.Get("Authorization"))
	}
}

// stored answers a write.
func stored(tag string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", tag) }
}

// object answers a read.
func object(tag, data string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", tag)
		io.WriteString(w, data)
	}
}

// raw takes the connection, writes text to it and closes it, with a reset if
// reset is set.
func raw(text string, reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, text)
		if reset {
			conn.(*net.TCPConn).SetLinger(0)
		}
		conn.Close()
	}
}

// stall writes the beginning of an answer and then nothing, until the client
// has gone.
func stall(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			w.Header().Set("ETag", `"slow"`)
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, begin)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}
