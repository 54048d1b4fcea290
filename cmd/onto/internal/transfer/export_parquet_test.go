package transfer

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

type sample struct {
	ID string `json:"id" onto:"key"`
	N  int    `json:"n"`
}

// What is exported as Parquet is what is stored.
func TestParquetHoldsVersions(t *testing.T) {
	ctx := t.Context()
	db, err := sqlite.Open(ctx, t.TempDir()+"/store.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, db, onto.TypeOf[sample]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 3 {
		if _, err := s.Commit(ctx, onto.Draft{}.Ensure(sample{"a", n}, sample{fmt.Sprint("b", n), 7})); err != nil {
			t.Fatal(err)
		}
	}
	for want, o := range map[string]*records.ExportOptions{
		"a@3={\"id\":\"a\",\"n\":2} b0@1={\"id\":\"b0\",\"n\":7} b1@2={\"id\":\"b1\",\"n\":7} b2@3={\"id\":\"b2\",\"n\":7} ": {},
		"a@1={\"id\":\"a\",\"n\":0} b0@1={\"id\":\"b0\",\"n\":7} ":                                                           {At: onto.AtCommit(1)},
		"a@3={\"id\":\"a\",\"n\":2} b2@3={\"id\":\"b2\",\"n\":7} ":                                                           {History: true, Since: 2},
	} {
		o.Types = []string{"sample"}
		var out bytes.Buffer
		moment, err := s.View(o.At).Commit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n, err := writeParquet(ctx, []*part{{store: s, moment: moment.ID}}, &out, o)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), onto.KindEntity, "sample")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for v, err := range f.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%s@%d=%s ", v.Key, v.Commit, v.Fields)
		}
		if got != want || n != f.Rows() {
			t.Errorf("got %d rows: %s\nwant: %s", n, got, want)
		}
	}
}
