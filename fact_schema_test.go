package onto_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
)

// Contract is facts about customers, with an attribute of each kind.
type Contract struct {
	onto.About[Customer]
	Employer string   `json:"employer" onto:"index,search"`
	Salary   *int     `json:"salary"`
	Skills   []string `json:"skills" onto:"many"`
	Notes    []Note   `json:"notes,omitempty" onto:"many"`
	Raw      []byte   `json:"raw"`
	Days     []int    `json:"days"` // one value, which is a list
	Private  string   `json:"-"`
}

type Note struct{ Text string }

// Sighting is facts about anything, its attributes in a struct of their own.
type Sighting struct {
	placed
}

type placed struct {
	onto.About[string]
	Place string `json:"place"`
}

// untyped is a type of facts as a schema file makes one.
func untyped(t testing.TB, s onto.Schema) onto.Schema {
	t.Helper()
	s.Kind = onto.KindFact
	s, err := onto.Untyped(s).Schema()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func optional(names ...string) []onto.Field {
	var list []onto.Field
	for _, name := range names {
		list = append(list, onto.Field{Name: name, Type: onto.String, Optional: true})
	}
	return list
}

func TestTypeOfFacts(t *testing.T) {
	s, err := onto.TypeOf[Contract]().Schema()
	if err != nil {
		t.Fatal(err)
	}
	want := untyped(t, onto.Schema{Name: "Contract", Left: "Customer", Fields: []onto.Field{
		{Name: "days", Type: onto.List, Items: &onto.Field{Type: onto.Int}, Optional: true},
		{Name: "employer", Type: onto.String, Optional: true, Index: true, Search: true},
		{Name: "notes", Type: onto.Object, Fields: []onto.Field{{Name: "Text", Type: onto.String}}, Optional: true, Many: true},
		{Name: "raw", Type: onto.String, Optional: true},
		{Name: "salary", Type: onto.Int, Optional: true},
		{Name: "skills", Type: onto.String, Optional: true, Many: true},
	}})
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %s\nwant %s", s.JSON(), want.JSON())
	}
	if names := strings.Join(s.FieldNames(), " "); names != "asserted days employer kind notes raw revoked salary seq skills valid_from valid_until" {
		t.Errorf("got the fields %s", names)
	}
	var attributes []string
	for _, f := range s.Attributes() {
		attributes = append(attributes, f.Name)
	}
	if got := strings.Join(attributes, " "); got != "days employer notes raw salary skills" {
		t.Errorf("got the attributes %s", got)
	}
	free, err := onto.TypeOf[Sighting]().Schema()
	if err != nil || free.Left != "" || free.Kind != onto.KindFact || len(free.Attributes()) != 1 {
		t.Errorf("free subjects: got %s, %v", free.JSON(), err)
	}
	if other, err := onto.TypeOf[Contract]().As("Agreement").Schema(); err != nil || other.Name != "Agreement" || other.Left != "Customer" {
		t.Errorf("under another name: got %s, %v", other.JSON(), err)
	}
}

func TestAttribute(t *testing.T) {
	closed := untyped(t, onto.Schema{Name: "C", Fields: optional("a")})
	open := untyped(t, onto.Schema{Name: "O", Open: true, Fields: optional("a")})
	for _, c := range []struct {
		of   onto.Schema
		name string
		want string // the field
	}{
		{closed, "a", "a"}, {closed, "b", ""}, {closed, "A", ""}, {closed, "", ""}, {open, "a", "a"}, {open, "b", "value"},
	} {
		if f, ok := c.of.Attribute(c.name); f.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s of %s: got %q, %v; want %q", c.name, c.of.Name, f.Name, ok, c.want)
		}
	}
	reserved := onto.FactFields(true)
	if len(reserved) != 7 || !slices.IsSortedFunc(reserved, func(a, b onto.Field) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("got the fields %v, want seven in order", reserved)
	}
	for _, f := range reserved {
		for _, s := range []onto.Schema{closed, open} {
			if got, ok := s.Attribute(f.Name); ok {
				t.Errorf("%s of %s: got %+v, want no attribute", f.Name, s.Name, got)
			}
		}
		if !onto.ReservedAttribute(f.Name) || !f.Optional || f.Default != nil || f.Many {
			t.Errorf("%+v is not an optional field whose name is taken", f)
		}
	}
	if onto.ReservedAttribute("a") || onto.ReservedAttribute("Kind") || onto.ReservedAttribute("") {
		t.Error("a name that is free is taken")
	}
}

// The structs below each have one mistake.
type (
	aboutTwice struct {
		onto.About[Customer]
		placed
	}
	aboutTwo struct {
		onto.About[Customer]
		Another
	}
	Another     struct{ onto.About[Product] }
	linkedFacts struct {
		onto.Link[Customer, Product]
		Sighting
		A string `json:"a"`
	}
	factsLinked struct {
		Sighting
		onto.Link[Customer, Product]
	}
	aboutPointer struct {
		onto.About[*Customer]
		A string `json:"a"`
	}
	aboutAny struct {
		onto.About[any]
		A string `json:"a"`
	}
	aboutUnnamed struct {
		onto.About[struct{ X string }]
		A string `json:"a"`
	}
	aboutNumber struct {
		onto.About[int]
		A string `json:"a"`
	}
	aboutSlice struct {
		onto.About[[]string]
		A string `json:"a"`
	}
	aboutGeneric struct {
		onto.About[Generic[int]]
		A string `json:"a"`
	}
	pointerAbout struct {
		*onto.About[Customer]
		A string `json:"a"`
	}
	noAttribute struct {
		onto.About[Customer]
		Hidden string `json:"-"`
	}
	factKey struct {
		onto.About[Customer]
		A string `json:"a" onto:"key"`
	}
	factInstance struct {
		onto.About[Customer]
		A string `json:"a" onto:"instance"`
	}
	factDefault struct {
		onto.About[Customer]
		A string `json:"a" onto:"default=\"x\""`
	}
	factKind struct {
		onto.About[Customer]
		A string `json:"kind"`
	}
	factValue struct {
		onto.About[Customer]
		A any `json:"value"`
	}
	factUntil struct {
		onto.About[Customer]
		A string `json:"valid_until"`
	}
	badAttribute struct {
		onto.About[Customer]
		A string `json:"the-a"`
	}
	manyOfEntity struct {
		ID   string   `json:"id" onto:"key"`
		Tags []string `json:"tags" onto:"many"`
	}
	manyOfRelation struct {
		onto.Link[Customer, Product]
		Tags []string `json:"tags" onto:"many"`
	}
	manyScalar struct {
		onto.About[Customer]
		A string `json:"a" onto:"many"`
	}
	manyBytes struct {
		onto.About[Customer]
		A []byte `json:"a" onto:"many"`
	}
	manyArray struct {
		onto.About[Customer]
		A [2]int `json:"a" onto:"many"`
	}
	manyPointer struct {
		onto.About[Customer]
		A *[]int `json:"a" onto:"many"`
	}
	manyRaw struct {
		onto.About[Customer]
		A json.RawMessage `json:"a" onto:"many"`
	}
	manyChannels struct {
		onto.About[Customer]
		A []chan int `json:"a" onto:"many"`
	}
	manyDefault struct {
		onto.About[Customer]
		A []int `json:"a" onto:"many,default=1"`
	}
	manySearch struct {
		onto.About[Customer]
		A []int `json:"a" onto:"many,search"`
	}
)

func TestTypeOfFactsRefuses(t *testing.T) {
	const both = " embeds onto.Link and onto.About"
	about := func(name, subject string) string {
		return name + ": facts are about entities, whose type is a named struct, or about any text, not about a " + subject
	}
	taken := func(name string) string {
		return name + ": no attribute can have this name: it is a field that facts have anyway"
	}
	for _, c := range []struct {
		of   onto.Type
		want string
	}{
		{onto.TypeOf[aboutTwice](), "aboutTwice has two subjects"},
		{onto.TypeOf[aboutTwo](), "aboutTwo has two subjects"},
		{onto.TypeOf[linkedFacts](), "linkedFacts" + both},
		{onto.TypeOf[factsLinked](), "factsLinked" + both},
		{onto.TypeOf[aboutPointer](), about("aboutPointer", "*onto_test.Customer")},
		{onto.TypeOf[aboutAny](), about("aboutAny", "interface {}")},
		{onto.TypeOf[aboutUnnamed](), about("aboutUnnamed", "struct { X string }")},
		{onto.TypeOf[aboutNumber](), about("aboutNumber", "int")},
		{onto.TypeOf[aboutSlice](), about("aboutSlice", "[]string")},
		{onto.TypeOf[aboutGeneric](), `aboutGeneric: subject type name "Generic[int]" is not allowed`},
		{onto.TypeOf[pointerAbout](), "pointerAbout.About: what a thing is about cannot be embedded as a pointer"},
		{onto.TypeOf[noAttribute](), "noAttribute: facts need an attribute"},
		{onto.TypeOf[factKey](), "factKey: facts have a subject, but no key and no instance key"},
		{onto.TypeOf[factInstance](), "factInstance: facts have a subject, but no key and no instance key"},
		{onto.TypeOf[factDefault](), "factDefault.a: an attribute is optional and has no default"},
		{onto.TypeOf[factKind](), taken("factKind.kind")},
		{onto.TypeOf[factValue](), taken("factValue.value")},
		{onto.TypeOf[factUntil](), taken("factUntil.valid_until")},
		{onto.TypeOf[badAttribute](), `badAttribute: field name "the-a" is not allowed`},
		{onto.TypeOf[manyOfEntity](), "manyOfEntity.tags: only attributes of facts have several values at once"},
		{onto.TypeOf[manyOfRelation](), "manyOfRelation.tags: only attributes of facts have several values at once"},
		{onto.TypeOf[manyScalar](), "manyScalar.a: an attribute with many values is a slice of what can be stored, not a string"},
		{onto.TypeOf[manyBytes](), "manyBytes.a: an attribute with many values is a slice of what can be stored, not a []uint8"},
		{onto.TypeOf[manyArray](), "manyArray.a: an attribute with many values is a slice of what can be stored, not a [2]int"},
		{onto.TypeOf[manyPointer](), "manyPointer.a: an attribute with many values is a slice of what can be stored, not a *[]int"},
		{onto.TypeOf[manyRaw](), "manyRaw.a: an attribute with many values is a slice of what can be stored, not a json.RawMessage"},
		{onto.TypeOf[manyChannels](), "manyChannels.a: an attribute with many values is a slice of what can be stored, not a []chan int"},
		{onto.TypeOf[manyDefault](), "manyDefault.a: an attribute is optional and has no default"},
		{onto.TypeOf[manySearch](), "manySearch.a: only strings can be searched, this is int"},
	} {
		_, err := c.of.Schema()
		if message(err) != c.want || onto.CodeOf(err) != onto.Invalid {
			t.Errorf("got  %v (%s)\nwant %s", err, onto.CodeOf(err), c.want)
		}
	}
}

func TestUntypedFactsRefuses(t *testing.T) {
	field := func(f onto.Field) []onto.Field { return []onto.Field{f} }
	for name, c := range map[string]struct {
		of   onto.Schema
		want string
	}{
		"a key":              {onto.Schema{Key: "a", Fields: optional("a")}, "but no key, right end or instance key"},
		"a right end":        {onto.Schema{Left: "P", Right: "P", Fields: optional("a")}, "but no key, right end or instance key"},
		"an instance key":    {onto.Schema{InstanceKey: "i", Fields: optional("a")}, "but no key, right end or instance key"},
		"a bad subject":      {onto.Schema{Left: "a b", Fields: optional("a")}, "subject type name"},
		"required":           {onto.Schema{Fields: field(onto.Field{Name: "a", Type: onto.Int})}, "an attribute is optional and has no default"},
		"a default":          {onto.Schema{Fields: field(onto.Field{Name: "a", Type: onto.Int, Default: []byte("1")})}, "an attribute is optional and has no default"},
		"nothing":            {onto.Schema{}, "facts need an attribute"},
		"another kind":       {onto.Schema{Fields: field(onto.Field{Name: "kind", Type: onto.Int, Optional: true})}, "no attribute can have this name"},
		"a required kind":    {onto.Schema{Fields: field(onto.Field{Name: "kind", Type: onto.String})}, "no attribute can have this name"},
		"many kinds":         {onto.Schema{Fields: field(onto.Field{Name: "kind", Type: onto.String, Optional: true, Many: true})}, "no attribute can have this name"},
		"a value":            {onto.Schema{Fields: append(optional("a"), onto.Field{Name: "value", Type: onto.Any, Optional: true})}, "no attribute can have this name"},
		"an open value":      {onto.Schema{Open: true, Fields: optional("value")}, "no attribute can have this name"},
		"an attribute twice": {onto.Schema{Fields: optional("a", "a")}, "given twice or out of order"},
	} {
		s := c.of
		s.Kind, s.Name = onto.KindFact, "F"
		if _, err := onto.Untyped(s).Schema(); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for _, kind := range []onto.Kind{onto.KindEntity, onto.KindRelation} {
		s := onto.Schema{Kind: kind, Name: "E", Open: true}
		if _, err := onto.Untyped(s).Schema(); message(err) != "E: only types of facts are open" {
			t.Errorf("an open %s: got %v", kind, err)
		}
	}
	bare := onto.Schema{Kind: onto.KindFact, Name: "F", Fields: optional("a")}
	if err := bare.Check(); message(err) != "F: facts need the field asserted" {
		t.Errorf("without the fields that all facts have: got %v", err)
	}
	given := optional("b", "a")
	s, err := onto.Untyped(onto.Schema{Kind: onto.KindFact, Name: "F", Fields: given}).Schema()
	if err != nil || given[0].Name != "b" || len(s.Fields) != 8 {
		t.Errorf("got %v, %v and left %v; want eight fields, and the caller's as they were", s.Fields, err, given)
	}
	if again, err := onto.Untyped(s).Schema(); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("once more: got %v, %v; want the same", again, err)
	}
}

func TestFactSchemaJSON(t *testing.T) {
	s := untyped(t, onto.Schema{Name: "Claim", Left: "Person", Open: true, Fields: []onto.Field{{Name: "tags", Type: onto.String, Optional: true, Many: true, Index: true}}})
	const want = `{"fields":{"asserted":{"optional":true,"type":"int"},"kind":{"optional":true,"type":"string"},"revoked":{"optional":true,"type":"any"},` +
		`"seq":{"optional":true,"type":"int"},"tags":{"index":true,"many":true,"optional":true,"type":"string"},` +
		`"valid_from":{"optional":true,"type":"time"},"valid_until":{"optional":true,"type":"time"},"value":{"optional":true,"type":"any"}},` +
		`"kind":"fact","left":"Person","name":"Claim","open":true}`
	if got := string(s.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := s.Hash(), "106fe976fa7e26065fac178cabacd53624c58b4c4448f57cdfa41eb027a749dc"; got != want {
		t.Errorf("got hash %s, want %s: it is stored with every version of the type", got, want)
	}
}

// drawFacts draws a type of facts.
func drawFacts(t *rapid.T) onto.Schema {
	s := onto.Schema{Kind: onto.KindFact, Name: "Claim", Open: rapid.Bool().Draw(t, "open")}
	s.Left = rapid.SampledFrom([]string{"", "Person", "City"}).Draw(t, "left")
	for i := range rapid.IntRange(1, 4).Draw(t, "attributes") {
		f := onto.Field{Name: fmt.Sprint("a", i), Type: rapid.SampledFrom(onto.FieldTypes()).Draw(t, "type"), Optional: true}
		f.Many, f.Index = rapid.Bool().Draw(t, "many"), rapid.Bool().Draw(t, "index")
		f.Search = f.Type == onto.String && rapid.Bool().Draw(t, "search")
		if rapid.IntRange(0, 4).Draw(t, "kept") > 0 {
			s.Fields = append(s.Fields, f)
		}
	}
	if len(s.Fields) == 0 {
		s.Open = true
	}
	s, err := onto.Untyped(s).Schema()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFactSchemasRandom(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		s, other := drawFacts(t), drawFacts(t)
		back, err := onto.ParseSchema(s.JSON())
		if err != nil || !reflect.DeepEqual(back, s) || back.Hash() != s.Hash() {
			t.Fatalf("%s: read back as %s, %v", s.JSON(), back.JSON(), err)
		}
		if d := onto.DiffSchemas(s, back); !d.Empty() || len(d.Flags) > 0 || !onto.Compatible(s, back) {
			t.Fatalf("%s differs from itself: %s", s.JSON(), d)
		}
		flagged := s.WithFlags(other)
		if d := onto.DiffSchemas(s, flagged); !d.Empty() || !onto.Compatible(s, flagged) {
			t.Fatalf("flags make a version: %s", d)
		}
		compatible, diff := onto.Compatible(s, other), onto.DiffSchemas(s, other)
		if want := stillReads(s, other); compatible != want {
			t.Fatalf("%s\n%s\n%s: got compatible %v, want %v", s.JSON(), other.JSON(), diff, compatible, want)
		}
		if diff.Empty() != (s.WithFlags(other).Hash() == other.Hash()) {
			t.Fatalf("%s\n%s: got the difference %s", s.JSON(), other.JSON(), diff)
		}
	})
}

// stillReads is Compatible for types of facts, attribute by attribute.
func stillReads(older, newer onto.Schema) bool {
	if older.Left != newer.Left || older.Open && !newer.Open {
		return false
	}
	for _, o := range older.Attributes() {
		n, ok := newer.Field(o.Name)
		wider := o.Type == n.Type || n.Type == onto.Any || o.Type == onto.Int && n.Type == onto.Float
		if !ok || o.Many != n.Many || !wider {
			return false
		}
	}
	added := slices.ContainsFunc(newer.Attributes(), func(n onto.Field) bool {
		_, known := older.Field(n.Name)
		return !known
	})
	return !older.Open || !added // facts on it would have their values in another field
}

func TestDiffFactSchemas(t *testing.T) {
	tag := onto.Field{Name: "tag", Type: onto.String, Optional: true}
	tags := tag
	tags.Many = true
	closed := untyped(t, onto.Schema{Name: "F", Fields: []onto.Field{tag}})
	open := untyped(t, onto.Schema{Name: "F", Open: true, Fields: []onto.Field{tag}})
	wide := untyped(t, onto.Schema{Name: "F", Fields: append(optional("more"), tag)})
	openWide := untyped(t, onto.Schema{Name: "F", Open: true, Fields: append(optional("more"), tag)})
	many := untyped(t, onto.Schema{Name: "F", Left: "P", Fields: []onto.Field{tags}})
	for _, c := range []struct {
		stored, given onto.Schema
		want          string
		compatible    bool
	}{
		{closed, closed, "F: ", true},
		{closed, open, "F: + value, ~ open: false → true", true},
		{closed, wide, "F: + more", true},
		{open, openWide, "F: + more", false},
		{open, closed, "F: - value, ~ open: true → false", false},
		{closed, many, "F: ~ left: none → P, ~ tag: string optional → string optional many", false},
		{many, closed, "F: ~ left: P → none, ~ tag: string optional many → string optional", false},
	} {
		if got := onto.DiffSchemas(c.stored, c.given).String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got := onto.Compatible(c.stored, c.given); got != c.compatible {
			t.Errorf("%s: got compatible %v, want %v", c.want, got, c.compatible)
		}
	}
}
