package duck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/duck"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/internal/effort"
)

func openEngine(t testing.TB, dir string) *duck.Engine {
	t.Helper()
	e, err := duck.Open(&duck.Options{Directory: dir, Threads: 2})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

// schema is a type of entities with a key and these fields, which are optional.
func schema(fields ...onto.Field) onto.SchemaVersion {
	s := onto.Schema{Kind: onto.KindEntity, Name: "Item", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	for _, f := range fields {
		f.Optional = true
		s.Fields = append(s.Fields, f)
	}
	s.SortFields()
	return onto.SchemaVersion{Schema: s, Version: 1}
}

// item is a version of an item. Without fields it is a delete.
func item(key string, commit int64, fields string) onto.Version {
	v := onto.Version{Identity: onto.EntityID("Item", key), Op: onto.Put, Commit: commit, SchemaVersion: 1, Fields: []byte(fields)}
	if fields == "" {
		v.Op, v.Fields = onto.Delete, []byte("{}")
	}
	return v
}

// items writes files, each with some versions, and returns their source.
func items(t testing.TB, dir string, s onto.SchemaVersion, head int64, files ...[]onto.Version) *duck.Source {
	t.Helper()
	source := &duck.Source{Kind: onto.KindEntity, Type: "Item", Head: head, Layout: parquet.NewLayout(onto.KindEntity, "Item", []onto.SchemaVersion{s})}
	source.Files, source.Typed, source.Unique = writeFiles(t, dir, fmt.Sprint("items", head, len(files)), source.Layout, files)
	return source
}

// found asks a query and shows the answer in short.
func found(t testing.TB, e *duck.Engine, q backend.Query, s *duck.Source) string {
	t.Helper()
	q.Kind, q.Type = onto.KindEntity, "Item"
	var list []string
	for v, err := range e.Scan(t.Context(), &q, s, nil, nil) {
		if err != nil {
			return fmt.Sprintf("error %s: %v", onto.CodeOf(err), err)
		}
		list = append(list, fmt.Sprintf("%s@%d", v.Key, v.Commit))
	}
	return strings.Join(list, " ")
}

func wantFound(t *testing.T, e *duck.Engine, q backend.Query, s *duck.Source, want string) {
	t.Helper()
	if got := found(t, e, q, s); got != want {
		t.Errorf("%+v: got %q, want %q", q, got, want)
	}
}

// TestMoments asks for the past inside a file, and across files of which none
// is in order.
func TestMoments(t *testing.T) {
	dir := t.TempDir()
	e, number := openEngine(t, dir), schema(onto.Field{Name: "n", Type: onto.Int})
	s := items(t, dir, number, 4,
		[]onto.Version{item("b", 3, `{"id":"b","n":3}`), item("a", 1, `{"id":"a","n":1}`), item("b", 1, `{"id":"b","n":1}`)},
		[]onto.Version{item("a", 5, `{"id":"a","n":5}`), item("c", 2, `{"id":"c","n":2}`), item("a", 4, "")})
	for at, want := range map[int64]string{0: "", 1: "a@1 b@1", 2: "a@1 b@1 c@2", 3: "a@1 b@3 c@2", 4: "b@3 c@2", 5: "b@3 c@2", backend.Head: "b@3 c@2"} {
		wantFound(t, e, backend.Query{At: at}, s, want)
	}
	small := onto.Path("n").Lt(int64(2)) // must not bring back an older version
	wantFound(t, e, backend.Query{At: backend.Head, Where: small}, s, "")
	wantFound(t, e, backend.Query{At: 2, Where: small}, s, "a@1 b@1")
	wantFound(t, e, backend.Query{At: backend.Head, Keys: []string{"a"}}, s, "")
	wantFound(t, e, backend.Query{At: 3, Keys: []string{"a"}}, s, "a@1")
	wantFound(t, e, backend.Query{At: 3, Keys: []string{"b", "a"}}, s, "a@1 b@3")
	wantFound(t, e, backend.Query{At: 3, Keys: []string{}}, s, "")
	wantFound(t, e, backend.Query{At: backend.Head, Mode: backend.History}, s, "a@1 b@1 c@2 b@3 a@4")
	wantFound(t, e, backend.Query{At: 3, Mode: backend.History, Since: 1}, s, "c@2 b@3")
}

// TestPurged requires that rows of purged schema versions look as if they had never
// existed, also where they are newer than others.
func TestPurged(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	old, kept := item("a", 1, `{"id":"a"}`), item("b", 3, `{"id":"b"}`)
	kept.SchemaVersion = 2
	s := items(t, dir, schema(), 3, []onto.Version{old, item("b", 2, `{"id":"b"}`)}, []onto.Version{kept})
	wantFound(t, e, backend.Query{At: backend.Head}, s, "a@1 b@3")
	s.Purged = 1
	wantFound(t, e, backend.Query{At: backend.Head}, s, "b@3")
	wantFound(t, e, backend.Query{At: 2}, s, "")
	wantFound(t, e, backend.Query{At: backend.Head, Keys: []string{"a"}}, s, "")
	wantFound(t, e, backend.Query{At: backend.Head, Mode: backend.History}, s, "b@3")
}

// TestUnique asks a source of which each identity has one version.
func TestUnique(t *testing.T) {
	dir := t.TempDir()
	e, number := openEngine(t, dir), schema(onto.Field{Name: "n", Type: onto.Int})
	s := items(t, dir, number, 3, []onto.Version{item("a", 3, `{"id":"a","n":1}`), item("b", 1, `{"id":"b","n":2}`), item("c", 2, `{"id":"c"}`)})
	if !s.Unique || !s.Typed {
		t.Fatalf("got %+v, want a source that is unique and typed", s)
	}
	wantFound(t, e, backend.Query{At: backend.Head}, s, "a@3 b@1 c@2")
	wantFound(t, e, backend.Query{At: 2}, s, "b@1 c@2")
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("n").Ge(int64(2))}, s, "b@1")
	wantFound(t, e, backend.Query{At: backend.Head, Order: []onto.Order{{Operand: onto.Path("n"), Desc: true}}, Limit: 2, Offset: 1}, s, "a@3 c@2")
}

// TestNewColumn asks about a field that some files, or all of them, have no
// column for.
func TestNewColumn(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	before, after := schema(), schema(onto.Field{Name: "n", Type: onto.Int})
	s := items(t, dir, before, 1, []onto.Version{item("a", 1, `{"id":"a"}`)})
	newer := items(t, dir, after, 2, []onto.Version{item("b", 2, `{"id":"b","n":7}`)})
	s.Layout, s.Head = newer.Layout, 2
	n := onto.Path("n")
	wantFound(t, e, backend.Query{At: backend.Head, Where: n.IsNull()}, s, "a@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: n.Eq(int64(7))}, s, "")
	s.Files = append(s.Files, newer.Files...)
	wantFound(t, e, backend.Query{At: backend.Head, Where: n.IsNull()}, s, "a@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: n.Eq(int64(7))}, s, "b@2")
	wantFound(t, e, backend.Query{At: backend.Head, Order: []onto.Order{{Operand: n}}}, s, "b@2 a@1")
}

// TestNamesThatDifferByCase asks about fields whose names DuckDB takes for one.
func TestNamesThatDifferByCase(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := items(t, dir, schema(onto.Field{Name: "n", Type: onto.Int}, onto.Field{Name: "N", Type: onto.String}, onto.Field{Name: "Op", Type: onto.String},
		onto.Field{Name: "Entity_Key", Type: onto.String}), 1,
		[]onto.Version{item("a", 1, `{"Entity_Key":"b","N":"x","Op":"delete","id":"a","n":1}`)}, []onto.Version{item("b", 1, `{"Entity_Key":"a","N":"y","id":"b","n":2}`)})
	wantFound(t, e, backend.Query{At: backend.Head}, s, "a@1 b@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("N").Eq("x")}, s, "a@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("n").Eq(int64(2))}, s, "b@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("Op").Eq("delete")}, s, "a@1")
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("Entity_Key").Eq("a")}, s, "b@1")
}

// TestNothing asks a source without files, and one whose file is not there or is
// none.
func TestNothing(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := items(t, dir, schema(), 0)
	wantFound(t, e, backend.Query{At: backend.Head, Where: onto.Path("n").Eq(int64(7))}, s, "")
	a := &backend.Aggregation{Query: backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head}, Compute: []onto.Operand{onto.Count()}}
	groups := 0
	for g, err := range e.Aggregate(t.Context(), a, s, nil, nil) {
		if groups++; err != nil || string(g.Values[0]) != "0" {
			t.Errorf("got %s, %v, want 0", g.Values, err)
		}
	}
	if groups != 1 {
		t.Errorf("got %d groups, want 1", groups)
	}
	s.Files = []string{filepath.Join(dir, "missing.parquet")}
	if got := found(t, e, backend.Query{At: backend.Head}, s); !strings.HasPrefix(got, "error unavailable") {
		t.Errorf("a file that is not there: got %q", got)
	}
	must(t, os.WriteFile(s.Files[0], []byte("this is no Parquet file, but it is long enough"), 0o600))
	if got := found(t, e, backend.Query{At: backend.Head}, s); !strings.HasPrefix(got, "error corrupt") {
		t.Errorf("a file that is none: got %q", got)
	}
}

// many is a source with so many items.
func many(t testing.TB, dir string, n int) *duck.Source {
	t.Helper()
	list := make([]onto.Version, n)
	for i := range list {
		list[i] = item(fmt.Sprintf("%06d", i), 1, fmt.Sprintf(`{"id":"%06d"}`, i))
	}
	return items(t, dir, schema(), 1, list)
}

// TestCancel ends the context in the middle of an answer.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	e, s := openEngine(t, dir), many(t, dir, 10_000)
	q := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, last := 0, error(nil)
	for _, err := range e.Scan(ctx, q, s, nil, nil) {
		if last = err; err == nil {
			seen++
		}
		cancel()
	}
	if seen != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("got %d versions and %v, want 1 and that it was cancelled", seen, last)
	}
	for _, err := range e.Scan(ctx, q, s, nil, nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("asked with an ended context: got %v", err)
		}
	}
	wantFound(t, e, backend.Query{At: backend.Head, Limit: 1}, s, "000000@1")
}

// TestStop stops reading early, more often than there are connections to keep.
func TestStop(t *testing.T) {
	dir := t.TempDir()
	e, s := openEngine(t, dir), many(t, dir, 10_000)
	q := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head}
	for range 50 {
		for v, err := range e.Scan(t.Context(), q, s, nil, nil) {
			if err != nil || v.Key != "000000" {
				t.Fatalf("got %v, %v", v, err)
			}
			break
		}
	}
}

// TestConcurrent asks many questions at once, some of them inside of others.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	e, s := openEngine(t, dir), many(t, dir, 3000)
	q := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Limit: 2500}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			n := 0
			for v, err := range e.Scan(t.Context(), q, s, nil, nil) {
				if err != nil {
					t.Error(err)
					return
				}
				if n++; n%1000 == 0 {
					wantFound(t, e, backend.Query{At: backend.Head, Keys: []string{v.Key}}, s, v.Key+"@1")
				}
			}
			if n != 2500 {
				t.Errorf("got %d versions, want 2500", n)
			}
		})
	}
	wg.Wait()
}

// TestClose closes an engine during a read.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	s := many(t, dir, 10_000)
	e, err := duck.Open(&duck.Options{Directory: dir})
	must(t, err)
	q := &backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head}
	last := error(nil)
	for _, err := range e.Scan(t.Context(), q, s, nil, nil) {
		if last = err; err == nil {
			must(t, e.Close())
		}
	}
	if last != nil && !errors.Is(last, onto.Closed) {
		t.Errorf("while it is closed: got %v, want an end or closed", last)
	}
	for _, err := range e.Scan(t.Context(), q, s, nil, nil) {
		if !errors.Is(err, onto.Closed) {
			t.Errorf("after it was closed: got %v, want closed", err)
		}
	}
	must(t, e.Close())
}

// TestMemory asks for answers that do not fit in memory: in the order of the
// mode they come in parts, others are refused. A plain run asks for one of them.
func TestMemory(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 40_000
	list := make([]onto.Version, n)
	for i := range list {
		key := fmt.Sprintf("%06d", i*7919%n)
		list[i] = item(key, int64(i/1000+1), fmt.Sprintf(`{"id":"%s","text":"%s"}`, key, strings.Repeat(fmt.Sprint(i), 400)))
	}
	s := items(t, dir, schema(onto.Field{Name: "text", Type: onto.String}), 40, list)
	e, err := duck.Open(&duck.Options{Directory: dir, Memory: "48MB", Threads: 1, Spill: t.TempDir()})
	must(t, err)
	defer e.Close()
	q := backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head, Order: []onto.Order{{Operand: onto.Path("text")}}}
	if got := found(t, e, q, s); !strings.HasPrefix(got, "error too_large") {
		t.Errorf("in the order of long texts: got %.100q, want an error", got)
	}
	q.Order, q.Offset, q.Limit = nil, 10, n-20
	for _, q.Mode = range []backend.Mode{backend.State, backend.History} {
		if !effort.Includes(t, int(q.Mode)) {
			continue
		}
		got, last := 0, onto.Version{}
		for v, err := range e.Scan(t.Context(), &q, s, nil, nil) {
			must(t, err)
			inOrder := v.Compare(last.Identity) > 0
			if q.Mode == backend.History && v.Commit != last.Commit {
				inOrder = v.Commit > last.Commit
			}
			if got++; got > 1 && !inOrder {
				t.Fatalf("mode %d: %v comes after %v", q.Mode, v.Identity, last.Identity)
			}
			last = v
		}
		if got != q.Limit {
			t.Errorf("mode %d: got %d versions, want %d", q.Mode, got, q.Limit)
		}
	}
	if !effort.Includes(t, 2) {
		return
	}
	changes, last := 0, ""
	for c, err := range e.Diff(t.Context(), 10, 40, s) {
		must(t, err)
		if changes++; c.Key <= last {
			t.Fatalf("the change of %s comes after that of %s", c.Key, last)
		}
		last = c.Key
	}
	if changes != 30_000 {
		t.Errorf("got %d changes, want 30000", changes)
	}
}

// TestSums adds numbers at the limits of int64 and float64.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for numbers, want := range map[string]string{
		"9223372036854775806 1":                      "9223372036854775807",
		"9223372036854775807 1":                      "too_large",
		"9223372036854775807 1 -1":                   "9223372036854775807",
		"-9223372036854775808 9007199254740993":      "-9214364837600034815",
		"9007199254740993 9007199254740993 1.5 -1.5": "18014398509481984",
		"1.5e308 1.5e308":                            "too_large",
		"1.5e308 1":                                  "1.5e308",
	} {
		for _, typ := range []onto.FieldType{onto.Float, onto.Any} {
			var list []onto.Version
			for i, n := range strings.Fields(numbers) {
				list = append(list, item(fmt.Sprint(i), 1, fmt.Sprintf(`{"id":"%d","n":%s}`, i, n)))
			}
			s := items(t, dir, schema(onto.Field{Name: "n", Type: typ}), 1, list)
			if got := sumOf(t, e, s); got != want {
				t.Errorf("%s as %s: got %s, want %s", numbers, typ, got, want)
			}
		}
	}
}

// sumOf is the sum of n, or the code of the error.
func sumOf(t *testing.T, e *duck.Engine, s *duck.Source) string {
	t.Helper()
	sum := onto.Path("n")
	sum.Func = onto.FuncSum
	a := &backend.Aggregation{Query: backend.Query{Kind: onto.KindEntity, Type: "Item", At: backend.Head}, Compute: []onto.Operand{sum}}
	for g, err := range e.Aggregate(t.Context(), a, s, nil, nil) {
		if err != nil {
			return string(onto.CodeOf(err))
		}
		return string(g.Values[0])
	}
	return "no group"
}

// TestDiff compares what differs between all moments of random histories with
// what memory says.
func TestDiff(t *testing.T) {
	t.Parallel()
	effort.Check(t, 200, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "diff")
		must(t, err)
		b := mirror(t, memory.New(nil).Open(), dir, shape{files: rapid.IntRange(1, 3).Draw(rt, "files")})
		defer func() { must(t, b.Close()) }()
		registered, err := b.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{schema().Schema}})
		must(t, err)
		commits := rapid.Int64Range(1, 5).Draw(rt, "commits")
		for range commits {
			var d backend.Draft
			for _, key := range []string{"a", "b", "c"} {
				w := backend.Write{Identity: onto.EntityID("Item", key), Op: onto.Delete, SchemaVersion: registered[0].Version}
				if n := rapid.IntRange(0, 3).Draw(rt, key); n > 0 {
					w.Op, w.Fields = onto.Put, fmt.Appendf(nil, `{"id":"%s","n":%d}`, key, n)
				}
				d.Writes = append(d.Writes, w)
			}
			_, err := b.Append(t.Context(), &d)
			must(t, err)
		}
		s, err := b.source(t.Context(), onto.KindEntity, "Item")
		must(t, err)
		for from := range s.Head + 1 {
			for to := from; to <= s.Head; to++ {
				var got, want []string
				for c, err := range b.engine.Diff(t.Context(), from, to, s) {
					must(t, err)
					got = append(got, fmt.Sprint(c, c.Before, c.After))
				}
				for c, err := range b.Backend.Diff(t.Context(), &backend.DiffQuery{From: from, To: to}) {
					must(t, err)
					want = append(want, fmt.Sprint(c, c.Before, c.After))
				}
				if !slices.Equal(got, want) {
					rt.Fatalf("from %d to %d: got %q, want %q", from, to, got, want)
				}
			}
		}
	})
}
