package lake

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/parquet"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// lying returns a layout whose column n holds what the fields have under another
// name.
func lying(l *parquet.Layout) *parquet.Layout {
	columns := slices.Clone(l.Columns)
	columns[slices.IndexFunc(columns, func(c parquet.Column) bool { return c.Field() == "n" })].Path = []string{"lie"}
	return &parquet.Layout{Kind: l.Kind, Type: l.Type, Columns: columns}
}

// lie puts fields in the newest file whose column n is what they have as lie.
func (s *sample) lie(fields ...string) (path string, first onto.Version) {
	s.Helper()
	path = s.editFile(func(list []onto.Version) []onto.Version {
		first = list[0]
		list = nil
		for i, f := range fields {
			v := first
			v.Fields = []byte(f)
			if i > 0 {
				v.Identity = onto.EntityID(v.Type, fmt.Sprint(v.Key, "-", i))
			}
			list = append(list, v)
		}
		return list
	}, lying)
	return path, first
}

// columnFaults are those of typed columns, and of what is said about them.
func columnFaults() []fault {
	lie := func(want string, fields ...string) func(s *sample) string {
		return func(s *sample) string {
			path, first := s.lie(fields...)
			return fmt.Sprintf("%s: %s of commit %d: %s", path, first.Identity, first.Commit, want)
		}
	}
	claim := func(typ string, change func(f *protocol.FileEntry)) func(s *sample) {
		return func(s *sample) {
			s.editCatalog(func(c *protocol.Catalog) {
				i := slices.IndexFunc(c.Tables, func(t protocol.TableEntry) bool { return t.Type == typ })
				change(&c.Tables[i].Files[0])
			})
		}
	}
	return []fault{
		{"a column with another value", "file_differs", lie("field n is 8 in fields_json and 7 in column n", `{"id":"p","lie":7,"n":8}`)},
		{"a column that is null", "file_differs", lie("field n is 8 in fields_json and NULL in column n", `{"id":"p","n":8}`)},
		{"a column that is not null", "file_differs", lie("field n is not in fields_json and 7 in column n", `{"id":"p","lie":7}`)},
		{"a column that is wrong in some rows", "file_differs", lie("field n is 8 in fields_json and 7 in column n; likewise in 2 other rows",
			`{"id":"p","lie":7,"n":8}`, `{"id":"p","lie":9,"n":9}`, `{"id":"p","n":8}`, `{"id":"p","lie":1,"n":8}`)},
		{"a file that says that it is typed", "file_differs", func(s *sample) string {
			s.editRows(func(list []onto.Version) []onto.Version { list[0].Fields = []byte(`{"id":"p","n":"x"}`); return list })
			s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Typed = true })
			return `field n is "x" in fields_json, which column n (int) does not say, though the file is said to be typed`
		}},
		{"a typed file without a column", "file_differs file_differs", func(s *sample) string {
			s.editFile(func(list []onto.Version) []onto.Version { return list }, func(l *parquet.Layout) *parquet.Layout {
				return &parquet.Layout{Kind: l.Kind, Type: l.Type}
			})
			return "in fields_json, which column "
		}},
		{"a column of another type", "file_differs", func(s *sample) string {
			return s.editFile(func(list []onto.Version) []onto.Version { return list }, func(l *parquet.Layout) *parquet.Layout {
				return &parquet.Layout{Kind: l.Kind, Type: l.Type, Columns: []parquet.Column{{Name: "n", Path: []string{"n"}, Type: onto.Float}}}
			})
		}},
		{"a unique snapshot with an identity twice", "file_differs", func(s *sample) string {
			claim("Person", func(f *protocol.FileEntry) { f.Unique = true })(s)
			return `Person "a" comes twice, with commits 1 and 2, though`
		}},
		{"a unique snapshot with a delete", "file_differs", func(s *sample) string {
			claim("Knows", func(f *protocol.FileEntry) { f.Unique = true })(s)
			return "is deleted by commit 3, though"
		}},
	}
}

// A wrong column from which no answers are taken is a warning, and a value that it
// cannot hold is no finding.
func TestCheckOfUntypedFiles(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	path, _ := s.lie(`{"id":"p","lie":7,"n":8}`)
	s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Typed = false })
	found := checked(t, s.lake)
	if codesOf(found) != "file_differs" || found[0].Severity != onto.SeverityWarning || !strings.Contains(found[0].Message, path) {
		t.Errorf("got %v, want a warning about %s", found, path)
	}
	if !strings.HasSuffix(found[0].Remedy.String(), ": onto compact --all --apply --type Person") {
		t.Errorf("got the remedy %q", found[0].Remedy)
	}
	s.lie(`{"id":"p","n":"x"}`)
	s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Typed = false })
	if found := checked(t, s.lake); len(found) != 0 {
		t.Errorf("a value that does not fit: got %v, want nothing", found)
	}
}

// The remedy for wrong columns repairs them.
func TestCompactionMendsColumns(t *testing.T) {
	s := openSample(t, makeSample(t), time.Second)
	s.lie(`{"id":"p","lie":7,"n":8}`)
	fresh := openSample(t, s.bucket, time.Second)
	plan, err := fresh.lake.PlanCompaction(t.Context(), &backend.CompactionOptions{All: true, Type: "Person"})
	s.must(err)
	_, err = fresh.lake.Compact(t.Context(), plan, nil)
	s.must(err)
	if found := checked(t, fresh.lake); len(found) != 0 {
		t.Errorf("got %v, want nothing", found)
	}
}
