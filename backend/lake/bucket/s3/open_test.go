package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/bucket/s3"
)

// noEnvironment removes the machine's AWS settings.
func noEnvironment(t *testing.T) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	nowhere := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", nowhere)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// head returns a server that answers every request with one status.
func head(t *testing.T, status int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(s.Close)
	return s
}

func TestOpenAnswers(t *testing.T) {
	noEnvironment(t)
	for status, want := range map[int]onto.Code{404: onto.NotFound, 403: onto.Unavailable, 401: onto.Unavailable, 301: onto.Invalid, 400: onto.Unavailable} {
		s := head(t, status)
		_, err := s3.Open(t.Context(), s3.Options{Bucket: "stuff", Endpoint: s.URL, AccessKey: accessKey, SecretKey: secretKey})
		if !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %s", status, err, want)
			continue
		}
		for _, part := range []string{"stuff", s.URL} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%d: %q does not name %s", status, err, part)
			}
		}
		if onto.HintOf(err).Text == "" {
			t.Errorf("%d: %v has no hint", status, err)
		}
	}
}

func TestOpenBadOptions(t *testing.T) {
	noEnvironment(t)
	good := func() s3.Options {
		return s3.Options{Bucket: "stuff", Endpoint: "http://127.0.0.1:1", AccessKey: accessKey, SecretKey: secretKey}
	}
	for name, change := range map[string]func(*s3.Options){
		"no bucket":           func(o *s3.Options) { o.Bucket = "" },
		"bucket with a slash": func(o *s3.Options) { o.Bucket = "stuff/lake" },
		"half credentials":    func(o *s3.Options) { o.SecretKey = "" },
		"other half":          func(o *s3.Options) { o.AccessKey = "" },
		"negative timeout":    func(o *s3.Options) { o.RequestTimeout = -time.Second },
		"no scheme":           func(o *s3.Options) { o.Endpoint = "127.0.0.1:9000" },
		"not http":            func(o *s3.Options) { o.Endpoint = "ftp://127.0.0.1" },
		"no host":             func(o *s3.Options) { o.Endpoint = "http://" },
		"password":            func(o *s3.Options) { o.Endpoint = "http://me:" + secretKey + "@127.0.0.1" },
		"unreadable":          func(o *s3.Options) { o.Endpoint = "http://me:" + secretKey + "@127.0.0.1:x%zz" },
		"no region":           func(o *s3.Options) { o.Endpoint = "" },
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			change(&o)
			_, err := s3.Open(t.Context(), o)
			if !errors.Is(err, onto.Invalid) || onto.HintOf(err).Text == "" {
				t.Errorf("got %v with hint %q, want invalid", err, onto.HintOf(err))
			}
			wantNoSecret(t, err)
		})
	}
}

// An untrusted certificate and a service without TLS are named as such.
func TestOpenInsecure(t *testing.T) {
	noEnvironment(t)
	vouchless := httptest.NewTLSServer(http.NotFoundHandler())
	defer vouchless.Close()
	vouchless.Config.ErrorLog = log.New(io.Discard, "", 0)
	plain := head(t, 200)
	for endpoint, want := range map[string]string{
		vouchless.URL: "certificate",
		strings.Replace(plain.URL, "http:", "https:", 1): "HTTP response to HTTPS client",
	} {
		_, err := s3.Open(t.Context(), s3.Options{Bucket: "stuff", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey})
		if !errors.Is(err, onto.Unavailable) || !strings.Contains(err.Error(), want) || !strings.Contains(onto.HintOf(err).String(), endpoint) {
			t.Errorf("got %v with hint %q, want one that says %q", err, onto.HintOf(err), want)
		}
	}
}

// Wrong credentials and missing permissions have different errors.
func TestDeniedSaysWhy(t *testing.T) {
	for code, want := range map[string]string{
		"InvalidAccessKeyId":    "credentials were not accepted",
		"SignatureDoesNotMatch": "credentials were not accepted",
		"AccessDenied":          "lack the permission",
		"RequestTimeTooSkewed":  "clock",
		"":                      "wrong or lack the permission",
	} {
		_, err := newService(t, status(403, code)).open().Create(t.Context(), "a", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want one that says %q", code, err, want)
		}
	}
}

// Without credentials nothing is sent, and the error says what to set.
func TestOpenWithoutCredentials(t *testing.T) {
	noEnvironment(t)
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	_, err := s3.Open(t.Context(), s3.Options{Bucket: "stuff", Endpoint: s.URL})
	if !errors.Is(err, onto.Unavailable) || !strings.Contains(onto.HintOf(err).String(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("got %v with hint %q", err, onto.HintOf(err))
	}
	if asked {
		t.Error("a request was sent without credentials")
	}
}

// The output of a credentials program that cannot be parsed is not quoted.
func TestCredentialProgramIsNotQuoted(t *testing.T) {
	noEnvironment(t)
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("[default]\ncredential_process = echo %s\n", secretKey)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	s := head(t, 200)
	_, err := s3.Open(t.Context(), s3.Options{Bucket: "stuff", Endpoint: s.URL})
	if !errors.Is(err, onto.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	wantNoSecret(t, err)
}

// The environment can name the endpoint, the region and the credentials.
func TestOpenFromEnvironment(t *testing.T) {
	noEnvironment(t)
	s := newService(t, stored(`"1"`))
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_REGION", "eu-west-7")
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_SESSION_TOKEN", "token-never-shown")
	t.Setenv("AWS_MAX_ATTEMPTS", "9")
	b := s.open(func(o *s3.Options) { o.Endpoint, o.AccessKey, o.SecretKey = "", "", "" })
	if _, err := b.Create(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	r := s.seen()[0]
	if auth := r.Header.Get("Authorization"); !strings.Contains(auth, accessKey) || !strings.Contains(auth, "/eu-west-7/") {
		t.Errorf("Authorization is %q", auth)
	}
	if checksums, pathStyle := b.UsesChecksums(); checksums || !pathStyle {
		t.Errorf("checksums %t, path style %t at an endpoint of the environment", checksums, pathStyle)
	}
}

// The environment's own retries do not reach a conditional write.
func TestEnvironmentDoesNotRepeatWrites(t *testing.T) {
	noEnvironment(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "9")
	t.Setenv("AWS_RETRY_MODE", "adaptive")
	for _, answer := range []http.HandlerFunc{status(500, "InternalError"), status(503, "SlowDown"), raw("", true), status(403, "RequestTimeTooSkewed")} {
		s := newService(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", someTime.Format(http.TimeFormat))
			answer(w, r)
		})
		if _, err := s.open().Create(t.Context(), "a", []byte("x")); err == nil {
			t.Error("the write succeeded")
		}
		wantCount(t, s, 1)
	}
}

func TestChecksumsAreForAWS(t *testing.T) {
	noEnvironment(t)
	tests := map[string]bool{
		"":                                       true,
		"https://s3.eu-west-1.amazonaws.com":     true,
		"https://s3.cn-north-1.amazonaws.com.cn": true,
		"https://amazonaws.com.example.org":      false,
		"https://notamazonaws.com":               false,
		"http://127.0.0.1:9000":                  false,
	}
	for endpoint, want := range tests {
		b, err := s3.Open(t.Context(), s3.Options{
			Bucket: "stuff", Endpoint: endpoint, Region: "eu-west-1", AccessKey: accessKey, SecretKey: secretKey,
			HTTPClient: &http.Client{Transport: yes{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, pathStyle := b.UsesChecksums(); got != want || pathStyle == want {
			t.Errorf("%q: checksums %t, path style %t, want checksums %t", endpoint, got, pathStyle, want)
		}
	}
}

// yes answers every request with success, without a network.
type yes struct{}

func (yes) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// No error shows the secret key, a session token or a signature, even if the service
// echoes the request.
func TestErrorsShowNoSecrets(t *testing.T) {
	noEnvironment(t)
	const token = "token-never-shown"
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			all := fmt.Sprint(r.Header)
			w.Header().Set("X-Amz-Request-Id", token+" "+secretKey)
			w.Header().Set("X-Amz-Bucket-Region", "<"+secretKey+">")
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s %s</Code><Message>%s %s</Message></Error>", secretKey, all, secretKey, all)
		}
	}
	answers := []http.HandlerFunc{raw("", true), raw(secretKey+" "+token+"\r\n\r\n", false), stall("")}
	for _, code := range []int{301, 307, 400, 401, 403, 404, 409, 412, 429, 500, 501, 503} {
		answers = append(answers, echo(code))
	}
	t.Setenv("AWS_ACCESS_KEY_ID", accessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secretKey)
	t.Setenv("AWS_SESSION_TOKEN", token)
	for _, answer := range answers {
		b := newService(t, answer).open(shortly, func(o *s3.Options) { o.AccessKey, o.SecretKey = "", "" })
		for _, err := range everyError(t.Context(), b) {
			wantNoSecret(t, err)
			if err != nil && strings.Contains(fmt.Sprintf("%v %s", err, onto.HintOf(err)), token) {
				t.Errorf("%v shows the session token", err)
			}
		}
	}
}

func everyError(ctx context.Context, b bucket.Bucket) []error {
	_, get := b.Get(ctx, "a", bucket.Range{}, "")
	_, create := b.Create(ctx, "a", []byte("x"))
	_, swap := b.Swap(ctx, "a", []byte("x"), `"1"`)
	_, list := b.List(ctx, "", "", 10)
	return []error{get, create, swap, list, b.Delete(ctx, "a")}
}

// wantNoSecret checks the whole chain of an error.
func wantNoSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %s", err, err, onto.HintOf(err))
	for _, secret := range []string{secretKey, "Signature=", "Authorization"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %q", text, secret)
		}
	}
}
