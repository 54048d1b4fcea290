package records

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
)

// objectReader reads plain objects of one type, one on each line: the fields, with the key
// among them. Relations and facts also have the members that are columns in CSV.
type objectReader struct {
	lines  *lineReader
	schema *onto.Schema
	parts  []objectPart // of the identity, besides the key of an entity

	room, object []byte // for canonical values
}

// objectPart is a member of an object that is a part of the identity and no field.
type objectPart struct {
	name string
	role string
	must bool
}

func newObjectReader(lines *lineReader, types catalogue, name string) (*objectReader, error) {
	schema, err := types.find("", []byte(name))
	if err != nil {
		return nil, err
	}
	r := &objectReader{lines: lines, schema: schema}
	for _, c := range csvColumns(schema) {
		if c.field == nil {
			r.parts = append(r.parts, objectPart{c.name, c.role, c.role != instanceKey && c.role != factID})
		}
	}
	if _, field := schema.Field(schema.InstanceKey); schema.InstanceKey != "" && !field {
		r.parts = append(r.parts, objectPart{schema.InstanceKey, instanceKey, false})
	}
	return r, nil
}

func (r *objectReader) next() (record, error) {
	line, err := r.lines.nextFilled()
	if err != nil {
		return record{}, err
	}
	rec := record{
		schema: r.schema, id: onto.Identity{Kind: r.schema.Kind, Type: r.schema.Name}, op: onto.Put, line: r.lines.n, text: r.lines.text,
	}
	if err := r.read(&rec, line); err != nil {
		return rec, r.lines.bad(rec.line, err)
	}
	return rec, nil
}

const objectHint = `write one object on each line, like {"id":"c1","name":"Ada"}`

// read reads an object.
func (r *objectReader) read(rec *record, line []byte) error {
	if cap(r.room) > keptRoom {
		r.room = nil
	}
	canonical, err := codec.AppendCanonical(r.room[:0], line)
	switch {
	case err != nil && !json.Valid(line):
		return onto.Errorf(onto.Invalid, "%w", err).WithHint(objectHint + "; jq -c makes that of other JSON")
	case err != nil:
		return onto.Errorf(onto.Invalid, "%w", err)
	}
	r.room, rec.fields = canonical, canonical
	if kind := codec.KindOf(canonical); kind != codec.Object {
		return onto.Errorf(onto.Invalid, "expected object, found %s", kind).WithHint(objectHint + "; jq -c '.[]' makes that of a list")
	}
	if err := r.checkPlain(canonical); err != nil {
		return err
	}
	if len(r.parts) > 0 {
		if err := r.identity(rec, canonical); err != nil {
			return err
		}
	}
	rec.placeValue()
	rec.completeIdentity()
	if rec.id.Kind == onto.KindEntity && rec.id.Key == "" {
		if r.schema.ComputedKey() != nil {
			_, err := computed.Of(r.schema).Key(rec.fields)
			return err
		}
		return onto.Errorf(onto.Invalid, "the object has no %s, which is the key of %s", r.schema.Key, r.schema.Name).WithHint("give it as a text or an int")
	}
	return nil
}

// checkPlain refuses a record, which has its fields one level deeper.
func (r *objectReader) checkPlain(object []byte) error {
	_, field := r.schema.Field("fields")
	fields, typ := codec.Find(object, []string{"fields"}), codec.Find(object, []string{"type"})
	if field || r.schema.Open || fields == nil || typ == nil || codec.KindOf(fields) != codec.Object {
		return nil
	}
	return onto.Errorf(onto.Invalid, "this is a record, which names its type by itself").WithHint("leave out --type to import records")
}

// identity takes the parts of the identity out of an object.
func (r *objectReader) identity(rec *record, object []byte) error {
	members := codec.Members(object)
	for _, p := range r.parts {
		i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == p.name })
		if i < 0 || codec.KindOf(members[i].Value) == codec.Null {
			if p.must {
				return onto.Errorf(onto.Invalid, "the object has no %s", p.name).WithHint("%s", r.example())
			}
			if i < 0 {
				continue
			}
		}
		text, err := keyText(members[i])
		if err != nil {
			return err
		}
		switch p.role {
		case leftKey, subjectName:
			rec.id.Left = text
		case rightKey, attributeName:
			rec.id.Right = text
		default:
			if known := rec.id.Instance; known != "" && text != "" && known != text {
				return onto.Errorf(onto.Invalid, "the instance key is %.80q, but %s says %.80q", known, p.name, text)
			}
			rec.id.Instance = cmp.Or(text, rec.id.Instance)
		}
		members = slices.Delete(members, i, i+1)
	}
	r.object = codec.AppendObject(r.object[:0], members)
	rec.fields = r.object
	return nil
}

// example says which members an object of the type has.
func (r *objectReader) example() string {
	if r.schema.Kind == onto.KindFact {
		return `write facts like {"subject":"ada","attribute":"salary","value":4000}`
	}
	return `write relations like {"left_key":"c1","right_key":"p1"}, with their fields beside the keys`
}

// keyText is the text of a key. A null is none.
func keyText(m codec.Member) (string, error) {
	switch kind := codec.KindOf(m.Value); kind {
	case codec.Null:
		return "", nil
	case codec.String:
		return codec.Unquote(m.Value), nil
	case codec.Int:
		return string(m.Value), nil
	default:
		return "", onto.Errorf(onto.Invalid, "%s: expected string or int, found %s", m.Name, kind)
	}
}
