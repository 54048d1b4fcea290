package onto

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// The shape of a schema as JSON. Maps are written with sorted keys, and the
// struct fields stand in order, so the output is canonical.
type schemaJSON struct {
	Fields      map[string]fieldJSON `json:"fields"`
	InstanceKey string               `json:"instance_key,omitempty"`
	Key         string               `json:"key,omitempty"`
	Kind        Kind                 `json:"kind"`
	Left        string               `json:"left,omitempty"`
	Name        string               `json:"name"`
	Open        bool                 `json:"open,omitempty"`
	Right       string               `json:"right,omitempty"`
}

type fieldJSON struct {
	Compute  *computeJSON         `json:"compute,omitempty"`
	Default  json.RawMessage      `json:"default,omitempty"`
	Enum     []json.RawMessage    `json:"enum,omitempty"`
	Fields   map[string]fieldJSON `json:"fields,omitzero"` // empty for an object that has no fields
	Index    bool                 `json:"index,omitempty"`
	Items    *fieldJSON           `json:"items,omitempty"`
	Many     bool                 `json:"many,omitempty"`
	Optional bool                 `json:"optional,omitempty"`
	Search   bool                 `json:"search,omitempty"`
	Type     FieldType            `json:"type"`
	Values   *fieldJSON           `json:"values,omitempty"`
}

type computeJSON struct {
	ID       string      `json:"id,omitempty"`
	Rule     ComputeRule `json:"rule"`
	ShardKey string      `json:"shard_key,omitempty"`
}

// JSON returns the canonical JSON of the schema.
func (s Schema) JSON() json.RawMessage {
	doc := schemaJSON{
		Fields: fieldsJSON(s.Fields), InstanceKey: s.InstanceKey,
		Key: s.Key, Kind: s.Kind, Left: s.Left, Name: s.Name, Open: s.Open, Right: s.Right,
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		panic("onto: a schema's default is not JSON: " + err.Error()) // Check refuses this
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func fieldsJSON(fields []Field) map[string]fieldJSON {
	doc := make(map[string]fieldJSON, len(fields))
	for i := range fields {
		doc[fields[i].Name] = *fields[i].json()
	}
	return doc
}

// json returns the field's declaration without its name; nil for nil.
func (f *Field) json() *fieldJSON {
	if f == nil {
		return nil
	}
	doc := &fieldJSON{
		Default: f.Default, Enum: f.Enum, Index: f.Index, Items: f.Items.json(), Many: f.Many,
		Optional: f.Optional, Search: f.Search, Type: f.Type, Values: f.Values.json(),
	}
	if r := f.Compute; r != nil {
		doc.Compute = &computeJSON{r.ID, r.Rule, r.ShardKey}
	}
	if f.Fields != nil {
		doc.Fields = fieldsJSON(f.Fields)
	}
	return doc
}

// Hash returns the SHA-256 of the canonical JSON, in hex.
func (s Schema) Hash() string {
	sum := sha256.Sum256(s.JSON())
	return hex.EncodeToString(sum[:])
}

// ParseSchema reads the form that JSON writes. Members that it does not know are refused:
// what they declare could not be kept.
func ParseSchema(data []byte) (Schema, error) {
	if !json.Valid(data) {
		return Schema{}, Errorf(Invalid, "schema is not JSON")
	}
	var doc schemaJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return Schema{}, Errorf(Invalid, "schema cannot be read: %w", err)
	}
	s := Schema{
		Kind: doc.Kind, Name: doc.Name, Key: doc.Key,
		Left: doc.Left, Right: doc.Right, InstanceKey: doc.InstanceKey, Open: doc.Open,
	}
	if len(doc.Fields) > 0 {
		s.Fields = fieldsOf(doc.Fields)
	}
	s = s.normal()
	return s, s.Check()
}

func fieldsOf(doc map[string]fieldJSON) []Field {
	fields := make([]Field, 0, len(doc))
	for name, f := range doc {
		fields = append(fields, *f.field(name))
	}
	sortFields(fields)
	return fields
}

// field returns the field of that name that the document declares; nil for nil.
func (doc *fieldJSON) field(name string) *Field {
	if doc == nil {
		return nil
	}
	f := &Field{
		Name: name, Type: doc.Type, Optional: doc.Optional, Default: doc.Default, Index: doc.Index, Search: doc.Search,
		Many: doc.Many, Enum: doc.Enum, Items: doc.Items.field(""), Values: doc.Values.field(""),
	}
	if r := doc.Compute; r != nil {
		f.Compute = &Compute{r.Rule, r.ID, r.ShardKey}
	}
	if doc.Fields != nil {
		f.Fields = fieldsOf(doc.Fields)
	}
	return f
}
