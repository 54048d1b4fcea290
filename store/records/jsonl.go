package records

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
)

// jsonlReader reads records from JSON Lines.
type jsonlReader struct {
	lines *lineReader
	types catalogue
	parts recordParts // of the record

	room, object []byte // for canonical values
}

// next returns the record of the next line that is not blank.
func (r *jsonlReader) next() (record, error) {
	line, err := r.lines.nextFilled()
	if err != nil {
		return record{}, err
	}
	rec, err := r.parse(line)
	if err != nil {
		return rec, r.lines.bad(r.lines.n, err)
	}
	rec.line, rec.text = r.lines.n, r.lines.text
	return rec, nil
}

const (
	recordExample = `{"kind":"entity","type":"T","key":"k","fields":{}}`
	recordHint    = `write a record like ` + recordExample + ` on each line`
)

// parse reads one record. Errors in its JSON name the place in the line.
func (r *jsonlReader) parse(line []byte) (record, error) {
	err := r.parts.split(line)
	if err == nil {
		var rec record
		if rec, err = r.assemble(&r.parts); err == nil {
			return rec, nil
		}
	}
	var syntax *codec.SyntaxError
	if !errors.As(err, &syntax) {
		return record{}, err
	}
	if _, whole := codec.ParseObject(line); whole != nil {
		err = whole
	}
	wrapped := onto.Errorf(onto.Invalid, "%w", err)
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return record{}, wrapped.WithHint(recordHint)
	}
	return record{}, wrapped
}

// assemble makes a record of its parts.
func (r *jsonlReader) assemble(parts *recordParts) (record, error) {
	schema, err := r.schema(parts)
	if err != nil {
		return record{}, err
	}
	rec := record{schema: schema, id: onto.Identity{Kind: schema.Kind, Type: schema.Name}}
	op, err := r.text(parts, opPart)
	if err == nil {
		rec.op, err = parseOp(string(op))
	}
	if err == nil {
		err = r.keys(&rec, parts)
	}
	if err == nil {
		err = r.fields(&rec, parts[fieldsPart])
	}
	if err == nil {
		err = r.checkIgnored(parts)
	}
	rec.placeValue()
	rec.completeIdentity()
	return rec, err
}

// checkIgnored reads what a record may have but an import does not use.
func (r *jsonlReader) checkIgnored(parts *recordParts) error {
	for _, p := range [...]recordPart{commitPart, versionPart} {
		if parts[p] == nil {
			continue
		}
		if _, err := codec.AppendCanonical(r.room[:0], parts[p]); err != nil {
			return err
		}
	}
	return nil
}

// schema finds the type of a record.
func (r *jsonlReader) schema(parts *recordParts) (*onto.Schema, error) {
	if parts[typePart] == nil {
		return nil, onto.Errorf(onto.Invalid, "the record has no type").WithHint(recordHint)
	}
	text, err := r.text(parts, kindPart)
	if err != nil {
		return nil, err
	}
	kind, err := parseKind(text)
	if err != nil {
		return nil, err
	}
	name, err := r.text(parts, typePart)
	if err != nil {
		return nil, err
	}
	return r.types.find(kind, name)
}

// parseKind reads a kind; none leaves it to the type.
func parseKind(text []byte) (onto.Kind, error) {
	switch string(text) {
	case "", string(onto.KindEntity), string(onto.KindFact), string(onto.KindRelation):
		return onto.Kind(text), nil
	}
	return "", onto.Errorf(onto.Invalid, "kind %.80q is unknown", text).WithHint("use entity, fact or relation")
}

// keys reads the identity, which has other parts for each kind.
func (r *jsonlReader) keys(rec *record, parts *recordParts) error {
	for _, t := range [...]struct {
		part recordPart
		kind onto.Kind
		text *string
	}{
		{keyPart, onto.KindEntity, &rec.id.Key},
		{leftPart, onto.KindRelation, &rec.id.Left},
		{rightPart, onto.KindRelation, &rec.id.Right},
		{instancePart, onto.KindRelation, &rec.id.Instance},
		{subjectPart, onto.KindFact, &rec.id.Left},
		{attributePart, onto.KindFact, &rec.id.Right},
		{idPart, onto.KindFact, &rec.id.Instance},
	} {
		if parts[t.part] != nil && t.kind != rec.id.Kind {
			return onto.Errorf(onto.Invalid, "%s is of kind %s, which has no %s", rec.id.Type, rec.id.Kind, partNames()[t.part])
		}
		text, err := r.text(parts, t.part)
		if err != nil {
			return err
		}
		if t.kind == rec.id.Kind {
			*t.text = string(text)
		}
	}
	return nil
}

// fields reads the fields, which a put has and a delete has not.
func (r *jsonlReader) fields(rec *record, text []byte) error {
	if text == nil {
		if rec.op == onto.Put {
			return onto.Errorf(onto.Invalid, "the record has no fields").WithHint(`write "fields":{} if it has none`)
		}
		return nil
	}
	if cap(r.object) > keptRoom {
		r.object = nil
	}
	canonical, err := codec.AppendCanonical(r.object[:0], text)
	if err != nil {
		return err
	}
	r.object, rec.fields = canonical, canonical
	if kind := codec.KindOf(canonical); kind != codec.Object {
		return onto.Errorf(onto.Invalid, "fields: expected object, found %s", kind)
	}
	if rec.op == onto.Delete && string(canonical) != "{}" {
		return onto.Errorf(onto.Invalid, "the record deletes, but has fields").WithHint("leave out the fields, or the op")
	}
	return nil
}

// text reads a part that is text, or absent. The result is valid until the
// next call.
func (r *jsonlReader) text(parts *recordParts, p recordPart) ([]byte, error) {
	if parts[p] == nil {
		return nil, nil
	}
	canonical, err := codec.AppendCanonical(r.room[:0], parts[p])
	if err != nil {
		return nil, err
	}
	r.room = canonical
	if kind := codec.KindOf(canonical); kind != codec.String {
		return nil, onto.Errorf(onto.Invalid, "%s: expected string, found %s", partNames()[p], kind)
	}
	if bytes.IndexByte(canonical, '\\') >= 0 {
		return []byte(codec.Unquote(canonical)), nil
	}
	return canonical[1 : len(canonical)-1], nil
}

// parseOp reads the op of a record; none means put.
func parseOp(text string) (onto.Op, error) {
	switch op := onto.Op(text); op {
	case onto.Put, onto.Delete:
		return op, nil
	case "":
		return onto.Put, nil
	}
	return "", onto.Errorf(onto.Invalid, "op %.80q is unknown", text).WithHint("use put or delete")
}

// placeValue puts a fact's value under the name of its attribute where it is called
// value and the type declares the attribute.
func (r *record) placeValue() {
	if r.id.Kind != onto.KindFact {
		return
	}
	f, ok := r.schema.Attribute(r.id.Right)
	value := codec.Find(r.fields, []string{onto.FactValue})
	if !ok || f.Name == onto.FactValue || value == nil || codec.Find(r.fields, []string{f.Name}) != nil {
		return
	}
	members := slices.DeleteFunc(codec.Members(r.fields), func(m codec.Member) bool { return m.Name == onto.FactValue })
	members = append(members, codec.Member{Name: f.Name, Value: value})
	slices.SortFunc(members, func(a, b codec.Member) int { return strings.Compare(a.Name, b.Name) })
	r.fields = codec.AppendObject(nil, members)
}

// completeIdentity takes a key that is only among the fields from there.
func (r *record) completeIdentity() {
	name, part := r.schema.Key, &r.id.Key
	if r.id.Kind != onto.KindEntity { // facts have no such key
		name, part = r.schema.InstanceKey, &r.id.Instance
	}
	if *part != "" || name == "" {
		return
	}
	if r.schema.ComputedKey() != nil {
		*part, _ = computed.Of(r.schema).Key(r.fields) // the store says why there is none
		return
	}
	value := codec.Find(r.fields, []string{name})
	if value == nil {
		return
	}
	switch codec.KindOf(value) {
	case codec.String, codec.Int, codec.Float, codec.Bool:
		f, _ := r.schema.Field(name)
		*part = f.Type.KeyText(value)
	}
}
