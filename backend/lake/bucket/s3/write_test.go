package s3_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// Every answer to a conditional write has one meaning, and none of them makes the
// client send the write a second time.
func TestWriteAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		create error
		swap   error
	}{
		{"412", status(412, "PreconditionFailed"), bucket.ErrExists, bucket.ErrChanged},
		{"412 without a body", status(412, ""), bucket.ErrExists, bucket.ErrChanged},
		{"412 with half a body", raw("HTTP/1.1 412 Precondition Failed\r\nContent-Length: 500\r\n\r\n<Error><Co", false), bucket.ErrExists, bucket.ErrChanged},
		{"412 with a body that is no XML", raw("HTTP/1.1 412 Precondition Failed\r\nContent-Length: 5\r\n\r\nhello", false), bucket.ErrExists, bucket.ErrChanged},
		{"404", status(404, "NoSuchKey"), onto.Unavailable, bucket.ErrNotFound},
		{"404 without a body", status(404, ""), onto.Unavailable, bucket.ErrNotFound},
		{"no bucket", status(404, "NoSuchBucket"), onto.Unavailable, onto.Unavailable},
		{"409", status(409, "ConditionalRequestConflict"), bucket.ErrConflict, bucket.ErrConflict},
		{"409 aborted", status(409, "OperationAborted"), bucket.ErrConflict, bucket.ErrConflict},
		{"slow down", status(503, "SlowDown"), bucket.ErrThrottled, bucket.ErrThrottled},
		{"429", status(429, ""), bucket.ErrThrottled, bucket.ErrThrottled},
		{"another 503", status(503, "ServiceUnavailable"), bucket.ErrUnknown, bucket.ErrUnknown},
		{"503 without a body", status(503, ""), bucket.ErrUnknown, bucket.ErrUnknown},
		{"500", status(500, "InternalError"), bucket.ErrUnknown, bucket.ErrUnknown},
		{"502 of a proxy", status(502, ""), bucket.ErrUnknown, bucket.ErrUnknown},
		{"504 of a proxy", status(504, ""), bucket.ErrUnknown, bucket.ErrUnknown},
		{"501", status(501, "NotImplemented"), onto.Unsupported, onto.Unsupported},
		{"403", status(403, "AccessDenied"), onto.ReadOnly, onto.ReadOnly},
		{"403 without a body", status(403, ""), onto.Unavailable, onto.Unavailable},
		{"401", status(401, ""), onto.Unavailable, onto.Unavailable},
		{"400 expired", status(400, "ExpiredToken"), onto.Unavailable, onto.Unavailable},
		{"403 wrong secret", status(403, "SignatureDoesNotMatch"), onto.Unavailable, onto.Unavailable},
		{"400", status(400, "InvalidRequest"), onto.Unavailable, onto.Unavailable},
		{"400 with a time out", status(400, "RequestTimeout"), onto.Unavailable, onto.Unavailable},
		{"307", redirect(307), onto.Invalid, onto.Invalid},
		{"308", redirect(308), onto.Invalid, onto.Invalid},
		{"301", redirect(301), onto.Invalid, onto.Invalid},
		{"304", status(304, ""), onto.Invalid, onto.Invalid},
		{"closed", raw("", false), bucket.ErrUnknown, bucket.ErrUnknown},
		{"reset", raw("", true), bucket.ErrUnknown, bucket.ErrUnknown},
		{"half a header", raw("HTTP/1.1 200 OK\r\nETa", false), bucket.ErrUnknown, bucket.ErrUnknown},
		{"no HTTP", raw("SSH-2.0-nothing\r\n", false), bucket.ErrUnknown, bucket.ErrUnknown},
		{"200 without a tag", status(200, ""), bucket.ErrUnknown, bucket.ErrUnknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.answer)
			b := s.open()
			_, err := b.Create(t.Context(), "a", []byte("x"))
			wantOnly(t, "create", err, test.create)
			wantCount(t, s, 1)
			_, err = b.Swap(t.Context(), "a", []byte("x"), `"1"`)
			wantOnly(t, "swap", err, test.swap)
			wantCount(t, s, 2)
		})
	}
}

func redirect(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-7")
		http.Redirect(w, r, r.URL.Path+"-elsewhere", code)
	}
}

func TestRedirectNamesTheRegion(t *testing.T) {
	b := newService(t, redirect(307)).open()
	_, err := b.Create(t.Context(), "a", nil)
	if hint := onto.HintOf(err).String(); !strings.Contains(hint, "eu-west-7") {
		t.Errorf("hint %q does not name the region", hint)
	}
}

// A write that was not answered in time may have been applied, but the caller's own
// deadline has not passed.
func TestWriteTimesOut(t *testing.T) {
	s := newService(t, stall(""))
	b := s.open(shortly)
	_, err := b.Swap(t.Context(), "a", []byte("x"), `"1"`)
	wantOnly(t, "swap", err, bucket.ErrUnknown)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v passes for an error of the caller's context", err)
	}
	wantCount(t, s, 1)
}

func TestWriteCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newService(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	b := s.open()
	_, err := b.Create(ctx, "a", []byte("x"))
	if !errors.Is(err, bucket.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want unknown because of the context", err)
	}
	wantCount(t, s, 1)
	if _, err := b.Create(ctx, "b", nil); !errors.Is(err, context.Canceled) || errors.Is(err, bucket.ErrUnknown) {
		t.Errorf("after the cancellation: got %v, want the context's error alone", err)
	}
	wantCount(t, s, 1)
}

// The cause of an unknown outcome is available.
func TestUnknownWrapsItsCause(t *testing.T) {
	b := newService(t, raw("", true)).open()
	_, err := b.Create(t.Context(), "a", []byte("x"))
	var op *net.OpError
	if !errors.As(err, &op) {
		t.Errorf("got %v, want the network's error inside", err)
	}
}

// Where nothing listens, nothing can have been applied.
func TestWriteUnreached(t *testing.T) {
	s := newService(t, stored(`"1"`))
	b := s.open()
	s.Close()
	_, err := b.Create(t.Context(), "a", []byte("x"))
	wantOnly(t, "create", err, onto.Unavailable)
	if !strings.Contains(onto.HintOf(err).String(), s.URL) {
		t.Errorf("hint %q does not name the endpoint", onto.HintOf(err))
	}
}

// A tag is opaque: it goes back to the service as it came.
func TestTagsAreEchoed(t *testing.T) {
	for _, tag := range []string{`"0123-4"`, `W/"weak"`, `bare`, `"with \"quotes\""`, `"päth"`} {
		s := newService(t, stored(tag), stored(`"next"`), object(tag, "data"), status(304, ""))
		b := s.open()
		got, err := b.Create(t.Context(), "a", []byte("x"))
		if err != nil || string(got) != tag {
			t.Fatalf("create: got %q, %v, want %q", got, err, tag)
		}
		if _, err := b.Swap(t.Context(), "a", []byte("y"), got); err != nil {
			t.Fatal(err)
		}
		o, err := b.Get(t.Context(), "a", bucket.Range{}, "")
		if err != nil || string(o.Tag) != tag {
			t.Fatalf("get: got %q, %v, want %q", o.Tag, err, tag)
		}
		if _, err := b.Get(t.Context(), "a", bucket.Range{}, o.Tag); !errors.Is(err, bucket.ErrNotModified) {
			t.Errorf("got %v, want not modified", err)
		}
		seen := s.seen()
		if got := seen[1].Header.Get("If-Match"); got != tag {
			t.Errorf("If-Match is %q, want %q", got, tag)
		}
		if got := seen[3].Header.Get("If-None-Match"); got != tag {
			t.Errorf("If-None-Match is %q, want %q", got, tag)
		}
	}
}

// What a write sends: the condition, the whole body, and no checksums that a
// service other than AWS might not know.
func TestWriteRequest(t *testing.T) {
	s := newService(t, stored(`"1"`))
	b := s.open()
	if _, err := b.Create(t.Context(), "dir/a", []byte("body")); err != nil {
		t.Fatal(err)
	}
	r := s.seen()[0]
	if r.URL.Path != "/stuff/lake/dir/a" || r.Method != http.MethodPut {
		t.Errorf("got %s %s", r.Method, r.URL.Path)
	}
	if got := r.Header.Get("If-None-Match"); got != "*" {
		t.Errorf("If-None-Match is %q, want *", got)
	}
	if got := s.bodies[0]; got != "body" {
		t.Errorf("body %q", got)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum") || strings.HasPrefix(name, "X-Amz-Trailer") || strings.HasPrefix(name, "X-Amz-Sdk-Checksum") {
			t.Errorf("the request has the header %s", name)
		}
	}
}

// Without a tag a swap would have no condition.
func TestSwapNeedsTag(t *testing.T) {
	s := newService(t, stored(`"1"`))
	_, err := s.open().Swap(t.Context(), "a", []byte("x"), "")
	wantOnly(t, "swap", err, onto.Invalid)
	wantCount(t, s, 0)
}

func TestBadKeys(t *testing.T) {
	s := newService(t, stored(`"1"`))
	b := s.open()
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a b", "ä", strings.Repeat("k", bucket.MaxKey), "a?x"} {
		_, err := b.Create(t.Context(), key, nil)
		wantOnly(t, "create "+key, err, onto.Invalid)
		_, err = b.Swap(t.Context(), key, nil, `"1"`)
		wantOnly(t, "swap "+key, err, onto.Invalid)
		_, err = b.Get(t.Context(), key, bucket.Range{}, "")
		wantOnly(t, "get "+key, err, onto.Invalid)
		wantOnly(t, "delete "+key, b.Delete(t.Context(), key), onto.Invalid)
	}
	wantCount(t, s, 0)
}

// wantOnly checks that err is want and none of the other errors of the contract.
func wantOnly(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
	for _, other := range []error{
		bucket.ErrNotFound, bucket.ErrNotModified, bucket.ErrExists, bucket.ErrChanged,
		bucket.ErrConflict, bucket.ErrThrottled, bucket.ErrUnknown,
	} {
		if other != want && errors.Is(err, other) {
			t.Errorf("%s: %v is also %q", what, err, other)
		}
	}
	var own *onto.Error
	if _, code := want.(onto.Code); code && errors.As(err, &own) && onto.HintOf(err).Text == "" {
		t.Errorf("%s: %v has no hint", what, err)
	}
}

func wantCount(t *testing.T, s *service, want int) {
	t.Helper()
	if got := len(s.seen()); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}
