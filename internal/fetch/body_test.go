package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

// squeeze encodes a text.
func squeeze(t *testing.T, encoding, text string) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "flate":
		w, _ = flate.NewWriter(&b, flate.BestCompression)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// answering is a client and a server that answers every request in the same way.
func answering(t *testing.T, o Options, encoding string, body []byte) *Client {
	return newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if encoding != "" {
			w.Header().Set("Content-Encoding", encoding)
		}
		w.Write(body)
	}).client(t, o)
}

var page = Request{URL: "http://site.example/"}

func TestEncodings(t *testing.T) {
	text := strings.Repeat("a page of some length. ", 100)
	for _, tt := range []struct {
		encoding string
		body     []byte
		want     string
	}{
		{"", []byte(text), text},
		{"identity", []byte(text), text},
		{"gzip", squeeze(t, "gzip", text), text},
		{"X-GZIP", squeeze(t, "gzip", text), text},
		{"gzip", append(squeeze(t, "gzip", text), squeeze(t, "gzip", text)...), text + text},
		{"deflate", squeeze(t, "zlib", text), text},
		{"deflate", squeeze(t, "flate", text), text},
		{"gzip", nil, ""},
		{"deflate", nil, ""},
		{"br", nil, ""},
	} {
		r := get(t, answering(t, Options{}, tt.encoding, tt.body), page)
		if string(r.Body) != tt.want {
			t.Errorf("%s: got %d bytes, want %d", tt.encoding, len(r.Body), len(tt.want))
		}
	}
}

func TestBadEncodings(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	good := squeeze(t, "gzip", text)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0xff
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		code           onto.Code
		temporary      bool
	}{
		{"not gzip", "gzip", []byte("plain text"), onto.Unavailable, true},
		{"one byte", "gzip", good[:1], onto.Unavailable, true},
		{"ended early", "gzip", good[:len(good)-9], onto.Unavailable, true},
		{"flipped", "gzip", flipped, onto.Unavailable, true},
		{"more after it", "gzip", append(bytes.Clone(good), "more"...), onto.Unavailable, true},
		{"zlib ended early", "deflate", squeeze(t, "zlib", text)[:10], onto.Unavailable, true},
		{"unknown", "br", []byte("x"), onto.Unsupported, false},
		{"twice", "gzip, gzip", good, onto.Unsupported, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantFailure(t, answering(t, Options{}, tt.encoding, tt.body), page, tt.code, Answer, tt.temporary)
		})
	}
}

func TestSizes(t *testing.T) {
	const limit = 100_000
	fits, over := strings.Repeat("x", limit), strings.Repeat("x", limit+1)
	o := Options{MaxBytes: limit, MaxRatio: 10_000}
	for _, encoding := range []string{"", "gzip"} {
		encoded := func(text string) []byte {
			if encoding == "" {
				return []byte(text)
			}
			return squeeze(t, encoding, text)
		}
		if r := get(t, answering(t, o, encoding, encoded(fits)), page); len(r.Body) != limit || r.Cut {
			t.Errorf("%q: got %d bytes", encoding, len(r.Body))
		}
		wantFailure(t, answering(t, o, encoding, encoded(over)), page, onto.TooLarge, TooLarge, false)

		cut := Request{URL: page.URL, Cut: limit}
		if r := get(t, answering(t, o, encoding, encoded(fits)), cut); len(r.Body) != limit || r.Cut {
			t.Errorf("%q: got %d bytes, cut %v; want all", encoding, len(r.Body), r.Cut)
		}
		if r := get(t, answering(t, o, encoding, encoded(over)), cut); len(r.Body) != limit || !r.Cut {
			t.Errorf("%q: got %d bytes, cut %v; want it cut", encoding, len(r.Body), r.Cut)
		}
	}
}

// TestBombs: 10 MiB of zeros in 10 KiB are refused by the ratio, long before the limit of the size.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 10<<20)
	for _, tt := range []struct{ header, encoding string }{{"gzip", "gzip"}, {"deflate", "zlib"}, {"deflate", "flate"}} {
		bomb := squeeze(t, tt.encoding, zeros)
		c := answering(t, Options{}, tt.header, bomb)
		err := wantFailure(t, c, page, onto.TooLarge, TooLarge, false)
		if !strings.Contains(err.Error(), "100 times") {
			t.Errorf("got %v, want the ratio", err)
		}
		wantFailure(t, c, Request{URL: page.URL, Cut: 1 << 20}, onto.TooLarge, TooLarge, false)
		if r := get(t, answering(t, Options{MaxRatio: 2000}, tt.header, bomb), page); len(r.Body) != len(zeros) {
			t.Errorf("got %d bytes, want all: the ratio is allowed", len(r.Body))
		}
	}
	small := squeeze(t, "gzip", zeros[:ratioFrom])
	if r := get(t, answering(t, Options{}, "gzip", small), page); len(r.Body) != ratioFrom {
		t.Errorf("got %d bytes, want all: a short body may be compressed as it likes", len(r.Body))
	}
}

// TestEndless meets bodies that never end; the limit does.
func TestEndless(t *testing.T) {
	empty := squeeze(t, "gzip", "")
	for name, chunk := range map[string][]byte{
		"":     bytes.Repeat([]byte("x"), 4096),
		"gzip": bytes.Repeat(empty, 100), // members without content: the decoded size does not grow
	} {
		w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
			if name != "" {
				w.Header().Set("Content-Encoding", name)
			}
			for r.Context().Err() == nil {
				w.Write(chunk)
			}
		})
		wantFailure(t, w.client(t, Options{MaxBytes: 1 << 20}), page, onto.TooLarge, TooLarge, false)
	}
}

// TestBroken meets servers that do not speak HTTP, or not to its end.
func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		code         onto.Code
		class        Class
		temporary    bool
	}{
		{"nothing", "", onto.Unavailable, Answer, true},
		{"not HTTP", "220 mail.example ESMTP\r\n", onto.Unavailable, Answer, true},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-", onto.Unavailable, Answer, true},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", onto.Unavailable, Answer, true},
		{"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", onto.Unavailable, Answer, true},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", onto.Unavailable, Answer, true},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", onto.Unavailable, Answer, true},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", onto.Unavailable, Answer, true},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", onto.Unavailable, Answer, true},
		{"bad header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", onto.Unavailable, Answer, true},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello", onto.Unavailable, Answer, false},
		{"a large header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n", onto.TooLarge, TooLarge, false},
		{"many headers", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 100_000) + "\r\n", onto.TooLarge, TooLarge, false},
		{"an announced body", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", onto.TooLarge, TooLarge, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				io.WriteString(conn, tt.answer)
			})
			wantFailure(t, w.client(t, Options{}), page, tt.code, tt.class, tt.temporary)
		})
	}
}

// TestWithoutBody: these answers have no body, whatever their headers say.
func TestWithoutBody(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "99999999999")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	c := w.client(t, Options{})
	for i, method := range []string{"HEAD", "GET", "HEAD"} {
		r := get(t, c, Request{URL: page.URL, Method: method})
		if len(r.Body) != 0 || r.Err() != nil {
			t.Errorf("%s: got %d bytes, %v", method, len(r.Body), r.Err())
		}
		if i == 0 && fmt.Sprint(r.Header["Content-Length"]) != "[99999999999]" {
			t.Errorf("got %v", r.Header)
		}
	}
	if len(w.dialed) != 1 {
		t.Errorf("%d connections, want one for all three", len(w.dialed))
	}
}
