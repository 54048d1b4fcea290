package deploytest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// What a map and what JSON store is what the model says, whatever the type is; what does not
// fit is refused with the path of something that does not.
func TestNestedValuesAreThoseOfTheModel(t *testing.T) {
	fits, unfits := 0, 0
	property := func(w world, t *rapid.T) {
		schema := drawType(t)
		s, err := store.Open(w.Context(), w.handle(), onto.Untyped(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema.JSON(), err)
		}
		for range 4 {
			fields := drawFields(t, &schema, "ada")
			if rapid.Bool().Draw(t, "spoil") {
				spoiled, ok := spoil(t, fields).(map[string]any)
				if !ok {
					continue
				}
				fields = spoiled
				fields["id"] = "ada"
			}
			want, unfit := fitFields(schema.Fields, fields, "")
			if len(unfit) == 0 {
				fits++
			} else {
				unfits++
			}
			ways := map[string]any{
				"map":  onto.Entity{Type: "Person", Key: "ada", Fields: copied(fields).(map[string]any)},
				"json": onto.Entity{Type: "Person", Key: "ada", Fields: json.RawMessage(shuffled(t, fields))},
			}
			for way, thing := range ways {
				checkWrite(w, t, s, way, thing, want, unfit)
			}
		}
	}
	everywhereDrawn(t, 1000, property)
	if fits == 0 || unfits == 0 {
		t.Errorf("%d fit and %d do not: want both", fits, unfits)
	}
}

// checkWrite writes a thing, which is stored as the model wants, or is refused with a path.
func checkWrite(w world, t *rapid.T, s *store.Store, way string, thing any, want map[string]any, unfit []string) {
	_, err := s.Commit(w.Context(), onto.Draft{}.Ensure(thing))
	if len(unfit) > 0 {
		if !errors.Is(err, onto.Invalid) || !namesOne(err, unfit) {
			t.Fatalf("%s %v: got %v, want an error about one of %q", way, thing, err, unfit)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s %v: %v", way, thing, err)
	}
	v, err := s.Now().Get(w.Context(), onto.EntityID("Person", "ada"))
	if err != nil {
		t.Fatal(err)
	}
	checkStored(t, v.Fields, want)
}

// checkStored compares stored fields with those of the model.
func checkStored(t *rapid.T, stored json.RawMessage, want map[string]any) {
	t.Helper()
	got, err := modelParse(stored)
	if err != nil || !reflect.DeepEqual(got, any(want)) {
		t.Fatalf("stored %s, want %s", stored, modelJSON(want))
	}
	if canonical, err := codec.AppendCanonical(nil, stored); err != nil || string(canonical) != string(stored) {
		t.Fatalf("stored %s, which is not canonical: %v", stored, err)
	}
}

// namesOne reports whether an error names one of these paths.
func namesOne(err error, paths []string) bool {
	for _, path := range paths {
		name := path // a field that the type does not have is named as it is
		if quoted, ok := strings.CutPrefix(path, `"`); ok && strings.HasSuffix(quoted, `"`) {
			_ = json.Unmarshal([]byte(path), &name)
		}
		for _, said := range []string{"field " + path + ": ", "field " + path + " is missing", "has no field " + name} {
			if strings.Contains(err.Error(), said) {
				return true
			}
		}
	}
	return false
}
