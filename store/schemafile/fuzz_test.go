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
		factFile, "facts: {F: {open: true}}", "facts: {F: {fields: {onto_x: {type: int}}}}",
		"? [a]\n: b\n", "a: |\n  x\n", "--- !x\n...\n", "%YAML 1.2\n---\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		types, err := schemafile.Parse(data)
		if err != nil {
			if onto.CodeOf(err) == "" {
				t.Fatalf("got %v, want an error with a code", err)
			}
			return
		}
		want := schemas(t, types)
		file, err := schemafile.Format(want)
		if err != nil {
			t.Fatalf("Format: %v", err)
		}
		again, err := schemafile.Parse(file)
		if err != nil {
			t.Fatalf("Parse of what Format wrote: %v\n%s", err, file)
		}
		if got := schemas(t, again); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}
