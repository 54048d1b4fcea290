package links

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// Form says how the query of a URL is normalised. Nil keeps it as it is, in its order.
type Form struct {
	SortQuery bool     // parameters by name; those of one name keep their order
	Drop      []string // names of parameters to leave out; utm_* is every name that begins with utm_
}

// Tracking lists parameters that say where a visitor came from and do not change what is
// served, for Form.Drop.
func Tracking() []string {
	return []string{"utm_*", "gclid", "dclid", "fbclid", "msclkid", "mc_cid", "mc_eid"}
}

// Parse reads an absolute URL and normalises it, as Normalize does.
func Parse(text string, f *Form) (*url.URL, error) { return resolve(parts{}, text, f) }

// Resolve reads a reference in the document of an absolute URL, and normalises the URL
// that it leads to, as Normalize does. As in browsers, spaces around it are ignored, a
// backslash before the query is a slash, and characters that a URL cannot have are
// encoded.
func Resolve(base *url.URL, ref string, f *Form) (*url.URL, error) {
	b, err := partsOf(base)
	if err != nil {
		return nil, err
	}
	return resolve(b, ref, f)
}

// Normalize returns the URL as it is written for identity. Equal results mean the same
// resource by RFC 3986: scheme and host in lower case, no default port, no dot segments,
// escapes in upper case and only where they are needed, "/" for no path. Fragment and user
// information are dropped, and so is the dot at the end of a host; names beyond ASCII
// become Punycode, IPv6 addresses have their shortest form. The query keeps its order and
// its parameters, unless the form says otherwise.
//
// The normal form is a fixed point, and url.Parse and URL.String reproduce it. It has
// printable ASCII only.
//
// Refused are schemes other than http and https, URLs over MaxURL, control characters,
// ports that do not exist, and hosts that programs read differently: a number that is not
// an IPv4 address of four decimal parts, and a zone of an IPv6 address.
func Normalize(u *url.URL, f *Form) (*url.URL, error) {
	p, err := partsOf(u)
	if err != nil {
		return nil, err
	}
	return p.normal(f)
}

// parts are the components of a reference, RFC 3986 §3, without the fragment.
type parts struct {
	scheme, authority, path, query string
	hasAuthority, hasQuery         bool
}

func partsOf(u *url.URL) (parts, error) {
	if u == nil || u.Scheme == "" {
		return parts{}, refuse("", "there is no absolute URL to begin with")
	}
	if u.Opaque != "" {
		return parts{}, refuse(u.Scheme+":"+u.Opaque, "it has no host")
	}
	return parts{
		scheme: strings.ToLower(u.Scheme), authority: u.Host, path: u.EscapedPath(), query: u.RawQuery,
		hasAuthority: u.Host != "", hasQuery: u.ForceQuery || u.RawQuery != "",
	}, nil
}

// split takes a reference apart. Any text is a reference.
func split(ref string) parts {
	var p parts
	ref, _, _ = strings.Cut(ref, "#")
	ref, p.query, p.hasQuery = strings.Cut(ref, "?")
	ref = strings.ReplaceAll(ref, `\`, "/")
	if n := schemeLength(ref); n > 0 {
		p.scheme, ref = strings.ToLower(ref[:n]), ref[n+1:]
	}
	if rest, ok := strings.CutPrefix(ref, "//"); ok {
		p.hasAuthority = true
		p.authority, p.path = rest, ""
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			p.authority, p.path = rest[:i], rest[i:]
		}
		return p
	}
	p.path = ref
	return p
}

// schemeLength is where the colon after a scheme is, or 0 if there is no scheme.
func schemeLength(ref string) int {
	for i, c := range []byte(ref) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// resolve finds what a reference leads to, RFC 3986 §5.2.2.
func resolve(base parts, ref string, f *Form) (*url.URL, error) {
	ref = strings.Trim(ref, " ")
	if err := checkText(ref); err != nil {
		return nil, err
	}
	p := split(ref)
	switch {
	case p.scheme != "":
	case base.scheme == "":
		return nil, refuse(ref, "it is not absolute: it has no scheme")
	case p.hasAuthority:
		p.scheme = base.scheme
	default:
		p.scheme, p.authority, p.hasAuthority = base.scheme, base.authority, base.hasAuthority
		if p.path == "" {
			p.path = base.path
			if !p.hasQuery {
				p.query, p.hasQuery = base.query, base.hasQuery
			}
		} else if p.path[0] != '/' {
			p.path = base.path[:strings.LastIndexByte(base.path, '/')+1] + p.path
		}
	}
	return p.normal(f)
}

func checkText(ref string) error {
	if len(ref) > MaxURL {
		return tooLong(ref)
	}
	if strings.ContainsFunc(ref, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return refuse(ref, "it has a control character")
	}
	return nil
}

func (p parts) normal(f *Form) (*url.URL, error) {
	if p.scheme != "http" && p.scheme != "https" {
		return nil, refuse(p.scheme+":", "its scheme is not http or https")
	}
	if p.authority == "" {
		return nil, refuse(p.scheme+":"+p.path, "it has no host")
	}
	host, err := p.host()
	if err != nil {
		return nil, err
	}
	path := withoutDots(escape(p.path, inPath))
	query, hasQuery := f.query(escape(p.query, inQuery), p.hasQuery)
	text := p.scheme + "://" + host + path
	if hasQuery {
		text += "?" + query
	}
	if len(text) > MaxURL {
		return nil, tooLong(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, refuse(p.scheme+"://"+host+path, "it is malformed")
	}
	return u, nil
}

// withoutDots removes the segments . and .., RFC 3986 §5.2.4.
func withoutDots(path string) string {
	path = "/" + strings.TrimPrefix(path, "/")
	if !strings.Contains(path, "/.") {
		return path
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if s != "." && s != ".." {
			kept = append(kept, s)
			continue
		}
		if s == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// query drops and sorts parameters of an escaped query.
func (f *Form) query(query string, has bool) (string, bool) {
	if f == nil || query == "" || !f.SortQuery && len(f.Drop) == 0 {
		return query, has
	}
	params := strings.Split(query, "&")
	params = slices.DeleteFunc(params, func(p string) bool { return f.drops(nameOf(p)) })
	if f.SortQuery {
		slices.SortStableFunc(params, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return strings.Join(params, "&"), len(params) > 0
}

func (f *Form) drops(name string) bool {
	return slices.ContainsFunc(f.Drop, func(d string) bool {
		if prefix, any := strings.CutSuffix(d, "*"); any {
			return strings.HasPrefix(name, prefix)
		}
		return d == name
	})
}

func nameOf(param string) string {
	name, _, _ := strings.Cut(param, "=")
	return name
}

// The characters besides letters and digits that a component has as they are, RFC 3986
// §2 and §3.
const (
	unreserved = "-._~"
	inPath     = unreserved + "!$&'()*+,;=:@/"
	inQuery    = inPath + "?"
)

// escape gives a component its normal form: each character is as it is where that is
// allowed and, if it came escaped, means the same; a % that begins no escape is escaped.
func escape(s, allowed string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c, keep := s[i], allowed
		if c == '%' {
			keep = ""
			if i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
				c, keep = unhex(s[i+1])<<4|unhex(s[i+2]), unreserved
				i += 2
			}
		}
		if isAlphanumeric(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func refuse(ref, reason string) error {
	return onto.Errorf(onto.Invalid, "URL %s is refused: %s", show(ref), reason).
		WithHint("give an absolute http or https URL, such as https://example.org/page")
}

func tooLong(ref string) error {
	return onto.Errorf(onto.TooLarge, "URL %s is refused: it has %d bytes, the limit is %d", show(ref), len(ref), MaxURL).
		WithHint("use a shorter URL")
}
