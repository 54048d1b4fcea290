package links

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/ontologia/onto"
)

// JSON finds the links of a document that came from an absolute URL: the values at the
// paths or, without paths, at $.next, $.links and $['@odata.nextLink'].
//
// A value is a link if it is a string, or an object with a string href or url; its rel is
// the member rel, or the name of the member that it is the value of. An array or another
// object has links as its elements or members: {"next": …} of links, for example. Other
// values are none, and neither is what is marked as a template by "templated": true.
//
// APIs put cursors and keys where others have links. So a string counts only if it is an
// http or https URL, or begins with a slash, a question mark or a dot segment; other
// strings are counted as refused.
//
// Malformed JSON is an error, as is a document over the limit of bytes: a part of it would
// not be JSON.
func JSON(body []byte, document *url.URL, paths []Path, o *Options) (Found, error) {
	self, err := partsOf(document)
	if err != nil {
		return Found{}, err
	}
	opts := o.orDefault()
	if len(body) > opts.MaxBytes {
		return Found{}, onto.Errorf(onto.TooLarge, "the JSON document has %d bytes, the limit is %d", len(body), opts.MaxBytes).
			WithHint("raise the limit, or ask the server for smaller pages")
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if err := checkJSON(body); err != nil {
		return Found{}, err
	}
	if len(paths) == 0 {
		paths = usualPaths()
	}
	w := &walk{collection: newCollection(self, self, &opts)}
	for _, p := range paths {
		w.follow(body, p.steps, "")
	}
	return w.found, nil
}

func checkJSON(body []byte) error {
	var whole json.RawMessage
	err := json.Unmarshal(body, &whole)
	if err == nil {
		return nil
	}
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return onto.Errorf(onto.Invalid, "the document is not JSON: at byte %d: %w", bad.Offset, err)
	}
	return onto.Errorf(onto.Invalid, "the document is not JSON: %w", err)
}

// walk goes through parts of a document. They are known to be JSON, and are decoded only
// where a path leads.
type walk struct {
	*collection
	values int // that were looked at
}

// follow walks a path from a value. It returns false when the limit is reached.
func (w *walk) follow(value []byte, steps []step, name string) bool {
	if len(steps) == 0 {
		return w.take(value, name, 0)
	}
	if !w.look() {
		return false
	}
	s := steps[0]
	switch first(value) {
	case '{':
		return members(value, func(key string, v []byte) bool {
			if s.every || !s.indexed && s.name == key {
				return w.follow(v, steps[1:], key)
			}
			return true
		})
	case '[':
		i := -1
		return elements(value, func(v []byte) bool {
			i++
			if s.every || s.indexed && s.index == i {
				return w.follow(v, steps[1:], name)
			}
			return true
		})
	}
	return true
}

// depth is how far links may lie below the value of a path: {"next": [{"href": …}]}.
const depth = 3

// take adds the links of a value.
func (w *walk) take(value []byte, rel string, level int) bool {
	if level > depth {
		return true
	}
	if !w.look() {
		return false
	}
	switch first(value) {
	case '"':
		return w.text(value, rel)
	case '[':
		return elements(value, func(v []byte) bool { return w.take(v, rel, level+1) })
	case '{':
		if o := linkObject(value); o.templated {
			return true
		} else if o.href != nil {
			if o.rel != "" {
				rel = o.rel
			}
			return w.text(o.href, rel)
		}
		return members(value, func(key string, v []byte) bool { return w.take(v, key, level+1) })
	}
	return true
}

// look counts a value. It returns false when the limit is reached.
func (w *walk) look() bool {
	w.values++
	w.found.Cut = w.found.Cut || w.values > maxValues
	return w.values <= maxValues
}

func (w *walk) text(value []byte, rel string) bool {
	ref := text(value)
	if !looksLikeURL(ref) {
		w.found.Refused++
		return true
	}
	return w.add(ref, shorten(strings.ToLower(rel)), false)
}

// looksLikeURL tells references from cursors and keys.
func looksLikeURL(ref string) bool {
	for _, prefix := range []string{"/", "?", "./", "../", "http:", "https:"} {
		if len(ref) >= len(prefix) && strings.EqualFold(ref[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

type link struct {
	href      []byte // a JSON string, or nil
	rel       string
	templated bool
}

func linkObject(value []byte) link {
	var l link
	var address []byte
	members(value, func(key string, v []byte) bool {
		isText := first(v) == '"'
		switch {
		case key == "href" && isText:
			l.href = bytes.Clone(v)
		case key == "url" && isText:
			address = bytes.Clone(v)
		case key == "rel" && isText:
			l.rel = text(v)
		case key == "templated":
			l.templated = string(v) == "true"
		}
		return true
	})
	if l.href == nil {
		l.href = address
	}
	return l
}

func first(value []byte) byte {
	if value = bytes.TrimLeft(value, " \t\r\n"); len(value) > 0 {
		return value[0]
	}
	return 0
}

func text(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// members calls a function with each member of an object until it returns false, and
// returns what the last call did. The value is reused by the next call.
func members(object []byte, visit func(name string, value []byte) bool) bool {
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	var value json.RawMessage
	for d.More() {
		name, err := d.Token()
		key, isName := name.(string)
		if err != nil || !isName || d.Decode(&value) != nil {
			return true
		}
		if !visit(key, value) {
			return false
		}
	}
	return true
}

// elements is members for an array.
func elements(array []byte, visit func(value []byte) bool) bool {
	d := json.NewDecoder(bytes.NewReader(array))
	d.Token()
	var value json.RawMessage
	for d.More() {
		if d.Decode(&value) != nil {
			return true
		}
		if !visit(value) {
			return false
		}
	}
	return true
}
