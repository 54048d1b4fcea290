package records_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

// writeFolder makes a directory with files; those that end in .gz are packed.
func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z := gzip.NewWriter(f)
			_, err = z.Write([]byte(text))
			z.Close()
		} else {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return dir
}

func openFolder(t *testing.T, files map[string]string) *records.Folder {
	t.Helper()
	f, err := records.OpenFolder(writeFolder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// The files of a directory are one commit; what is not JSON Lines is left out.
func TestImportFolder(t *testing.T) {
	s := inMemory(t)
	files := map[string]string{
		"Counter.jsonl.gz": `{"type_kind": "entity", "type_name": "Counter", "key": "1", "fields": {"n": 1}}` + "\n",
		"Customer.jsonl":   "\ufeff" + `{"type_kind": "entity", "type_name": "Customer", "key": "a", "fields": {"id": "a", "name": "A"}}`, // without its last newline
		"Empty.jsonl":      "",
		"Stint.jsonl":      `{"type_kind": "relation", "type_name": "Stint", "left_key": "a", "right_key": "1", "fields": {"label": "x"}, "instance_key": "i", "commit_id": 3}` + "\n",
		"README.md":        "not a record\n",
		"rows.csv":         "neither\n",
	}
	out, err := records.Import(t.Context(), s, openFolder(t, files), nil)
	if err != nil || out.Records != 3 || out.Inserts != 3 {
		t.Fatalf("got %+v, error %v; want three inserts", out, err)
	}
	wantHead(t, s, 1)
	folder := openFolder(t, files)
	out, err = records.Plan(t.Context(), s, folder, nil)
	if part, whole := folder.Share(); err != nil || out.Unchanged != 3 || part != whole {
		t.Errorf("again: got %+v, error %v, %d of %d bytes; want all unchanged", out, err, part, whole)
	}
}

// A bad record is named with file and line, and nothing is stored.
func TestImportFolderNamesThePlace(t *testing.T) {
	a := `{"type_kind":"entity","type_name":"Customer","key":"a","fields":{"id":"a","name":"A"}}`
	for _, c := range []struct {
		name, text string
		code       onto.Code
		want       string
	}{
		{"NaN", `{"type_kind":"entity","type_name":"Customer","key":"b","fields":{"id":"b","name":"B","extra":NaN}}`, onto.Invalid, "B.jsonl: line 3: JSON at $.fields.extra"},
		{"a lone surrogate", `{"type_kind":"entity","type_name":"Customer","key":"b","fields":{"id":"b","name":"\ud800"}}`, onto.Invalid, "B.jsonl: line 3: JSON at $.fields.name: lone surrogate"},
		{"an unknown type", `{"type_kind":"entity","type_name":"Custmer","key":"b","fields":{}}`, onto.Invalid, "B.jsonl: line 3: "},
		{"a value that does not fit", `{"type_kind":"entity","type_name":"Customer","key":"b","fields":{"name":7}}`, onto.Invalid, `B.jsonl: line 3: Customer "b": field name`},
		{"another version", strings.Replace(a, `"A"`, `"B"`, 1), onto.Conflict, `B.jsonl: line 3: Customer "a" was on line 1 of A.jsonl already`},
		{"both names", strings.Replace(a, `"key"`, `"type":"Customer","key"`, 1), onto.Invalid, "B.jsonl: line 3: a record has type only once, also as type_name"},
	} {
		s := inMemory(t)
		files := map[string]string{"A.jsonl": a + "\n", "B.jsonl": "\n\n" + c.text + "\n", "C.jsonl": a + "\n"}
		_, err := records.Import(t.Context(), s, openFolder(t, files), nil)
		wantError(t, c.name, err, c.code, c.want)
		wantHead(t, s, 0)
	}
	s := inMemory(t)
	mustImport(t, s, customer("a", "Other", "")+"\n", nil)
	out, err := records.Plan(t.Context(), s, openFolder(t, map[string]string{"A.jsonl": "\n" + a + "\n"}), nil)
	if err != nil || len(out.First) != 1 || out.First[0].String() != `A.jsonl: line 2: Customer "a" exists with other fields` {
		t.Errorf("plan: got %v, error %v", out.First, err)
	}
	_, err = records.Import(t.Context(), s, openFolder(t, map[string]string{"A.jsonl": "\n" + a + "\n"}), nil)
	wantError(t, "import", err, onto.Conflict, `A.jsonl: line 2: Customer "a" exists with other fields`)
}

func TestFolderRefuses(t *testing.T) {
	if _, err := records.OpenFolder(filepath.Join(t.TempDir(), "none")); onto.CodeOf(err) != onto.Invalid {
		t.Errorf("missing: got %v", err)
	}
	_, err := records.OpenFolder(writeFolder(t, map[string]string{"a.csv": "x"}))
	wantError(t, "no JSON Lines", err, onto.Invalid, "has no file of JSON Lines")
	s := inMemory(t)
	for _, o := range []*records.ImportOptions{{Format: records.CSV, Type: "Customer"}, {Rows: &records.Rows{}}} {
		_, err := records.Import(t.Context(), s, openFolder(t, map[string]string{"a.jsonl": ""}), o)
		wantError(t, "options", err, onto.Invalid, "a directory is read as records in JSON Lines only")
	}
	_, err = records.Import(t.Context(), s, openFolder(t, map[string]string{"a.jsonl": "", "b.jsonl.gz": ""}), nil)
	if err != nil {
		t.Errorf("empty files: %v", err)
	}
}
