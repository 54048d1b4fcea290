package filtertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/codec"
)

// extreme is a filter near the limits of what filter.Check admits, and the keys
// of the rows 0 to 9, which have their number in n and in the list l, for which
// it is true.
type extreme struct {
	name   string
	filter onto.Filter
	want   string
}

func extremes() []extreme {
	n, l := onto.Path("n"), onto.Path("l").Some()
	seven := n.Eq(7)
	times := func(count int, of func(i int) onto.Filter) []onto.Filter {
		list := make([]onto.Filter, count)
		for i := range list {
			list[i] = of(i)
		}
		return list
	}
	nest := func(depth int, f onto.Filter, in func(onto.Filter) onto.Filter) onto.Filter {
		for range depth {
			f = in(f)
		}
		return f
	}
	values := make([]any, 10_000)
	for i := range values {
		values[i] = int64(i + 7)
	}
	var texts []any
	for i := range 5_000 {
		texts = append(texts, fmt.Sprint("no", i))
	}
	return []extreme{
		{"500 conditions, all of them", onto.And(times(500, func(i int) onto.Filter { return n.Ne(int64(i + 8)) })), "01234567"},
		{"500 conditions, one of them", onto.Or(times(500, func(i int) onto.Filter { return n.Eq(int64(i + 7)) })), "789"},
		{"500 lists", onto.Or(times(500, func(i int) onto.Filter { return l.Eq(int64(i + 7)) })), "789"},
		{"500 texts", onto.And(times(500, func(i int) onto.Filter { return onto.Not{Of: n.Contains(fmt.Sprint(i))} })), "0123456789"},
		{"98 nots", nest(98, seven, func(f onto.Filter) onto.Filter { return onto.Not{Of: f} }), "7"},
		{"97 nots", nest(97, seven, func(f onto.Filter) onto.Filter { return onto.Not{Of: f} }), "012345689"},
		{"98 ands", nest(98, seven, func(f onto.Filter) onto.Filter { return onto.And{n.Ge(7), f} }), "7"},
		{"98 ors", nest(98, seven, func(f onto.Filter) onto.Filter { return onto.Or{f, n.Eq(9)} }), "79"},
		{"49 ands and ors", nest(49, seven, func(f onto.Filter) onto.Filter { return onto.And{onto.Or{f, n.Eq(9)}, n.Ge(8)} }), "9"},
		{"49 nots and ands of lists", nest(49, seven, func(f onto.Filter) onto.Filter { return onto.Not{Of: onto.And{l.Ge(0), f}} }), "012345689"},
		{"10,000 values", n.In(values...), "789"},
		{"10,000 values in lists", l.In(values...), "789"},
		{"values that are not there", onto.Not{Of: onto.Or{n.In(texts...), n.In(7, "x", true)}}, "012345689"},
		{"a long path", onto.Not{Of: onto.Path(slices.Repeat([]string{"n"}, codec.MaxDepth)...).IsNotNull()}, "0123456789"},
		{"a long text", onto.Not{Of: n.Contains(string(slices.Repeat([]byte("%"), 60_000)))}, "0123456789"},
	}
}

// runExtremes asks for filters near the limits.
func runExtremes(t *testing.T, b backend.Backend) int {
	s := &onto.Schema{Kind: onto.KindEntity, Name: typeThing, Key: keyField, Fields: []onto.Field{
		{Name: keyField, Type: onto.String}, {Name: "l", Type: onto.Any, Optional: true, Index: true}, {Name: "n", Type: onto.Any, Optional: true, Index: true},
	}}
	l := &ledger{schemas: []*onto.Schema{s}}
	var writes []backend.Write
	for i := range 10 {
		fields := fmt.Appendf(nil, `{"id":"%d","l":[%d],"n":%d}`, i, i, i)
		writes = append(writes, backend.Write{Identity: onto.EntityID(typeThing, fmt.Sprint(i)), Op: onto.Put, Fields: fields})
	}
	if err := l.register(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), l.draft(writes)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, e := range extremes() {
		f, err := filter.Check(e.filter, &filter.Scope{Schema: s})
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		for _, q := range []backend.Query{{At: backend.Head}, {At: 1}, {At: backend.Head, Mode: backend.History}} {
			q.Kind, q.Type, q.Schema, q.Where = s.Kind, s.Name, s, f
			asked++
			if got := keysOf(t, b, &q); got != e.want {
				t.Errorf("%s, mode %d as of %d: got %q, want %q", e.name, q.Mode, q.At, got, e.want)
			}
		}
	}
	return asked
}

// keysOf returns the keys of an answer, one after the other.
func keysOf(t *testing.T, b backend.Backend, q *backend.Query) string {
	t.Helper()
	keys := ""
	for v, err := range b.Scan(t.Context(), q) {
		if err != nil {
			return fmt.Sprintf("error: %.200v", err)
		}
		keys += v.Key
	}
	return keys
}
