package bucket

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ontologia/onto/internal/segment"
)

// MaxKey is how many bytes a key may have.
const MaxKey = 1024

// CheckKey reports what is wrong with a key. A key has segments of
// [A-Za-z0-9._%-] with a slash between two of them; no segment is empty, "."
// or "..". Names of other characters are escaped first, by package segment.
func CheckKey(key string) error {
	if key == "" {
		return errors.New("the key is empty")
	}
	if err := checkText("key", key); err != nil {
		return err
	}
	for part := range strings.SplitSeq(key, "/") {
		if err := checkSegment("key", key, part); err != nil {
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
	parts := strings.Split(prefix, "/")
	for _, part := range parts[:len(parts)-1] { // the last may go on
		if err := checkSegment("prefix", prefix, part); err != nil {
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
		if c := text[i]; !segment.Plain(c) && c != '%' && c != '/' {
			return fmt.Errorf("the %s %q holds %q: names are escaped before they become part of it", what, text, text[i:i+1])
		}
	}
	return nil
}

func checkSegment(what, text, part string) error {
	switch part {
	case "":
		return fmt.Errorf("the %s %q has an empty segment", what, text)
	case ".", "..":
		return fmt.Errorf("the %s %q has the segment %q", what, text, part)
	}
	return nil
}
