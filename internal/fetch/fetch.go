package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Options of a client. Nil and zero values stand for the defaults.
type Options struct {
	Timeout        time.Duration // of a whole request; default 30 s
	MaxBytes       int64         // of a decoded body; default 16 MiB
	MaxRatio       int64         // of the decoded to the transferred size of a body; default 100
	MaxRedirects   int           // default 10; below 0 a redirect is an answer like others
	MaxHeaderBytes int64         // of an answer; default 256 KiB
	UserAgent      string        // default "onto"

	AllowPrivate bool           // allow loopback, private and shared addresses
	AllowNets    []netip.Prefix // allow these addresses, of whatever kind
	AllowPorts   []uint16       // allow these ports, whatever their use

	RootCAs  *x509.CertPool // nil for those of the system
	Resolver Resolver       // nil for that of the system

	// Dial connects to an address and port that were checked; nil for a net.Dialer.
	Dial func(ctx context.Context, network, addrPort string) (net.Conn, error)
}

// Client makes requests. Goroutines may share it.
type Client struct {
	timeout      time.Duration
	maxBytes     int64
	maxRatio     int64
	maxRedirects int
	headerBytes  int64
	userAgent    string
	policy       policy
	resolver     Resolver
	dialAddr     func(ctx context.Context, network, addrPort string) (net.Conn, error)
	transport    *http.Transport
}

// New makes a client.
func New(opts *Options) *Client {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	c := &Client{
		timeout:      cmp.Or(o.Timeout, 30*time.Second),
		maxBytes:     cmp.Or(o.MaxBytes, 16<<20),
		maxRatio:     cmp.Or(o.MaxRatio, 100),
		maxRedirects: cmp.Or(o.MaxRedirects, 10),
		headerBytes:  cmp.Or(o.MaxHeaderBytes, 256<<10),
		userAgent:    cmp.Or(o.UserAgent, "onto"),
		policy:       policy{o.AllowPrivate, o.AllowNets, o.AllowPorts},
		resolver:     o.Resolver,
		dialAddr:     o.Dial,
	}
	if c.resolver == nil {
		c.resolver = &net.Resolver{}
	}
	if c.dialAddr == nil {
		c.dialAddr = (&net.Dialer{}).DialContext
	}
	c.transport = &http.Transport{
		Proxy:                  nil, // of a proxy's connections the addresses would not be known
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.timeout,
		DisableCompression:     true, // decoded here, with limits
		MaxResponseHeaderBytes: c.headerBytes,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
	}
	return c
}

// Close closes connections that are kept for further requests. The client can still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request is what to ask a server for.
type Request struct {
	URL    string
	Method string // GET (the default), HEAD or POST
	Header http.Header
	Body   []byte

	// Validators of an earlier answer, and the URL that it came from (Response.URL); "" for
	// the URL of this request. If what is there has not changed since, the answer says so,
	// and has no body.
	ETag, LastModified, Validated string

	// Cut ends the body after so many decoded bytes, without an error. Zero does not.
	Cut int64

	// MaxRedirects replaces that of the client unless it is zero.
	MaxRedirects int

	// OnRedirect is asked before a redirect is followed; its error ends the request. Nil
	// follows.
	OnRedirect func(ctx context.Context, target string) error
}

// Response is a complete answer.
type Response struct {
	URL    string // that answered, after redirects
	Status int
	Header http.Header
	Body   []byte // decoded
	Cut    bool   // the body went on

	NotModified        bool // as the validators say
	ETag, LastModified string
	RetryAfter         time.Duration // as the server asks, at most 24 hours; zero if it does not
}

// Do makes a request and reads the answer, whatever its status.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	h, err := c.firstHop(r)
	at := r.URL
	for err == nil {
		at = h.url.String()
		var answer *Response
		if answer, h, err = c.take(limited, r, h); answer != nil {
			return answer, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, wrap(cmp.Or(r.Method, http.MethodGet), r.URL, c.classify(limited, at, err))
}

// take makes the request of one hop. It returns the answer, or the hop that follows.
func (c *Client) take(ctx context.Context, r *Request, h *hop) (*Response, *hop, error) {
	answer, err := c.transport.RoundTrip(h.request(ctx, c.userAgent))
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	if next, err := c.nextHop(ctx, r, h, answer); next != nil || err != nil {
		return nil, next, err
	}
	done, err := c.read(r, h, answer)
	return done, nil, err
}
