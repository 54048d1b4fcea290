package work

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/fetch"
)

// HTTPOptions change how resources are fetched. The zero value is the default.
type HTTPOptions struct {
	UserAgent    string        // also the name that robots.txt knows; "" for "onto"
	Timeout      time.Duration // of a request with its redirects; 0 for 30 s
	MaxBytes     int64         // of a body; 0 for DefaultMaxBytes
	MaxRatio     int64         // of a compressed body to what it is compressed to; 0 for 100
	MaxRedirects int           // 0 for 10

	IgnoreRobots  bool // fetch also what robots.txt disallows
	Unconditional bool // fetch also what has not changed since the last time

	// Addresses that are not public are refused, before each connection and after each
	// redirect, but for these.
	AllowPrivate bool           // loopback, private and shared addresses
	AllowNets    []netip.Prefix // addresses of any kind
	AllowPorts   []uint16       // ports of other services than HTTP

	RootCAs *x509.CertPool // nil for those of the system
}

// HTTP is a connector for http and https. Of what an answer has, ETag and Last-Modified are
// kept in the item's metadata: if the item is fetched again, the server can answer that
// nothing has changed. What robots.txt (RFC 9309) disallows is skipped, also as the target
// of a redirect. Errors of the network and of the server are temporary, and Retry-After is
// honoured; other answers than 2xx are permanent errors, as are addresses that are
// refused, and bodies that are too large.
func HTTP(o *HTTPOptions) Connector {
	if o == nil {
		o = &HTTPOptions{}
	}
	client := fetch.New(&fetch.Options{
		Timeout: o.Timeout, MaxBytes: o.MaxBytes, MaxRatio: o.MaxRatio, MaxRedirects: o.MaxRedirects, UserAgent: o.UserAgent,
		AllowPrivate: o.AllowPrivate, AllowNets: o.AllowNets, AllowPorts: o.AllowPorts, RootCAs: o.RootCAs,
	})
	return &web{client: client, rules: rulesOf(o, client), unconditional: o.Unconditional}
}

// web fetches over HTTP.
type web struct {
	client        *fetch.Client
	rules         rules
	unconditional bool
}

// rules decide which URLs may be fetched: nil for yes, or why not.
type rules func(ctx context.Context, uri string) error

// Fetch implements [Connector].
func (w *web) Fetch(ctx context.Context, i *onto.WorkItem) (*Record, error) {
	req := &fetch.Request{URL: i.URI, Method: i.Method, Body: []byte(i.Body), Header: http.Header{}, OnRedirect: w.rules}
	if err := headers(i.Headers, req.Header); err != nil {
		return nil, onto.Errorf(onto.Invalid, "the headers of item %.200q of source %.200q: %w", i.Resource, i.Source, err)
	}
	known := metadata(i)
	if !w.unconditional {
		req.ETag, _ = known[metaETag].(string)
		req.LastModified, _ = known[metaLastModified].(string)
		req.Validated, _ = known[metaValidated].(string)
	}
	if err := w.rules(ctx, i.URI); err != nil {
		return nil, err
	}
	answer, err := w.client.Do(ctx, req)
	if err != nil {
		return nil, judged(err, 0)
	}
	if err := answer.Err(); err != nil {
		return nil, judged(err, answer.RetryAfter)
	}
	r := &Record{
		URL: answer.URL, Status: answer.Status, Header: answer.Header, ContentType: answer.Header.Get("Content-Type"),
		Body: answer.Body, NotModified: answer.NotModified,
	}
	if !r.NotModified {
		r.Metadata = map[string]any{metaETag: orNil(answer.ETag), metaLastModified: orNil(answer.LastModified), metaValidated: nil}
		if answer.URL != i.URI && answer.ETag+answer.LastModified != "" {
			r.Metadata[metaValidated] = answer.URL
		}
	}
	return r, nil
}

// orNil is a value of metadata, where none removes it.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// headers reads the headers of an item.
func headers(text json.RawMessage, into http.Header) error {
	if len(text) == 0 {
		return nil
	}
	var m map[string]string
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if err := checkRequest(http.MethodGet, m, ""); err != nil {
		return err
	}
	for name, value := range m {
		into.Set(name, value)
	}
	return nil
}

// RefusedNet returns the network that HTTPOptions.AllowNets would have to contain, after an
// error because an address is not public. The second result is false for all other errors.
func RefusedNet(err error) (netip.Prefix, bool) {
	f := fetch.FailureOf(err)
	if f == nil || !f.Network.IsValid() {
		return netip.Prefix{}, false
	}
	return f.Network, true
}

// judged says whether it helps to try again after an error.
func judged(err error, after time.Duration) error {
	f := fetch.FailureOf(err)
	var ruled *failure // a redirect that the rules refuse
	switch {
	case f == nil, errors.As(err, &ruled):
		return err
	case f.Temporary:
		return classed(Temporary(err, after), string(f.Class))
	}
	return classed(Permanent(err), string(f.Class))
}
