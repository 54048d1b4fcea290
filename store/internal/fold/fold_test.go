package fold_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/store/internal/fold"
)

// Facts are folded by the commit that asserted them, their place in it and their id; those
// without a commit come last, in the order of their draft.
func TestOrder(t *testing.T) {
	at := func(asserted, seq int64, id string) fold.Entry {
		return fold.Entry{Fact: onto.Fact{Asserted: asserted, Seq: seq, ID: id}}
	}
	want := []fold.Entry{at(1, 0, "z"), at(2, 0, "b"), at(2, 1, "a"), at(2, 1, "b"), at(10, 0, "a"), at(fold.New, 0, "y"), at(fold.New, 1, "x")}
	random := effort.Rand(t)
	for range effort.Count(t, 1000) {
		got := slices.Clone(want)
		random.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		fold.Sort(got)
		for i := range got {
			if got[i].Fact != want[i].Fact {
				t.Fatalf("at %d: got %+v, want %+v", i, got[i].Fact, want[i].Fact)
			}
		}
	}
}

// Guards and records are read as they were written.
func TestGuardsAndRecords(t *testing.T) {
	g := fold.Guard{Facts: "Notice", Folds: map[string]fold.Kept{"a": {Version: 2, State: "A"}, "b": {Version: 1, State: "B", Program: `.state | .x = "<&>"`}}}
	fields, err := g.Fields()
	if err != nil {
		t.Fatal(err)
	}
	got, err := fold.ParseGuard(&onto.Version{Identity: fold.GuardID("Notice"), Fields: fields, Commit: 7})
	if err != nil || got.Facts != "Notice" || got.Commit != 7 || len(got.Folds) != 2 || got.Folds["a"] != g.Folds["a"] || got.Folds["b"] != g.Folds["b"] {
		t.Errorf("got %+v, %v; want %+v", got, err, g)
	}
	id := fold.RecordID("Notice", "a")
	for _, r := range []fold.Record{
		{},
		{Behind: 12},
		{Behind: 12, Progress: &fold.Progress{Upto: 20, After: "s/\"1"}},
		{Rebuild: &fold.Rebuilding{}},
		{Rebuild: &fold.Rebuilding{After: "é", Done: 3}},
	} {
		fields, err := r.Fields(id, "m")
		if err != nil {
			t.Fatal(err)
		}
		got, err := fold.ParseRecord(&onto.Version{Identity: id, Fields: fields})
		if err != nil || got.Behind != r.Behind || (got.Progress == nil) != (r.Progress == nil) || (got.Rebuild == nil) != (r.Rebuild == nil) ||
			r.Progress != nil && *got.Progress != *r.Progress || r.Rebuild != nil && *got.Rebuild != *r.Rebuild {
			t.Errorf("got %+v, %v; want %+v", got, err, r)
		}
	}
	if _, err := fold.ParseRecord(&onto.Version{Identity: id, Fields: []byte(`{"behind":"x"}`)}); onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("a damaged record: got %v, want corrupt", err)
	}
	if _, err := fold.ParseGuard(&onto.Version{Identity: id, Fields: []byte(`{"folds":[]}`)}); onto.CodeOf(err) != onto.Corrupt {
		t.Errorf("a damaged guard: got %v, want corrupt", err)
	}
	schema := fold.GuardSchema()
	if err := schema.Check(); err != nil {
		t.Error(err)
	}
}

// A state without a readable onto_fold is folded anew.
func TestMeta(t *testing.T) {
	for fields, want := range map[string]fold.Meta{
		`{"id":"x"}`:                    {},
		`{"onto_fold":{"version":"x"}}`: {},
		`{"onto_fold":{"applied":7,"ends":"ab","last":"a/b","version":2}}`: {Version: 2, Applied: 7, Last: "a/b", Ends: "ab"},
	} {
		if got := fold.MetaOf(&onto.Version{Fields: []byte(fields)}); got != want {
			t.Errorf("%s: got %+v, want %+v", fields, got, want)
		}
	}
}

func TestProgramsThatDoNotCompile(t *testing.T) {
	for program, want := range map[string]string{"": "empty", ".state |": "line 1", "now": "now", strings.Repeat("x", 70_000): "limit"} {
		if _, err := fold.Program("p", 1, "F", "S", program); onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", program, err, want)
		}
	}
}
