package onto_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

type letter struct {
	ID   string       `json:"id"`
	Box  string       `json:"box"`
	Size int          `json:"size"`
	Note *string      `json:"note"`
	Head letterHead   `json:"head"`
	Tags []string     `json:"tags"`
	Tier string       `json:"tier" onto:"default=\"x\""`
	Copy *letterHead  `json:"copy"`
	More []letterHead `json:"more"`
}

type letterHead struct {
	ID    string `json:"id"`
	Odd   string `json:"an odd name"`
	Title string `json:"title"`
}

type keyedLetter struct {
	ID string `json:"id" onto:"key"`
}

type letterWithText struct {
	ID   string `json:"id" onto:"key"`
	Text string `json:"onto_text"`
}

type letterLink struct {
	onto.Link[keyedLetter, keyedLetter]
	Why string `json:"why"`
}

func TestComputedTypes(t *testing.T) {
	s, err := onto.TypeOf[letter]().Keyed("head.id", "box").Indexed("size", `head.title`).TextSearch().Schema()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"fields":{"box":{"type":"string"},"copy":{"fields":{"an odd name":{"type":"string"},"id":{"type":"string"},"title":{"type":"string"}},"optional":true,"type":"object"},` +
		`"head":{"fields":{"an odd name":{"type":"string"},"id":{"type":"string"},"title":{"index":true,"type":"string"}},"type":"object"},"id":{"type":"string"},` +
		`"more":{"items":{"fields":{"an odd name":{"type":"string"},"id":{"type":"string"},"title":{"type":"string"}},"type":"object"},"type":"list"},"note":{"optional":true,"type":"string"},` +
		`"onto_id":{"compute":{"id":"head.id","rule":"id"},"index":true,"type":"string"},"onto_key":{"compute":{"id":"head.id","rule":"key","shard_key":"box"},"type":"string"},` +
		`"onto_text":{"compute":{"rule":"text"},"search":true,"type":"string"},"size":{"index":true,"type":"int"},"tags":{"items":{"type":"string"},"type":"list"},"tier":{"default":"x","type":"string"}},` +
		`"key":"onto_key","kind":"entity","name":"letter"}`
	if got := string(s.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	read, err := onto.ParseSchema(s.JSON())
	if err != nil || !onto.DiffSchemas(s, read).Empty() || string(read.JSON()) != want {
		t.Errorf("it comes back as %s, %v", read.JSON(), err)
	}
	if plain, _ := onto.TypeOf[letter]().Keyed("id", "id").Schema(); plain.Key != "onto_key" || len(plain.Fields) != 10 {
		t.Errorf("a key of one part: got %s", plain.JSON())
	}
	if again, err := onto.TypeOf[letter]().TextSearch().Indexed("size").As("Post").Keyed(`head."an odd name"`, "id").Schema(); err != nil || again.Name != "Post" {
		t.Errorf("in another order: got %v", err)
	}
	if f, err := onto.TypeOf[letterLink]().TextSearch().Schema(); err != nil || len(f.Fields) != 2 {
		t.Errorf("a relation: got %v", err)
	}
	if before, err := onto.TypeOf[letter]().Schema(); err == nil || len(before.Fields) != 9 {
		t.Errorf("the type without a key: got %v, with %d fields", err, len(before.Fields))
	}
}

func TestComputedTypesRefuse(t *testing.T) {
	post := onto.TypeOf[letter]()
	given := func(fields ...onto.Field) onto.Type {
		s := onto.Schema{Kind: onto.KindEntity, Name: "Post", Key: "id", Fields: append(fields, onto.Field{Name: "id", Type: onto.String})}
		s.SortFields()
		return onto.Untyped(s)
	}
	field := func(name string, rule onto.Compute) onto.Field {
		return onto.Field{Name: name, Type: onto.String, Compute: &rule}
	}
	text := onto.Compute{Rule: onto.ComputeText}
	optional := field("onto_text", text)
	optional.Optional = true
	number := field("onto_text", text)
	number.Type = onto.Int
	for _, c := range []struct {
		of         onto.Type
		says, hint string
	}{
		{post.Keyed("idd", "box"), "letter.onto_id: idd does not exist", "did you mean id?"},
		{post.Keyed("id", "size"), "letter.onto_key: size is int, and must be a string", ""},
		{post.Keyed("id", "note"), "letter.onto_key: note is not in every row", "required"},
		{post.Keyed("id", "tier"), "letter.onto_key: tier is not in every row", "required"},
		{post.Keyed("id", "copy.id"), "letter.onto_key: copy.id is not in every row", "required"},
		{post.Keyed("id", "more.id"), "letter.onto_key: more.id does not exist: nothing is declared inside more", ""},
		{post.Keyed("id", "head"), "letter.onto_key: head is object, and must be a string", ""},
		{post.Keyed("id", "head.titel"), "letter.onto_key: head.titel does not exist", "did you mean head.title?"},
		{post.Keyed("id", ""), "letter.onto_key: the rule key needs the path of the id and that of the shard key", ""},
		{post.Keyed("id", "head..id"), `letter.onto_key: "head..id" is no path`, "with dots between them"},
		{post.Keyed("onto_key", "id"), "letter.onto_id: onto_key is computed itself", ""},
		{post.Keyed("id", "box").Keyed("id", "box"), "letter: the key is computed already", ""},
		{onto.TypeOf[keyedLetter]().Keyed("id", "id"), "keyedLetter.id is marked as the key, so none can be computed", "leave out the tag"},
		{onto.TypeOf[letterLink]().Keyed("why", "why"), "letterLink: only entities have a key that is computed", ""},
		{post.Keyed("id", "box").Indexed("size", "colour"), "letter cannot have an index: colour does not exist", "the fields there are box, "},
		{post.Keyed("id", "box").Indexed("more.id"), "letter cannot have an index: more.id does not exist", ""},
		{post.Keyed("id", "box").Indexed("head"), "", ""},
		{post.Keyed("id", "box").Indexed(`head."an odd name"`), `letter.head."an odd name": below the top an index needs names that are plain words`, ""},
		{post.Keyed("id", "box").TextSearch().TextSearch(), "letter has a field onto_text already", ""},
		{post, "letter: no field is the key", ""},
		{onto.TypeOf[int]().Keyed("a", "b"), "type int is not a named, plain struct", ""},
		{onto.Type{}.TextSearch(), "the zero onto.Type describes nothing", ""},
		{onto.TypeOf[letterWithText](), "letterWithText.onto_text: a field of this name is computed by the store", "give it the rule text"},
		{onto.TypeOf[letterWithText]().TextSearch(), "letterWithText has a field onto_text already", "no struct has it"},

		{given(field("all", text)), "Post.all: only a field at the top with the name onto_text has the rule text", ""},
		{given(field("onto_id", text)), "Post.onto_id: only a field at the top with the name onto_text", ""},
		{given(onto.Field{Name: "in", Type: onto.Object, Fields: []onto.Field{field("onto_text", text)}}), "Post.in.onto_text: only a field at the top", ""},
		{given(field("onto_text", onto.Compute{Rule: "words"})), `Post.onto_text: the rule "words" is unknown`, "use key, id or text"},
		{given(field("onto_text", onto.Compute{Rule: onto.ComputeText, ID: "id"})), "Post.onto_text: the rule text takes fewer paths", ""},
		{given(field("onto_id", onto.Compute{Rule: onto.ComputeID, ID: "id", ShardKey: "id"})), "Post.onto_id: the rule id takes fewer paths", ""},
		{given(field("onto_id", onto.Compute{Rule: onto.ComputeID})), "Post.onto_id: the rule id needs the path of the id", ""},
		{given(field("onto_key", onto.Compute{Rule: onto.ComputeKey, ID: "id", ShardKey: "id"})), "Post.onto_key: the rule key is for the key of entities", "make onto_key the key"},
		{given(optional), "Post.onto_text: a field that is computed is a string without optional", ""},
		{given(number), "Post.onto_text: a field that is computed is a string without optional", ""},
		{onto.TypeOf[aboutLetters]().TextSearch(), "aboutLetters.onto_text: no attribute of facts is computed", ""},
	} {
		_, err := c.of.Schema()
		switch {
		case c.says == "":
			if err != nil {
				t.Errorf("got %v, want that it is allowed", err)
			}
		case onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.says):
			t.Errorf("got %v, want %s", err, c.says)
		case !strings.Contains(onto.HintOf(err).String(), c.hint):
			t.Errorf("%v: got hint %q, want %q", err, onto.HintOf(err), c.hint)
		}
	}
}

type aboutLetters struct {
	onto.About[keyedLetter]
	Read bool `json:"read"`
}

func TestComputedTypesCompared(t *testing.T) {
	schema := func(of onto.Type) onto.Schema {
		s, err := of.Schema()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := onto.TypeOf[letter]()
	plain := schema(base.Keyed("id", "box"))
	for _, c := range []struct {
		name           string
		newer          onto.Schema
		forth, back    bool
		differs        string
		differsByFlags bool
	}{
		{"the same", plain, true, true, "letter: ", false},
		{"with the texts", schema(base.Keyed("id", "box").TextSearch()), true, false, "letter: + onto_text", false},
		{"by another shard key", schema(base.Keyed("id", "head.id")), false, false,
			"letter: ~ onto_key: string computed of box and id → string computed of head.id and id", false},
		{"by the id alone", schema(base.Keyed("id", "id")), false, false, "letter: - onto_id, ~ onto_key: string computed of box and id → string computed of id", false},
		{"with an index", schema(base.Keyed("id", "box").Indexed("size")), true, true, "letter: * size: int → int index", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if forth, back := onto.Compatible(plain, c.newer), onto.Compatible(c.newer, plain); forth != c.forth || back != c.back {
				t.Errorf("compatible: got %t and back %t, want %t and %t", forth, back, c.forth, c.back)
			}
			d := onto.DiffSchemas(plain, c.newer)
			if d.String() != c.differs || d.Empty() != (c.differsByFlags || c.name == "the same") {
				t.Errorf("got %q", d)
			}
		})
	}
}
