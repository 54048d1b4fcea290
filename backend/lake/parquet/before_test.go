package parquet_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"testing"

	"github.com/ontologia/onto"
)

// before is what the files in testdata hold, of each kind.
func before(kind onto.Kind) []onto.Version {
	list := many(600, kind)
	for i := range list {
		if v := &list[i]; v.Op == onto.Put && i%4 == 0 {
			v.Fields = fmt.Appendf(nil, `{"age":%d,"alive":%t,"born":"2026-01-%02d","commit_id":%d,"more":{"n":%d},"rank":%d}`, i, i%3 == 0, i%28+1, i%2, i, i%5)
		}
	}
	return list
}

// Files that arrow-go has written for earlier versions of this program are read as before:
// by row, by identity, and with their typed columns.
func TestFilesOfBefore(t *testing.T) {
	eachKind(t, func(t *testing.T, kind onto.Kind) {
		text, err := os.ReadFile("testdata/before-" + string(kind) + ".base64")
		if err != nil {
			t.Fatal(err)
		}
		data, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			t.Fatal(err)
		}
		l := people(kind)
		f := open(t, l, data)
		want := before(kind)
		got, err := all(f)
		if err != nil {
			t.Fatal(err)
		}
		sameVersions(t, got, want)
		if id, own := f.Store(); id != "store-1" || !own {
			t.Errorf("store: got %q, %v", id, own)
		}
		var ids []onto.Identity
		for i := 0; i < len(want); i += 13 {
			ids = append(ids, want[i].Identity)
		}
		ids = sortedIDs(ids)
		sameVersions(t, find(t, f, ids, 8), newest(want, ids, 8))
		if err := f.CheckTyped(); err != nil {
			t.Error(err)
		}
		if list := flaws(t, f, l); len(list) > 0 {
			t.Errorf("got %d flaws: %s", len(list), list[0])
		}
		t.Logf("%d rows in %d bytes", len(got), len(data))
	})
}
