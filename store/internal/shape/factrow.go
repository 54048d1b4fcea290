package shape

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// placeValue returns the members of a fact with its value under the field that the type
// keeps it in. It may be given under its attribute's name and as value: which of them it
// is depends on whether the type declares the attribute.
func (t *Type) placeValue(id onto.Identity, members []codec.Member) ([]codec.Member, error) {
	field, ok := t.Schema.Attribute(id.Right)
	if !ok {
		return nil, t.checkAttribute(id)
	}
	other := onto.FactValue
	if field.Name == onto.FactValue {
		other = id.Right
	}
	i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == other })
	if i < 0 {
		return members, nil
	}
	value := members[i].Value
	members = slices.Delete(slices.Clone(members), i, i+1)
	if codec.KindOf(value) == codec.Null {
		return members, nil
	}
	if there := memberOf(members, field.Name); there != nil && codec.KindOf(there) != codec.Null {
		return nil, onto.Errorf(onto.Invalid, "%s: its value is given twice, as %s and as %s", id, id.Right, onto.FactValue).
			WithHint("leave out one of them")
	}
	return insertMember(members, codec.Member{Name: field.Name, Value: value}), nil
}

// checkRow refuses the fields of a fact that are not those of one: without its value, with
// that of another attribute, or with bounds that hold no time.
func (t *Type) checkRow(id onto.Identity, members []codec.Member) error {
	field, _ := t.Schema.Attribute(id.Right)
	var from, until time.Time
	for _, m := range members {
		var err error
		switch m.Name {
		case field.Name, onto.FactRevoked:
		case onto.FactFrom:
			from, err = codec.ParseTime(codec.Unquote(m.Value))
		case onto.FactUntil:
			until, err = codec.ParseTime(codec.Unquote(m.Value))
		case onto.FactKind:
			err = checkKind(id, codec.Unquote(m.Value))
		case onto.FactSeq:
			err = atLeast(id, m, 0)
		case onto.FactAsserted:
			err = atLeast(id, m, 1)
		default:
			return onto.Errorf(onto.Invalid, "%s: the fact has a value of %s, which is another attribute", id, m.Name).
				WithHint("a fact tells one attribute")
		}
		if err != nil {
			return err
		}
	}
	if memberOf(members, field.Name) == nil {
		return onto.Errorf(onto.Invalid, "%s: there is no value", id).WithHint("a fact has a value under %s", field.Name)
	}
	return checkBounds(id, from, until)
}

func atLeast(id onto.Identity, m codec.Member, least int64) error {
	if n, err := strconv.ParseInt(string(m.Value), 10, 64); err != nil || n < least {
		return onto.Errorf(onto.Invalid, "%s: %s is %s, which is less than %d", id, m.Name, m.Value, least)
	}
	return nil
}

// memberOf is the value of a member; nil if there is none.
func memberOf(members []codec.Member, name string) []byte {
	i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return members[i].Value
}

// WithAsserted is the fields of a version of a fact as a later version has them: with the
// commit that asserted it.
func WithAsserted(v *onto.Version) json.RawMessage {
	members, err := codec.ParseObject(v.Fields)
	if err != nil || v.Commit == 0 || memberOf(members, onto.FactAsserted) != nil {
		return v.Fields
	}
	return codec.AppendObject(nil, Asserted(members, v.Commit))
}

// SameFact reports whether two versions of a fact say the same, whether they name the
// commit that asserted it or are what it made.
func SameFact(a, b *onto.Version) bool { return bytes.Equal(WithAsserted(a), WithAsserted(b)) }

// Rewritten reports what an upgrader has changed of a fact beside its value, which it
// must leave alone; "" if nothing.
func Rewritten(before, after []byte) string {
	for _, f := range onto.FactFields(false) {
		name := []string{f.Name}
		if !bytes.Equal(codec.Find(before, name), codec.Find(after, name)) {
			return f.Name
		}
	}
	return ""
}

// Placed is the fields of a fact that comes from elsewhere. Where it does not say when it
// was asserted there, its place in the stream orders it.
func Placed(fields []byte, place int64) []byte {
	members := codec.Members(fields)
	if memberOf(members, onto.FactAsserted) != nil {
		return fields
	}
	return codec.AppendObject(nil, numbered(members, place))
}

// Elsewhere is when a fact of a stream was asserted where it comes from, and its place
// there; false if it does not say.
func Elsewhere(fields []byte) (asserted, place int64, known bool) {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(string(codec.Find(fields, []string{name})), 10, 64) // checked before
		return n
	}
	asserted = number(onto.FactAsserted)
	return asserted, number(onto.FactSeq), asserted != 0
}

// Ranked is the fields of a fact that comes from elsewhere, with its rank among the facts
// about its subject instead of when it was asserted there.
func Ranked(fields []byte, rank int64) []byte {
	members := slices.DeleteFunc(codec.Members(fields), func(m codec.Member) bool { return m.Name == onto.FactAsserted })
	return codec.AppendObject(nil, numbered(members, rank))
}

// numbered is members with the place of a fact among those of its commit.
func numbered(members []codec.Member, seq int64) []codec.Member {
	if seq == 0 {
		return slices.DeleteFunc(members, func(m codec.Member) bool { return m.Name == onto.FactSeq })
	}
	return insertMember(members, codec.Member{Name: onto.FactSeq, Value: strconv.AppendInt(nil, seq, 10)})
}
