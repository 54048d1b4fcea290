package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/duck/ducktest"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

type purchase struct {
	ID    string         `json:"id" onto:"key"`
	At    time.Time      `json:"made"`
	Paid  *time.Time     `json:"paid,omitempty"`
	Due   *onto.Date     `json:"due,omitempty"`
	Items []purchaseItem `json:"items"`
	To    map[string]any `json:"receiver"`
	Note  any            `json:"note"`
	Total float64        `json:"total"`
	Lines int            `json:"lines"`
	Gift  bool           `json:"gift"`
}

type purchaseItem struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// Another reader finds a column of a fitting type for each field, nested ones and times
// among them, and can compute with it.
func TestParquetForAnotherReader(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := filepath.Join(t.TempDir(), "store.db")
	b, err := sqlite.Open(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(ctx, b, onto.TypeOf[purchase]())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(1969, 7, 20, 20, 17, 40, 123456000, time.UTC)
	paid := time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("", 3600))
	due := onto.Date{Year: 1969, Month: 12, Day: 31}
	_, err = s.Commit(ctx, onto.Draft{}.Ensure(
		purchase{"a", at, &paid, &due, []purchaseItem{{"x", 2}, {"y", 3}}, map[string]any{"city": "Bonn"}, "fragile", 9.5, 2, true},
		purchase{"b", paid, nil, nil, []purchaseItem{}, map[string]any{}, nil, 0, 0, false}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "purchases.parquet")
	must(t, "", "export", "--type", "purchase", "--output", path, "--db", db)
	from := " FROM read_parquet('" + path + "')"
	for _, c := range []struct{ sql, want string }{
		{"SELECT column_name, column_type FROM (DESCRIBE SELECT made, paid, due, items, receiver, note, total, lines, gift, fields_json, commit_id" + from + ")",
			"[[made TIMESTAMP WITH TIME ZONE] [paid TIMESTAMP WITH TIME ZONE] [due DATE] [items JSON] [receiver JSON] [note JSON] [total DOUBLE] [lines BIGINT] [gift BOOLEAN] [fields_json VARCHAR] [commit_id BIGINT]]"},
		{"SELECT epoch_us(made)::VARCHAR, epoch_us(paid)::VARCHAR" + from, fmt.Sprintf("[[%d %d] [%d NULL]]", at.UnixMicro(), paid.UnixMicro(), paid.UnixMicro())},
		{"SELECT id, due::VARCHAR, (due + 1)::VARCHAR" + from + " WHERE due < DATE '1970-01-01'", "[[a 1969-12-31 1970-01-01]]"},
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
