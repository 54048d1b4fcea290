package filtertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
)

// The types of the corpus.
const (
	typeThing = "Thing"
	typeTyped = "Typed"
	typeTie   = "Tie"
	typeBond  = "Bond"
	typeClaim = "Claim"
	typeNote  = "Note"

	keyField = "id"
	revField = "rev" // marks versions that are not the corpus's own
)

// typedFields returns the fields of Typed, beside its key.
func typedFields() []onto.Field {
	return []onto.Field{
		{Name: "text", Type: onto.String}, {Name: "count", Type: onto.Int}, {Name: "rate", Type: onto.Float}, {Name: "done", Type: onto.Bool},
		{Name: "made", Type: onto.Time}, {Name: "about", Type: onto.Object}, {Name: "tags", Type: onto.List}, {Name: "free", Type: onto.Any},
		{Name: "born", Type: onto.DateOnly},
		{Name: "tier", Type: onto.String, Enum: []json.RawMessage{[]byte(`"Gold"`), []byte(`"Silver"`)}},
		{Name: "nums", Type: onto.List, Items: &onto.Field{Type: onto.Int}},
		{Name: "labels", Type: onto.Object, Values: &onto.Field{Type: onto.String}},
		{Name: "home", Type: onto.Object, Fields: []onto.Field{
			{Name: "city", Type: onto.String, Optional: true},
			{Name: "geo", Type: onto.Object, Optional: true, Fields: []onto.Field{{Name: "lat", Type: onto.Float}, {Name: "seen", Type: onto.DateOnly, Optional: true}}},
			{Name: "zip", Type: onto.Int},
		}},
		{Name: "lines", Type: onto.List, Items: &onto.Field{Type: onto.Object, Fields: []onto.Field{
			{Name: "qty", Type: onto.Int}, {Name: "sku", Type: onto.String, Optional: true},
		}}},
	}
}

// declared returns what is declared about the value that an operand leads to; nil if it can be
// anything.
func declared(s *onto.Schema, o onto.Operand) *onto.Field {
	f, ok := s.Field(o.Path[0])
	if !ok {
		return nil
	}
	at := &f
	into := func(name string) {
		switch {
		case at == nil:
		case at.Values != nil:
			at = at.Values
		default:
			at, _ = at.Inner(name)
		}
	}
	for _, name := range o.Path[1:] {
		into(name)
	}
	if !o.Any {
		return at
	}
	if at != nil {
		at = at.Items
	}
	for _, name := range o.Under {
		into(name)
	}
	return at
}

// kindOf returns the kind of a type.
func kindOf(typ string) onto.Kind {
	switch typ {
	case typeTie, typeBond:
		return onto.KindRelation
	case typeClaim, typeNote:
		return onto.KindFact
	}
	return onto.KindEntity
}

// has reports whether the rows of a group have endpoints at a side.
func (g *Group) has(side onto.Side) bool {
	return kindOf(g.Type) == onto.KindRelation || g.Type == typeClaim && side == onto.LeftSide
}

// fieldsOf returns the fields whose types are declared, beside the key.
func fieldsOf(typ string) []onto.Field {
	switch {
	case typ == typeTyped:
		return typedFields()
	case kindOf(typ) == onto.KindFact:
		return onto.FactFields(typ == typeNote)
	}
	return nil
}

// typeOf returns the type of a row.
func (g *Group) typeOf(r *Row) string {
	if r.Side == onto.OwnSide {
		return g.Type
	}
	return g.endType(r.Side)
}

// endType returns the type of an endpoint.
func (g *Group) endType(side onto.Side) string {
	if g.Type == typeBond && side == onto.RightSide {
		return typeTyped
	}
	return typeThing
}

// withKey adds the key of an entity to its fields.
func (g *Group) withKey(r *Row, members []codec.Member) []codec.Member {
	if r.Side == onto.OwnSide && kindOf(g.Type) != onto.KindEntity {
		return members
	}
	return setMember(members, keyField, quote(r.Key))
}

// setMember sets a member in a sorted list of them.
func setMember(members []codec.Member, name string, value []byte) []codec.Member {
	i, found := slices.BinarySearchFunc(members, name, func(m codec.Member, n string) int { return strings.Compare(m.Name, n) })
	if found {
		members[i].Value = value
		return members
	}
	return slices.Insert(slices.Clone(members), i, codec.Member{Name: name, Value: value})
}

// quote writes a text as JSON. The texts are the tests' own, and valid.
func quote(text string) []byte {
	quoted, _ := codec.AppendString(nil, text)
	return quoted
}

// obeys reports whether a row may be stored: its fields have names that fields
// can have, and fit the types that are declared.
func (g *Group) obeys(r *Row) error {
	for _, m := range codec.Members(r.Fields) {
		if err := onto.CheckName("field", m.Name); err != nil {
			return err
		}
		if m.Name == keyField {
			continue
		}
		declared := fieldsOf(g.typeOf(r)) // beside the key
		i := slices.IndexFunc(declared, func(f onto.Field) bool { return f.Name == m.Name })
		switch {
		case i < 0 && g.typeOf(r) == typeTyped:
			return fmt.Errorf("%s has no field %s", typeTyped, m.Name)
		case i < 0:
			continue
		}
		f := declared[i]
		if codec.KindOf(m.Value) == codec.Null {
			continue
		}
		fitted, err := f.Fit(m.Value)
		if err != nil {
			return err
		}
		if !bytes.Equal(fitted, m.Value) {
			return fmt.Errorf("field %s: %s is not in its stored form", f.Name, m.Value)
		}
	}
	return nil
}

var fieldOfPath = regexp.MustCompile(`\$\.([A-Za-z_][A-Za-z0-9_]*)`)

// names returns the names of the fields that the rows and cases of a group use.
func (g *Group) names() []string {
	names := []string{revField}
	for _, r := range slices.Concat(g.Rows, g.Ends) {
		if r.Deleted {
			continue
		}
		for _, m := range codec.Members(r.Fields) {
			names = append(names, m.Name)
		}
	}
	for _, c := range g.Cases {
		for _, m := range fieldOfPath.FindAllStringSubmatch(c.Text, -1) {
			if c.Refused == "" {
				names = append(names, m[1])
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == keyField })
}

// schema returns a type of the group. Its name ends as the suffix says, which
// keeps the groups of one store apart.
func (g *Group) schema(typ, suffix string, index bool) *onto.Schema {
	s := &onto.Schema{Kind: kindOf(typ), Name: typ + suffix, Open: typ == typeNote, Fields: fieldsOf(typ)}
	switch {
	case s.Kind == onto.KindEntity:
		s.Key = keyField
	case typ != typeNote:
		s.Left = g.endType(onto.LeftSide) + suffix
	}
	if s.Kind == onto.KindRelation {
		s.Right = g.endType(onto.RightSide) + suffix
	}
	if typ == typeBond {
		s.InstanceKey = "slot"
	}
	if typ == typeTyped {
		s.Fields = append(s.Fields, onto.Field{Name: revField, Type: onto.Int})
	} else {
		for _, name := range g.names() {
			if s.Kind != onto.KindFact || !onto.ReservedAttribute(name) {
				s.Fields = append(s.Fields, onto.Field{Name: name, Type: onto.Any})
			}
		}
	}
	for i := range s.Fields {
		s.Fields[i].Optional, s.Fields[i].Index = true, index
	}
	if s.Kind == onto.KindEntity {
		s.Fields = append(s.Fields, onto.Field{Name: keyField, Type: onto.String})
	}
	s.SortFields()
	return s
}

// Scope returns what the filters of a group may refer to, with or without
// indexed fields.
func (g *Group) Scope(index bool) *filter.Scope { return g.scope("", index) }

func (g *Group) scope(suffix string, index bool) *filter.Scope {
	s := &filter.Scope{Schema: g.schema(g.Type, suffix, index)}
	if g.has(onto.LeftSide) {
		s.Left = g.schema(g.endType(onto.LeftSide), suffix, index)
	}
	if g.has(onto.RightSide) {
		s.Right = g.schema(g.endType(onto.RightSide), suffix, index)
	}
	return s
}
