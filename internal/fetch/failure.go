package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ontologia/onto"
)

// Class is the kind of a failure, for statistics and for the record of an attempt.
type Class string

// The closed set of classes.
const (
	Invalid  Class = "invalid"   // the request is malformed
	Refused  Class = "refused"   // the scheme, host, address or port is not allowed
	DNS      Class = "dns"       // the host does not resolve
	Connect  Class = "connect"   // no connection, or it broke
	TLS      Class = "tls"       // no TLS session, or a certificate that cannot be verified
	Timeout  Class = "timeout"   // the request took too long
	Redirect Class = "redirect"  // a loop, too many, or one that is not followed
	TooLarge Class = "too_large" // headers or body exceed a limit
	Answer   Class = "answer"    // not HTTP, ended early, damaged, or in an unknown encoding
	Status   Class = "status"    // the status is no success
)

// Failure is in the chain of every error of this package. An error of Request.OnRedirect is in
// the chain below it.
type Failure struct {
	Class     Class
	Temporary bool   // the same request may succeed later
	URL       string // that failed, maybe the target of a redirect; without secrets

	// Network is what [Options.AllowNets] would have to contain for this address to be fetched
	// from; not valid if the failure is another one.
	Network netip.Prefix

	code onto.Code
	text string
	hint string
	err  error
}

// Error tells what happened; the onto.Error around it names the URL.
func (f *Failure) Error() string {
	if f.err == nil {
		return f.text
	}
	return f.text + ": " + clip(f.err.Error())
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.err }

// FailureOf returns the failure in err's chain, or nil.
func FailureOf(err error) *Failure {
	var f *Failure
	errors.As(err, &f)
	return f
}

// fail is a permanent failure at a URL.
func fail(class Class, at, format string, args ...any) *Failure {
	code := onto.Unavailable
	switch class {
	case Invalid:
		code = onto.Invalid
	case Refused, Redirect:
		code = onto.Refused
	case TooLarge:
		code = onto.TooLarge
	}
	return &Failure{Class: class, URL: shown(at), code: code, text: fmt.Sprintf(format, args...)}
}

func (f *Failure) temporary() *Failure {
	f.Temporary = true
	return f
}

// at returns a failure of dial as one of a URL. Requests that wait for one connection share
// the failure of making it, so it is copied.
func (f *Failure) at(raw string) *Failure {
	other := *f
	other.URL = shown(raw)
	return &other
}

func (f *Failure) because(err error) *Failure {
	f.err = err
	return f
}

func (f *Failure) hinted(format string, args ...any) *Failure {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

// wrap makes an error of a request: it names the URL that was asked for and, if that is
// another, the one that failed.
func wrap(method, asked string, f *Failure) error {
	name := clip(method) + " " + shown(asked)
	if f.URL != shown(asked) {
		name += " (at " + f.URL + ")"
	}
	e := &onto.Error{Code: f.code, Message: name, Err: f}
	if f.hint != "" {
		e.Hint = onto.NewHint(f.hint)
	}
	return e
}

// classify makes a failure of what went wrong between here and the server. limited is the
// context of the request, with the timeout.
func (c *Client) classify(limited context.Context, at string, err error) *Failure {
	f := FailureOf(err)
	if limited.Err() != nil && (f == nil || f.Class == DNS || f.Class == Connect) {
		return fail(Timeout, at, "no complete answer within %s", c.timeout).temporary()
	}
	if f != nil && f.URL != "" {
		return f
	}
	if f != nil {
		return f.at(at)
	}
	text := err.Error()
	var certificate *tls.CertificateVerificationError
	var network *net.OpError
	switch {
	case isTimeout(err):
		return fail(Timeout, at, "no connection in time").because(err).temporary()
	case errors.As(err, &certificate):
		return fail(TLS, at, "the certificate cannot be verified").because(err)
	case strings.Contains(text, "tls: "), errors.Is(err, http.ErrSchemeMismatch):
		return fail(TLS, at, "no TLS session").because(err).temporary()
	case strings.Contains(text, "response headers exceeded"):
		return fail(TooLarge, at, "the headers of the answer have more than %d bytes", c.headerBytes)
	case errors.As(err, &network):
		return fail(Connect, at, "the connection failed").because(err).temporary()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fail(Answer, at, "the connection ended before the answer was complete").temporary()
	}
	return fail(Answer, at, "the answer is not sound HTTP").because(err).temporary()
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// malformed is about a URL that url.Parse does not read. Its words may repeat what was taken
// for a port, which may be a password.
func malformed(raw string, err error) error {
	f := fail(Invalid, raw, "the URL is malformed")
	var parse *url.Error
	if errors.As(err, &parse) && !strings.Contains(raw, "@") {
		f.err = parse.Err
	}
	return f
}

// secretWords are in the names of query parameters whose values are not shown.
var secretWords = []string{"token", "key", "secret", "sig", "pass", "pwd", "auth", "session", "credential", "jwt", "code"}

// shown is a URL for people and logs: without user and password, fragment, and the values of
// parameters that look like secrets. Of what is no URL, nothing up to the last @ is shown.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		if at := strings.LastIndex(raw, "@"); at >= 0 {
			scheme, _, _ := strings.Cut(raw, ":")
			raw = scheme + "://" + raw[at+1:]
		}
		raw, _, _ = strings.Cut(raw, "#")
		before, query, _ := strings.Cut(raw, "?")
		return clip(before + withoutSecrets(query))
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	query := withoutSecrets(u.RawQuery)
	u.RawQuery, u.ForceQuery = "", false
	return clip(u.String() + query)
}

// withoutSecrets is a query with its question mark.
func withoutSecrets(query string) string {
	if query == "" {
		return ""
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, assigned := strings.Cut(pair, "=")
		if assigned && secret(name) {
			pairs[i] = name + "=xxxxx"
		}
	}
	return "?" + strings.Join(pairs, "&")
}

func secret(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// clip bounds a text that others wrote, and keeps control characters out of it.
func clip(s string) string {
	const longest = 300
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
