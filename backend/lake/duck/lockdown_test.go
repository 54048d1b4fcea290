package duck

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/parquet"
)

func noteLayout() *parquet.Layout {
	return parquet.NewLayout(onto.KindEntity, "Note", []onto.SchemaVersion{{Version: 1, Schema: onto.Schema{
		Kind: onto.KindEntity, Name: "Note", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}},
	}}})
}

// writeNote writes a file with one version.
func writeNote(t *testing.T, path string) {
	t.Helper()
	body, _, err := parquet.Encode(noteLayout(), []onto.Version{{
		Identity: onto.EntityID("Note", "x"), Op: onto.Put, Commit: 1, SchemaVersion: 1, Fields: []byte(`{"id":"x"}`),
	}})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keysIn asks for the keys of all notes in a file.
func keysIn(t *testing.T, e *Engine, path string) (string, error) {
	t.Helper()
	q := &backend.Query{Kind: onto.KindEntity, Type: "Note", At: backend.Head}
	s := &Source{Kind: q.Kind, Type: q.Type, Layout: noteLayout(), Files: []string{path}, Typed: true, Head: 1}
	keys := ""
	for v, err := range e.Scan(t.Context(), q, s, nil, nil) {
		if err != nil {
			return "", err
		}
		keys += v.Key
	}
	return keys, nil
}

func openIn(t *testing.T, dir string) *Engine {
	t.Helper()
	e, err := Open(&Options{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestOutside requires that no file outside of the directory can be read.
func TestOutside(t *testing.T) {
	root := t.TempDir()
	inside := filepath.Join(root, "cache")
	writeNote(t, filepath.Join(inside, "deeper", "note.parquet"))
	writeNote(t, filepath.Join(root, "note.parquet"))
	writeNote(t, filepath.Join(root, "cache2", "note.parquet"))
	e := openIn(t, inside)
	if keys, err := keysIn(t, e, filepath.Join(inside, "deeper", "note.parquet")); keys != "x" || err != nil {
		t.Errorf("inside: got %q, %v, want x", keys, err)
	}
	for _, path := range []string{root + "/note.parquet", root + "/cache2/note.parquet", inside + "/../note.parquet", inside + "/../cache2/note.parquet"} {
		if keys, err := keysIn(t, e, path); err == nil {
			t.Errorf("%s: got %q, want an error", path, keys)
		}
	}
}

// TestLocked requires that statements can reach nothing and change no setting.
func TestLocked(t *testing.T) {
	root := t.TempDir()
	e := openIn(t, filepath.Join(root, "cache"))
	c, err := e.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer e.release(c)
	for _, sql := range []string{
		"SET enable_external_access = true", "SET allowed_directories = ['/']", "SET lock_configuration = false", "SET memory_limit = '64GB'",
		"RESET enable_external_access", "SET autoinstall_known_extensions = true", "SET temp_directory = '/tmp'", "PRAGMA threads = 64",
		"INSTALL httpfs", "LOAD httpfs", "SELECT * FROM read_text('/etc/hosts')", "SELECT * FROM glob('/etc/*')",
		fmt.Sprintf("COPY (SELECT 1) TO %s", quoteText(filepath.Join(root, "out.csv"))),
		fmt.Sprintf("ATTACH %s", quoteText(filepath.Join(root, "out.db"))),
	} {
		if err := c.exec(sql); err == nil {
			t.Errorf("%s: got no error", sql)
		}
	}
	if err := c.exec("SELECT 1"); err != nil {
		t.Errorf("the connection is of no use any more: %v", err)
	}
}

// TestOddPaths reads files whose paths have characters that mean something in
// SQL or in patterns.
func TestOddPaths(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"it's", "a[b]c", "a*b", "wh?t", `qu"ote`, "per%cent", "sp ace", "ünïcode", "[", "a;b--c", "$1", `back\slash`} {
		dir := filepath.Join(root, name)
		path := filepath.Join(dir, name+".parquet")
		writeNote(t, path)
		writeNote(t, filepath.Join(dir, "aXb.parquet")) // what a pattern would match
		if keys, err := keysIn(t, openIn(t, dir), path); keys != "x" || err != nil {
			t.Errorf("%s: got %q, %v, want x", name, keys, err)
		}
	}
}
