package lake

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// A lake may come from anybody. Every object is read with an upper bound, and every
// number of a document is checked before it is used.

const (
	// maxSmall is how many bytes a head, a lock or the record of a break may have.
	maxSmall = 1 << 20
	// maxDocument is how many bytes any other document may have. None that is
	// larger is written.
	maxDocument = 64 << 20
	// maxNumber is the largest number of a commit, a head, an epoch or a count: what
	// every program that reads JSON can tell from its neighbours.
	maxNumber = 1 << 53
)

// Lists of documents have few bytes of memory for each byte of text, unless their
// elements are so short that no writer has made them.
const (
	shortList   = 4096 // elements that a list may have however short they are
	leastMember = 16   // bytes that the elements of a longer list have on average
)

// decode reads a document.
func decode(key string, body []byte, doc any) error {
	if n := crowded(body); n > 0 {
		return damaged(key, "it has a list of %d elements that are too short to be any", n)
	}
	if err := json.Unmarshal(body, doc); err != nil {
		return damaged(key, "it is not JSON: %w", err)
	}
	return nil
}

// free are the members that hold what users have written, in any form.
var free = map[string]bool{"metadata": true, "schema": true, "flags": true}

// crowded returns the number of elements of a list whose elements are too short to
// be any of a lake's; 0 if there is none. It is the memory that a document takes
// when it is decoded, found out before. The text need not be JSON.
func crowded(text []byte) int {
	type level struct {
		list  bool
		begin int
		count int // commas
	}
	var open []level
	skip := 0         // the depth of what users have written; 0 outside of it
	word, at := "", 0 // the last text that may be a member's name, and where it ended
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if word = ""; end < len(text) && end-i < 16 {
				word, at = string(text[i+1:end]), end+1
			}
			i = end
		case '{', '[':
			open = append(open, level{list: c == '[', begin: i})
			if skip == 0 && free[word] && i == at+1 && text[at] == ':' {
				skip = len(open)
			}
		case ',':
			if n := len(open); n > 0 {
				open[n-1].count++
			}
		case '}', ']':
			n := len(open)
			if n == 0 {
				return 0 // not JSON
			}
			l := open[n-1]
			if open = open[:n-1]; skip >= n {
				skip = 0
			} else if skip == 0 && l.list && l.count >= shortList && (i-l.begin)/(l.count+1) < leastMember {
				return l.count + 1
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

func isKind(k onto.Kind) bool { return k == onto.KindEntity || k == onto.KindRelation }

// isHex reports whether a text is so many hexadecimal digits in lower case.
func isHex(text string, digits int) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == digits
}

// oversized turns the error for an object that is larger than it can be into one
// for damage.
func oversized(key string, err error) error {
	if errors.Is(err, bucket.ErrTooLarge) {
		return damaged(key, "%w", err)
	}
	return err
}

// readable refuses a document that could not be read again.
func (o object) readable() error {
	if len(o.body) <= maxDocument || !strings.HasSuffix(o.key, ".json") {
		return nil
	}
	return onto.Errorf(onto.TooLarge, "%s would have %d bytes, and %d is the limit", o.key, len(o.body), maxDocument).
		WithHint("commit less at a time, with shorter metadata and comments")
}
