// Package segment makes segments of paths from any name: of the keys of objects, and of
// references to facts.
package segment

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Plain reports whether a byte stands for itself in an escaped name.
func Plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// emptyName is what the name "" is escaped to. No other name is.
const emptyName = "%"

// Escape makes a segment of a path from any name. It leaves [A-Za-z0-9._-] alone,
// except in the names "." and "..", and writes every other byte as %XX. The
// result can be three times as long as the name. [Unescape] reverses it.
func Escape(name string) string {
	dots := name == "." || name == ".."
	if name == "" {
		return emptyName
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; Plain(c) && !dots {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Unescape returns the name that Escape made the segment from. It fails if
// there is none: no two segments stand for one name.
func Unescape(segment string) (string, error) {
	if segment == emptyName {
		return "", nil
	}
	var b strings.Builder
	for rest := segment; rest != ""; {
		if rest[0] != '%' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		if len(rest) < 3 {
			return "", fmt.Errorf("the segment %q ends within an escape", segment)
		}
		code, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return "", fmt.Errorf("the segment %q has the escape %q, which is not hexadecimal", segment, rest[:3])
		}
		b.Write(code)
		rest = rest[3:]
	}
	if name := b.String(); name != "" && Escape(name) == segment {
		return name, nil
	}
	return "", fmt.Errorf("the segment %q is not how a name is escaped", segment)
}
