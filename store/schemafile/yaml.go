package schemafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// maxDepth leaves room for a default of any allowed depth.
const maxDepth = codec.MaxDepth + 8

func parseYAML(data []byte) (*node, error) {
	if i := bytes.IndexFunc(data, unprintable); i >= 0 {
		r, _ := utf8.DecodeRune(data[i:])
		return nil, positionOf(data, i).fail("", "YAML does not allow the character %U", r).
			WithHint("write it as an escape in double quotes")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxError(data, err)
	}
	if err := dec.Decode(&more); err == nil {
		return nil, position{more.Line, more.Column}.fail("", "a schema file is one document, this is a second one")
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(data, err)
	}
	if len(doc.Content) == 0 {
		return &node{position: position{1, 1}}, nil
	}
	return convert(doc.Content[0], "", 0)
}

// unprintable reports whether YAML demands an escape for r, even in quotes.
func unprintable(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || r == 0x85:
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	}
	return r == 0xfffe || r == 0xffff
}

// syntaxError gives an error of the YAML reader our form. It knows the line at
// best.
func syntaxError(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var name string
	if n, _ := fmt.Sscanf(text, "unknown anchor '%s", &name); n == 1 {
		name = strings.TrimSuffix(name, "'")
		at := positionOf(data, max(0, bytes.Index(data, []byte("*"+name))))
		return notAllowed(at, "", fmt.Sprintf("aliases (*%.40s)", name))
	}
	line := 0
	if _, err := fmt.Sscanf(text, "line %d:", &line); err == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	where := fmt.Sprintf("line %d", max(1, line))
	switch strings.TrimPrefix(text, "did not find expected ") {
	case "node content", "key", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>":
		// The reader counts from 0 here, and often gives the line on which
		// the surrounding mapping or list begins.
		where = fmt.Sprintf("line %d or below", line+1)
	}
	return onto.Errorf(onto.Invalid, "%s: %s", where, text).
		WithHint("look at the indentation, and whether brackets and quotes are closed")
}

func notAllowed(p position, path, what string) error {
	return p.fail(path, "%s are not allowed in a schema file", what).WithHint("write the value out")
}

// convert turns YAML's tree into ours.
func convert(n *yaml.Node, path string, depth int) (*node, error) {
	at := position{n.Line, n.Column}
	if depth > maxDepth {
		return nil, at.fail(path, "nested deeper than %d", maxDepth)
	}
	if err := checkPlain(n, path); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		return convertMapping(n, path, depth)
	case yaml.SequenceNode:
		list := &node{position: at, kind: codec.List}
		for i, c := range n.Content {
			item, err := convert(c, joinItem(path, i), depth+1)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, item)
		}
		return list, nil
	}
	return convertScalar(n, path)
}

// checkPlain refuses what makes a YAML tree more than a tree of values.
func checkPlain(n *yaml.Node, path string) error {
	at := position{n.Line, n.Column}
	switch {
	case n.Kind == yaml.AliasNode:
		return notAllowed(at, path, fmt.Sprintf("aliases (*%.40s)", n.Value))
	case n.Anchor != "":
		return notAllowed(at, path, fmt.Sprintf("anchors (&%.40s)", n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		return notAllowed(at, path, fmt.Sprintf("tags (%.40s)", n.Tag))
	}
	return nil
}

func convertMapping(n *yaml.Node, path string, depth int) (*node, error) {
	object := &node{position: position{n.Line, n.Column}, kind: codec.Object}
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		at, inner := position{key.Line, key.Column}, join(path, key.Value)
		if err := checkPlain(key, path); err != nil {
			return nil, err
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, at.fail(path, "a key must be text")
		case key.Value == "<<" && key.Style == 0:
			return nil, notAllowed(at, path, "merge keys (<<)")
		case lines[key.Value] != 0:
			return nil, at.fail(inner, "this key is given twice, the first time on line %d", lines[key.Value])
		}
		lines[key.Value] = key.Line
		value, err := convert(n.Content[i+1], inner, depth+1)
		if err != nil {
			return nil, err
		}
		object.members = append(object.members, member{at, key.Value, value})
	}
	return object, nil
}

// convertScalar reads a scalar. Numbers must be written as in JSON; times are
// text.
func convertScalar(n *yaml.Node, path string) (*node, error) {
	s := &node{position: position{n.Line, n.Column}, kind: codec.String, text: n.Value}
	if n.Style != 0 {
		return s, nil
	}
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		s.kind = codec.Null
	case tag == "!!bool":
		s.kind, s.text = codec.Bool, strings.ToLower(n.Value)
	case json.Valid([]byte(n.Value)): // also what is too large for YAML's numbers
		s.kind = numberKind(n.Value)
	case tag == "!!int" || tag == "!!float":
		return nil, s.fail(path, "%.40s is not a number as JSON writes it", n.Value).
			WithHint("write a decimal number, or put text in quotes")
	}
	return s, nil
}
