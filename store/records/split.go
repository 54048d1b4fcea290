package records

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// recordPart is a member of a record.
type recordPart uint8

const (
	kindPart recordPart = iota
	typePart
	keyPart
	leftPart
	rightPart
	instancePart
	fieldsPart
	commitPart
	versionPart
	opPart
	subjectPart
	attributePart
	idPart
	partCount
)

// partNames lists the names of the members, in the order of their constants.
func partNames() []string {
	return []string{"kind", "type", "key", leftKey, rightKey, instanceKey, "fields", commitID, schemaVersion, opName, subjectName, attributeName, factID}
}

// recordParts is the values of a record as they stand there; nil where there
// is none.
type recordParts [partCount][]byte

// split finds the members of a record in its text. Their values are not read here, so
// that fields may be as deep as anywhere else: inside a record they are one level
// deeper.
func (p *recordParts) split(line []byte) error {
	*p = recordParts{}
	var unknown []string
	s := splitter{rest: line}
	if !s.object(func(name, value []byte) bool { return p.put(string(name), value, &unknown) }) {
		return p.splitSlowly(line)
	}
	return p.unknownMembers(unknown)
}

// splitSlowly splits objects with escapes in their names, and reports what is wrong
// with a text that is no object.
func (p *recordParts) splitSlowly(line []byte) error {
	members, err := codec.ParseObject(line)
	if err != nil {
		return err
	}
	*p = recordParts{}
	var unknown []string
	for _, m := range members {
		if !p.put(m.Name, m.Value, &unknown) {
			return twice(m.Name)
		}
	}
	return p.unknownMembers(unknown)
}

// maxUnknown is how many unknown members an error names.
const maxUnknown = 5

// put notes a member. It reports false if it comes twice.
func (p *recordParts) put(name string, value []byte, unknown *[]string) bool {
	i := slices.Index(partNames(), name)
	if i < 0 {
		i = originalPart(name)
	}
	if i < 0 {
		if len(*unknown) < maxUnknown {
			*unknown = append(*unknown, name)
		}
		return true
	}
	if p[i] != nil {
		return false
	}
	p[i] = value
	return true
}

// originalPart is the member that the original program calls by another name, or -1.
func originalPart(name string) int {
	switch name {
	case "type_kind":
		return int(kindPart)
	case "type_name":
		return int(typePart)
	}
	return -1
}

// twice is the error for a member that a record has already, also under the name that the
// original program has for it.
func twice(name string) error {
	if i := originalPart(name); i >= 0 {
		return onto.Errorf(onto.Invalid, "a record has %s only once, also as %s", partNames()[i], name)
	}
	return onto.Errorf(onto.Invalid, "a record has %s only once", name)
}

// unknownMembers is the error for members that no record has.
func (p *recordParts) unknownMembers(names []string) error {
	if len(names) == 0 {
		return nil
	}
	err := onto.Errorf(onto.Invalid, "a record has no member %.200s", strings.Join(names, ", "))
	if p[typePart] == nil && p[fieldsPart] == nil {
		return err.WithHint("plain objects are imported with their type, as --type T; a record is like " + recordExample)
	}
	if near := suggest.Name(names[0], partNames()); near != "" && len(names[0]) <= onto.MaxName {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint(recordHint)
}

// splitter walks over the members of a JSON object. It only finds where values end;
// whether they are JSON is checked when they are read.
type splitter struct{ rest []byte }

// object calls f with each member, names without quotes. It reports false if
// the text is no object, has escapes in a name, or f says so.
func (s *splitter) object(f func(name, value []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return s.end()
	}
	for {
		name, ok := s.name()
		if !ok || !s.take(':') {
			return false
		}
		s.space()
		n := valueLength(s.rest)
		if n == 0 || !f(name, s.rest[:n:n]) {
			return false
		}
		s.rest = s.rest[n:]
		if s.take('}') {
			return s.end()
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *splitter) space() {
	i := 0
	for i < len(s.rest) && (s.rest[i] == ' ' || s.rest[i] == '\t' || s.rest[i] == '\r' || s.rest[i] == '\n') {
		i++
	}
	s.rest = s.rest[i:]
}

// take skips space and then the byte, if it is there.
func (s *splitter) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *splitter) end() bool {
	s.space()
	return len(s.rest) == 0
}

// name takes a quoted name that has no escapes.
func (s *splitter) name() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	i := bytes.IndexByte(s.rest, '"')
	if i < 0 || bytes.IndexByte(s.rest[:i], '\\') >= 0 {
		return nil, false
	}
	name := s.rest[:i]
	s.rest = s.rest[i+1:]
	return name, true
}

// valueLength returns how long the value is that a text starts with, or 0 if
// it has no end.
func valueLength(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			n := quotedLength(text[i:])
			if n == 0 {
				return 0
			}
			if i += n - 1; depth == 0 {
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
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return 0
}

// quotedLength returns how long a quoted text is, or 0 if it has no end.
func quotedLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
