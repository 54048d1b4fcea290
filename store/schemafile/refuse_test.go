package schemafile_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

// refusal is a file with one mistake, and what is said about it.
type refusal struct{ name, file, want, hint string }

func (c refusal) check(t *testing.T) {
	t.Helper()
	types, err := schemafile.Parse([]byte(c.file))
	if err == nil {
		t.Fatalf("got %d types, want an error", len(types))
	}
	if got := err.Error(); got != c.want {
		t.Errorf("message:\ngot  %s\nwant %s", got, c.want)
	}
	if got := onto.HintOf(err).String(); got != c.hint {
		t.Errorf("hint:\ngot  %s\nwant %s", got, c.hint)
	}
	if got := onto.CodeOf(err); got != onto.Invalid {
		t.Errorf("code: got %s, want %s", got, onto.Invalid)
	}
}

func TestParseRefusesShape(t *testing.T) {
	for _, c := range []refusal{
		{"empty", "", "the file is empty", "declare types under entities:, facts: and relations:"},
		{"only space", " \n  \n", "the file is empty", "declare types under entities:, facts: and relations:"},
		{"only a comment", "# later\n---\n", "the file is empty", "declare types under entities:, facts: and relations:"},
		{"a list", "- a\n- b\n", "line 1, column 1: expected keys with values, found a value of type list", ""},
		{"a word", "hello", "line 1, column 1: expected keys with values, found a value of type string", ""},
		{"unknown top key", "entities:\n  A: {key: id, fields: {id: {type: int}}}\nentitys: {}\n",
			`line 3, column 1: unknown key "entitys"`, "did you mean entities?"},
		{"far from any key", "version: 1\n", `line 1, column 1: unknown key "version"`, "use entities, facts, folds, relations"},
		{"types as a list", "entities:\n  - A\n", "line 2, column 3: entities: expected keys with values, found a value of type list", ""},
		{"type without anything", "entities:\n  A:\n", "line 2, column 3: entities.A: key is missing", "name the field that is the key, for example key: id"},
		{"type as a word", "entities:\n  A: b\n", "line 2, column 6: entities.A: expected keys with values, found a value of type string", ""},
		{"bad type name", "entities:\n  My Type: {key: id}\n", `line 2, column 3: entities."My Type": type name "My Type" is not allowed`,
			"start with a letter or _, go on with letters, digits and _"},
		{"number as type name", "relations: {5: {}}", `line 1, column 13: relations."5": type name "5" is not allowed`,
			"start with a letter or _, go on with letters, digits and _"},
		{"key of a relation in an entity", "entities:\n  A:\n    left: B\n", `line 3, column 5: entities.A: unknown key "left"`, "use key, fields"},
		{"misspelled key", "relations:\n  A: {left: B, rigth: C}\n", `line 2, column 16: relations.A: unknown key "rigth"`, "did you mean right?"},
		{"no left", "relations:\n  A: {right: C}\n", "line 2, column 3: relations.A: left is missing", "name the type at the left end"},
		{"no right", "relations:\n  A: {left: C}\n", "line 2, column 3: relations.A: right is missing", "name the type at the right end"},
		{"left is a number", "relations:\n  A: {left: 1, right: C}\n", "line 2, column 13: relations.A.left: expected a name, found a value of type int", ""},
		{"right is no name", "relations:\n  A: {left: B, right: C-D}\n", `line 2, column 23: relations.A.right: right type name "C-D" is not allowed`,
			"start with a letter or _, go on with letters, digits and _"},
		{"instance key is empty", "relations:\n  A: {left: B, right: C, instance_key: }\n",
			"line 2, column 40: relations.A.instance_key: expected a name, found nothing", ""},
		{"the same name for both kinds", "entities:\n  A: {key: id, fields: {id: {type: int}}}\nrelations:\n  A: {left: A, right: A}\n",
			"line 4, column 3: relations.A: the name is taken by another type, on line 2", ""},
		{"duplicate type", "entities:\n  A: {key: id, fields: {id: {type: int}}}\n  A: {}\n",
			"line 3, column 3: entities.A: this key is given twice, the first time on line 2", ""},
		{"key is not a field", "entities:\n  A:\n    key: uid\n    fields:\n      id: {type: int}\n",
			"line 3, column 10: entities.A.key: uid is not among the fields", "did you mean id?"},
		{"no fields", "entities:\n  A:\n    key: id\n", "line 3, column 10: entities.A.key: id is not among the fields", "use "},
		{"key of a wrong type", "entities:\n  A: {key: id, fields: {id: {type: bool}}}\n",
			"line 2, column 12: entities.A.key: A.id: a key is a string or an int, not bool", ""},
		{"optional key", "entities:\n  A: {key: id, fields: {id: {type: int, optional: true}}}\n",
			"line 2, column 12: entities.A.key: A.id: the key can be neither optional nor have a default", ""},
		{"unknown path", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_id: {type: string, compute: {rule: id, id: idd}}}}\n",
			"line 2, column 78: entities.A.fields.onto_id.compute: A.onto_id: idd does not exist", "did you mean id?"},
		{"unknown rule", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_id: {type: string, compute: {rule: uid, id: id}}}}\n",
			"line 2, column 78: entities.A.fields.onto_id.compute: A.onto_id: the rule \"uid\" is unknown", "use key, id or text"},
		{"rule that is no text", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_id: {type: string, compute: {rule: 1}}}}\n",
			"line 2, column 85: entities.A.fields.onto_id.compute.rule: expected text, found a value of type int", ""},
		{"misspelled rule", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_id: {type: string, compute: {rul: id}}}}\n",
			"line 2, column 79: entities.A.fields.onto_id.compute: unknown key \"rul\"", "did you mean rule?"},
		{"rule below the top", "entities:\n  A: {key: id, fields: {id: {type: string}, o: {type: object, fields: {onto_text: {type: string, compute: {rule: text}}}}}}\n",
			"line 2, column 98: entities.A.fields.o.fields.onto_text: unknown key \"compute\"", "use type, optional, default, index, enum, items, fields, values"},
		{"own name without a rule", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_text: {type: string}}}\n",
			"line 2, column 12: entities.A.key: A.onto_text: a field of this name is computed by the store", "give it the rule text, or choose another name"},
		{"own name", "entities:\n  A: {key: id, fields: {id: {type: string}, onto_x: {type: string}}}\n",
			"line 2, column 45: entities.A.fields.onto_x: field name \"onto_x\" is not allowed: names that begin with onto_ are the store's own", "choose another name"},
		{"instance key of a wrong type", "relations:\n  A: {left: B, right: C, instance_key: n, fields: {n: {type: int}}}\n",
			"line 2, column 40: relations.A.instance_key: A.n: the instance key is a string, neither optional nor with a default", ""},
	} {
		t.Run(c.name, c.check)
	}
}

// field is a file with one field on line 5.
func field(text string) string {
	return "relations:\n  R:\n    left: A\n    right: B\n    fields: {age: " + text + "}\n"
}

func TestParseRefusesFields(t *testing.T) {
	const at, types = "relations.R.fields.age", "use string, int, float, bool, time, date, object, list, any"
	for _, c := range []refusal{
		{"nothing", field(""), "line 5, column 14: " + at + ": type is missing", types},
		{"a bare type", field("int"), "line 5, column 19: " + at + ": expected keys with values, found a value of type string", "write: {type: int}"},
		{"no type", field("{optional: true}"), "line 5, column 14: " + at + ": type is missing", types},
		{"misspelled type", field("{type: strng}"), `line 5, column 26: ` + at + `.type: unknown type "strng"`, "did you mean string?"},
		{"unknown type", field("{type: decimal}"), `line 5, column 26: ` + at + `.type: unknown type "decimal"`, types},
		{"type is a list", field("{type: [int]}"), "line 5, column 26: " + at + ".type: expected the name of a type, found a value of type list", ""},
		{"misspelled key", field("{type: int, optinal: true}"), `line 5, column 31: ` + at + `: unknown key "optinal"`, "did you mean optional?"},
		{"unknown key", field("{type: int, primary_key: true}"), `line 5, column 31: ` + at + `: unknown key "primary_key"`, "use type, optional, default, index, search, enum, items, fields, values, compute"},
		{"flag is a word", field("{type: int, optional: yes}"), "line 5, column 41: " + at + ".optional: expected true or false, found a value of type string", ""},
		{"flag is a number", field("{type: int, index: 1}"), "line 5, column 38: " + at + ".index: expected true or false, found a value of type int", ""},
		{"duplicate key", field("{type: int, type: int}"), "line 5, column 31: " + at + ".type: this key is given twice, the first time on line 5", ""},
		{"duplicate by escape", field(`{type: int, "t\x79pe": int}`), "line 5, column 31: " + at + ".type: this key is given twice, the first time on line 5", ""},
		{"search in a number", field("{search: true, type: int}"), "line 5, column 28: " + at + ".search: only strings can be searched, this is int", ""},
		{"optional with default", field("{type: int, default: 1, optional: true}"),
			"line 5, column 53: " + at + ".optional: a field with a default is never absent, so it cannot be optional", "leave out optional"},
		{"bad name", "relations: {R: {left: A, right: B, fields: {a-b: {type: int}}}}", `line 1, column 45: relations.R.fields."a-b": field name "a-b" is not allowed`,
			"start with a letter or _, go on with letters, digits and _"},
	} {
		t.Run(c.name, c.check)
	}
}

func TestParseRefusesDefaults(t *testing.T) {
	const at = "relations.R.fields.age.default"
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	for _, c := range []struct{ name, text, want, hint string }{
		{"null", "{type: any, default: null}", "line 5, column 40: " + at + ": null is no default", "leave it out, or say optional: true instead"},
		{"nothing", "{type: int, default: }", "line 5, column 40: " + at + ": null is no default", "leave it out, or say optional: true instead"},
		{"text for int", "{type: int, default: x}", "line 5, column 40: " + at + `: expected int, found string`, ""},
		{"int for text", "{type: string, default: 1}", "line 5, column 43: " + at + ": expected string, found int", ""},
		{"fraction for int", "{default: 1.5, type: int}", "line 5, column 29: " + at + ": expected int, found float", ""},
		{"text for float", "{type: float, default: '1'}", "line 5, column 42: " + at + `: expected float, found string`, ""},
		{"int for bool", "{type: bool, default: 0}", "line 5, column 41: " + at + ": expected bool, found int", ""},
		{"list for object", "{type: object, default: []}", "line 5, column 43: " + at + ": expected object, found list", ""},
		{"object for list", "{type: list, default: {}}", "line 5, column 41: " + at + ": expected list, found object", ""},
		{"number for time", "{type: time, default: 5}", "line 5, column 41: " + at + ": expected time, found int", ""},
		{"no date for time", "{type: time, default: 2026-02-30}", "line 5, column 41: " + at +
			`: "2026-02-30" is not a time, write it like 2026-02-10T12:34:56Z`, ""},
		{"too large an int", "{type: int, default: 9223372036854775808}", "line 5, column 40: " + at + ": integer 9223372036854775808 is outside int64", ""},
		{"too large a float", "{type: any, default: [1e400]}", "line 5, column 40: " + at + "[0]: number 1e400 is outside float64", ""},
		{"hexadecimal", "{type: int, default: 0x10}", "line 5, column 40: " + at + ": 0x10 is not a number as JSON writes it", "write a decimal number, or put text in quotes"},
		{"underscores", "{type: int, default: 1_000}", "line 5, column 40: " + at + ": 1_000 is not a number as JSON writes it", "write a decimal number, or put text in quotes"},
		{"octal", "{type: int, default: 010}", "line 5, column 40: " + at + ": 010 is not a number as JSON writes it", "write a decimal number, or put text in quotes"},
		{"infinity", "{type: float, default: .inf}", "line 5, column 42: " + at + ": .inf is not a number as JSON writes it", "write a decimal number, or put text in quotes"},
		{"not a number", "{type: any, default: {a: [.nan]}}", "line 5, column 45: " + at + ".a[0]: .nan is not a number as JSON writes it", "write a decimal number, or put text in quotes"},
		{"U+0000", `{type: any, default: {a: "\0"}}`, "line 5, column 44: " + at + ".a: text contains U+0000", ""},
		{"U+0000 in a name", `{type: any, default: {"\0": 1}}`, "line 5, column 40: " + at + `."\x00": text contains U+0000`, ""},
		{"duplicate name", "{type: any, default: {a: [{b: 1, b: 2}]}}", "line 5, column 52: " + at + ".a[0].b: this key is given twice, the first time on line 5", ""},
		{"a list as name", "{type: any, default: {[a]: 1}}", "line 5, column 41: " + at + ": a key must be text", ""},
		{"too deep", "{type: any, default: " + deep + "}", "line 5, column 40: " + at + strings.Repeat("[0]", 63) + ": nested deeper than 64", ""},
	} {
		t.Run(c.name, refusal{c.name, field(c.text), c.want, c.hint}.check)
	}
}

func TestParseRefusesJSON(t *testing.T) {
	for _, c := range []refusal{
		{"duplicate", "{\n \"entities\": {},\n \"relations\": {},\n \"entities\": {}\n}", `line 4, column 2: duplicate name "entities" in object`, ""},
		{"duplicate at depth", `{"entities":{"A":{"key":"id","fields":{"id":{"type":"int","\u0074ype":"int"}}}}}`,
			`line 1, column 59: entities.A.fields.id: duplicate name "type" in object`, ""},
		{"lone surrogate", "{\"entities\":\n{\"\\ud800\":{}}}", "line 2, column 3: entities: lone surrogate in text", ""},
		{"unknown key", "{\"entities\": {\n\t\"é\": 1}, \"relation\": {}}", "line 2, column 2: entities.\"é\": type name \"é\" is not allowed",
			"start with a letter or _, go on with letters, digits and _"},
		{"column counts characters", "{\"relations\": {}, \"entities\": {\"A\": {\"key\": \"id\", \"fields\": {\n" +
			" \"id\": {\"type\": \"string\"}, \"x\": {\"default\": \"éé\", \"type\": \"in\"}}}}}",
			`line 2, column 59: entities.A.fields.x.type: unknown type "in"`, "did you mean int?"},
		{"cut off", "{\"entities\": {},\n \"relations\": {]}", "line 2, column 16: relations: expected a quoted name, found ']'", ""},
	} {
		t.Run(c.name, c.check)
	}
}

func TestParseRefusesSyntax(t *testing.T) {
	const hint = "look at the indentation, and whether brackets and quotes are closed"
	for _, c := range []refusal{
		{"tab", "entities:\n  A:\n\tkey: id\n", "line 3: found character that cannot start any token", hint},
		{"two colons", "entities:\n  A:\n    key: id: x\n", "line 3: mapping values are not allowed in this context", hint},
		{"open quote", "entities:\n  A:\n    key: 'id\n\n", "line 3: found unexpected end of stream", hint},
		{"indentation", "entities:\n  A:\n    key: id\n   fields: {}\n", "line 2 or below: did not find expected key", hint},
		{"open bracket", "entities:\n  A: {key: id,\n    fields: {]}\n", "line 3 or below: did not find expected node content", hint},
		{"on the first line", "entities: }\n", "line 1 or below: did not find expected node content", hint},
		{"control character", "entities:\n  A: \"\x01\"\n", "line 2, column 7: YAML does not allow the character U+0001", "write it as an escape in double quotes"},
		{"invalid UTF-8", "entities: # \uFFFD\n  é\xff: {}\n", "line 2, column 4: the file is not valid UTF-8", ""},
		{"two documents", "entities: {}\n---\nentities: {}\n", "line 2, column 1: a schema file is one document, this is a second one", ""},
	} {
		t.Run(c.name, c.check)
	}
}
