package schemafile_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/schemafile"
)

const foldFile = `entities:
  Account:
    key: id
    fields:
      id:    {type: string}
      total: {type: int}
facts:
  Booking:
    fields:
      amount: {type: int}
folds:
  balance:
    facts: Booking
    state: Account
    version: 2
    program: |2
      .state.total += .fact.value
      | .state
  null-fold.x:
    facts: Booking
    state: Account
    version: 1
    program: ".state"
`

// Folds come with the types, and a file that was written comes back.
func TestFolds(t *testing.T) {
	file, err := schemafile.ReadFile(strings.NewReader(foldFile))
	if err != nil {
		t.Fatal(err)
	}
	want := []schemafile.Fold{
		{Name: "balance", Version: 2, Facts: "Booking", State: "Account", Program: ".state.total += .fact.value\n| .state\n"},
		{Name: "null-fold.x", Version: 1, Facts: "Booking", State: "Account", Program: ".state"},
	}
	if len(file.Types) != 2 || !reflect.DeepEqual(file.Folds, want) {
		t.Errorf("got %d types and %+v, want 2 and %+v", len(file.Types), file.Folds, want)
	}
	text, err := schemafile.FormatFile(schemas(t, file.Types), file.Folds)
	if err != nil || string(text) != foldFile {
		t.Errorf("got %v\n%s\nwant\n%s", err, text, foldFile)
	}
	if types := parse(t, foldFile); len(types) != 2 {
		t.Errorf("Parse gives %d types, want 2", len(types))
	}
}

// Every program comes back as it was, whatever YAML makes of its characters.
func TestProgramsComeBack(t *testing.T) {
	effort.Check(t, 1000, func(t *rapid.T) {
		program := strings.Join(rapid.SliceOfN(rapid.OneOf(texts(), rapid.SampledFrom([]string{"\n", " ", ".a", "\n\n", "# x"})), 1, 6).Draw(t, "program"), "")
		if strings.TrimSpace(program) == "" {
			program += "."
		}
		want := []schemafile.Fold{{Name: "f", Version: 1, Facts: "F", State: "S", Program: program}}
		text, err := schemafile.FormatFile(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		file, err := schemafile.ParseFile(text)
		if err != nil || !reflect.DeepEqual(file.Folds, want) {
			t.Fatalf("got %v, %+v of\n%s\nwant %+v", err, file.Folds, text, want)
		}
	})
}

func TestParseRefusesFolds(t *testing.T) {
	fold := func(rest string) string { return "folds:\n  f: {facts: F, state: S, program: .state" + rest + "}\n" }
	for _, c := range []refusal{
		{"no facts", "folds: {f: {state: S, program: .}}", "line 1, column 9: folds.f: facts is missing", "name the type of the facts"},
		{"no state", "folds: {f: {facts: F, program: .}}", "line 1, column 9: folds.f: state is missing", "name the entity type of the states"},
		{"no program", "folds: {f: {facts: F, state: S}}", "line 1, column 9: folds.f: program is missing",
			"write a jq program that makes the next state of {state, fact, draft}"},
		{"an empty program", "folds: {f: {facts: F, state: S, program: ' '}}", "line 1, column 42: folds.f.program: expected a jq program, found a value of type string", ""},
		{"a program that is a number", "folds: {f: {facts: F, state: S, program: 1}}", "line 1, column 42: folds.f.program: expected a jq program, found a value of type int", ""},
		{"version 0", fold(", version: 0"), "line 2, column 53: folds.f.version: expected a number from 1 on",
			"raise it whenever the fold makes something else of the same facts"},
		{"version in words", fold(", version: two"), "line 2, column 53: folds.f.version: expected a number from 1 on",
			"raise it whenever the fold makes something else of the same facts"},
		{"an unknown key", fold(", versoin: 1"), `line 2, column 44: folds.f: unknown key "versoin"`, "did you mean version?"},
		{"a name with a space", "folds: {a b: {}}", `line 1, column 9: folds."a b": fold name "a b" is not allowed`,
			"start with a letter or _, go on with letters, digits, _, . and -"},
		{"a list", "folds: [a]", "line 1, column 8: folds: expected keys with values, found a value of type list", ""},
	} {
		t.Run(c.name, c.check)
	}
	if _, err := schemafile.ReadFile(strings.NewReader("folds: {f: 1}")); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("got %v, want Invalid", err)
	}
}
