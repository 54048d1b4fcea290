package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/ontologia/onto"
)

const (
	ratioFrom = 64 << 10 // decoded bytes from which on the ratio is limited
	overhead  = 64 << 10 // what encoding may add to a body
)

// read reads the answer of the last hop.
func (c *Client) read(r *Request, h *hop, answer *http.Response) (*Response, error) {
	at := h.url.String()
	if answer.StatusCode < 200 {
		return nil, fail(Answer, at, "the server answered with status %d, which no request asked for", answer.StatusCode)
	}
	done := &Response{
		URL:          at,
		Status:       answer.StatusCode,
		Header:       answer.Header,
		NotModified:  answer.StatusCode == http.StatusNotModified && h.conditional(),
		ETag:         answer.Header.Get("ETag"),
		LastModified: answer.Header.Get("Last-Modified"),
		RetryAfter:   retryAfter(answer.Header),
	}
	if done.NotModified { // the answer may leave out what did not change either
		done.ETag, done.LastModified = cmp.Or(done.ETag, h.etag), cmp.Or(done.LastModified, h.lastModified)
	}
	if h.method == http.MethodHead || answer.StatusCode == http.StatusNoContent || answer.StatusCode == http.StatusNotModified {
		return done, nil
	}
	if r.Cut <= 0 && answer.ContentLength > c.maxBytes {
		return nil, c.tooLarge(at)
	}
	var err error
	done.Body, done.Cut, err = c.readBody(at, r.Cut, answer)
	if err != nil {
		return nil, err
	}
	return done, nil
}

// readBody reads a body up to its end, a limit, or where it is to be cut.
func (c *Client) readBody(at string, cut int64, answer *http.Response) (body []byte, wasCut bool, err error) {
	transferred := &meter{from: answer.Body, limit: c.maxBytes + overhead}
	plain, encoded, err := decode(at, answer.Header, transferred)
	if err != nil {
		return nil, false, c.bodyFailure(at, err)
	}
	limit := c.maxBytes
	if cut > 0 {
		limit = min(limit, cut)
	}
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for {
		n, err := plain.Read(chunk)
		all.Write(chunk[:n])
		size := int64(all.Len())
		switch {
		case size > limit && cut > 0:
			return all.Bytes()[:limit], true, nil
		case size > limit:
			return nil, false, c.tooLarge(at)
		case encoded && size > ratioFrom && size/c.maxRatio > transferred.n:
			return nil, false, fail(TooLarge, at, "the body is compressed more than %d times", c.maxRatio).
				hinted("raise the limit of the ratio if the server is trusted")
		case err == io.EOF:
			return all.Bytes(), false, nil
		case err != nil:
			return nil, false, c.bodyFailure(at, err)
		}
	}
}

// decode returns the reader of the decoded body.
func decode(at string, header http.Header, body io.Reader) (plain io.Reader, encoded bool, err error) {
	buffered := bufio.NewReader(body)
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(header.Values("Content-Encoding"), ",")))
	if encoding == "" || encoding == "identity" {
		return buffered, false, nil
	}
	start, err := buffered.Peek(2)
	if len(start) == 0 && err == io.EOF { // no body has no encoding either
		return buffered, false, nil
	}
	switch encoding {
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(buffered)
	case "deflate": // zlib by the standard, bare by some servers
		if len(start) == 2 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
			plain, err = zlib.NewReader(buffered)
		} else {
			plain, err = flate.NewReader(buffered), nil
		}
	default:
		f := fail(Answer, at, "the encoding %q of the body is not supported", clip(encoding))
		f.code = onto.Unsupported
		err = f
	}
	return plain, true, err
}

// meter counts what was transferred, and ends a body that decodes to little but has no end.
type meter struct {
	from  io.Reader
	n     int64
	limit int64
}

var errTransferred = errors.New("too much was transferred")

func (m *meter) Read(p []byte) (int, error) {
	if m.n > m.limit {
		return 0, errTransferred
	}
	n, err := m.from.Read(p)
	m.n += int64(n)
	return n, err
}

func (c *Client) tooLarge(at string) error {
	return fail(TooLarge, at, "the body has more than %d bytes", c.maxBytes).hinted("raise the limit of the size if it is meant")
}

// bodyFailure tells a damaged body from a connection that failed.
func (c *Client) bodyFailure(at string, err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, errTransferred):
		return c.tooLarge(at)
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum),
		errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return fail(Answer, at, "the body is damaged").because(err).temporary()
	}
	return err
}
