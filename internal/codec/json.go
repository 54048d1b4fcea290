package codec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 64

// ValueKind is the JSON type of a value.
type ValueKind uint8

// The kinds of JSON values.
const (
	Null ValueKind = iota
	Bool
	Int   // an integer within int64
	Float // any other number
	String
	List
	Object
)

// String names the kind for messages.
func (k ValueKind) String() string {
	return [...]string{"null", "bool", "int", "float", "string", "list", "object"}[k]
}

// KindOf tells the kind of a canonical JSON value.
func KindOf(canonical []byte) ValueKind {
	switch canonical[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return List
	case '{':
		return Object
	}
	if bytes.ContainsAny(canonical, ".e") {
		return Float
	}
	return Int
}

// SyntaxError says what is wrong with a JSON text and where.
type SyntaxError struct {
	Offset int    // in bytes from the start
	Path   string // of the value, as $.a.b[2]
	Msg    string
}

// Error describes the problem.
func (e *SyntaxError) Error() string {
	if e.Path == "$" {
		return fmt.Sprintf("JSON: %s (byte %d)", e.Msg, e.Offset+1)
	}
	return fmt.Sprintf("JSON at %s: %s (byte %d)", e.Path, e.Msg, e.Offset+1)
}

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value []byte // canonical
}

// AppendCanonical appends the canonical form of the JSON text src to dst.
func AppendCanonical(dst, src []byte) ([]byte, error) {
	p := parser{src: src, out: dst}
	if err := p.document(); err != nil {
		return dst, within(err, "$")
	}
	return p.out, nil
}

// ParseObject reads a JSON object and returns its members sorted by name.
func ParseObject(src []byte) ([]Member, error) {
	canonical, err := AppendCanonical(make([]byte, 0, len(src)), src)
	if err != nil {
		return nil, err
	}
	if canonical[0] != '{' {
		return nil, &SyntaxError{Path: "$", Msg: "expected an object, found " + KindOf(canonical).String()}
	}
	return Members(canonical), nil
}

// Members splits a canonical JSON object. The values alias it.
func Members(canonical []byte) []Member {
	var list []Member
	for i := 1; canonical[i] != '}'; {
		if canonical[i] == ',' {
			i++
		}
		end := i + skipValue(canonical[i:])
		name := unquote(canonical[i:end])
		i = end + 1
		end = i + skipValue(canonical[i:])
		list = append(list, Member{name, canonical[i:end:end]})
		i = end
	}
	return list
}

// AppendObject appends an object of members that are sorted by name.
func AppendObject(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, m.Name)
		dst = append(dst, ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}

// Unquote returns the text of a canonical JSON string.
func Unquote(canonical []byte) string { return unquote(canonical) }

// AppendString appends s as a canonical JSON string.
func AppendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, &SyntaxError{Path: "$", Msg: "text is not valid UTF-8"}
	}
	if strings.IndexByte(s, 0) >= 0 {
		return dst, &SyntaxError{Path: "$", Msg: "text contains U+0000"}
	}
	return appendQuoted(dst, s), nil
}
