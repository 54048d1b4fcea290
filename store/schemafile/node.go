package schemafile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// node is a value in the file, no matter whether it was written as YAML or as
// JSON. No name comes twice among the members of an object.
type node struct {
	position
	kind    codec.ValueKind
	text    string   // of a string; of a bool or number as JSON writes it
	members []member // of an object
	items   []*node  // of a list
}

type member struct {
	position
	name  string
	value *node
}

// position is a place in the file; both count from 1.
type position struct{ line, column int }

// positionOf returns the position of an offset.
func positionOf(data []byte, offset int) position {
	p := position{1, 1}
	p.advance(data[:offset])
	return p
}

// advance moves the position over text. Columns count characters.
func (p *position) advance(text []byte) {
	for _, b := range text {
		if b == '\n' {
			p.line, p.column = p.line+1, 1
		} else if utf8.RuneStart(b) {
			p.column++
		}
	}
}

// fail is the error for a mistake here. Path is "" for the file as a whole.
func (p position) fail(path, format string, args ...any) *onto.Error {
	where := fmt.Sprintf("line %d, column %d: ", p.line, p.column)
	if path != "" {
		where += path + ": "
	}
	return onto.Errorf(onto.Invalid, "%s%w", where, fmt.Errorf(format, args...))
}

// join is the path of the member of that name.
func join(path, name string) string {
	if onto.CheckName("", name) != nil {
		name = fmt.Sprintf("%.80q", name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// joinItem is the path of the i-th item.
func joinItem(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// found describes the node for messages that say what was expected instead.
func (n *node) found() string {
	if n.kind == codec.Null {
		return "nothing"
	}
	return "a value of type " + n.kind.String()
}

// valueOf returns the value of a member, or the node itself if it has no such
// member. It is for positions in messages.
func (n *node) valueOf(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return n
}

// numberKind tells the kind of a number that is written as in JSON.
func numberKind(text string) codec.ValueKind {
	if strings.ContainsAny(text, ".eE") {
		return codec.Float
	}
	return codec.Int
}

// appendJSON appends the node as JSON.
func (n *node) appendJSON(dst []byte, path string) (_ []byte, err error) {
	switch n.kind {
	case codec.Null:
		return append(dst, "null"...), nil
	case codec.String:
		return n.appendText(dst, n.text, path)
	case codec.List:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = item.appendJSON(dst, joinItem(path, i)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case codec.Object:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			inner := join(path, m.name)
			if dst, err = n.appendText(dst, m.name, inner); err != nil {
				return nil, err
			}
			if dst, err = m.value.appendJSON(append(dst, ':'), inner); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return append(dst, n.text...), nil
}

func (n *node) appendText(dst []byte, s, path string) ([]byte, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, n.fail(path, "text contains U+0000")
	}
	return codec.AppendString(dst, s)
}
