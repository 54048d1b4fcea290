package schemafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ontologia/onto/internal/codec"
)

// parseJSON reads valid JSON. YAML would read nearly all of it alike, but not
// surrogate pairs, line separators and long keys.
func parseJSON(data []byte) (*node, error) {
	if _, err := codec.AppendCanonical(nil, data); err != nil {
		var syntax *codec.SyntaxError
		if errors.As(err, &syntax) {
			path := strings.TrimPrefix(strings.TrimPrefix(syntax.Path, "$"), ".")
			return nil, positionOf(data, syntax.Offset).fail(path, "%s", syntax.Msg)
		}
		return nil, err
	}
	r := jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), at: position{1, 1}}
	r.dec.UseNumber()
	return r.value()
}

// jsonReader builds a tree out of the tokens of valid JSON.
type jsonReader struct {
	data   []byte
	dec    *json.Decoder
	offset int // of the last token
	at     position
}

// token returns the next token and its position.
func (r *jsonReader) token() (json.Token, position, error) {
	start := int(r.dec.InputOffset())
	for strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	r.at.advance(r.data[r.offset:start])
	r.offset = start
	t, err := r.dec.Token()
	return t, r.at, err
}

func (r *jsonReader) value() (*node, error) {
	t, at, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{position: at}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			n.kind = codec.Object
		} else {
			n.kind = codec.List
		}
		return n, r.children(n)
	case string:
		n.kind, n.text = codec.String, t
	case json.Number:
		n.kind, n.text = numberKind(t.String()), t.String()
	case bool:
		n.kind, n.text = codec.Bool, "false"
		if t {
			n.text = "true"
		}
	}
	return n, nil
}

// children reads what stands in a list or object, and its end.
func (r *jsonReader) children(n *node) error {
	for r.dec.More() {
		var m member
		if n.kind == codec.Object {
			name, at, err := r.token()
			if err != nil {
				return err
			}
			m.position = at
			m.name, _ = name.(string)
		}
		value, err := r.value()
		if err != nil {
			return err
		}
		if m.value = value; n.kind == codec.Object {
			n.members = append(n.members, m)
		} else {
			n.items = append(n.items, value)
		}
	}
	_, _, err := r.token()
	return err
}
