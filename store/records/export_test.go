package records_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/records"
)

// story makes five commits.
func story(t testing.TB, s *store.Store) {
	t.Helper()
	upsert := &records.ImportOptions{OnConflict: records.Upsert}
	mustImport(t, s, lines(
		`{"type":"Stint","left_key":"c1","right_key":"1","instance_key":"s2","fields":{"label":"second"}}`,
		customer("c2", "Bob", ""), customer("c1", "Ada", ""),
		`{"type":"Counter","fields":{"n":1}}`), nil)
	mustImport(t, s, customer("c1", "Ada", `,"age":36`), upsert)
	mustImport(t, s, `{"type":"Customer","key":"c2","op":"delete"}`, nil)
	mustImport(t, s, lines(
		`{"type":"Stint","left_key":"c1","right_key":"1","instance_key":"s1","fields":{"label":"a,b"}}`,
		`{"type":"Likes","left_key":"c1","right_key":"c1","fields":{}}`), nil)
	mustImport(t, s, customer("c2", "Bo", ""), nil)
}

func TestExport(t *testing.T) {
	for _, c := range []struct {
		name string
		o    *records.ExportOptions
		want string
	}{
		{"everything now", nil, lines(
			`{"kind":"entity","type":"Counter","key":"1","fields":{"n":1}}`,
			`{"kind":"entity","type":"Customer","key":"c1","fields":{"age":36,"id":"c1","name":"Ada","tier":"Silver","visits":0}}`,
			`{"kind":"entity","type":"Customer","key":"c2","fields":{"id":"c2","name":"Bo","tier":"Silver","visits":0}}`,
			`{"kind":"relation","type":"Likes","left_key":"c1","right_key":"c1","instance_key":"","fields":{}}`,
			`{"kind":"relation","type":"Stint","left_key":"c1","right_key":"1","instance_key":"s1","fields":{"label":"a,b","seats":1}}`,
			`{"kind":"relation","type":"Stint","left_key":"c1","right_key":"1","instance_key":"s2","fields":{"label":"second","seats":1}}`)},
		{"some types, in order", &records.ExportOptions{Types: []string{"Likes", "Counter", "Likes"}}, lines(
			`{"kind":"entity","type":"Counter","key":"1","fields":{"n":1}}`,
			`{"kind":"relation","type":"Likes","left_key":"c1","right_key":"c1","instance_key":"","fields":{}}`)},
		{"earlier, with metadata", &records.ExportOptions{Types: []string{"Customer"}, At: onto.AtCommit(3), Metadata: true}, lines(
			`{"kind":"entity","type":"Customer","key":"c1","fields":{"age":36,"id":"c1","name":"Ada","tier":"Silver","visits":0},"commit_id":2,"schema_version_id":1,"op":"put"}`)},
		{"before the first commit", &records.ExportOptions{At: onto.AtCommit(0)}, ""},
		{"history", &records.ExportOptions{Types: []string{"Customer"}, History: true, Since: 1, At: onto.AtCommit(4)}, lines(
			`{"kind":"entity","type":"Customer","key":"c1","fields":{"age":36,"id":"c1","name":"Ada","tier":"Silver","visits":0},"commit_id":2,"op":"put"}`,
			`{"kind":"entity","type":"Customer","key":"c2","commit_id":3,"op":"delete"}`)},
		{"history of several types", &records.ExportOptions{History: true, Since: 3, Metadata: true}, lines(
			`{"kind":"entity","type":"Customer","key":"c2","fields":{"id":"c2","name":"Bo","tier":"Silver","visits":0},"commit_id":5,"schema_version_id":1,"op":"put"}`,
			`{"kind":"relation","type":"Likes","left_key":"c1","right_key":"c1","instance_key":"","fields":{},"commit_id":4,"schema_version_id":1,"op":"put"}`,
			`{"kind":"relation","type":"Stint","left_key":"c1","right_key":"1","instance_key":"s1","fields":{"label":"a,b","seats":1},"commit_id":4,"schema_version_id":1,"op":"put"}`)},
		{"CSV", &records.ExportOptions{Format: records.CSV, Types: []string{"Stint"}}, lines(
			`left_key,right_key,instance_key,label,seats`, `c1,1,s1,"a,b",1`, `c1,1,s2,second,1`)},
		{"CSV with metadata", &records.ExportOptions{Format: records.CSV, Types: []string{"Counter"}, Metadata: true}, lines(
			`n,op,commit_id,schema_version_id,onto.op`, `1,,1,1,put`)},
		{"CSV history", &records.ExportOptions{Format: records.CSV, Types: []string{"Customer"}, History: true, Since: 1}, lines(
			`id,active,age,extra,name,note,profile,ratio,since,tags,tier,visits,commit_id,op`,
			`c1,,36,,Ada,,,,,,Silver,0,2,put`, `c2,,,,,,,,,,,,3,delete`, `c2,,,,Bo,,,,,,Silver,0,5,put`)},
		{"CSV of nothing", &records.ExportOptions{Format: records.CSV, Types: []string{"Seat"}}, "left_key,right_key,instance_key,row\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
				s := open(t)
				story(t, s)
				if got := mustExport(t, s, c.o); got != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			})
		})
	}
}

func TestExportsThatAreRefused(t *testing.T) {
	s := inSQLite(t)
	story(t, s)
	for _, c := range []struct {
		name string
		o    records.ExportOptions
		code onto.Code
		want string
	}{
		{"unknown type", records.ExportOptions{Types: []string{"Custmer"}}, onto.Invalid, "type Custmer does not exist"},
		{"unknown format", records.ExportOptions{Format: "xml"}, onto.Invalid, `format "xml" is unknown`},
		{"parquet", records.ExportOptions{Format: "parquet"}, onto.UnsupportedOperation, "Parquet is the format of lakes"},
		{"CSV of all types", records.ExportOptions{Format: records.CSV}, onto.Invalid, "CSV holds one type, not 5"},
		{"CSV of two types", records.ExportOptions{Format: records.CSV, Types: []string{"Seat", "Likes"}}, onto.Invalid, "CSV holds one type, not 2"},
		{"commit that is not there", records.ExportOptions{At: onto.AtCommit(9)}, onto.NotFound, "commit 9 does not exist"},
		{"history from a commit that is not there", records.ExportOptions{History: true, Since: 9}, onto.NotFound, "commit 9 does not exist"},
		{"negative commit", records.ExportOptions{History: true, Since: -1}, onto.Invalid, "commit -1 is negative"},
	} {
		var out bytes.Buffer
		_, err := records.Export(t.Context(), s, &out, &c.o)
		wantError(t, c.name, err, c.code, c.want)
		if out.Len() > 0 {
			t.Errorf("%s: wrote %q", c.name, &out)
		}
	}
}

// All types show one snapshot, whatever is committed during the export.
func TestExportShowsOneMoment(t *testing.T) {
	onEach(t, func(t *testing.T, open func(testing.TB) *store.Store) {
		s := open(t)
		story(t, s)
		want := mustExport(t, s, nil)
		w := &meddler{write: func() {
			mustImport(t, s, lines(customer("c0", "New", ""), `{"type":"Likes","left_key":"c1","right_key":"c1","op":"delete"}`), nil)
		}}
		if _, err := records.Export(t.Context(), s, w, nil); err != nil {
			t.Fatal(err)
		}
		if got := w.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if now := mustExport(t, s, nil); now == want {
			t.Error("nothing was committed meanwhile")
		}
	})
}

// meddler calls a function at the first write.
type meddler struct {
	bytes.Buffer
	write func()
}

func (m *meddler) Write(p []byte) (int, error) {
	if m.write != nil {
		m.write()
		m.write = nil
	}
	return m.Buffer.Write(p)
}

func TestExportToAWriterThatFails(t *testing.T) {
	s := inSQLite(t)
	story(t, s)
	full := errors.New("no room")
	n, err := records.Export(t.Context(), s, &failingWriter{left: 2, err: full}, nil)
	if !errors.Is(err, full) || n != 2 {
		t.Errorf("got %d records, %v, want 2 and %v", n, err, full)
	}
}

// failingWriter fails after some writes.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// A whole history goes in commit by commit and comes out the same.
func TestReplay(t *testing.T) {
	s, replayed := inMemory(t), inMemory(t)
	story(t, s)
	for commit := range int64(5) {
		text := mustExport(t, s, &records.ExportOptions{History: true, Since: commit, At: onto.AtCommit(commit + 1)})
		mustImport(t, replayed, text, &records.ImportOptions{OnConflict: records.Upsert})
	}
	o := &records.ExportOptions{History: true, Metadata: true}
	if got, want := mustExport(t, replayed, o), mustExport(t, s, o); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err := records.Import(t.Context(), inMemory(t), strings.NewReader(mustExport(t, s, o)), nil)
	wantError(t, "all at once", err, onto.Conflict, "was on line")
}
