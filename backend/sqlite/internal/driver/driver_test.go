package driver

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// TestPreparedStatementsAreBounded asks more different statements than are
// kept, while some are under way.
func TestPreparedStatementsAreBounded(t *testing.T) {
	c, err := Dial(filepath.Join(t.TempDir(), "any.db"), AccessCreate, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n`
	var open []*Rows
	for i := range 5 {
		r, err := c.Query(context.Background(), fmt.Sprintf("%s WHERE i > %d - 10", numbers, i))
		if err != nil || !r.Next() {
			t.Fatalf("got no row and error %v", err)
		}
		open = append(open, r)
	}
	for i := range 5 * maxPrepared {
		n, err := c.QueryInt(fmt.Sprintf("SELECT %d", i))
		if err != nil || n != int64(i) {
			t.Fatalf("got %d and error %v, want %d", n, err, i)
		}
		if again, err := c.QueryInt("SELECT 7"); err != nil || again != 7 {
			t.Fatalf("got %d and error %v, want 7", again, err)
		}
		if len(c.stmts) > maxPrepared || c.used.Len() != len(c.stmts) {
			t.Fatalf("got %d statements, %d of them in order, want %d at most", len(c.stmts), c.used.Len(), maxPrepared)
		}
	}
	if _, ok := c.stmts["SELECT 7"]; !ok {
		t.Error("the statement that was used all the time is not kept")
	}
	for i, r := range open {
		if got := r.Int(0); got != 1 || !r.Next() || r.Int(0) != 2 {
			t.Errorf("query %d: got %d, then %d, want 1, then 2", i, got, r.Int(0))
		}
		if err := r.Close(); err != nil {
			t.Errorf("query %d: %v", i, err)
		}
		if err := r.Close(); err != nil || r.of != nil {
			t.Errorf("query %d, closed twice: %v", i, err)
		}
	}
}

// TestMorePreparedThanKept has more queries under way than statements are kept.
func TestMorePreparedThanKept(t *testing.T) {
	c, err := Dial(filepath.Join(t.TempDir(), "any.db"), AccessCreate, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var open []*Rows
	for i := range maxPrepared + 10 {
		r, err := c.Query(context.Background(), fmt.Sprintf("SELECT %d", i))
		if err != nil || !r.Next() {
			t.Fatalf("query %d: error %v", i, err)
		}
		open = append(open, r)
	}
	for i, r := range open {
		if r.Int(0) != int64(i) || r.Close() != nil {
			t.Errorf("query %d: got %d", i, r.Int(0))
		}
	}
	if _, err := c.QueryInt("SELECT -1"); err != nil || len(c.stmts) > maxPrepared {
		t.Errorf("got %d statements and error %v, want %d at most", len(c.stmts), err, maxPrepared)
	}
}
