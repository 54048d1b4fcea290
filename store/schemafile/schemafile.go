// Package schemafile reads and writes schema files: types declared in YAML or
// JSON instead of Go.
//
//	entities:
//	  Customer:
//	    key: id
//	    fields:
//	      id:   {type: string}
//	      name: {type: string, search: true}
//	      tier: {type: string, index: true}
//	      age:  {type: int, optional: true}
//	facts:
//	  Contract:
//	    subject: Customer
//	    fields:
//	      employer: {type: string, index: true}
//	      salary:   {type: int}
//	      skills:   {type: string, many: true}
//	relations:
//	  Subscription:
//	    left: Customer
//	    right: Product
//	    instance_key: stint_id
//	    fields:
//	      seats: {type: int, default: 1}
//
// Field types are string, int, float, bool, time, date, object, list and any. Lists and
// objects can say what is inside, at every depth; without that they hold any values:
//
//	tags:   {type: list, items: string}
//	home:   {type: object, fields: {city: {type: string, index: true}, zip: {type: int, optional: true}}}
//	lines:  {type: list, items: {type: object, fields: {sku: {type: string}, qty: {type: int}}}}
//	labels: {type: object, values: string}
//	tier:   {type: string, enum: [Silver, Gold]}
//
// Items and values are null only where they are optional. Below the top a field can have
// any name; an index is for single values that are reached through objects. A relation without instance_key is unkeyed; the instance key need not be among
// the fields. Endpoints may be types that the file does not declare.
//
// The fields of facts are the attributes that there are facts on. They are about things
// of the type subject, or, without it, about any texts. An attribute that is many has
// several values at once. With open: true there may also be facts on attributes that are
// not declared. Names that begin with onto_ are the store's own, but for the fields that it
// computes by a rule: onto_key, which is the key then, onto_id and onto_text:
//
//	onto_key:  {type: string, compute: {rule: key, id: id, shard_key: chat}}
//	onto_id:   {type: string, index: true, compute: {rule: id, id: id}}
//	onto_text: {type: string, search: true, compute: {rule: text}}
//
// What the store makes of
// facts can stand below folds, see [ParseFile].
//
// A type gives the same schema, and so the same hash, whether it comes from a
// file or from a Go struct. Anchors, aliases, tags, merge keys and a second
// document are refused.
package schemafile

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// MaxSize is how many bytes a schema file may have.
const MaxSize = 4 << 20

// Parse returns the types that a schema file declares: entities, facts, then
// relations, each by name. Errors name line, column and path. The folds of the file are
// read as well, and left out: see [ParseFile].
func Parse(data []byte) ([]onto.Type, error) {
	file, err := ParseFile(data)
	return file.Types, err
}

// Read is Parse for a stream. It reads no more than MaxSize allows.
func Read(r io.Reader) ([]onto.Type, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, onto.Errorf(onto.Unavailable, "read schema file: %w", err)
	}
	return Parse(data)
}

func parseTree(data []byte) (*node, error) {
	if len(data) > MaxSize {
		return nil, onto.Errorf(onto.TooLarge, "the file is larger than %d MiB", MaxSize>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if i := invalidUTF8(data); i >= 0 {
		return nil, positionOf(data, i).fail("", "the file is not valid UTF-8")
	}
	root, err := parseText(data, bytes.TrimSpace(data))
	if err == nil && root.kind == codec.Null {
		return nil, onto.Errorf(onto.Invalid, "the file is empty").
			WithHint("declare types under entities:, facts: and relations:")
	}
	return root, err
}

// parseText reads data as JSON if it is, and as YAML otherwise.
func parseText(data, trimmed []byte) (*node, error) {
	braced := bytes.HasPrefix(trimmed, []byte{'{'})
	if braced && json.Valid(data) {
		return parseJSON(data)
	}
	root, err := parseYAML(data)
	if err != nil && braced && bytes.HasPrefix(bytes.TrimSpace(trimmed[1:]), []byte{'"'}) {
		return parseJSON(data) // meant as JSON, whose parser has better errors
	}
	return root, err
}

// invalidUTF8 returns where data stops being valid UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i, r := range string(data) {
		if r == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte("\uFFFD")) {
			return i
		}
	}
	return -1
}
