package links

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// SameHost reports whether two absolute URLs name one host and port. The default ports of
// http and https count as one, since sites move from one to the other.
func SameHost(a, b *url.URL) bool {
	x, errX := Normalize(a, nil)
	y, errY := Normalize(b, nil)
	return errX == nil && errY == nil && x.Host == y.Host
}

// SameSite reports whether the host of an absolute URL is a domain or below it: for
// example.org also www.example.org, not badexample.org. Ports do not matter. An address
// of the form 192.0.2.1 or [2001:db8::1] is only itself.
func SameSite(u *url.URL, domain string) bool {
	x, err := Normalize(u, nil)
	if err != nil {
		return false
	}
	d, err := hostName(strings.TrimPrefix(domain, "."))
	if err != nil {
		return false
	}
	host := x.Hostname()
	if name := strings.Trim(d, "[]"); host == name {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err != nil && strings.HasSuffix(host, "."+d)
}

// host returns host and port in normal form.
func (p parts) host() (string, error) {
	text := p.authority[strings.LastIndexByte(p.authority, '@')+1:]
	name, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		name, port = text[:i], text[i+1:]
	}
	name, err := hostName(name)
	if err != nil {
		return "", err
	}
	if port == "" {
		return name, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", refuse(p.scheme+"://"+text, "its port is not a number from 1 to 65535")
	}
	if p.scheme == "http" && n == 80 || p.scheme == "https" && n == 443 {
		return name, nil
	}
	return name + ":" + strconv.FormatUint(n, 10), nil
}

// names maps names of hosts beyond ASCII, as UTS 46 wants it for looking up.
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// hostName returns the normal form of the name or address of a host.
func hostName(text string) (string, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(inner, "]") {
			return "", refuse("//"+text, "its host is no IPv6 address without a zone")
		}
		return "[" + addr.String() + "]", nil
	}
	name, err := url.PathUnescape(text)
	if err != nil || !utf8.ValidString(name) {
		return "", refuse("//"+text, "its host is malformed")
	}
	if !isASCII(name) || strings.Contains(strings.ToLower(name), "xn--") {
		if name, err = names.ToASCII(name); err != nil {
			return "", refuse("//"+text, "its host is no name of the domain name system")
		}
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if !isDomain(name) {
		return "", refuse("//"+text, "its host is no name of the domain name system")
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) {
		if _, err := netip.ParseAddr(name); err != nil {
			return "", refuse("//"+text, "its host ends in a number, and is no IPv4 address of four decimal parts")
		}
	}
	return name, nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// isDomain checks the characters and lengths of an ASCII name. The underscore is no letter
// of host names, but in use.
func isDomain(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if !isAlphanumeric(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// isNumber reports whether some program takes a label for a number: decimal, octal or
// hexadecimal.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for _, c := range []byte(digits) {
		if !(hex && isHex(c)) && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// show quotes a URL for messages: short, and without what may be secret, user information
// and the query.
func show(ref string) string {
	ref, _, _ = strings.Cut(ref, "?")
	ref = strings.ReplaceAll(ref, `\`, "/")
	if before, after, ok := strings.Cut(ref, "//"); ok {
		authority, path, _ := strings.Cut(after, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			ref = before + "//" + authority[i+1:] + "/" + path
		}
	}
	const most = 100
	if len(ref) > most {
		return strconv.QuoteToASCII(strings.ToValidUTF8(ref[:most], "")) + "…"
	}
	return strconv.QuoteToASCII(ref)
}
