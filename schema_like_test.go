package onto_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

// An instance key that only the declaration repeats among the fields is no difference.
func TestInstanceKeyInTheIdentityOnly(t *testing.T) {
	stored := subscription() // stint_id is no field
	repeating := func(f onto.Field) onto.Schema {
		s := subscription()
		s.Fields = append(slices.Clone(s.Fields), f)
		return s
	}
	given := repeating(onto.Field{Name: "stint_id", Type: onto.String})
	if d := onto.DiffSchemas(stored, given); !d.Empty() {
		t.Errorf("got %s, want no difference", d)
	}
	if !onto.Compatible(given, stored) {
		t.Error("the stored type does not serve the declaration")
	}
	if got := given.LikeStored(stored); string(got.JSON()) != string(stored.JSON()) {
		t.Errorf("got %s, want %s", got.JSON(), stored.JSON())
	}
	if got := given.LikeStored(given); string(got.JSON()) != string(given.JSON()) {
		t.Errorf("stored as a field: got %s, want it to stay", got.JSON())
	}
	if d := onto.DiffSchemas(given, stored); len(d.Removed) != 1 {
		t.Errorf("stored as a field: got %s, want it removed", d)
	}
	for _, other := range []onto.Field{
		{Name: "stint_id", Type: onto.Int},
		{Name: "stint_id", Type: onto.String, Optional: true},
		{Name: "stint_id", Type: onto.String, Default: json.RawMessage(`"x"`)},
	} {
		if d := onto.DiffSchemas(stored, repeating(other)); len(d.Added) != 1 {
			t.Errorf("%+v: got %s, want it added", other, d)
		}
	}
	renamed := given
	renamed.InstanceKey = "other"
	if d := onto.DiffSchemas(stored, renamed); len(d.Added) != 1 || len(d.Changed) != 1 {
		t.Errorf("another instance key: got %s", d)
	}
}
