package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/parquet/parquettest"
)

// readEverything opens bytes and reads all there is. It returns the first error.
func readEverything(data []byte, kind onto.Kind, ids []onto.Identity) error {
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), kind, "Person")
	if err != nil {
		return err
	}
	_, err = f.Find(context.Background(), ids, 1<<40)
	if _, err := all(f); err != nil {
		return err
	}
	for _, err := range f.Check(context.Background(), people(kind)) {
		if err != nil {
			return err
		}
	}
	return err
}

func TestDamage(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		versions := many(20, kind)
		data, _ := encode(t, people(kind), versions)
		var ids []onto.Identity
		for _, v := range versions {
			ids = append(ids, v.Identity)
		}
		ids = sortedIDs(ids)
		check := func(what string, at int, damaged []byte) {
			err := readEverything(damaged, kind, ids)
			if err != nil && !errors.Is(err, onto.Corrupt) {
				t.Errorf("%s at %d: got %v, want corrupt or nothing", what, at, err)
			}
		}
		for at := range len(data) {
			damaged := bytes.Clone(data)
			damaged[at] ^= []byte{1, 0x80, 0xff, 0x10}[at%4]
			check("flip", at, damaged)
			if err := readEverything(data[:at], kind, ids); !errors.Is(err, onto.Corrupt) {
				t.Errorf("cut at %d: got %v, want corrupt", at, err)
			}
		}
	})
}

// The same with several row groups and pages, at some places.
func TestDamageOfManyPages(t *testing.T) {
	versions := many(10000, onto.KindEntity)
	data, _ := encode(t, people(onto.KindEntity), versions)
	var ids []onto.Identity
	for i := 0; i < len(versions); i += 501 {
		ids = append(ids, versions[i].Identity)
	}
	ids = sortedIDs(ids)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		damaged := bytes.Clone(data)
		at := random.IntN(len(data))
		if random.IntN(2) == 0 { // in the footer, from which everything else is found
			at = len(data) - 1 - random.IntN(min(len(data), 4000))
		}
		damaged[at] ^= byte(1 + random.IntN(255))
		if err := readEverything(damaged, onto.KindEntity, ids); err != nil && !errors.Is(err, onto.Corrupt) {
			t.Errorf("flip at %d of %d: got %v, want corrupt or nothing", at, len(data), err)
		}
	}
}

func TestWrongFile(t *testing.T) {
	entities, _ := encode(t, people(onto.KindEntity), many(3, onto.KindEntity))
	relations, _ := encode(t, people(onto.KindRelation), many(3, onto.KindRelation))
	empty, _ := encode(t, people(onto.KindRelation), nil)
	for _, c := range []struct {
		data []byte
		kind onto.Kind
		typ  string
		want string
	}{
		{entities, onto.KindRelation, "Person", "column 2 is entity_type, not relation_type"},
		{relations, onto.KindEntity, "Person", "column 2 is relation_type, not entity_type"},
		{empty, onto.KindEntity, "Person", "column 2 is relation_type, not entity_type"},
		{entities, onto.KindEntity, "Dog", "it has rows of Person"},
		{nil, onto.KindEntity, "Person", "it is not Parquet"},
		{[]byte("hello, this is text"), onto.KindEntity, "Person", "it is not Parquet"},
		{foreign(t, "commit_id"), onto.KindEntity, "Person", "column entity_type is missing"},
		{foreign(t, "commit_id", "entity_type", "entity_key", "schema_version_id", "op", "op"), onto.KindEntity, "Person", "column 6 is op, not fields_json"},
		{foreign(t, "op"), onto.KindEntity, "Person", "column 1 is op, not commit_id"},
	} {
		_, err := parquet.Open(bytes.NewReader(c.data), int64(len(c.data)), c.kind, c.typ)
		if !errors.Is(err, onto.Corrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("open as %s %s: got %v, want corrupt: %s", c.kind, c.typ, err, c.want)
		}
	}
}

// foreign is an empty file with these columns.
func foreign(t *testing.T, names ...string) []byte {
	t.Helper()
	data, err := parquettest.Empty(names...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// broken is storage that fails after some reads.
type broken struct {
	io.ReaderAt
	left int
}

func (b *broken) ReadAt(p []byte, off int64) (int, error) {
	if b.left--; b.left < 0 {
		return 0, errors.New("connection reset")
	}
	return b.ReaderAt.ReadAt(p, off)
}

// An error of the storage is not damage, and the next call may succeed.
func TestBrokenStorage(t *testing.T) {
	versions := many(60, onto.KindEntity)
	data, _ := encode(t, people(onto.KindEntity), versions)
	ids := []onto.Identity{versions[7].Identity}
	for left := range 100 {
		storage := &broken{bytes.NewReader(data), left}
		f, err := parquet.Open(storage, int64(len(data)), onto.KindEntity, "Person")
		var found []onto.Version
		if err == nil {
			found, err = f.Find(context.Background(), ids, 100)
		}
		if err == nil {
			_, err = all(f)
		}
		if err == nil {
			sameVersions(t, found, newest(versions, ids, 100))
			return
		}
		if !errors.Is(err, onto.Unavailable) {
			t.Fatalf("after %d reads: got %v, want unavailable", left, err)
		}
		if f != nil {
			storage.left = 1000
			sameVersions(t, find(t, f, ids, 100), newest(versions, ids, 100))
		}
	}
	t.Fatal("it never succeeded")
}
