package source_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite/source"
)

// renames are the names that the files of scripts need.
func renames(name string) map[string]string {
	if name == "names" {
		return map[string]string{
			"a-b": "a__b", "größe": "size", "Größe-1 x": "Size1", "is of": "IsOf", "2nd": "second", "名前": "name", "a.b": "b", "first name": "first", "no. of": "number", `with "quotes"`: "quoted",
		}
	}
	return nil
}

// opened opens a file. Its rejects go to a file of the test.
func opened(t testing.TB, path string, o source.Options) *source.File {
	t.Helper()
	f, err := source.Open(t.Context(), path, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// copied is a store with the log of a file, which is checked.
func copied(t testing.TB, f backend.LogSource) *memory.Backend {
	t.Helper()
	types, err := f.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := memory.New(nil).OpenTarget()
	done := func() backend.CopyState { return backend.CopyState{Origin: "x"} }
	if err := b.Restore(t.Context(), &backend.Restoration{Log: f.Log(t.Context(), 0), Types: types, Copy: done}); err != nil {
		t.Fatal(err)
	}
	for found, err := range b.Check(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if found.Severity == onto.SeverityError && found.Code != "version_unchanged" && found.Code != "commit_incomplete" {
			t.Errorf("the copy: %s", found)
		}
	}
	return b
}

// lines is a log as text, one line for each entry.
func lines(t testing.TB, log iter.Seq2[backend.LogEntry, error]) []string {
	t.Helper()
	var list []string
	for e, err := range log {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, line(&e))
	}
	return list
}

func line(e *backend.LogEntry) string {
	if c := e.Commit; c != nil {
		text, _ := json.Marshal(c.Commit)
		return fmt.Sprintf("%s %s %s", text, c.Metadata, c.Digest)
	}
	return fmt.Sprintf("%s v%d", e.Version, e.Version.SchemaVersion)
}

// noted is the notes of a log, as text.
func noted(t testing.TB, f backend.LogSource, since int64) string {
	t.Helper()
	size, err := f.LogSize(t.Context(), since, backend.Head)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range size.Notes {
		list = append(list, fmt.Sprintf("%s %s %d", n.Code, n.Of, n.Count))
	}
	return strings.Join(list, "; ")
}

// Every file is read from each state that a program leaves it in, gives the same log, and
// stays as it was, as does what is beside it.
func TestEveryFileInEveryState(t *testing.T) {
	for _, name := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			var want []string
			var first source.Found
			for i, as := range everyLeft() {
				path := load(t, name, as)
				before := bytesOf(t, path, as)
				found, err := source.Inspect(t.Context(), path, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					first = found
				}
				if found != first {
					t.Errorf("left as %s: found %s, want %s", as, found, first)
				}
				if !found.Copyable() || name == "computed" {
					if _, err := source.Open(t.Context(), path, nil); err == nil || onto.HintOf(err).Text == "" {
						t.Errorf("left as %s: got %v", as, err)
					}
					continue
				}
				f := opened(t, path, source.Options{Rename: renames(name), Rejects: filepath.Join(t.TempDir(), "rejects"), Scratch: t.TempDir()})
				got := lines(t, f.Log(t.Context(), 0))
				size, err := f.LogSize(t.Context(), 0, backend.Head)
				if err != nil {
					t.Fatal(err)
				}
				if size.Commits+size.Versions != int64(len(got)) {
					t.Errorf("left as %s: %d commits and %d versions are counted, and %d entries are there", as, size.Commits, size.Versions, len(got))
				}
				copied(t, f)
				f.Close()
				if want == nil {
					want = got
					t.Logf("%s: %+v", found, size)
				}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("left as %s: got\n%s\nwant\n%s", as, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if !maps.Equal(bytesOf(t, path, as), before) {
					t.Errorf("left as %s: the file, or what is beside it, has changed", as)
				}
			}
		})
	}
}

// typeLines is the types of a log as text, one line for each version.
func typeLines(t testing.TB, f backend.LogSource) []string {
	t.Helper()
	types, err := f.Schemas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, v := range types {
		end, err := json.Marshal(v.End)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s %d since %d: %s %s %s", v.Schema.TypeName(), v.Version, v.Since, v.JSON, v.Reason, end), " null"))
	}
	return list
}

// described is the types, the notes and the log of a file as text.
func described(t testing.TB, f backend.LogSource) string {
	t.Helper()
	notes := "notes: " + strings.ReplaceAll(noted(t, f, 0), "; ", "\n\t")
	return strings.Join(slices.Concat(typeLines(t, f), []string{notes}, lines(t, f.Log(t.Context(), 0))), "\n") + "\n"
}
