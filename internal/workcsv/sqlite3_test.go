package workcsv

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// ddl is the original program's table.
const ddl = `CREATE TABLE IF NOT EXISTS work_items (
	work_item_id TEXT PRIMARY KEY, source_system TEXT NOT NULL, source_name TEXT NOT NULL, resource_type TEXT NOT NULL, resource_id TEXT NOT NULL,
	request_uri TEXT NOT NULL, request_method TEXT NOT NULL, request_headers TEXT, request_body TEXT, metadata TEXT, priority INTEGER NOT NULL DEFAULT 100,
	status TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, run_id TEXT, discovered_from TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
	error_message TEXT, dedupe_key TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS ix_work_items_status ON work_items (status, priority, created_at);
CREATE UNIQUE INDEX IF NOT EXISTS ix_work_items_dedupe ON work_items (dedupe_key);
CREATE INDEX IF NOT EXISTS ix_work_items_run_id ON work_items (run_id);
`

// shell returns how to run the sqlite3 command on a file. Where it is not installed the
// test is left out, unless ONTO_REQUIRE names it.
func shell(t *testing.T, file string) func(input string, args ...string) string {
	t.Helper()
	command, err := exec.LookPath("sqlite3")
	if err != nil && strings.Contains(os.Getenv("ONTO_REQUIRE"), "sqlite3") {
		t.Fatal("the sqlite3 command is required and not installed")
	}
	if err != nil {
		t.Skip("left out: the sqlite3 command is not installed")
	}
	return func(input string, args ...string) string {
		t.Helper()
		cmd := exec.Command(command, args...)
		cmd.Dir = filepath.Dir(file)
		cmd.Stdin = strings.NewReader(input)
		var problem bytes.Buffer
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("sqlite3 %q: %v: %s", args, err, &problem)
		}
		return string(out)
	}
}

func insert(r *Row, names []string) string {
	var values []string
	for _, name := range names {
		v := columnOf(name).get(r)
		if !v.Valid {
			values = append(values, "NULL")
			continue
		}
		// The shell drops a carriage return at the end of a line.
		values = append(values, "'"+strings.NewReplacer("'", "''", "\r", "'||char(13)||'").Replace(v.Text)+"'")
	}
	return "INSERT INTO work_items (" + strings.Join(names, ",") + ") VALUES (" + strings.Join(values, ",") + ");\n"
}

// A queue of the original program is exported by the sqlite3 command, as its
// documentation says, and read; what is written is the same, byte for byte.
func TestOriginalQueue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ingest_state.db")
	run := shell(t, file)
	texts := []string{
		"", "plain", "two words", "a,b", `say "hi"`, "it's", "line\nbreak", "line\r\nbreak", "tab\tstop", "é", "日本", "\ufeff", `{"a": [1, "b"]}`, "a;b|c", "-1", "NULL", "~!#$%&()*+-./:<=>?@[]^_`{}", `\`, `""`,
	}
	var want []*Row
	sql := ddl
	for i, text := range texts {
		row := example()
		row.WorkItemID, row.DedupeKey = row.WorkItemID+text, row.DedupeKey+text
		row.ResourceID = text
		for j, v := range []*Value{&row.RequestHeaders, &row.RequestBody, &row.Metadata, &row.RunID, &row.DiscoveredFrom, &row.ErrorMessage} {
			*v = Value{}
			if (i+j)%3 > 0 {
				*v = Text(texts[(i+j)%len(texts)])
			}
		}
		want = append(want, row)
		sql += insert(row, OriginalColumns())
	}
	run(sql, file)

	exported := run("", "-csv", "-header", file, "SELECT * FROM work_items")
	checkRead(t, "exported with -csv", exported, want)
	var out bytes.Buffer
	w, err := NewWriter(&out, OriginalColumns()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range want {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil || out.String() != exported {
		t.Errorf("the file differs from that of sqlite3: %v\ngot:\n%s\nwant:\n%s", err, &out, exported)
	}

	run("", file, ".mode csv", ".headers on", ".output work_items.csv", "SELECT * FROM work_items")
	recipe, err := os.ReadFile(filepath.Join(filepath.Dir(file), "work_items.csv"))
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, "exported with .mode csv", string(recipe), want)

	// With our columns, then read back by the sqlite3 command, which has no NULL in CSV.
	run("ALTER TABLE work_items ADD COLUMN lease_owner TEXT; ALTER TABLE work_items ADD COLUMN lease_until TEXT; ALTER TABLE work_items ADD COLUMN not_before TEXT;"+
		"ALTER TABLE work_items ADD COLUMN depth INTEGER; ALTER TABLE work_items ADD COLUMN onto_scope TEXT; UPDATE work_items SET lease_owner = 'w 1', depth = 3;", file)
	for _, row := range want {
		row.LeaseOwner, row.Depth = Text("w 1"), Text("3")
	}
	checkRead(t, "exported with our columns", run("", "-csv", "-header", file, "SELECT * FROM work_items"), want)
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "ours.csv"), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(".import --csv ours.csv copy\nSELECT count(*), sum(copy.resource_id = work_items.resource_id), sum(copy.metadata = ifnull(work_items.metadata, '')) FROM copy JOIN work_items USING (dedupe_key);\n", file)
	if n := "19|19|19\n"; got != n {
		t.Errorf("of 19 rows that we wrote sqlite3 reads %s", got)
	}
}

func checkRead(t *testing.T, what, text string, want []*Row) {
	t.Helper()
	rows, r, err := readAll(text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, text)
	}
	if err := r.CheckCount(int64(len(want))); err != nil || len(r.Ignored()) > 0 {
		t.Errorf("%s: %v, ignored %q", what, err, r.Ignored())
	}
	for i, row := range rows {
		if i < len(want) && !reflect.DeepEqual(row, want[i]) {
			t.Errorf("%s, row %d:\ngot  %+v\nwant %+v", what, i, row, want[i])
		}
	}
}
