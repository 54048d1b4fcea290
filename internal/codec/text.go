package codec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// appendQuoted appends valid UTF-8 as a JSON string with the fewest escapes.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if j := strings.IndexByte("\"\\\b\f\n\r\t", c); j >= 0 {
			dst = append(dst, '\\', `"\bfnrt`[j])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
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
		b.WriteByte("\"\\\b\f\n\r\t"[strings.IndexByte(`"\bfnrt`, s[i])])
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

// TimeLayout is the stored form of a time: UTC, microseconds, fixed width, so
// that the order of the texts is the order of the times.
const TimeLayout = "2006-01-02T15:04:05.000000-07:00"

// FormatTime returns the stored form of t.
func FormatTime(t time.Time) string { return string(AppendTime(nil, t)) }

// AppendTime appends the stored form of t.
func AppendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, TimeLayout)
}

// ParseTime reads a time: the stored form, or any RFC 3339 time. The result is
// in UTC, cut to microseconds. Years outside 1 to 9999 are refused.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time, write it like 2026-02-10T12:34:56.789012+00:00", s)
	}
	if err := CheckTime(t); err != nil {
		return time.Time{}, err
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// CheckTime reports whether t can be stored.
func CheckTime(t time.Time) error {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return fmt.Errorf("year %d is outside 1 to 9999", y)
	}
	return nil
}
