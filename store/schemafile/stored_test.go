package schemafile_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/schemafile"
)

// A file of types as the original program may have them says what is stored, whatever
// they are called, and only for the store that has them.
func TestFormatGivesBackAnyNames(t *testing.T) {
	plain := func(name string) bool { return onto.CheckName("", name) == nil }
	drawn := 0
	effort.Check(t, 1000, func(t *rapid.T) {
		text := rapid.StringN(1, 20, -1).Filter(func(s string) bool {
			return !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, onto.OwnPrefix)
		})
		names := rapid.SliceOfNDistinct(rapid.OneOf(text, rapid.SampledFrom([]string{
			"a: b", "# a", "- a", "{a", "a\nb", "\t", " ", "null", "~", "1", "'", `"`, `\`, "<<", "!t", "&a", "*a", "é", "☃", "a\u2028b", "\x1b[31m", "?", "entities",
		})), 5, 5, rapid.ID[string]).Draw(t, "names")
		key := rapid.SampledFrom([]onto.FieldType{onto.String, onto.Int, onto.Float, onto.Bool, onto.Any}).Draw(t, "key")
		stored := []onto.Schema{
			{Kind: onto.KindEntity, Name: names[0], Key: names[1], Fields: []onto.Field{{Name: names[1], Type: key}, {Name: names[2], Type: onto.String, Optional: true}}},
			{Kind: onto.KindRelation, Name: names[3], Left: names[0], Right: names[0], InstanceKey: names[4], Fields: []onto.Field{{Name: names[1], Type: onto.Any, Optional: true}}},
		}
		stored[0].SortFields()
		file, err := schemafile.Format(stored)
		if err != nil {
			t.Fatal(err)
		}
		got, err := schemafile.ParseFile(file, stored...)
		if err != nil || len(got.Types) != len(stored) {
			t.Fatalf("got %d types, error %v, of\n%s", len(got.Types), err, file)
		}
		for i, typ := range got.Types {
			s, err := typ.Schema()
			if err != nil || string(s.JSON()) != string(stored[i].JSON()) {
				t.Fatalf("got %s, error %v; want %s", s.JSON(), err, stored[i].JSON())
			}
		}
		allowed := key == onto.String || key == onto.Int
		for _, name := range names {
			allowed = allowed && plain(name)
		}
		if _, err := schemafile.ParseFile(file); (err == nil) != allowed {
			t.Fatalf("for another store: got %v, want it to be accepted: %v, of\n%s", err, allowed, file)
		}
		drawn++
	})
	t.Logf("%d files", drawn)
}

// What the store keeps for itself stays its own, though it is stored.
func TestParseFileForAStoreRefusesItsOwn(t *testing.T) {
	stored := onto.Schema{Kind: onto.KindEntity, Name: "State", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}, {Name: "onto_fold", Type: onto.Any, Optional: true}}}
	_, err := schemafile.ParseFile([]byte("entities:\n  State:\n    key: id\n    fields:\n      id: {type: string}\n      onto_fold: {type: any, optional: true}\n"), stored)
	if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), "line 6, column 7") {
		t.Errorf("got %v, want a refusal with its place", err)
	}
}
