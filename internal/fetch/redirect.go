package fetch

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// hop is one request of the chain that redirects make.
type hop struct {
	url    *url.URL
	method string
	header http.Header
	body   []byte

	etag, lastModified, validated string

	seen []string // the URLs so far, this one included
}

// ownHeaders are those that the client sets by itself, or that are not about the request
// but about the connection.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "If-Modified-Since", "If-None-Match", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// sharedHeaders are those that go along to another origin.
var sharedHeaders = []string{"Accept", "Accept-Language", "User-Agent"}

func (c *Client) firstHop(r *Request) (*hop, error) {
	u, err := c.policy.parse(nil, r.URL)
	if err != nil {
		return nil, err
	}
	method := cmp.Or(r.Method, http.MethodGet)
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return nil, fail(Invalid, r.URL, "the method %q is not supported", clip(method)).hinted("use GET, HEAD or POST")
	}
	if len(r.Body) > 0 && method != http.MethodPost {
		return nil, fail(Invalid, r.URL, "a %s request has no body", method).hinted("use POST")
	}
	header := http.Header{}
	for name, values := range r.Header {
		canonical := http.CanonicalHeaderKey(name)
		if slices.Contains(ownHeaders, canonical) {
			return nil, fail(Invalid, r.URL, "the header %s is set by the client", canonical).hinted("leave it out")
		}
		header[canonical] = append(header[canonical], values...)
	}
	if err := checkHeader(r, header, c.userAgent); err != nil {
		return nil, err
	}
	return &hop{
		url: u, method: method, header: header, body: r.Body,
		etag: r.ETag, lastModified: r.LastModified, validated: cmp.Or(r.Validated, u.String()), seen: []string{u.String()},
	}, nil
}

// checkHeader refuses names and values that would end a header early. Values are not
// repeated: they may be secrets.
func checkHeader(r *Request, header http.Header, userAgent string) error {
	for name, values := range header {
		if !token(name) {
			return fail(Invalid, r.URL, "%q is not the name of a header", clip(name))
		}
		if !slices.ContainsFunc(values, badValue) {
			continue
		}
		return fail(Invalid, r.URL, "the value of the header %s has a control character", name)
	}
	if badValue(userAgent) || badValue(r.ETag) || badValue(r.LastModified) {
		return fail(Invalid, r.URL, "the user agent or a validator has a control character")
	}
	return nil
}

func token(name string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r))
	}) < 0
}

func badValue(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// request is the hop for net/http.
func (h *hop) request(ctx context.Context, userAgent string) *http.Request {
	r := (&http.Request{Method: h.method, URL: h.url, Header: h.header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", userAgent)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	if h.conditional() {
		setUnlessEmpty(r.Header, "If-None-Match", h.etag)
		setUnlessEmpty(r.Header, "If-Modified-Since", h.lastModified)
	}
	if len(h.body) > 0 {
		r.ContentLength = int64(len(h.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(h.body)), nil }
		r.Body, _ = r.GetBody()
	}
	return r
}

func setUnlessEmpty(header http.Header, name, value string) {
	if value != "" {
		header.Set(name, value)
	}
}

// conditional reports whether the validators are about this URL. Elsewhere an equal ETag
// means nothing.
func (h *hop) conditional() bool {
	return h.method != http.MethodPost && h.url.String() == h.validated && (h.etag != "" || h.lastModified != "")
}

// nextHop returns where an answer redirects to, nil if it is no redirect.
func (c *Client) nextHop(ctx context.Context, r *Request, h *hop, answer *http.Response) (*hop, error) {
	limit := cmp.Or(r.MaxRedirects, c.maxRedirects)
	location := answer.Header.Get("Location")
	if !redirects(answer.StatusCode) || location == "" || limit < 0 {
		return nil, nil
	}
	target, err := c.policy.parse(h.url, location)
	if err != nil {
		return nil, err
	}
	next := h.follow(target, answer.StatusCode)
	to := target.String()
	switch {
	case len(h.seen) > limit:
		return nil, fail(Redirect, to, "more than %d redirects", limit)
	case slices.Contains(h.seen, to) && next.method == h.method:
		return nil, fail(Redirect, to, "a loop of %d redirects", len(h.seen))
	case h.url.Scheme == "https" && target.Scheme == "http":
		return nil, fail(Redirect, to, "a redirect from https to http").hinted("fetch the http URL itself if it is meant")
	case len(next.body) > 0 && !sameOrigin(h.url, target):
		return nil, fail(Redirect, to, "a redirect of a request with a body to another origin").hinted("send it to that URL if it is meant")
	}
	if r.OnRedirect != nil {
		err := r.OnRedirect(ctx, to)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fail(Redirect, to, "the redirect is not followed").because(err)
		}
	}
	if answer.ContentLength <= 2<<10 { // what is read to its end leaves the connection usable
		io.CopyN(io.Discard, answer.Body, 2<<10)
	}
	return next, nil
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow is the hop to a target, without the headers that are not for another origin. They
// stay away if a later redirect leads back.
func (h *hop) follow(target *url.URL, status int) *hop {
	next := *h
	next.url = target
	next.seen = append(slices.Clone(h.seen), target.String())
	next.header = h.header.Clone()
	if !sameOrigin(h.url, target) {
		for name := range next.header {
			if !slices.Contains(sharedHeaders, name) {
				delete(next.header, name)
			}
		}
	}
	keeps := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if h.method == http.MethodPost && !keeps {
		next.method, next.body = http.MethodGet, nil
		next.header.Del("Content-Type")
	}
	return &next
}

// sameOrigin reports whether what is meant for one URL may be sent to the other. An upgrade
// to https of the same host may.
func sameOrigin(from, to *url.URL) bool {
	upgrade := from.Hostname() == to.Hostname() && origin(from) == "http://"+from.Hostname()+":80" && origin(to) == "https://"+to.Hostname()+":443"
	return upgrade || origin(from) == origin(to)
}
