package filtertest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// numbers are numbers that engines often confuse.
func numbers() []string {
	return []string{
		"1", "0", "2", "-1", "1.5", "10", "9", "0.1", "0.3", "0.30000000000000004", "-0.0", "1e-7", "5e-324", "-5e-324", "2.2250738585072014e-308",
		"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "2251799813685249.5",
		"9223372036854775807", "9223372036854775806", "-9223372036854775808", "9223372036854775808.0", "-9223372036854777856.0", "1e23", "1e300", "-12.25",
	}
}

// words are strings that engines often take for something else.
func words() []string {
	return []string{
		"a", "", "A", "b", "ab", "aB", "é", "e\u0301", "😀", "\uffff", "\uff5e", "ß", "ss", "%", "_", "a%b", "a_b", "axb", "'", "it's", `"`, `\`, `c:\new`, "*", "a*", "?", "[a]",
		"\n", "\t", " ", "a ", "true", "null", "1", "1.0", "[1]", `{"a":1}`, "Ada Lovelace", "ada", "Lamp 100%", "lampe", "2026-02-10", "2026-02-10T12:34:56.789012+00:00", "2026-02-30T12:34:56.789012+00:00", "2026-02-10T24:00:00.000000+00:00", "2026-02-10T12:34:56Z",
		"0000-02-10T12:34:56.789012+00:00", "-> !!", "\u00a0", "\ufeff",
	}
}

// names are names of members, and odd elements of paths.
func names() []string {
	return []string{"a", "b", "k", "A", "content-type", "a.b", "a b", "", "é", `"`, `\`, "$", "[0]", "0", "a'b", "any()", "\n", "\u0001", "?"}
}

// drawNumber draws a number, now and then a unique one.
func drawNumber(t *rapid.T) string {
	switch rapid.IntRange(0, 9).Draw(t, "any number") {
	case 8:
		return fmt.Sprint(rapid.Int64().Draw(t, "int"))
	case 9:
		text, err := codec.AppendFloat(nil, rapid.Float64Range(-1e30, 1e30).Draw(t, "float"))
		if err == nil {
			return string(text)
		}
	}
	return rapid.SampledFrom(numbers()).Draw(t, "number")
}

// drawWord draws a string, now and then a unique one.
func drawWord(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "any string") < 9 {
		return rapid.SampledFrom(words()).Draw(t, "string")
	}
	return strings.ReplaceAll(rapid.StringN(0, 6, -1).Draw(t, "text"), "\x00", "")
}

// drawScalar draws a scalar as JSON.
func drawScalar(t *rapid.T) string {
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2, 3:
		return drawNumber(t)
	case 4, 5, 6, 7:
		return string(quote(drawWord(t)))
	case 8:
		return "true"
	}
	return "false"
}

// drawValue draws any value as JSON.
func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 9).Draw(t, "shape")
	switch {
	case kind == 9:
		return "null"
	case kind >= 7 && depth > 0:
		return drawList(t, depth-1)
	case kind >= 5 && depth > 0:
		return drawObject(t, depth-1)
	}
	return drawScalar(t)
}

func drawList(t *rapid.T, depth int) string {
	n := rapid.IntRange(0, 3).Draw(t, "length")
	list := make([]string, n)
	for i := range list {
		list[i] = drawValue(t, depth)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func drawObject(t *rapid.T, depth int) string {
	members := rapid.SliceOfNDistinct(rapid.SampledFrom(names()), 0, 3, rapid.ID[string]).Draw(t, "members")
	list := make([]string, len(members))
	for i, name := range members {
		list[i] = string(quote(name)) + ":" + drawValue(t, depth)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// drawTime draws a time in its stored form.
func drawTime(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"2026-02-10T12:34:56.789012+00:00", "2026-02-10T12:34:56.000000+00:00", "2026-02-10T00:00:00.000000+00:00", "2025-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00.000000+00:00",
		"2026-02-08T23:59:59.999999+00:00", "2026-02-09T00:00:00.000000+00:00", "2024-12-30T08:00:00.000000+00:00", "2027-01-01T00:00:00.000000+00:00",
		"2024-02-29T12:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00",
	}).Draw(t, "time")
}

// drawDate draws a date.
func drawDate(t *rapid.T) string {
	return rapid.SampledFrom([]string{"2026-02-10", "2026-02-09", "2025-12-31", "0001-01-01", "9999-12-31", "2024-02-29", "2024-12-30"}).Draw(t, "date")
}

// drawInside draws the members of an object whose fields are declared, or the values of a
// map.
func drawInside(t *rapid.T, f onto.Field) string {
	var list []string
	add := func(name, value string) { list = append(list, string(quote(name))+":"+value) }
	if f.Values != nil {
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names()), 0, 2, rapid.ID[string]).Draw(t, "values") {
			add(name, drawField(t, *f.Values))
		}
	}
	for _, inner := range f.Fields {
		if inner.Optional && rapid.IntRange(0, 2).Draw(t, inner.Name) == 2 {
			continue
		}
		inner.Optional = false // null is absent in stored objects
		add(inner.Name, drawField(t, inner))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// drawItems draws a list whose elements are declared.
func drawItems(t *rapid.T, f onto.Field) string {
	list := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
	for i := range list {
		list[i] = drawField(t, *f.Items)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// drawField draws a value that a field may have.
func drawField(t *rapid.T, f onto.Field) string {
	if f.Optional && rapid.IntRange(0, 19).Draw(t, "null") == 19 {
		return "null"
	}
	switch {
	case f.Enum != nil:
		return string(rapid.SampledFrom(f.Enum).Draw(t, "enum"))
	case f.Fields != nil || f.Values != nil:
		return drawInside(t, f)
	case f.Items != nil:
		return drawItems(t, f)
	}
	switch f.Type {
	case onto.DateOnly:
		return string(quote(drawDate(t)))
	case onto.String:
		return string(quote(drawWord(t)))
	case onto.Int:
		return fmt.Sprint(drawInt(t))
	case onto.Float:
		return drawNumber(t)
	case onto.Bool:
		return fmt.Sprint(rapid.Bool().Draw(t, "bool"))
	case onto.Time:
		return string(quote(drawTime(t)))
	case onto.Object:
		return drawObject(t, 2)
	case onto.List:
		return drawList(t, 2)
	}
	if !f.Optional {
		return drawScalar(t)
	}
	return drawValue(t, 3)
}

func drawInt(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{
		1, 0, 2, -1, 10, 9, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1<<53 - 1, 1<<63 - 1, -1 << 63, 100, 3,
	}).Draw(t, "int")
}

// drawFields draws the fields of a row.
func drawFields(t *rapid.T, s *onto.Schema, id onto.Identity) json.RawMessage {
	var members []codec.Member
	for _, f := range s.Fields {
		if f.Name == s.Key {
			members = append(members, codec.Member{Name: f.Name, Value: quote(id.Key)})
			continue
		}
		if f.Optional && rapid.IntRange(0, 4).Draw(t, f.Name) == 4 {
			continue
		}
		value, err := codec.AppendCanonical(nil, []byte(drawField(t, f)))
		if err != nil {
			t.Fatalf("the generator made what is no JSON: %v", err)
		}
		members = append(members, codec.Member{Name: f.Name, Value: value})
	}
	return codec.AppendObject(nil, members)
}

// agreeSchemas returns the types of random questions. Which fields are indexed
// is drawn.
func agreeSchemas(t *rapid.T) []*onto.Schema {
	free := func(names ...string) []onto.Field {
		var list []onto.Field
		for _, name := range names {
			list = append(list, onto.Field{Name: name, Type: onto.Any})
		}
		return append(list, onto.Field{Name: "text", Type: onto.String, Search: true}, onto.Field{Name: "must", Type: onto.Any})
	}
	typed := append(typedFields(), onto.Field{Name: "must", Type: onto.Int}, onto.Field{Name: "need", Type: onto.String})
	typed[0].Search = true
	key := onto.Field{Name: keyField, Type: onto.String}
	list := []*onto.Schema{
		{Kind: onto.KindEntity, Name: typeThing, Key: keyField, Fields: append(free("a", "b", "c"), key)},
		{Kind: onto.KindEntity, Name: typeTyped, Key: keyField, Fields: append(typed, key)},
		{Kind: onto.KindRelation, Name: typeTie, Left: typeThing, Right: typeThing, Fields: free("a")},
		{Kind: onto.KindRelation, Name: typeBond, Left: typeThing, Right: typeTyped, InstanceKey: "slot", Fields: free("a", "b")},
		{Kind: onto.KindFact, Name: typeClaim, Left: typeThing, Fields: append(free("a"), onto.FactFields(false)...)},
		{Kind: onto.KindFact, Name: typeNote, Open: true, Fields: append(free("b"), onto.FactFields(true)...)},
	}
	for _, s := range list {
		for i := range s.Fields {
			f := &s.Fields[i]
			f.Optional = s.Kind == onto.KindFact || f.Name != s.Key && f.Name != "must" && f.Name != "need"
			f.Many = s.Kind == onto.KindFact && f.Name == "must"
			f.Index = rapid.Bool().Draw(t, s.Name+"."+f.Name+" is indexed")
			for i := range f.Fields {
				f.Fields[i].Index = f.Fields[i].Type.Scalar() && rapid.Bool().Draw(t, s.Name+"."+f.Name+"."+f.Fields[i].Name+" is indexed")
			}
		}
		s.SortFields()
	}
	return list
}

// keys are keys of entities; the last one never exists.
func keys() []string { return []string{"a", "b", "B", "é", "x'y", "10", "9", "nobody"} }

// drawIdentity draws an identity of a type.
func drawIdentity(t *rapid.T, s *onto.Schema) onto.Identity {
	key := func(label string) string { return rapid.SampledFrom(keys()).Draw(t, label) }
	switch s.Name {
	case typeTie:
		return onto.RelationID(s.Name, key("left"), key("right"))
	case typeBond:
		return onto.RelationID(s.Name, key("left"), key("right")).WithInstance(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "slot"))
	}
	if s.Kind == onto.KindFact {
		return onto.FactID(s.Name, key("subject"), rapid.SampledFrom([]string{"a", "b", "text", "B"}).Draw(t, "attribute"),
			rapid.SampledFrom([]string{"1", "2"}).Draw(t, "id"))
	}
	return onto.EntityID(s.Name, rapid.SampledFrom(keys()[:len(keys())-1]).Draw(t, "key"))
}

// drawWrites draws the writes of a commit.
func drawWrites(t *rapid.T, l *ledger) []backend.Write {
	ids := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) onto.Identity {
		return drawIdentity(t, rapid.SampledFrom(l.schemas).Draw(t, "type"))
	}), 8, 24, rapid.ID[onto.Identity]).Draw(t, "identities")
	writes := make([]backend.Write, len(ids))
	for i, id := range ids {
		writes[i] = backend.Write{Identity: id, Op: onto.Delete}
		if rapid.IntRange(0, 5).Draw(t, "op") < 5 {
			writes[i].Op, writes[i].Fields = onto.Put, drawFields(t, l.schema(id.Kind, id.Type), id)
		}
	}
	return writes
}
