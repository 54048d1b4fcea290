package codec

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The characters with a short escape, and the letters that stand for them.
const (
	escaped = "\"\\\b\f\n\r\t"
	letters = `"\bfnrt`
)

// appendQuoted appends valid UTF-8 as a JSON string with the fewest escapes.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, s[start:i]...), c)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// appendEscape appends the escape of a character that may not stand for itself.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if i := strings.IndexByte(escaped, c); i >= 0 {
		return append(dst, '\\', letters[i])
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// unquote returns the text of a canonical JSON string.
func unquote(quoted []byte) string {
	s := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'u' {
			n, _ := strconv.ParseUint(s[i+1:i+5], 16, 16)
			b.WriteRune(rune(n))
			i += 4
			continue
		}
		b.WriteByte(escaped[strings.IndexByte(letters, s[i])])
	}
	return b.String()
}

// skipValue returns the length of the canonical JSON value that s starts with.
func skipValue(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// text reads a quoted string.
func (p *parser) text() error {
	begin, first, ascii := p.i, len(p.out)+1, true
	p.i++
	p.out = append(p.out, '"')
	for {
		ascii = p.plainText() && ascii
		if p.i >= len(p.src) {
			return p.fail("text has no end")
		}
		switch p.src[p.i] {
		case '"':
			if !ascii && !utf8.Valid(p.out[first:]) {
				return p.failAt(begin, "text is not valid UTF-8")
			}
			p.i++
			p.out = append(p.out, '"')
			return nil
		case '\\':
			if err := p.escape(); err != nil {
				return err
			}
		default:
			return p.fail("control character %s in text", p.here())
		}
	}
}

// plainText copies characters that stand for themselves and reports whether
// all of them are ASCII.
func (p *parser) plainText() bool {
	rest, i, all := p.src[p.i:], 0, byte(0)
	for i < len(rest) && rest[i] >= ' ' && rest[i] != '"' && rest[i] != '\\' {
		all |= rest[i]
		i++
	}
	p.out = append(p.out, rest[:i]...)
	p.i += i
	return all < utf8.RuneSelf
}

// escape rewrites one escape sequence, or two that make a surrogate pair.
func (p *parser) escape() error {
	if p.i+1 >= len(p.src) {
		p.i = len(p.src)
		return p.fail("text has no end")
	}
	c := p.src[p.i+1]
	if c == 'u' {
		return p.unicodeEscape()
	}
	if c == '/' {
		p.out = append(p.out, c)
	} else if i := strings.IndexByte(letters, c); i >= 0 {
		p.out = append(p.out, '\\', c)
	} else {
		p.i++
		return p.fail("unknown escape \\ before %s", p.here())
	}
	p.i += 2
	return nil
}

func (p *parser) unicodeEscape() error {
	start := p.i
	r, err := p.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		low := rune(0)
		if p.i+1 < len(p.src) && p.src[p.i] == '\\' && p.src[p.i+1] == 'u' {
			if low, err = p.hex(); err != nil {
				return err
			}
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return p.failAt(start, "lone surrogate in text")
		}
	}
	switch {
	case r == 0:
		return p.failAt(start, "text contains U+0000")
	case r < ' ' || r == '"' || r == '\\':
		p.out = appendEscape(p.out, byte(r))
	default:
		p.out = utf8.AppendRune(p.out, r)
	}
	return nil
}

// hex reads \u and four hexadecimal digits.
func (p *parser) hex() (rune, error) {
	if p.i+6 > len(p.src) {
		return 0, p.fail("malformed \\u escape")
	}
	var r rune
	for _, c := range p.src[p.i+2 : p.i+6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, p.fail("malformed \\u escape")
		}
	}
	p.i += 6
	return r, nil
}
