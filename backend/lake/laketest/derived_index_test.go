package laketest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/derived"
)

// After commits each index lists the files that the head leads to, in the
// members that other programs look for.
func TestIndexesMatchTheShelf(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	s, err := l.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[onto.TypeName]string{thingType(): thingIndex, likesType(): likesIndex} {
		doc := readJSON[map[string]any](t, b, key)
		if doc["type_name"] != name.Name || doc["max_indexed_commit"].(float64) < float64(lastTouched(s, name)) {
			t.Errorf("%s: got %v, want the type and commit %d", key, doc, lastTouched(s, name))
		}
		var paths, want []string
		for _, e := range doc["entries"].([]any) {
			e := e.(map[string]any)
			paths = append(paths, fmt.Sprint(e["min_commit_id"], e["max_commit_id"], e["path"], e["row_count"], e["bytes"], e["content_sha256"]))
		}
		for _, f := range s.Files[name] {
			want = append(want, fmt.Sprint(f.First, f.Last, f.Path, f.Rows, f.Bytes, f.SHA256))
		}
		if !slices.Equal(paths, want) || len(want) == 0 {
			t.Errorf("%s: got %q, want %q", key, paths, want)
		}
	}
	wantSound(t, b)
}

// The checks that D1 gives for an index that lags find nothing.
func TestIndexCoversTheHead(t *testing.T) {
	b := newDerivedBucket()
	openDeriving(t, b).fill(t)
	type file struct {
		Kind string `json:"kind"`
		Type string `json:"type_name"`
		Path string `json:"path"`
	}
	type entry struct {
		Min  int64  `json:"min_commit_id"`
		Max  int64  `json:"max_commit_id"`
		Path string `json:"path"`
	}
	h := readJSON[struct {
		Commit int64  `json:"commit_id"`
		Path   string `json:"manifest_path"`
	}](t, b, "meta/head.json")
	m := readJSON[struct {
		Files []file `json:"files"`
	}](t, b, h.Path)
	x := readJSON[struct {
		Max     int64   `json:"max_indexed_commit"`
		Entries []entry `json:"entries"`
	}](t, b, thingIndex)
	if x.Max != h.Commit {
		t.Errorf("the index covers commit %d, want the head %d", x.Max, h.Commit)
	}
	i := slices.IndexFunc(m.Files, func(f file) bool { return f.Kind == "entity" && f.Type == "Thing" })
	j := slices.IndexFunc(x.Entries, func(e entry) bool { return e.Min <= h.Commit && h.Commit <= e.Max })
	if i < 0 || j < 0 || x.Entries[j].Path != m.Files[i].Path {
		t.Errorf("got files %v and entries %v, want the same path for the head", m.Files, x.Entries)
	}
}

// Commits do not wait for what is derived, and a burst of them costs few writes.
func TestIndexBurst(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.register(t)
	l.rest(t)
	b.gate = make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			for j := range 125 {
				errs[i] = errors.Join(errs[i], l.put(t.Context(), fmt.Sprintf("%d-%d", i, j)))
			}
		})
	}
	wg.Wait() // all are published while the first index is delayed
	close(b.gate)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := b.writes[thingIndex]; n < 1 || n > 8 {
		t.Errorf("the index was written %d times, want a few", n)
	}
	if x := readJSON[indexDocument](t, b, thingIndex); x.Max != 500 {
		t.Errorf("the index covers commit %d, want 500", x.Max)
	}
	wantSound(t, b)
}

// When derived objects cannot be written, commits succeed all the same. The next commit
// writes what is missing.
func TestIndexFaults(t *testing.T) {
	b := newDerivedBucket()
	b.setBroken(true)
	l := openDeriving(t, b)
	l.fill(t)
	for _, want := range []string{"meta/", "could not be written", "the derived objects cannot be reached"} {
		if got := l.deriver.Warning(); !strings.Contains(got, want) {
			t.Errorf("the warning is %q, want it to tell %q", got, want)
		}
	}
	findings, err := l.VerifyIndex(t.Context())
	if err != nil || len(findings) == 0 {
		t.Errorf("got findings %v, error %v; want what is missing", findings, err)
	}
	plan, err := l.PlanIndexRepair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.RepairIndex(t.Context(), plan); onto.CodeOf(err) != onto.Unavailable {
		t.Errorf("repair: got %v, want Unavailable", err)
	}
	b.setBroken(false)
	if err := l.put(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	l.rest(t)
	if got := l.deriver.Warning(); got != "" {
		t.Errorf("the warning is %q, want none", got)
	}
	wantSound(t, b)
}

// A tip tells what its publication has touched, and nothing that other publications
// have.
func TestTouchedBy(t *testing.T) {
	l := openDeriving(t, newDerivedBucket())
	want := func(types []onto.TypeName, schemaChanged bool) {
		t.Helper()
		tip, err := l.log.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, changed := derived.TouchedBy(tip); !slices.Equal(got, types) || changed != schemaChanged {
			t.Errorf("got %v, %v; want %v, %v", got, changed, types, schemaChanged)
		}
	}
	l.register(t)
	want(nil, true)
	if err := l.put(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want([]onto.TypeName{thingType()}, false)
	if _, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Other", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}},
	}}); err != nil {
		t.Fatal(err)
	}
	want(nil, true)
}

// A handle that is behind leaves newer indexes alone, unless no head is as new.
func TestIndexNeverGoesBack(t *testing.T) {
	b := newDerivedBucket()
	l := openDeriving(t, b)
	l.fill(t)
	old, err := l.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.put(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	l.rest(t)
	late := derived.NewDeriver(l.publisher, b)
	late.Derive(t.Context(), old, []onto.TypeName{thingType()}, false)
	if x := readJSON[indexDocument](t, b, thingIndex); x.Max != 5 || len(x.Entries) != 4 {
		t.Errorf("the index covers commit %d with %d entries, want 5 and 4", x.Max, len(x.Entries))
	}
	replaceJSON(t, b, thingIndex, func(x *indexDocument) { x.Max, x.Sequence = 1000, 1000 })
	late = derived.NewDeriver(l.publisher, b) // that remembers no tags
	late.Derive(t.Context(), old, []onto.TypeName{thingType()}, false)
	wantSound(t, b)
}

// Two handles that commit at the same time leave correct indexes.
func TestIndexRace(t *testing.T) {
	b := newDerivedBucket()
	first := openDeriving(t, b)
	first.register(t)
	lakes := []*derivingLake{first, openDeriving(t, b)}
	var wg sync.WaitGroup
	errs := make([]error, len(lakes))
	for i, l := range lakes {
		wg.Go(func() {
			for j := range 30 {
				key := fmt.Sprintf("%d-%d", i, j)
				errs[i] = errors.Join(errs[i], l.put(t.Context(), key), l.link(t.Context(), key, key))
			}
		})
	}
	wg.Wait()
	for i, l := range lakes {
		if err := errors.Join(errs[i], l.Close()); err != nil {
			t.Fatal(err)
		}
		if w := l.deriver.Warning(); w != "" {
			t.Errorf("the warning is %q, want none", w)
		}
	}
	wantSound(t, b)
}
