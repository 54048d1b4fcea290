package duck_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
)

func collect[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		must(t, err)
		list = append(list, v)
	}
	return list
}

// Answers computed beside others that are being read are the same as they would be
// alone, short and long ones. They end with the context and with the engine, and leave
// nothing on disk.
func TestAnswersBesideOthers(t *testing.T) {
	dir, spill := t.TempDir(), t.TempDir()
	var first, second []onto.Version
	for i := range 6000 {
		key := fmt.Sprintf("%06d", i)
		first = append(first, item(key, 1, fmt.Sprintf(`{"id":"%s","text":"%s"}`, key, strings.Repeat("x", i%100))))
		if i%3 == 0 {
			second = append(second, item(key, 2, ""))
		} else if i%3 == 1 {
			second = append(second, item(key, 2, fmt.Sprintf(`{"id":"%s","text":"new"}`, key)))
		}
	}
	s := items(t, dir, schema(onto.Field{Name: "text", Type: onto.String}), 2, first, second)
	e, err := duck.Open(&duck.Options{Directory: dir, Threads: 1, Spill: spill})
	must(t, err)
	defer e.Close()
	all := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Mode: backend.History}
	few := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Limit: 7}
	ask := func() (long, short []onto.Version, diff []onto.Change) {
		return collect(t, e.Scan(t.Context(), all, s, nil, nil)), collect(t, e.Scan(t.Context(), few, s, nil, nil)), collect(t, e.Diff(t.Context(), 1, 2, s))
	}
	long, short, diff := ask()
	if len(long) != 10_000 || len(short) != 7 || len(diff) != 4_000 {
		t.Fatalf("got %d, %d and %d, want 10000, 7 and 4000", len(long), len(short), len(diff))
	}
	open := func(ctx context.Context) func() (onto.Version, error, bool) {
		next, stop := iter.Pull2(e.Scan(ctx, all, s, nil, nil))
		t.Cleanup(stop)
		if _, err, ok := next(); !ok || err != nil {
			t.Fatalf("the first row: %v", err)
		}
		return next
	}
	for range 12 {
		open(t.Context())
	}
	long2, short2, diff2 := ask()
	if !reflect.DeepEqual(long, long2) || !reflect.DeepEqual(short, short2) || !reflect.DeepEqual(diff, diff2) {
		t.Error("the answers beside others are not those without them")
	}
	if left, err := os.ReadDir(spill); err != nil || len(left) != 0 {
		t.Errorf("on disk there are %v, %v; want nothing", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	next := open(ctx)
	cancel()
	if _, err, _ := next(); err != context.Canceled {
		t.Errorf("after the context has ended: got %v", err)
	}
	next = open(t.Context())
	must(t, e.Close())
	if _, err, _ := next(); onto.CodeOf(err) != onto.Closed {
		t.Errorf("after the engine was closed: got %v", err)
	}
}

// An answer that does not fit in memory names the limit and the setting.
func TestTooLargeNamesTheLimit(t *testing.T) {
	dir := t.TempDir()
	var list []onto.Version
	for i := range 20_000 {
		key := fmt.Sprintf("%06d", i)
		list = append(list, item(key, 1, fmt.Sprintf(`{"id":"%s","text":"%s"}`, key, strings.Repeat(fmt.Sprint(i*7919), 500))))
	}
	s := items(t, dir, schema(onto.Field{Name: "text", Type: onto.String}), 1, list)
	e, err := duck.Open(&duck.Options{Directory: dir, Memory: "24MB", Threads: 1})
	must(t, err)
	defer e.Close()
	q := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Order: []onto.Order{{Operand: onto.Path("text")}}}
	for _, err = range e.Scan(t.Context(), q, s, nil, nil) {
	}
	if onto.CodeOf(err) != onto.TooLarge || !strings.Contains(err.Error(), "24MB") || !strings.Contains(onto.HintOf(err).String(), "s3_duckdb_memory_limit") {
		t.Errorf("got %v (%s), want one that names the limit and the setting", err, onto.HintOf(err))
	}
}
