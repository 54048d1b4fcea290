package schemafile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

func TestParseUpgraders(t *testing.T) {
	got, err := schemafile.ParseUpgraders([]byte(`
Customer:
  1: '.tier //= "Silver"'
  2: {rename: {name: full_name, a: b}, drop: [fax, telex], jq: .seats += 1}
Client:
  renamed_from: Company
  jq: del(.vat)
  1: .
`))
	want := []schemafile.Upgrader{
		{Type: "Customer", From: 1, Program: `.tier //= "Silver"`},
		{Type: "Customer", From: 2, Rename: [][2]string{{"name", "full_name"}, {"a", "b"}}, Drop: []string{"fax", "telex"}, Program: ".seats += 1"},
		{Type: "Client", RenamedFrom: "Company", Program: "del(.vat)"},
		{Type: "Client", From: 1, Program: "."},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseUpgradersRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, message, hint string }{
		{"empty", "", "the file is empty", "declare"},
		{"a list", "[]", "line 1, column 1: expected keys with values, found a value of type list", ""},
		{"a name", `"": {1: .}`, `line 1, column 1: the name of the type is empty`, "name a type"},
		{"no step", "A: {}", "line 1, column 1: A: there is no step", "number of a version"},
		{"version 0", "A: {0: .}", `line 1, column 5: A."0": "0" is not the number of a version`, "start at 1"},
		{"version 01", `{"A": {"01": "."}}`, `line 1, column 8: A."01": "01" is not the number of a version`, "start at 1"},
		{"a number for a program", "A: {1: 2}", `line 1, column 8: A."1": expected a jq program, or rename, drop, default and jq`, ""},
		{"an empty program", "A: {1: ''}", `line 1, column 8: A."1": the jq program is empty`, "write ."},
		{"an empty object", "A: {1: {}}", `line 1, column 8: A."1": expected a jq program`, ""},
		{"an unknown key", "A: {1: {renmae: {a: b}}}", `line 1, column 9: A."1": unknown key "renmae"`, "did you mean rename?"},
		{"a list of renames", "A: {1: {rename: [a]}}", `line 1, column 17: A."1".rename: expected keys with values`, ""},
		{"a renaming without a name", "A: {1: {rename: {a: 1}}}", `line 1, column 21: A."1".rename.a: expected a name`, ""},
		{"a drop that is no list", "A: {1: {drop: a}}", `line 1, column 15: A."1".drop: expected a list of fields`, "drop: [fax]"},
		{"a drop of a number", "A: {1: {drop: [1]}}", `line 1, column 16: A."1".drop[0]: expected a name`, ""},
		{"a renaming without its former name", "A: {jq: .}", "line 1, column 5: A.jq: this is about a renaming", "1: {jq: …}"},
		{"a former name under a version", "A: {1: {renamed_from: B}}", `line 1, column 9: A."1": a type is not renamed by a version`, "beside the versions"},
		{"nothing to rename", "A: {1: {rename: {}, drop: []}}", `line 1, column 8: A."1": the step does nothing`, "leave it out"},
		{"twice", "A: {1: ., 1: .}", "given twice", ""},
		{"not YAML", "A: {1: [", "line", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := schemafile.ParseUpgraders([]byte(c.text))
			if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.message) || !strings.Contains(onto.HintOf(err).String(), c.hint) {
				t.Errorf("got %v (%s: %s), want %s (%s)", err, onto.CodeOf(err), onto.HintOf(err), c.message, c.hint)
			}
		})
	}
}

func FuzzParseUpgraders(f *testing.F) {
	f.Add([]byte("A: {1: ., 2: {rename: {a: b}, drop: [c], jq: '.x'}}"))
	f.Add([]byte("B: {renamed_from: A, jq: .}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := schemafile.ParseUpgraders(data)
		if err != nil && onto.CodeOf(err) == "" {
			t.Errorf("an error without a code: %v", err)
		}
		for _, u := range list {
			if (u.From < 1) == (u.RenamedFrom == "") || u.Program == "" && len(u.Rename)+len(u.Drop) == 0 && u.RenamedFrom == "" {
				t.Errorf("%q gives the step %+v", data, u)
			}
		}
	})
}
