package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// originalFile makes a file as an engine of the original program left it: WAL is the mode
// that it sets, DELETE that of a copy.
func originalFile(t *testing.T, engine, mode string) string {
	t.Helper()
	dump, err := os.ReadFile(filepath.Join("..", "..", "backend", "sqlite", "testdata", "original-"+engine+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "original.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(string(dump) + `; PRAGMA journal_mode = ` + mode); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// originalReads are the verbs that only read, each with the arguments of its calls, and the
// status of those that do not end with 0. FILE stands for a new file.
var originalReads = map[string][]call{
	"info":                   {{"--stats", 0}},
	"query entities":         {{"Customer", 0}, {"Customer --as-of 1", 0}, {"Customer --where $.age>25 --as-of 3", 0}, {"Customer --agg count", 0}, {"Customer --with-history", 0}, {"Product --order-by $.price --limit 2", 0}},
	"query relations":        {{"Subscription", 0}, {"Subscription --where left.$.age>25", 0}, {"Stint --explain", 0}},
	"query traverse":         {{"Customer --via Subscription", 0}},
	"query facts":            {{"Nothing", 2}},
	"get":                    {{"Customer c00", 0}, {"Customer c00 --as-of 1", 0}},
	"log":                    {{"Customer c00", 0}},
	"diff":                   {{"1 4", 0}},
	"blame":                  {{"Customer c00", 0}},
	"timeline":               {{"Nothing x", 2}},
	"commits":                {{"", 0}, {"--json", 0}},
	"commits examine":        {{"--id 2", 0}},
	"commits positions":      {{"", 0}},
	"schema export":          {{"", anyStatus}},
	"schema history":         {{"--type Customer", 0}},
	"schema drop":            {{"relation Stint", 0}},
	"events show":            {{"--namespace billing", 0}},
	"events list-namespaces": {{"", 0}},
	"events sessions":        {{"--namespace billing", 0}},
	"events dead-letters":    {{"--namespace billing", 0}},
	"events inspect":         {{"--namespace billing --event-id EVENT", 0}},
	"events cleanup":         {{"--namespace billing --before 2027-01-01", 0}},
	"events drop":            {{"--namespace billing --all", 0}},
	"events replay":          {{"--namespace billing --all", 0}},
	"work list":              {{"", 0}},
	"work stats":             {{"", 0}},
	"work runs":              {{"", 0}},
	"work tree":              {{"none", 9}},
	"work export":            {{"--output -", 0}},
	"work inspect":           {{"none", 9}},
	"work retry":             {{"", 0}},
	"work recrawl":           {{"--all", 0}},
	"work skip":              {{"--item none", 0}},
	"fold list":              {{"", 0}},
	"fold verify":            {{"", 0}},
	"migrate":                {{"--schema SCHEMA", 0}},
	"verify":                 {{"--schema SCHEMA", 3}},
	"init":                   {{"", 0}, {"--dry-run", 0}, {"--adopt --dry-run", 0}},
	"import":                 {{"--input RECORDS --dry-run", 0}},
	"export":                 {{"--output FILE --type Customer", 0}},
	"revert":                 {{"--commit 4", 0}},
	"projection verify":      {{"", 0}},
	"doctor":                 {{"", 0}, {"--json", 0}},
	"doctor explain":         {{"wal_large", 0}},
	"lock show":              {{"", 0}},
	"backup":                 {{"FILE", 0}},
	"restore":                {{"BACKUP", 7}},
	"index verify":           {{"", 5}}, // of a lake, as those that follow
	"index repair":           {{"", 5}},
	"compact":                {{"", 5}},
	"janitor":                {{"", 5}},
}

type call struct {
	args   string
	status int
}

// anyStatus is of a call whose answer other tests judge.
const anyStatus = -1

// originalWrites are the verbs that are meant to write, or never come to an end.
var originalWrites = []string{
	"demo", "put", "link", "delete", "fact assert", "fact retract", "fact revoke", "commits follow", "events emit", "events handle", "work add", "work import",
	"work run", "work seed", "copy", "doctor s3", "fold rebuild", "projection rebuild", "lock release",
}

// Every verb that only reads leaves a file of the original program as it is, to the byte,
// and nothing beside it, whatever the verb answers.
func TestReadingVerbsLeaveFilesOfTheOriginal(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"v1", "v2"} {
		for _, mode := range []string{"WAL", "DELETE"} {
			t.Run(engine+" "+mode, func(t *testing.T) {
				t.Parallel()
				path := originalFile(t, engine, mode)
				before := surroundings(t, path)
				calls := 0
				for _, verb := range slices.Sorted(maps.Keys(originalReads)) {
					for _, c := range originalReads[verb] {
						calls++
						out := readOriginal(t, path, verb, c)
						if after := surroundings(t, path); after != before {
							t.Fatalf("onto %s %s has changed the file:\n%s\nbefore:\n%s\n%s", verb, c.args, after, before, out)
						}
					}
				}
				t.Logf("%d calls of %d verbs", calls, len(originalReads))
			})
		}
	}
}

// readOriginal runs a verb in process.
func readOriginal(t *testing.T, path, verb string, c call) string {
	t.Helper()
	dir := t.TempDir()
	backup, records, schema := filepath.Join(dir, "backup.db"), filepath.Join(dir, "records.jsonl"), filepath.Join(dir, "schema.yaml")
	text := verb + " " + c.args
	if strings.Contains(text, "BACKUP") {
		must(t, "", "backup", backup, "--db", path)
	}
	if strings.Contains(text, "RECORDS") {
		must(t, "", "export", "--type", "Product", "--output", records, "--db", path)
	}
	if strings.Contains(text, "EVENT") {
		events := must(t, "", "events", "show", "--namespace", "billing", "--db", path)
		id, _, _ := strings.Cut(events[strings.Index(events, "\n")+1:], " ")
		text = strings.ReplaceAll(text, "EVENT", id)
	}
	const product = "entities:\n  Product:\n    key: sku\n    fields:\n      sku: {type: string}\n      price: {type: float}\n      unit: {type: string, optional: true}\n"
	if err := os.WriteFile(schema, []byte(product), 0o600); err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer("FILE", filepath.Join(dir, "new.jsonl"), "BACKUP", backup, "SCHEMA", schema, "RECORDS", records).Replace(text)
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), append(strings.Fields(text), "--db", path), strings.NewReader(""), &stdout, &stderr)
	if status != c.status && c.status != anyStatus {
		t.Errorf("onto %s: status %d, want %d: %s", text, status, c.status, &stderr)
	}
	return stderr.String()
}

// surroundings is the contents of every file beside a path.
func surroundings(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %d %x", e.Name(), len(data), sha256.Sum256(data)))
	}
	return strings.Join(list, "\n")
}

// No verb is forgotten: each one is known to read or to write.
func TestEveryVerbIsKnownToReadOrToWrite(t *testing.T) {
	c := newSession(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	walk(newRoot(c, nil), func(cmd *cobra.Command) {
		verb := strings.TrimPrefix(cmd.CommandPath(), "onto ")
		if !cmd.Runnable() || strings.HasPrefix(verb, "completion") || cmd.Hidden || verb == "onto" || verb == "help" || verb == "version" {
			return
		}
		if _, reads := originalReads[verb]; !reads && !slices.Contains(originalWrites, verb) && !cmd.HasSubCommands() {
			t.Errorf("%s is neither among the verbs that read nor among those that write", verb)
		}
	})
}

// A file of the original program that nobody has written to passes the doctor, can be
// copied, and its copy restored. The copy is a file of the original program too.
func TestFilesOfTheOriginalAreKept(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"v1", "v2"} {
		t.Run(engine, func(t *testing.T) {
			path := originalFile(t, engine, "WAL")
			must(t, "", "doctor", "--db", path)
			dir := t.TempDir()
			backup, restored := filepath.Join(dir, "backup.db"), filepath.Join(dir, "restored.db")
			must(t, "", "backup", backup, "--db", path)
			must(t, "", "restore", backup, "--db", restored)
			ask := func(file string) string {
				return must(t, "", "query", "entities", "Customer", "--as-of", "1", "--json", "--db", file) + must(t, "", "events", "show", "--namespace", "billing", "--json", "--db", file)
			}
			want := ask(path)
			for _, file := range []string{backup, restored} {
				if got := ask(file); got != want {
					t.Errorf("%s answers\n%s, want\n%s", file, got, want)
				}
				if got := must(t, "", "init", "--dry-run", "--adopt", "--db", file); !strings.Contains(got, "would adopt") {
					t.Errorf("%s: got %q, want a file that was not adopted", file, got)
				}
			}
			must(t, "", "init", "--adopt", "--db", path)
			if got := must(t, "", "init", "--adopt", "--db", path, "--json"); !strings.Contains(got, `"adopted": false`) {
				t.Errorf("adopted twice: %s", got)
			}
			if got := ask(path); got != want {
				t.Errorf("adopted: got\n%s, want\n%s", got, want)
			}
			must(t, "", "restore", backup, "--apply", "--db", path) // over a store of ours
			if got := ask(path); got != want {
				t.Errorf("restored over it: got\n%s, want\n%s", got, want)
			}
			must(t, "", "doctor", "--db", path)
		})
	}
}
