package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// Every answer to a read, and how often it was asked for.
func TestReadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   error
		count  int
	}{
		{"404", status(404, "NoSuchKey"), bucket.ErrNotFound, 1},
		{"404 without a body", status(404, ""), bucket.ErrNotFound, 1},
		{"no bucket", status(404, "NoSuchBucket"), onto.Unavailable, 1},
		{"304", status(304, ""), bucket.ErrNotModified, 1},
		{"403", status(403, "AccessDenied"), onto.Unavailable, 1},
		{"403 unknown key", status(403, "InvalidAccessKeyId"), onto.Unavailable, 1},
		{"403 clock", status(403, "RequestTimeTooSkewed"), onto.Unavailable, 1},
		{"307", redirect(307), onto.Invalid, 1},
		{"400", status(400, "InvalidArgument"), onto.Unavailable, 1},
		{"501", status(501, "NotImplemented"), onto.Unavailable, 1},
		{"slow down", status(503, "SlowDown"), bucket.ErrThrottled, s3.MaxAttempts},
		{"429", status(429, ""), bucket.ErrThrottled, s3.MaxAttempts},
		{"another 503", status(503, ""), onto.Unavailable, s3.MaxAttempts},
		{"500", status(500, "InternalError"), onto.Unavailable, s3.MaxAttempts},
		{"half a body", raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\nhalf", false), onto.Unavailable, s3.MaxAttempts},
		{"half a body in chunks", raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false), onto.Unavailable, s3.MaxAttempts},
		{"half a body, then a reset", raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\nhalf", true), onto.Unavailable, s3.MaxAttempts},
		{"no tag", raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", false), onto.Unsupported, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.answer)
			o, err := s.open().Get(t.Context(), "a", bucket.Range{}, `"old"`)
			wantOnly(t, "get", err, test.want)
			wantCount(t, s, test.count)
			if o.Data != nil || o.Tag != "" || o.Size != 0 {
				t.Errorf("an error came with the object %+v", o)
			}
		})
	}
}

// An object that is larger than expected is not read: neither one whose size is
// announced, nor one whose body does not end.
func TestReadOfMoreThanExpected(t *testing.T) {
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"1"`)
		piece := make([]byte, 64<<10)
		for {
			n, err := w.Write(piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"announced":               raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 6000000000\r\n\r\nsome", false),
		"announced beside a part": raw("HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Length: 4\r\nContent-Range: bytes 0-3/6000000000\r\n\r\nsome", false),
		"endless":                 endless,
	} {
		s := newService(t, answer)
		o, err := s.open().Get(t.Context(), "a", bucket.Range{Max: 2000}, "")
		if !errors.Is(err, bucket.ErrTooLarge) || !strings.Contains(err.Error(), "lake/a") || !strings.Contains(err.Error(), "at most 2000") || o.Data != nil {
			t.Errorf("%s: got %d bytes, error %v, want ErrTooLarge that names the object", name, len(o.Data), err)
		}
		wantCount(t, s, 1)
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("the endless body was read for %d bytes", n)
	}
}

// Every answer that throttles leads to another attempt.
func TestReadsAreRepeated(t *testing.T) {
	for _, first := range []http.HandlerFunc{
		status(503, "SlowDown"), status(429, ""), status(500, "InternalError"), status(502, ""), raw("", true),
		raw("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\nhalf", false),
	} {
		s := newService(t, first, first, object(`"1"`, "whole"))
		o, err := s.open().Get(t.Context(), "a", bucket.Range{}, "")
		if err != nil || string(o.Data) != "whole" || o.Size != 5 {
			t.Errorf("got %q of %d, %v", o.Data, o.Size, err)
		}
	}
}

func TestDeleteAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   error
		count  int
	}{
		{"204", status(204, ""), nil, 1},
		{"404", status(404, "NoSuchKey"), nil, 1},
		{"no bucket", status(404, "NoSuchBucket"), onto.Unavailable, 1},
		{"403", status(403, "AccessDenied"), onto.ReadOnly, 1},
		{"slow down", status(503, "SlowDown"), bucket.ErrThrottled, s3.MaxAttempts},
		{"409", status(409, "OperationAborted"), bucket.ErrConflict, s3.MaxAttempts},
		{"500", status(500, ""), onto.Unavailable, s3.MaxAttempts},
		{"307", redirect(307), onto.Invalid, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t, test.answer)
			err := s.open().Delete(t.Context(), "a")
			if test.want == nil && err != nil {
				t.Errorf("got %v", err)
			}
			if test.want != nil {
				wantOnly(t, "delete", err, test.want)
			}
			wantCount(t, s, test.count)
			if r := s.seen()[0]; r.Method != http.MethodDelete || r.Header.Get("If-Match") != "" {
				t.Errorf("got %s with If-Match %q", r.Method, r.Header.Get("If-Match"))
			}
		})
	}
}

// Neither a missing answer nor a stalled body holds a read for longer than its timeout,
// and the error is not that of the caller's deadline.
func TestReadTimesOut(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"no answer": stall(""), "slow body": stall("a few bytes")} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, answer)
			_, err := s.open(shortly).Get(t.Context(), "a", bucket.Range{}, "")
			wantOnly(t, "get", err, onto.Unavailable)
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("%v passes for an error of the caller's context", err)
			}
			if !strings.Contains(onto.HintOf(err).String(), "s3_request_timeout_s") {
				t.Errorf("hint %q does not name the setting", onto.HintOf(err))
			}
			wantCount(t, s, 1)
		})
	}
}

func TestReadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		status(503, "SlowDown")(w, r)
	})
	if _, err := s.open().Get(ctx, "a", bucket.Range{}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	wantCount(t, s, 1)
}

// Parts of "0123456789", from a service that honours Range and from one that
// sends everything.
func TestRanges(t *testing.T) {
	tests := []struct {
		part   bucket.Range
		header string
		want   string
	}{
		{bucket.Range{}, "", "0123456789"},
		{bucket.Range{Length: 3}, "bytes=0-2", "012"},
		{bucket.Range{Offset: 4, Length: 2}, "bytes=4-5", "45"},
		{bucket.Range{Offset: 7}, "bytes=7-", "789"},
		{bucket.Range{Offset: 8, Length: 100}, "bytes=8-107", "89"},
		{bucket.Range{Offset: 10, Length: 1}, "bytes=10-10", ""},
		{bucket.Range{Offset: 99}, "bytes=99-", ""},
	}
	honours := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", someTime, strings.NewReader("0123456789"))
	}
	for name, answer := range map[string]http.HandlerFunc{"honoured": honours, "ignored": object(`"1"`, "0123456789")} {
		for _, test := range tests {
			s := newService(t, answer)
			o, err := s.open().Get(t.Context(), "a", test.part, "")
			if err != nil || string(o.Data) != test.want || o.Size != 10 || o.Tag != `"1"` {
				t.Errorf("%s %+v: got %q of %d with tag %s, %v, want %q of 10", name, test.part, o.Data, o.Size, o.Tag, err, test.want)
			}
			if got := s.seen()[0].Header.Get("Range"); got != test.header {
				t.Errorf("%s %+v: Range is %q, want %q", name, test.part, got, test.header)
			}
		}
	}
}

// A service that ignores Range sends all of a large object, with or without its length.
// No more than the part is held.
func TestPartOfALargeObject(t *testing.T) {
	const size, offset = 64 << 20, 40 << 20
	all := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for name, announce := range map[string]bool{"announced": true, "not announced": false} {
		s := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if announce {
				w.Header().Set("Content-Length", strconv.Itoa(size))
			}
			w.Write(all)
		})
		b := s.open()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o, err := b.Get(t.Context(), "a", bucket.Range{Offset: offset, Length: 4, Max: size}, "")
		runtime.ReadMemStats(&after)
		if err != nil || string(o.Data) != "0123" || o.Size != size {
			t.Errorf("%s: got %q of %d, %v", name, o.Data, o.Size, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%s: it took %d bytes of memory", name, grown)
		}
		if _, err := b.Get(t.Context(), "a", bucket.Range{Length: 4, Max: size - 1}, ""); !errors.Is(err, bucket.ErrTooLarge) {
			t.Errorf("%s: got %v, want that it is too large", name, err)
		}
	}
}

// A part other than the requested one is never passed on.
func TestWrongRange(t *testing.T) {
	for _, header := range []string{"bytes 0-3/10", "bytes 2-9/10", "bytes 2-5/*", "lines 2-5/10", "bytes 2-5", "bytes -/10"} {
		answer := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", header)
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "2345")
		}
		_, err := newService(t, answer).open().Get(t.Context(), "a", bucket.Range{Offset: 2, Length: 4}, "")
		wantOnly(t, header, err, onto.Unavailable)
	}
}

func TestNegativeRange(t *testing.T) {
	s := newService(t, object(`"1"`, "data"))
	b := s.open()
	for _, part := range []bucket.Range{{Offset: -1}, {Length: -1}} {
		_, err := b.Get(t.Context(), "a", part, "")
		wantOnly(t, "get", err, onto.Invalid)
	}
	wantCount(t, s, 0)
}

// The wait ends with the context.
func TestBackoffEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s3.Backoff(ctx, 1000000); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// short answers every read with fewer bytes than it says.
type short struct{ yes }

func (s short) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.yes.RoundTrip(r)
	if r.Method == http.MethodGet {
		resp.Header = http.Header{"Etag": {`"1"`}, "Content-Length": {"100"}}
		resp.Body = io.NopCloser(strings.NewReader("half"))
	}
	return resp, err
}

// The length is checked here too, whatever the transport does.
func TestShortBody(t *testing.T) {
	s := newService(t, status(500, ""))
	b := s.open(func(o *s3.Options) { o.HTTPClient = &http.Client{Transport: short{}} })
	_, err := b.Get(t.Context(), "a", bucket.Range{}, "")
	wantOnly(t, "get", err, onto.Unavailable)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want one that says that the end came early", err)
	}
}
