package duck_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/exec"
)

// TestLate asks for wide rows in an order that needs more memory than there is. The
// answer equals that of the executor that defines the meaning. A plain run asks for a page.
func TestLate(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 40_000
	list := make([]onto.Version, n)
	for i := range list {
		key := fmt.Sprintf("%06d", i*7919%n)
		number := fmt.Sprint(i * 31 % 1000)
		if i%9 == 0 {
			number = "null"
		}
		list[i] = item(key, int64(i/1000+1), fmt.Sprintf(`{"id":"%s","n":%s,"text":"%s"}`, key, number, strings.Repeat(fmt.Sprint(i), 400)))
	}
	s := items(t, dir, schema(onto.Field{Name: "text", Type: onto.String}, onto.Field{Name: "n", Type: onto.Int}), 40, list)
	e, err := duck.Open(&duck.Options{Directory: dir, Memory: "64MB", Threads: 1, Spill: t.TempDir()})
	must(t, err)
	defer e.Close()
	byNumber := []onto.Order{{Operand: onto.Path("n")}}
	down := []onto.Order{{Operand: onto.Path("n"), Desc: true}}
	for i, c := range []struct {
		name  string
		query backend.Query
	}{
		{"a page", backend.Query{Order: byNumber, Offset: 5_000, Limit: 30_000}},
		{"all", backend.Query{Order: byNumber}},
		{"down", backend.Query{Order: down}},
		{"filtered", backend.Query{Order: byNumber, Where: onto.Path("n").Gt(int64(100))}},
		{"history", backend.Query{Order: byNumber, Mode: backend.History}},
		{"after", backend.Query{Order: byNumber, After: &backend.Place{Identity: onto.EntityID("Item", "020000"), Values: []json.RawMessage{json.RawMessage("0")}}}},
	} {
		if !effort.Includes(t, i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			q := c.query
			q.Kind, q.Type, q.At = onto.KindEntity, "Item", backend.Head
			var want []string
			for v, err := range exec.Select(&q, inOrder(q.Mode, list), nil) {
				must(t, err)
				want = append(want, fmt.Sprint(v.Key, "@", v.Commit, len(v.Fields)))
			}
			var got []string
			for v, err := range e.Scan(t.Context(), &q, s, nil, nil) {
				must(t, err)
				got = append(got, fmt.Sprint(v.Key, "@", v.Commit, len(v.Fields)))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %d versions, want %d, or in another order", len(got), len(want))
			}
		})
	}
}

// inOrder is versions in the order of a mode.
func inOrder(mode backend.Mode, list []onto.Version) iter.Seq2[onto.Version, error] {
	list = slices.SortedFunc(slices.Values(list), func(a, b onto.Version) int {
		if mode == backend.History {
			return cmp.Or(cmp.Compare(a.Commit, b.Commit), a.Identity.Compare(b.Identity))
		}
		return a.Identity.Compare(b.Identity)
	})
	return func(yield func(onto.Version, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}
