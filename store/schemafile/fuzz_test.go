package schemafile_test

import (
	"reflect"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		example, structsAsFile, bomb, "{}", "entities:", field("{type: int, default: 1}"),
		`{"relations":{"R":{"left":"A","right":"B","fields":{"x":{"type":"any","default":{"a":[1,"\ud83d\ude00"]}}}}}}`,
		"relations: {R: {left: A, right: B, fields: {x: {type: string, default: \"a\\Lb\"}}}}",
		factFile, foldFile, "folds: {f: {facts: F, state: S, program: \"a\\n b\\n\"}}", "facts: {F: {open: true}}", "facts: {F: {fields: {onto_x: {type: int}}}}",
		"? [a]\n: b\n", "a: |\n  x\n", "--- !x\n...\n", "%YAML 1.2\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		declared, err := schemafile.ParseFile(data)
		if err != nil {
			if onto.CodeOf(err) == "" {
				t.Fatalf("got %v, want an error with a code", err)
			}
			return
		}
		want := schemas(t, declared.Types)
		file, err := schemafile.FormatFile(want, declared.Folds)
		if err != nil {
			t.Fatalf("Format: %v", err)
		}
		again, err := schemafile.ParseFile(file)
		if err != nil {
			t.Fatalf("Parse of what Format wrote: %v\n%s", err, file)
		}
		if got := schemas(t, again.Types); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if !reflect.DeepEqual(again.Folds, declared.Folds) {
			t.Fatalf("got %+v, want %+v", again.Folds, declared.Folds)
		}
	})
}
