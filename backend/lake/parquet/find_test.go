package parquet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/internal/effort"
)

// newest is what Find has to return.
func newest(versions []onto.Version, ids []onto.Identity, at int64) []onto.Version {
	var list []onto.Version
	for _, id := range ids {
		var best *onto.Version
		for i := range versions {
			if v := &versions[i]; v.Identity == id && v.Commit <= at && (best == nil || v.Commit > best.Commit) {
				best = v
			}
		}
		if best != nil {
			list = append(list, *best)
		}
	}
	return list
}

// find is File.Find without errors.
func find(t fataler, f *parquet.File, ids []onto.Identity, at int64) []onto.Version {
	t.Helper()
	got, err := f.Find(context.Background(), ids, at)
	if err != nil {
		t.Fatalf("find %v at %d: %v", ids, at, err)
	}
	return got
}

// sameStates compares the states that a file has of identities.
func sameStates(t fataler, f *parquet.File, versions []onto.Version, ids []onto.Identity, at int64, purged int) {
	t.Helper()
	var want []parquet.State
	place := map[onto.Identity]int{}
	for i, id := range ids {
		place[id] = i
	}
	for _, v := range versions {
		if i, ok := place[v.Identity]; ok && v.Commit <= at && v.SchemaVersion > purged {
			want = append(want, parquet.State{ID: i, Commit: v.Commit, Op: v.Op})
		}
	}
	slices.SortFunc(want, func(a, b parquet.State) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Commit, b.Commit)) })
	got, err := f.States(context.Background(), ids, at, purged)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("states of %v at %d without %d: got %v, error %v; want %v", ids, at, purged, got, err, want)
	}
}

// sortedIDs sorts identities and drops repetitions.
func sortedIDs(ids []onto.Identity) []onto.Identity {
	slices.SortFunc(ids, onto.Identity.Compare)
	return slices.Compact(ids)
}

func TestFind(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		effort.Check(t, 1000, func(t *rapid.T) {
			versions := rapid.SliceOfNDistinct(version(kind, 4), 0, 30, func(v onto.Version) string {
				return fmt.Sprint(v.Identity, v.Commit)
			}).Draw(t, "versions")
			if rapid.Bool().Draw(t, "sorted") {
				sortVersions(versions)
			}
			var ids []onto.Identity
			for _, v := range rapid.SliceOfN(version(kind, 5), 0, 10).Draw(t, "asked for") {
				ids = append(ids, v.Identity)
			}
			ids = append(ids, onto.EntityID("Aunt", "1"), onto.EntityID("Zoo", "1"), onto.RelationID("Person", "1", "1"), onto.EntityID("Person", "1"), onto.FactID("Person", "1", "age", "1"))
			ids = sortedIDs(ids)
			l := people(kind)
			data, _ := encode(t, l, versions)
			f := open(t, l, data)
			for range 2 { // without and with an index
				at := rapid.Int64Range(0, 21).Draw(t, "at")
				sameVersions(t, find(t, f, ids, at), newest(versions, ids, at))
				sameStates(t, f, versions, ids, at, rapid.IntRange(0, 3).Draw(t, "purged"))
			}
		})
	})
}

// many makes versions of n identities, each with one to three.
func many(n int, kind onto.Kind) []onto.Version {
	var list []onto.Version
	for i := range n {
		for commit := range int64(i%3 + 1) {
			v := entity(fmt.Sprintf("key %07d", i*2), commit*5+int64(i%5)+1, fmt.Sprintf(`{"age":%d,"name":"Name %d","score":%d.5}`, i%90, i, commit))
			v.SchemaVersion = i%2 + 1
			if i%11 == 10 && commit == 2 {
				v.Op, v.Fields = onto.Delete, []byte("{}")
			}
			switch kind {
			case onto.KindFact:
				v.Identity = onto.FactID("Person", fmt.Sprintf("subject %05d", i/10), []string{"age", "name"}[i%2], fmt.Sprintf("id %07d", i))
			case onto.KindRelation:
				v.Identity = onto.RelationID("Person", fmt.Sprintf("left %05d", i/10), fmt.Sprintf("right %07d", i)).WithInstance([]string{"", "x"}[i%2])
			}
			list = append(list, v)
		}
	}
	sortVersions(list)
	return list
}

// A file of several row groups, in order and out of order.
func TestFindInManyRowGroups(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		versions := many(20000, kind)
		shuffled := slices.Clone(versions)
		for i := range shuffled { // far and near
			j := i * 7919 % len(shuffled)
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		}
		var ids, absent []onto.Identity
		expect := map[int64][]onto.Version{}
		for i := 0; i < len(versions); i += 97 {
			ids = append(ids, versions[i].Identity)
			missing := versions[i].Identity
			missing.Key, missing.Right = missing.Key+"0", missing.Right+"0"
			if kind == onto.KindEntity {
				missing.Right = ""
			} else {
				missing.Key = ""
			}
			absent = append(absent, missing)
		}
		ids = sortedIDs(ids)
		for _, at := range []int64{0, 3, 7, 100} {
			expect[at] = newest(versions, ids, at)
		}
		for name, list := range map[string][]onto.Version{"sorted": versions, "shuffled": shuffled} {
			l := people(kind)
			data, sum := encode(t, l, list)
			f := open(t, l, data)
			got, err := all(f)
			if err != nil {
				t.Fatal(err)
			}
			sameVersions(t, got, list)
			if sum.Rows != int64(len(list)) || sum.Unique {
				t.Errorf("%s: summary: got %+v", name, sum)
			}
			for at, want := range expect {
				sameVersions(t, find(t, f, ids, at), want)
				sameStates(t, f, versions, ids, at, int(at)%2)
			}
			if got := find(t, f, sortedIDs(absent), 100); len(got) > 0 {
				t.Errorf("%s: found %v, which are not in the file", name, got)
			}
		}
	})
}

// Large fields end row groups early, and one may be larger than a whole one.
func TestLargeFields(t *testing.T) {
	var versions []onto.Version
	for i := range 12 {
		text := make([]byte, 1<<20)
		for j := range text {
			text[j] = 'a' + byte(i+j*j%7)
		}
		if i == 5 {
			text = slices.Repeat(text, 10)
		}
		versions = append(versions, entity(fmt.Sprintf("%02d", i), int64(i+1), fmt.Sprintf(`{"name":%q}`, text)))
	}
	l := people(onto.KindEntity)
	data, sum := encode(t, l, versions)
	if !sum.Unique || !sum.Typed {
		t.Errorf("summary: got %+v", sum)
	}
	f := open(t, l, data)
	got, err := all(f)
	if err != nil {
		t.Fatal(err)
	}
	sameVersions(t, got, versions)
	for i := range versions {
		sameVersions(t, find(t, f, []onto.Identity{versions[i].Identity}, 100), versions[i:i+1])
	}
}

func TestConcurrentUse(t *testing.T) {
	versions := many(10000, onto.KindEntity)
	l := people(onto.KindEntity)
	data, _ := encode(t, l, versions)
	f := open(t, l, data)
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := worker; i < len(versions); i += 499 {
				ids := []onto.Identity{versions[i].Identity}
				got, err := f.Find(context.Background(), ids, 100)
				if err != nil || len(got) != 1 || got[0].Identity != ids[0] {
					t.Errorf("find %v: %v, %v", ids, got, err)
				}
			}
			if got, err := all(f); err != nil || len(got) != len(versions) {
				t.Errorf("got %d versions and %v", len(got), err)
			}
		})
	}
	wait.Wait()
}

func TestCancelled(t *testing.T) {
	versions := many(100, onto.KindEntity)
	l := people(onto.KindEntity)
	data, _ := encode(t, l, versions)
	f := open(t, l, data)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Find(ctx, []onto.Identity{versions[0].Identity}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("find: got %v, want cancelled", err)
	}
	if _, err := f.States(ctx, []onto.Identity{versions[0].Identity}, 1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("states: got %v, want cancelled", err)
	}
	for _, err := range f.All(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("all: got %v, want cancelled", err)
		}
	}
	sameVersions(t, find(t, f, []onto.Identity{versions[0].Identity}, 1), versions[:1])
}

// A loop over All may end early, and may panic.
func TestAllEndsEarly(t *testing.T) {
	versions := many(1000, onto.KindEntity)
	l := people(onto.KindEntity)
	data, _ := encode(t, l, versions)
	f := open(t, l, data)
	seen := 0
	for _, err := range f.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 300 {
			break
		}
	}
	if seen != 300 {
		t.Errorf("got %d versions, want 300", seen)
	}
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("got %v, want the panic of the loop", r)
		}
	}()
	for range f.All(context.Background()) {
		panic("mine")
	}
}
