package onto_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
)

func TestIdentityString(t *testing.T) {
	for _, c := range []struct {
		id   onto.Identity
		want string
	}{
		{onto.EntityID("Customer", "c1"), `Customer "c1"`},
		{onto.EntityID("Customer", "a\n"), `Customer "a\n"`},
		{onto.RelationID("Owns", "c1", "p1"), `Owns "c1" → "p1"`},
		{onto.RelationID("Owns", "c1", "p1").WithInstance("2026"), `Owns "c1" → "p1" ["2026"]`},
	} {
		if got := c.id.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestIdentityCompare(t *testing.T) {
	sorted := []onto.Identity{
		onto.EntityID("A", "z"),
		onto.EntityID("B", "10"),
		onto.EntityID("B", "9"),
		onto.EntityID("B", "Z"),
		onto.EntityID("B", "a"),
		onto.EntityID("B", "\uFFFD"),
		onto.EntityID("B", "\U0001F600"),
		onto.RelationID("A", "a", "z"),
		onto.RelationID("A", "a", "z").WithInstance("1"),
		onto.RelationID("A", "a", "z").WithInstance("2"),
		onto.RelationID("A", "b", "a"),
		onto.RelationID("A", "b", "b"),
		onto.RelationID("B", "a", "a"),
	}
	for i, a := range sorted {
		for j, b := range sorted {
			got := a.Compare(b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s against %s: got %d", a, b, got)
			}
		}
	}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, onto.Identity.Compare)
	if !slices.Equal(shuffled, sorted) {
		t.Errorf("got %v, want %v", shuffled, sorted)
	}
}

func TestIdentityIsComparable(t *testing.T) {
	seen := map[onto.Identity]int{}
	seen[onto.EntityID("T", "x")]++
	seen[onto.EntityID("T", "x")]++
	seen[onto.RelationID("T", "x", "y")]++
	if len(seen) != 2 {
		t.Errorf("got %v, want two identities", seen)
	}
}

func TestIdentityCheck(t *testing.T) {
	longest := strings.Repeat("k", onto.MaxKey)
	for _, id := range []onto.Identity{
		onto.EntityID("Customer", "c"),
		onto.EntityID("_", longest),
		onto.EntityID("a.b ☃", "x"), // the original program has such types
		onto.EntityID(strings.Repeat("T", onto.MaxName), "é/..\n☃"),
		onto.RelationID("Owns", longest, longest).WithInstance(longest),
	} {
		if err := id.Check(); err != nil {
			t.Errorf("got %v, want no error", err)
		}
	}
	for _, c := range []struct {
		id   onto.Identity
		code onto.Code
		want string
	}{
		{onto.Identity{}, onto.Invalid, "type name is empty"},
		{onto.Identity{Type: "T"}, onto.Invalid, `kind "" is unknown`},
		{onto.Identity{Type: "T", Kind: "thing"}, onto.Invalid, `kind "thing" is unknown`},
		{onto.EntityID("a\xff", "x"), onto.Invalid, "type name is not valid UTF-8"},
		{onto.EntityID("T", ""), onto.Invalid, "T key is empty"},
		{onto.EntityID("T", longest+"k"), onto.TooLarge, "T key is 1025 bytes long, the limit is 1024"},
		{onto.EntityID("T", "a\xff"), onto.Invalid, "T key is not valid UTF-8"},
		{onto.EntityID("T", "a\x00"), onto.Invalid, "T key contains U+0000"},
		{onto.EntityID("T", "x").WithInstance("i"), onto.Invalid, `entity T "x" has relation keys`},
		{onto.Identity{Kind: onto.KindEntity, Type: "T", Key: "x", Left: "l"}, onto.Invalid, `entity T "x" has relation keys`},
		{onto.Identity{Kind: onto.KindRelation, Type: "T", Key: "x", Left: "l", Right: "r"}, onto.Invalid, `relation T "l" → "r" has an entity key`},
		{onto.RelationID("T", "", "r"), onto.Invalid, "T left key is empty"},
		{onto.RelationID("T", "l", ""), onto.Invalid, "T right key is empty"},
		{onto.RelationID("T", "l", "r").WithInstance(longest + "k"), onto.TooLarge, "T instance key is 1025 bytes long, the limit is 1024"},
		{onto.RelationID("T", "l", "r").WithInstance("\xc3"), onto.Invalid, "T instance key is not valid UTF-8"},
	} {
		if err := c.id.Check(); message(err) != c.want || onto.CodeOf(err) != c.code {
			t.Errorf("got %v (%s), want %s (%s)", err, onto.CodeOf(err), c.want, c.code)
		}
	}
}

func TestIdentityCheckNew(t *testing.T) {
	for _, id := range []onto.Identity{
		onto.EntityID("T", " "), onto.EntityID("T", "\u2003\r\n"), onto.RelationID("R", " ", "b"), onto.RelationID("R", "a", "\t"),
		onto.RelationID("R", "a", "b").WithInstance(" "), onto.FactID("F", " ", "a", "1"), onto.FactID("F", "s", "a", " "),
	} {
		if err := id.Check(); err != nil {
			t.Errorf("%s: got %v, want that it is well formed", id, err)
		}
		if err := id.CheckNew(); onto.CodeOf(err) != onto.Invalid || !strings.HasSuffix(err.Error(), "is white space only") {
			t.Errorf("%s: got %v, want that it is white space only", id, err)
		}
	}
	for _, id := range []onto.Identity{onto.EntityID("T", " a "), onto.RelationID("R", "a", "b"), onto.FactID("F", "s", "a", "1")} {
		if err := id.CheckNew(); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := onto.EntityID("T", "").CheckNew(); err == nil || err.Error() != "T key is empty" {
		t.Errorf("an empty key: got %v", err)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "Z", "_", "_1", "snake_case", "CamelCase2", strings.Repeat("x", onto.MaxName)} {
		if err := onto.CheckName("field", name); err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
		}
	}
	for _, name := range []string{
		"", "1", "1a", "a-b", "a.b", "a b", "a$", "é", "aé", "a\x00", "a\n", "[a]", strings.Repeat("x", onto.MaxName+1),
	} {
		if err := onto.CheckName("field", name); onto.CodeOf(err) != onto.Invalid {
			t.Errorf("%q: got %v, want Invalid", name, err)
		}
	}
	if got := onto.HintOf(onto.CheckName("field", "a-b")).String(); got != "start with a letter or _, go on with letters, digits and _" {
		t.Errorf("got hint %q", got)
	}
}
