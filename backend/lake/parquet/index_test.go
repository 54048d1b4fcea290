package parquet

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

// Identities with the same hash are told apart by their keys.
func TestSameHash(t *testing.T) {
	l := NewLayout(onto.KindRelation, "Knows", nil)
	var versions []onto.Version
	for i := range 20 {
		versions = append(versions, onto.Version{
			Identity: onto.RelationID("Knows", "a", fmt.Sprintf("b%02d", i/2)), Op: onto.Put, Commit: int64(i + 1), SchemaVersion: 1,
			Fields: fmt.Appendf(nil, `{"n":%d}`, i),
		})
	}
	data, _, err := Encode(l, versions)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range versions {
		f, err := Open(bytes.NewReader(data), int64(len(data)), l.Kind, l.Type)
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.indexOf(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		same := slices.Repeat([]uint64{hashOf(x.seed, &want.Identity)}, len(versions))
		f.groups[0].index = newIndex(x.seed, same, x.commits)
		ids := []onto.Identity{want.Identity, onto.RelationID("Knows", "z", "z")}
		for _, at := range []int64{want.Commit, 100} {
			got, err := f.Find(context.Background(), ids, at)
			if err != nil || len(got) != 1 || got[0].Identity != want.Identity {
				t.Fatalf("find %s: got %v, %v", want.Identity, got, err)
			}
			if at == want.Commit && string(got[0].Fields) != string(want.Fields) {
				t.Errorf("find %s at %d: got %v, want %v", want.Identity, at, got[0], want)
			}
		}
	}
}

// The parts of an identity have their places.
func TestHashOfParts(t *testing.T) {
	x := newIndex(maphash.MakeSeed(), nil, nil)
	ids := []onto.Identity{
		onto.RelationID("T", "a", "b"), onto.RelationID("T", "b", "a"), onto.RelationID("T", "ab", ""), onto.RelationID("T", "", "ab"),
		onto.RelationID("T", "a", "").WithInstance("b"), onto.RelationID("T", "", "a").WithInstance("b"), onto.EntityID("T", "a"), onto.EntityID("T", "b"),
	}
	seen := map[uint64]onto.Identity{}
	for _, id := range ids {
		hash := hashOf(x.seed, &id)
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same hash", id, other)
		}
		seen[hash] = id
	}
}
