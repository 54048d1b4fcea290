package robots

import "strings"

// match reports whether a pattern matches a path from its start. Each part between two * is
// taken where it is found first, which leaves the most for the parts that follow; so nothing
// is tried twice.
func match(pattern, path string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	part, rest, wild := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, part) {
		return false
	}
	path = path[len(part):]
	for wild {
		part, rest, wild = strings.Cut(rest, "*")
		if anchored && !wild {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false
		}
		path = path[at+len(part):]
	}
	return !anchored || path == ""
}

// normalPattern returns the path of a rule in the form that paths are compared in, where
// * and a last $ are special, and whether it names the question mark.
func normalPattern(path string) (pattern string, query bool) {
	path, anchored := strings.CutSuffix(path, "$")
	_, _, query = strings.Cut(path, "?")
	parts := strings.Split(path, "*")
	inQuery := false
	for i, part := range parts {
		parts[i], inQuery = normalPart(part, inQuery, true)
	}
	pattern = strings.Join(parts, "*")
	if anchored {
		pattern += "$"
	}
	return pattern, query
}

// normalPath returns a path in the form that it is compared in, for rules that do not name
// the question mark and for those that do.
func normalPath(path string) (plain, query string) {
	path, _, _ = strings.Cut(path, "#")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	plain, _ = normalPart(path, false, false)
	query, _ = normalPart(path, false, true)
	return plain, query
}

// normalPart is a text in the form that is compared: characters that need no encoding as
// they are, all others encoded with upper-case digits. Reserved characters stay as they are,
// encoded or not, except for * and $, which are always encoded; and, in a query if queries
// are told apart, : / ? @, which never are. It returns whether the text ends in the query.
func normalPart(text string, inQuery, queries bool) (normal string, endsInQuery bool) {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		c, encoded := text[i], false
		if c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]) {
			c, encoded = unhex(text[i+1])<<4|unhex(text[i+2]), true
			i += 2
		}
		switch {
		case unreserved(c),
			inQuery && strings.IndexByte(":/?@", c) >= 0,
			!encoded && c > ' ' && c < 0x7f && c != '*' && c != '$':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
		inQuery = inQuery || queries && c == '?' && !encoded
	}
	return b.String(), inQuery
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
