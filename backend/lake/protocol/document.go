package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// A lake may be of unknown origin. Every object is read with an upper bound, and every
// number of a document is checked before it is used.

const (
	// MaxSmall is how many bytes a head, a lock or the record of a break may have.
	MaxSmall = 1 << 20
	// MaxDocument is how many bytes any other document may have. None that is
	// larger is written.
	MaxDocument = 64 << 20
	// maxNumber is the largest number of a commit, a head, an epoch or a count: every
	// JSON reader handles integers up to it exactly.
	maxNumber = 1 << 53
)

// A decoded document takes a few times the memory of its text, unless its lists have
// elements shorter than any writer makes.
const (
	foldedMost = 3       // bytes of memory for each byte of text
	foldedFree = 1 << 20 // bytes of memory that are allowed in any case
	deepest    = 10_000  // levels that package json reads
)

// elementBytes is how much memory an element of a list takes; for lists of unknown
// names more than any.
func elementBytes(name []byte) int {
	switch string(name) {
	case "files", "rounds":
		return 144
	case "ancestors", "checkpoints", "entries":
		return 80
	case "touched", "last_touched", "idempotency", "tables":
		return 56
	}
	return 224
}

// Decode reads a document.
func Decode(key string, body []byte, doc any) error {
	if n := crowded(body); n > 0 {
		return Damaged(key, "it has lists with %d elements and more that are too short to be any", n)
	}
	if err := json.Unmarshal(body, doc); err != nil {
		return Damaged(key, "it is not JSON: %w", err)
	}
	if hasNul(body) {
		return Damaged(key, "it has a text with U+0000, which no writer stores")
	}
	return nil
}

// hasNul reports whether a text of a JSON document has the character U+0000. Text of
// one document may be written into another one, which cannot hold it.
func hasNul(body []byte) bool {
	escape := []byte(`\u0000`)
	for from := 0; ; {
		i := bytes.Index(body[from:], escape)
		if i < 0 {
			return false
		}
		begin := from + i
		for begin > 0 && body[begin-1] == '\\' {
			begin--
		}
		if (from+i-begin)%2 == 0 { // else the backslash is itself escaped
			return true
		}
		from += i + len(escape)
	}
}

// free are the members that hold user data, in any form.
var free = map[string]bool{"metadata": true, "schema": true, "flags": true}

// crowded returns the number of list elements that take more memory than those of a
// lake could; 0 if they do not. It estimates the memory of a document before decoding.
// The text need not be JSON.
func crowded(text []byte) int {
	var open []int // what an element takes at each level; 0 for objects
	most := foldedMost*len(text) + foldedFree
	count, folded := 0, 0
	skip := 0       // the depth of user data; 0 outside of it
	var name []byte // the last text
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			begin := i + 1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			name = text[begin:min(i, len(text))]
			if i+2 < len(text) && text[i+1] == ':' && (text[i+2] == '{' || text[i+2] == '[') {
				i++ // what follows has this name
			} else {
				name = nil
			}
		case '{', '[':
			element := 0
			if c == '[' {
				element = elementBytes(name)
			}
			if open = append(open, element); len(open) > deepest {
				return 0 // not JSON
			}
			if skip == 0 && free[string(name)] {
				skip = len(open)
			}
			if skip == 0 && element > 0 {
				count, folded = count+1, folded+element
			}
			name = nil
		case ',':
			if n := len(open); n > 0 && open[n-1] > 0 && skip == 0 {
				count, folded = count+1, folded+open[n-1]
			}
			if folded > most {
				return count
			}
		case '}', ']':
			n := len(open)
			if n == 0 {
				return 0 // not JSON
			}
			if open = open[:n-1]; skip >= n {
				skip = 0
			}
		}
	}
	return 0
}

// inRange reports whether numbers are not negative and not beyond maxNumber.
func inRange(numbers ...int64) bool {
	for _, n := range numbers {
		if n < 0 || n > maxNumber {
			return false
		}
	}
	return true
}

// isRange reports whether two commits are the first and the last of some.
func isRange(first, last int64) bool { return first >= 1 && first <= last && last <= maxNumber }

func isKind(k onto.Kind) bool { return slices.Contains(onto.Kinds(), k) }

// isHex reports whether a text is so many hexadecimal digits in lower case.
func isHex(text string, digits int) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == digits
}

// oversized turns the error for an object that is too large into one for damage.
func oversized(key string, err error) error {
	if errors.Is(err, bucket.ErrTooLarge) {
		return Damaged(key, "%w", err)
	}
	return err
}

// readable refuses a document that could not be read again.
func (o Object) readable() error {
	switch {
	case !strings.HasSuffix(o.Key, ".json"):
		return nil
	case hasNul(o.Body):
		return onto.Errorf(onto.Invalid, "%s would have a text with U+0000, which cannot be stored", o.Key)
	case len(o.Body) <= MaxDocument:
		return nil
	}
	return onto.Errorf(onto.TooLarge, "%s would have %d bytes, and %d is the limit", o.Key, len(o.Body), MaxDocument).
		WithHint("commit less at a time, with shorter metadata and comments")
}
