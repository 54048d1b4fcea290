package codec

import (
	"bytes"
	"iter"
	"strings"
)

// Find returns the value that the names lead to in a canonical JSON value, from
// the outside in, or nil if they lead nowhere. It aliases its argument, which
// it returns if there are no names.
func Find(canonical []byte, names []string) []byte {
	for _, name := range names {
		if len(canonical) == 0 || canonical[0] != '{' {
			return nil
		}
		if canonical = member(canonical, name); canonical == nil {
			return nil
		}
	}
	return canonical
}

// member returns the value of a member of an object, or nil.
func member(object []byte, name string) []byte {
	raw := name
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		quoted := string(appendQuoted(nil, name))
		raw = quoted[1 : len(quoted)-1]
	}
	for i := 1; i < len(object) && object[i] != '}'; {
		if object[i] == ',' {
			i++
		}
		start := i + 1
		i += skipText(object[i:])
		found := object[start : i-1]
		end := i + 1 + skip(object[i+1:])
		if string(found) == raw {
			return object[i+1 : end : end]
		}
		if string(found) > name && bytes.IndexByte(found, '\\') < 0 {
			return nil // names are sorted
		}
		i = end
	}
	return nil
}

// skip is skipValue with less work for what is not nested.
func skip(s []byte) int {
	switch s[0] {
	case '"':
		return skipText(s)
	case '{', '[':
		return skipValue(s)
	}
	i := 1
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

// skipText is skip for a string. A quote ends it unless an odd number of
// backslashes stands before it. It panics at one that is cut off, as other damage makes
// it do: what is read from outside is checked first, or read where a panic is an error.
func skipText(s []byte) int {
	for i := 1; ; i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			panic("codec: a text has no end")
		}
		i += n
		before := i
		for s[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 {
			return i + 1
		}
	}
}

// Elements yields the elements of a canonical JSON list. They alias it.
func Elements(canonical []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 1; i < len(canonical) && canonical[i] != ']'; {
			if canonical[i] == ',' {
				i++
			}
			end := i + skip(canonical[i:])
			if !yield(canonical[i:end:end]) {
				return
			}
			i = end
		}
	}
}

// Name is the name of a member, as it stands between its quotes.
func Name(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted)
	}
	return unquote([]byte(`"` + string(quoted) + `"`))
}

// Pairs yields the members of a canonical JSON object: the name as it stands
// between its quotes, and the value. They alias it.
func Pairs(canonical []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := 1; i < len(canonical) && canonical[i] != '}'; {
			if canonical[i] == ',' {
				i++
			}
			start := i + 1
			i += skipText(canonical[i:])
			end := i + 1 + skip(canonical[i+1:])
			if !yield(canonical[start:i-1], canonical[i+1:end:end]) {
				return
			}
			i = end
		}
	}
}
