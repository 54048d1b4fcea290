package fetch

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is the length of the longest URL, in bytes.
const maxURL = 8000

// parse reads a URL that may be requested, in one form: a host in lower case without a
// trailing dot, no empty or standard port, no fragment. base is what a relative URL is relative to, nil
// if it has to be absolute.
func (p *policy) parse(base *url.URL, raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fail(Invalid, raw, "the URL has %d bytes, more than %d", len(raw), maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, malformed(raw, err)
	}
	if base != nil {
		u = base.ResolveReference(u)
		raw = u.String()
	}
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Scheme == "":
		return nil, fail(Invalid, raw, "the URL has no scheme").hinted("write it with http:// or https://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fail(Refused, raw, "the scheme %s is not http or https", clip(u.Scheme))
	case u.Opaque != "" || u.Host == "":
		return nil, fail(Invalid, raw, "the URL has no host").hinted("write it as %s://HOST/PATH", u.Scheme)
	case u.User != nil:
		return nil, fail(Refused, raw, "the URL has a user or a password").hinted("give credentials in a header")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ascii(host) { // net/http maps other names to ASCII, then dial checks them
		if err := p.checkHost(raw, host); err != nil {
			return nil, err
		}
	}
	if err := p.checkPort(raw, u.Port()); err != nil {
		return nil, err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if own := u.Port(); own != "" && own != standardPort(u.Scheme) {
		host += ":" + own
	}
	u.Host = host
	return u, nil
}

// checkHost checks a host in ASCII as far as that is possible without resolving it. The
// error is about a URL.
func (p *policy) checkHost(raw, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.checkAddr(raw, host, addr)
	}
	labels := strings.Split(host, ".")
	switch last := labels[len(labels)-1]; {
	case numeric(last):
		return fail(Refused, raw, "the host %s is not an IPv4 address of four decimal numbers", clip(host)).
			hinted("write it as A.B.C.D")
	case last == "localhost" && p.refuses(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != "" && p.refuses(netip.IPv6Loopback()) != "":
		f := fail(Refused, raw, "the host %s is this machine", clip(host))
		f.Network = netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8)
		return f.hinted("allow the network %s if this machine is meant", f.Network)
	}
	if len(host) > 253 {
		return fail(Invalid, raw, "the host has %d characters, more than 253", len(host))
	}
	for _, label := range labels {
		if !validLabel(label) {
			return fail(Invalid, raw, "%q is not the name of a host", clip(host))
		}
	}
	return nil
}

// checkAddr checks an address that a host stands for.
func (p *policy) checkAddr(raw, host string, addr netip.Addr) error {
	kind := p.refuses(addr)
	if kind == "" {
		return nil
	}
	f := fail(Refused, raw, "the host %s has the address %s, which is not public (%s)", clip(host), addr, kind)
	if host == addr.String() {
		f = fail(Refused, raw, "%s is not a public address (%s)", host, kind)
	}
	if addr.Zone() != "" {
		return f
	}
	f.Network = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
	return f.hinted("allow the network %s if this host is meant", f.Network)
}

func (p *policy) checkPort(raw, port string) error {
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fail(Invalid, raw, "%s is not a port", clip(port)).hinted("ports are 1 to 65535")
	}
	if p.refusesPort(uint16(n)) {
		return fail(Refused, raw, "port %d is not one of HTTP", n).hinted("allow port %d if an HTTP server listens on it", n)
	}
	return nil
}

// numeric reports whether a label is a number: the host is an IPv4 address then, in one of
// the forms that C libraries read.
func numeric(label string) bool {
	digits, base := label, "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		digits, base = hex, "0123456789abcdef"
		if hex == "" {
			return true
		}
	}
	return digits != "" && strings.Trim(digits, base) == ""
}

// validLabel reports whether a label consists of letters, digits, hyphens and underscores.
func validLabel(label string) bool {
	if label == "" || len(label) > 63 {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// origin is scheme, host and port.
func origin(u *url.URL) string { return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port(u)) }

func port(u *url.URL) string { return cmp.Or(u.Port(), standardPort(u.Scheme)) }

func standardPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}
