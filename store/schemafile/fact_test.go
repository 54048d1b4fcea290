package schemafile_test

import (
	"reflect"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

type Contract struct {
	onto.About[Customer]
	Employer string   `json:"employer" onto:"index"`
	Salary   int      `json:"salary"`
	Skills   []string `json:"skills" onto:"many,search"`
}

const factFile = `entities:
  Customer:
    key: id
    fields:
      id: {type: string}
facts:
  Contract:
    subject: Customer
    fields:
      employer: {type: string, index: true}
      salary:   {type: int}
      skills:   {type: string, search: true, many: true}
  Reading:
    open: true
  Sighting:
    open: true
    fields:
      place: {type: object}
relations:
  Knows:
    left: Customer
    right: Customer
`

// Facts from a file are those of a Go struct, and a file that was written comes back.
func TestFacts(t *testing.T) {
	list := parse(t, factFile)
	var names []string
	for _, s := range list {
		names = append(names, string(s.Kind)+" "+s.Name)
	}
	if want := []string{"entity Customer", "fact Contract", "fact Reading", "fact Sighting", "relation Knows"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	struc, err := onto.TypeOf[Contract]().Schema()
	if err != nil {
		t.Fatal(err)
	}
	if list[1].Hash() != struc.Hash() {
		t.Errorf("the file gives\n%s\nthe struct\n%s", list[1].JSON(), struc.JSON())
	}
	if s := list[2]; !s.Open || s.Left != "" || len(s.Attributes()) != 0 {
		t.Errorf("got %+v, want open facts about any texts, without attributes", s)
	}
	text, err := schemafile.Format(list)
	if err != nil || string(text) != factFile {
		t.Errorf("got %v\n%s\nwant\n%s", err, text, factFile)
	}
}

// What a store keeps for itself is in no file.
func TestFormatLeavesOutWhatIsTheStoresOwn(t *testing.T) {
	own := onto.Schema{Kind: onto.KindEntity, Name: "onto_folds", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	state := onto.Schema{Kind: onto.KindEntity, Name: "State", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "onto_fold", Type: onto.Object, Optional: true},
	}}
	text, err := schemafile.Format([]onto.Schema{own, state})
	if want := "entities:\n  State:\n    key: id\n    fields:\n      id: {type: string}\n"; err != nil || string(text) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, text, want)
	}
	if len(state.Fields) != 2 {
		t.Errorf("Format changed its argument")
	}
}

// attributes is a file with one type of facts and one attribute on line 4.
func attributes(text string) string { return "facts:\n  F:\n    fields:\n      " + text + "\n" }

func TestParseRefusesFacts(t *testing.T) {
	for _, c := range []refusal{
		{"nothing", "facts:\n  F:\n", "line 2, column 3: facts.F: facts need an attribute", "declare one under fields, or say open: true"},
		{"a key", "facts:\n  F: {key: id}\n", `line 2, column 7: facts.F: unknown key "key"`, "use subject, open, fields"},
		{"attributes by their name", "facts:\n  F: {attributes: {}}\n", `line 2, column 7: facts.F: unknown key "attributes"`, "use subject, open, fields"},
		{"a subject that is no name", "facts:\n  F: {subject: 1}\n", "line 2, column 16: facts.F.subject: expected a name, found a value of type int", ""},
		{"open is a word", "facts:\n  F: {open: maybe}\n", "line 2, column 13: facts.F.open: expected true or false, found a value of type string", ""},
		{"a reserved name", attributes("valid_from: {type: time}"),
			"line 4, column 7: facts.F.fields.valid_from: no attribute can have this name: it is a field that facts have anyway", "leave it out, or choose another name"},
		{"value, which only open facts have", attributes("value: {type: any}"),
			"line 4, column 7: facts.F.fields.value: no attribute can have this name: it is a field that facts have anyway", "leave it out, or choose another name"},
		{"a default", attributes("pay: {type: int, default: 1}"), "line 4, column 33: facts.F.fields.pay.default: an attribute has no default",
			"leave it out: where nothing is known there is no fact"},
		{"optional", attributes("pay: {type: int, optional: true}"), "line 4, column 34: facts.F.fields.pay.optional: no attribute is required, so none is optional",
			"leave it out: where nothing is known there is no fact"},
		{"no type", attributes("pay: {many: true}"), "line 4, column 7: facts.F.fields.pay: type is missing", "use string, int, float, bool, time, date, object, list, any"},
		{"search in a number", attributes("pay: {type: int, search: true}"), "line 4, column 32: facts.F.fields.pay.search: only strings can be searched, this is int", ""},
		{"many of a field", field("{type: int, many: true}"), `line 5, column 31: relations.R.fields.age: unknown key "many"`, "use type, optional, default, index, search, enum, items, fields, values, compute"},
		{"the name of an entity", "entities:\n  F: {key: id, fields: {id: {type: int}}}\nfacts:\n  F: {open: true}\n",
			"line 4, column 3: facts.F: the name is taken by another type, on line 2", ""},
		{"a type of the store's own", "facts:\n  onto_folds: {open: true}\n",
			`line 2, column 3: facts.onto_folds: type name "onto_folds" is not allowed: names that begin with onto_ are the store's own`, "choose another name"},
		{"an attribute of the store's own", attributes("onto_fold: {type: int}"),
			`line 4, column 7: facts.F.fields.onto_fold: attribute name "onto_fold" is not allowed: names that begin with onto_ are the store's own`, "choose another name"},
		{"a field of the store's own", "relations: {R: {left: A, right: B, fields: {onto_x: {type: int}}}}",
			`line 1, column 45: relations.R.fields.onto_x: field name "onto_x" is not allowed: names that begin with onto_ are the store's own`, "choose another name"},
	} {
		t.Run(c.name, c.check)
	}
}
