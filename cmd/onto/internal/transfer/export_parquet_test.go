package transfer

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/duck/ducktest"
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
		n, err := writeParquet(ctx, s, &out, o)
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

type order struct {
	ID    string         `json:"id" onto:"key"`
	At    time.Time      `json:"made"`
	Paid  *time.Time     `json:"paid,omitempty"`
	Items []orderItem    `json:"items"`
	To    map[string]any `json:"receiver"`
	Note  any            `json:"note"`
	Total float64        `json:"total"`
	Lines int            `json:"lines"`
	Gift  bool           `json:"gift"`
}

type orderItem struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// Another reader finds a column of a fitting type for each field, nested ones and times
// among them, and can compute with it.
func TestParquetForAnotherReader(t *testing.T) {
	ctx := t.Context()
	db, err := sqlite.Open(ctx, t.TempDir()+"/store.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, db, onto.TypeOf[order]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(1969, 7, 20, 20, 17, 40, 123456000, time.UTC)
	paid := time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("", 3600))
	_, err = s.Commit(ctx, onto.Draft{}.Ensure(
		order{"a", at, &paid, []orderItem{{"x", 2}, {"y", 3}}, map[string]any{"city": "Bonn"}, "fragile", 9.5, 2, true},
		order{"b", paid, nil, []orderItem{}, map[string]any{}, nil, 0, 0, false}))
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/orders.parquet"
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeParquet(ctx, s, file, &records.ExportOptions{Types: []string{"order"}}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	from := " FROM read_parquet('" + path + "')"
	for _, c := range []struct{ sql, want string }{
		{"SELECT column_name, column_type FROM (DESCRIBE SELECT made, paid, items, receiver, note, total, lines, gift, fields_json, commit_id" + from + ")",
			"[[made TIMESTAMP WITH TIME ZONE] [paid TIMESTAMP WITH TIME ZONE] [items JSON] [receiver JSON] [note JSON] [total DOUBLE] [lines BIGINT] [gift BOOLEAN] [fields_json VARCHAR] [commit_id BIGINT]]"},
		{"SELECT epoch_us(made)::VARCHAR, epoch_us(paid)::VARCHAR" + from, fmt.Sprintf("[[%d %d] [%d NULL]]", at.UnixMicro(), paid.UnixMicro(), paid.UnixMicro())},
		{"SELECT id" + from + " WHERE made < TIMESTAMPTZ '1970-01-01 00:00:00+00'", "[[a]]"},
		{"SELECT (items->'$[1]'->>'qty')::VARCHAR, receiver->>'city', note->>'$', total::VARCHAR, lines::VARCHAR, gift::VARCHAR" + from, "[[3 Bonn fragile 9.5 2 true] [NULL NULL NULL 0.0 0 false]]"},
		{"SELECT items::VARCHAR, receiver::VARCHAR" + from, `[[[{"qty":2,"sku":"x"},{"qty":3,"sku":"y"}] {"city":"Bonn"}] [[] {}]]`},
	} {
		got, err := ducktest.Rows(c.sql)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s:\ngot  %v, %v\nwant %s", c.sql, got, err, c.want)
		}
	}
}
