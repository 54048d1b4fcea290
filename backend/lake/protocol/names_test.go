package protocol

import (
	"testing"

	"github.com/ontologia/onto"
)

// A key that an attempt writes is read back; anything that only looks like one is none.
func TestNamesOfObjects(t *testing.T) {
	const attempt = "ABCDEFGHIJKLMNOP"
	for _, kind := range onto.Kinds() {
		typ := onto.TypeName{Kind: kind, Name: "Größe-1-2"}
		for _, want := range []name{
			{role: roundFileRole, TypeName: typ, number: 7, attempt: attempt},
			{role: roundFileRole, TypeName: typ, number: 7, attempt: attempt, part: 1},
			{role: snapshotRole, TypeName: typ, first: 3, number: 7, attempt: attempt},
			{role: snapshotRole, TypeName: typ, first: 3, number: 7, attempt: attempt, part: 4},
		} {
			if got, ok := parseKey(want.String()); !ok || got != want {
				t.Errorf("%s: got %+v, %v, want %+v", want, got, ok, want)
			}
		}
	}
	for _, key := range []string{
		"commits/7-A/fact/T.parquet", "commits/7-A/Facts/T.parquet", "commits/7-A/facts/.parquet", "commits/7-A/facts/T", "commits/7-A/facts/T.json",
		"commits/7-A//T.parquet", "commits/7-A/fact%73/T.parquet", "commits/7-A/facts//T.parquet", "commits/7-A/facts/../T.parquet",
		"commits/7-A/facts/entities/T.parquet", "commits/7-A/1/facts/T.parquet", "commits/7-A/02/facts/T.parquet", "commits/07-A/facts/T.parquet",
		"commits/-7-A/facts/T.parquet", "commits/7-/facts/T.parquet", "commits/7-A/facts/%54.parquet", "commits/7-A/facts/a b.parquet",
		"snapshots/fact/T-1-7-A.parquet", "snapshots/facts/T-7-1-A.parquet", "snapshots/facts/-1-7-A.parquet", "snapshots/facts/T-1-7.parquet",
		"snapshots/facts/T-1-7-A.1.parquet", "snapshots/facts/x/T-1-7-A.parquet", "snapshots/T-1-7-A.parquet", "facts/T-1-7-A.parquet",
		"commits/7-A/facts/T.parquet/", "/commits/7-A/facts/T.parquet", "commits/9007199254740993-A/facts/T.parquet",
	} {
		if n, ok := parseKey(key); ok {
			t.Errorf("%s: got %+v, want that no attempt writes it", key, n)
		}
	}
}

// A file is where files of its kind are.
func TestFilesOfOtherKinds(t *testing.T) {
	for _, kind := range append(onto.Kinds(), "", "facts", "Fact", "event") {
		for _, folder := range onto.Kinds() {
			f := DataFile{Kind: folder, Type: "T", Body: []byte("x")}
			e := f.entry(f.Path(7, "A"), 7, 7)
			e.Kind = kind
			if err := e.check(); (err == nil) != (kind == folder) {
				t.Errorf("a file of the kind %q at %s: got %v", kind, e.Path, err)
			}
		}
	}
}
