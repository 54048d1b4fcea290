package bucket

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// MaxKey is how many bytes a key may have.
const MaxKey = 1024

// CheckKey reports what is wrong with a key. A key has segments of
// [A-Za-z0-9._%-] with a slash between two of them; no segment is empty, "."
// or "..". Names of other characters are escaped first, with [Escape].
func CheckKey(key string) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	if err := checkText("key", key); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := checkSegment("key", key, segment); err != nil {
			return err
		}
	}
	return nil
}

// CheckPrefix reports what is wrong with the prefix of a listing: it must be
// "" or something with which a key can begin.
func CheckPrefix(prefix string) error {
	if err := checkText("prefix", prefix); err != nil {
		return err
	}
	segments := strings.Split(prefix, "/")
	for _, segment := range segments[:len(segments)-1] { // the last may go on
		if err := checkSegment("prefix", prefix, segment); err != nil {
			return err
		}
	}
	return nil
}

func checkText(what, text string) error {
	if len(text) > MaxKey {
		return fmt.Errorf("the %s %q... has %d bytes, the limit is %d", what, text[:64], len(text), MaxKey)
	}
	for i := range len(text) {
		if c := text[i]; !plain(c) && c != '%' && c != '/' {
			return fmt.Errorf("the %s %q holds %q: names are escaped before they become part of it", what, text, text[i:i+1])
		}
	}
	return nil
}

func checkSegment(what, text, segment string) error {
	switch segment {
	case "":
		return fmt.Errorf("the %s %q has an empty segment", what, text)
	case ".", "..":
		return fmt.Errorf("the %s %q has the segment %q", what, text, segment)
	}
	return nil
}

// plain reports whether a byte stands for itself in an escaped name.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// emptyName is what the name "" is escaped to. No other name is.
const emptyName = "%"

// Escape makes a segment of a key from any name. It leaves [A-Za-z0-9._-] alone,
// except in the names "." and "..", and writes every other byte as %XX. The
// result can be three times as long as the name. [Unescape] reverses it.
func Escape(name string) string {
	dots := name == "." || name == ".."
	if name == "" {
		return emptyName
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) && !dots {
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
