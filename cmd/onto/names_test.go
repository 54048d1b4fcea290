package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// vocabulary is the names of docs/json.md, each with the kinds of its values.
type vocabulary map[string][]string

func readVocabulary(t *testing.T) vocabulary {
	t.Helper()
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	names := vocabulary{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		if names[row[1]] != nil {
			t.Errorf("docs/json.md has %s twice", row[1])
		}
		for _, kind := range strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			if kind == "or" {
				continue
			}
			if !slices.Contains([]string{"text", "number", "flag", "time", "list", "object", "free"}, kind) {
				t.Errorf("docs/json.md: %s is %q", row[1], kind)
			}
			names[row[1]] = append(names[row[1]], kind)
		}
	}
	return names
}

var (
	fixedTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)
	anyTime   = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d`)
)

// kindOf is what docs/json.md calls a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case float64:
		return "number"
	case bool:
		return "flag"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	case string:
		if anyTime.MatchString(v) {
			return "time"
		}
	}
	return "text"
}

// check compares a value with the vocabulary, and notes the names that it has.
func (names vocabulary) check(t *testing.T, verb string, v any, seen map[string]bool) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			names.check(t, verb, item, seen)
		}
	case map[string]any:
		for name, value := range v {
			if strings.ContainsAny(name, "$:") { // an operand of a group
				continue
			}
			seen[name] = true
			kinds := names[name]
			switch kind := kindOf(value); {
			case kinds == nil:
				t.Errorf("%s: docs/json.md has no member %q", verb, name)
			case slices.Contains(kinds, "free"):
				continue
			case value != nil && !slices.Contains(kinds, kind):
				t.Errorf("%s: %s is %s %v, want %v", verb, name, kind, value, kinds)
			case kind == "time" && !fixedTime.MatchString(value.(string)):
				t.Errorf("%s: %s is %s, which is not the form of times", verb, name, value)
			}
			names.check(t, verb, value, seen)
		}
	}
}

// TestDocumentedNames tests that the documents have only the members that docs/json.md
// lists, and that there is one for each that it lists.
func TestDocumentedNames(t *testing.T) {
	names, seen := readVocabulary(t), map[string]bool{"rows": true} // of a page, which is printed as it comes
	files, err := filepath.Glob("../../internal/document/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if seen[name] = true; names[name] == nil {
				t.Errorf("%s: docs/json.md has no member %q", filepath.Base(file), name)
			}
			return true
		})
	}
	for name := range names {
		if !seen[name] {
			t.Errorf("docs/json.md has %s, which no document has", name)
		}
	}
	t.Logf("%d names", len(seen))
}

const namesTypes = `
entities:
  Customer:
    key: id
    fields:
      id:   {type: string}
      tier: {type: string, optional: true, index: true}
  Product:
    key: sku
    fields:
      sku: {type: string}
  Balance:
    key: id
    fields:
      id:    {type: string}
      total: {type: int, optional: true}
  Page:
    key: url
    fields:
      url:  {type: string}
relations:
  Buys:
    left: Customer
    right: Product
    instance_key: stint
    fields:
      seats: {type: int, default: 1}
facts:
  Contract:
    subject: Customer
    fields:
      salary: {type: int}
  Booking:
    fields:
      amount: {type: int}
folds:
  balance:
    facts: Booking
    state: Balance
    version: 1
    program: '.state.total = (.state.total // 0) + .fact.value | .state'
`

// speaker runs verbs with --json and checks what they print.
type speaker struct {
	t     *testing.T
	names vocabulary
	root  *cobra.Command
	where []string // the flag that names the store
	seen  map[string]bool
	ran   map[string]bool // by the path of the command
	told  string          // what the last verb printed to stderr
}

// say runs a verb and checks what it prints. The verb may fail: an error is JSON, too.
func (s *speaker) say(stdin string, args ...string) (stdout string) {
	s.t.Helper()
	verb := strings.Join(args, " ")
	if cmd, _, err := s.root.Find(args); err == nil {
		s.ran[cmd.CommandPath()] = true
	}
	flags := append([]string{"--json"}, s.where...)
	if slices.Contains(args, "jsonl") || slices.Contains(args, "--output") && slices.Contains(args, "-") {
		flags = s.where
	}
	if i := slices.Index(args, "--"); i >= 0 {
		args = slices.Insert(slices.Clone(args), i, flags...)
	} else {
		args = append(slices.Clone(args), flags...)
	}
	var out, errs bytes.Buffer
	run(s.t.Context(), args, strings.NewReader(stdin), &out, &errs)
	s.told = errs.String()
	s.read(verb, out.Bytes())
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "{") {
			s.read(verb, []byte(line))
		}
	}
	if out.Len() == 0 && !strings.Contains("\n"+s.told, "\n{") {
		s.t.Errorf("onto %s printed no JSON: %s", verb, &errs)
	}
	return out.String()
}

// done is say for a verb that must not fail.
func (s *speaker) done(stdin string, args ...string) string {
	s.t.Helper()
	out := s.say(stdin, args...)
	if out == "" {
		s.t.Fatalf("onto %v printed nothing: %s", args, s.told)
	}
	return out
}

// read checks the documents of a text.
func (s *speaker) read(verb string, text []byte) {
	s.t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var doc any
		switch err := dec.Decode(&doc); err {
		case nil:
			s.names.check(s.t, verb, doc, s.seen)
		case io.EOF:
			return
		default:
			s.t.Errorf("onto %s: %v in %s", verb, err, text)
			return
		}
	}
}

// member is the first text with this name in a document.
func member(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(`"` + name + `": ?"([^"]+)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", name, text)
	}
	return m[1]
}

// TestEveryVerbSpeaksTheSameWords runs every verb with --json. One that is new fails until it
// is run here.
func TestEveryVerbSpeaksTheSameWords(t *testing.T) {
	t.Parallel()
	c := newSession(strings.NewReader(""), io.Discard, io.Discard)
	dir := t.TempDir()
	s := &speaker{
		t: t, names: readVocabulary(t), root: newRoot(c, nil), where: []string{"--db", filepath.Join(dir, "onto.db")},
		seen: map[string]bool{}, ran: map[string]bool{},
	}
	tellOfVersions(s, dir)
	tellOfTypes(s, dir)
	tellOfEvents(s)
	tellOfWork(s, dir)
	tellOfCare(s, dir)
	tellOfLakes(s, dir)
	tellOfTenants(s, dir)
	silent := []string{
		"onto demo", "onto help", // for people
		"onto doctor s3", // needs a bucket; its documents are tested by their types
	}
	walk(s.root, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.HasSubCommands() && !s.ran[path] || strings.HasPrefix(path, "onto completion") || slices.Contains(silent, path) || s.ran[path] {
			return
		}
		t.Errorf("%s was not run", path)
	})
	t.Logf("%d verbs, %d names of %d", len(s.ran), len(s.seen), len(s.names))
}

// tellOfVersions runs the verbs about what is stored.
func tellOfVersions(s *speaker, dir string) {
	s.t.Helper()
	s.done(namesTypes, "init", "--schema", "-", "--dry-run")
	s.done(namesTypes, "init", "--schema", "-")
	s.done("", "put", "Customer", `{"id":"c1","tier":"Gold"}`, `{"id":"c2"}`, "--actor", "operator:ana", "--comment", "why", "--correlation", "day", "--meta", "k=v", "--idempotency-key", "once", "--emit", `Seen={"n":1}`)
	s.done("", "put", "Product", `{"sku":"p1"}`)
	s.done("", "link", "Buys", "c1", "p1", "--instance", "s1")
	s.done("", "link", "Buys", "c1", "nothing", "--instance", "s2", "--dry-run")
	s.done("", "put", "Customer", `{"id":"c1"}`, "--dry-run", "--expect-head", "3")
	s.say("", "put", "Customer", `{"id":"c1"}`, "--dry-run", "--expect-head", "1")
	s.done("", "put", "Customer", `{"id":"c1"}`)
	s.done("", "delete", "Customer", "c2")
	s.say("", "delete", "Customer", "nobody", "--expect-head", "1")
	s.say("", "put", "Customer", `{"id":1}`)
	s.done("", "fact", "assert", "Contract", "c1", "salary", "1", "--id", "f1", "--from", "2026-01-01", "--kind", "hired")
	s.done("", "fact", "assert", "Contract", "c1", "salary", "2", "--id", "f2", "--from", "2026-03-01", "--until", "2026-04-01")
	s.done("", "fact", "revoke", "Contract/c1/salary/f1", "--at", "2026-02-01", "--note", `{"letter":"L7"}`)
	s.done("", "fact", "retract", "Contract/c1/salary/f2")
	s.done("", "fact", "assert", "Booking", "acc", "amount", "5")
	for _, args := range []string{
		"entities Customer", "entities Customer --as-of 1 --page --limit 1", "entities Customer --with-history --page", "entities Customer --group-by $.tier --agg count",
		"entities Customer --where $.tier.is_null() --explain", "entities Customer --format jsonl",
		"relations Buys", "relations Buys --with-history", "traverse Customer --via Buys",
		"facts Contract --every", "facts Contract --every --limit 1 --page", "facts Contract --count", "facts Contract --with-history",
	} {
		s.done("", append([]string{"query"}, strings.Fields(args)...)...)
	}
	s.say("", "query", "entities", "Nothing")
	s.done("", "timeline", "Contract", "c1", "--gaps")
	s.done("", "get", "Customer", "c1")
	s.done("", "log", "Customer", "c1")
	s.done("", "log", "Buys", "c1", "p1", "--instance", "s1")
	s.done("", "diff", "1", "head")
	s.done("", "blame", "Customer", "c1")
	s.done("", "commits")
	s.done("", "commits", "examine", "--id", "1")
	s.done("", "commits", "follow", "--name", "mirror", "--once")
	s.done("", "commits", "positions")
	s.done("", "info", "--stats", "--schema")
	s.done("", "revert", "--commit", "4")
	s.done("", "revert", "--subject", "Customer", "c1", "--since", "4")
	s.done("", "revert", "--commit", "4", "--apply")
	s.say("", "revert", "--commit", "99")
	s.done("", "export", "--output", "-", "--with-metadata")
	s.done("", "export", "--output", filepath.Join(dir, "all.jsonl"))
	s.done(`{"kind":"entity","type":"Customer","key":"c1","fields":{"tier":"Lead"}}`, "import", "--input", "-")
	s.done(`{"type_kind":"entity","type_name":"Customer","key":"c3","fields":{}}`, "import", "--input", "-", "--apply")
	s.say("{", "import", "--input", "-")
	s.done(`{"id":"c4"}`+"\n{\n", "import", "--input", "-", "--type", "Customer", "--max-errors", "1")
	s.done("", "query", "entities", "Customer", "--select", "$.tier")
}

// tellOfTypes runs the verbs about types and folds.
func tellOfTypes(s *speaker, dir string) {
	s.t.Helper()
	s.done("", "schema", "export")
	s.done("", "schema", "history", "--type", "Customer")
	next := strings.Replace(namesTypes, "      url:  {type: string}\n", "      url:  {type: string}\n      size: {type: int, default: 1}\n      rank: {type: int}\n", 1)
	s.done("", "put", "Page", `{"url":"https://example.org/"}`)
	s.done(next, "verify", "--schema", "-", "--diff")
	s.done(next, "migrate", "--schema", "-")
	upgraders := filepath.Join(dir, "upgraders.yaml")
	if err := os.WriteFile(upgraders, []byte("Page: {1: '.rank = 1'}\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.done(next, "migrate", "--schema", "-", "--upgraders", upgraders)
	s.done(next, "migrate", "--schema", "-", "--upgraders", upgraders, "--apply", "--force")
	s.done("", "blame", "Page", "https://example.org/")
	s.done("", "schema", "history", "--type", "Page")
	s.say("", "schema", "drop", "entity", "Product")
	plan := s.done("", "schema", "drop", "entity", "Page")
	s.done("", "schema", "drop", "entity", "Page", "--apply", "--token", member(s.t, plan, "token"))
	s.done("", "fold", "list")
	s.done("", "fold", "verify")
	s.done("", "fold", "rebuild", "balance")
}

// tellOfEvents runs the verbs of the bus.
func tellOfEvents(s *speaker) {
	s.t.Helper()
	first := member(s.t, s.done("", "events", "emit", "--type", "Ping", "--payload", `{"n":1}`, "--ordering-key", "k"), "id")
	s.done("", "events", "emit", "--type", "Pong", "--delay", "1h")
	for range 2 {
		s.say("", "events", "handle", "--handler", "h", "--type", "Ping", "--attempts", "1", "--once", "--", "false")
		s.done("", "events", "emit", "--type", "Ping")
	}
	s.done("", "events", "show")
	s.done("", "events", "inspect", "--event-id", first)
	s.done("", "events", "list-namespaces")
	s.done("", "events", "sessions")
	s.done("", "events", "dead-letters")
	s.done("", "events", "dead-letters", "--count")
	s.done("", "events", "replay", "--event-id", first, "--apply")
	s.done("", "events", "replay", "--all")
	s.done("", "events", "drop", "--all")
	s.done("", "events", "drop", "--all", "--apply")
	s.done("", "events", "cleanup", "--before", "0s", "--unhandled")
}

// tellOfWork runs the verbs of the work queue.
func tellOfWork(s *speaker, dir string) {
	s.t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `<a href="/gone">gone</a>`)
	}))
	defer site.Close()
	out := filepath.Join(dir, "pages")
	if err := os.Mkdir(out, 0o700); err != nil {
		s.t.Fatal(err)
	}
	item := member(s.t, s.done("", "work", "add", site.URL+"/", "--metadata", `{"a":1}`, "--header", "Accept: text/html"), "work_item_id")
	s.done(`{"source_system":"other","source_name":"docs","resource_type":"page","resource_id":"/","request_uri":"https://example.org/"}`, "work", "seed", "--input", "-")
	s.done("", "work", "run", "--out", out, "--allow-private", "127.0.0.0/8", "--follow", "links", "--max-attempts", "1", "--no-robots")
	s.done("", "work", "stats")
	s.done("", "work", "stats", "--by", "source")
	s.done("", "work", "list")
	s.done("", "work", "inspect", item)
	s.done("", "work", "tree")
	s.done("", "work", "runs")
	s.done("", "work", "retry")
	s.done("", "work", "skip", "--system", "other", "--apply")
	s.done("", "work", "cleanup", "--keep", "1")
	s.done("", "work", "cleanup", "--before", "0s", "--only", "runs", "--apply")
	s.done("", "work", "recrawl", "--all", "--apply")
	s.done("", "work", "export", "--output", filepath.Join(dir, "queue.csv"))
	queue, err := os.ReadFile(filepath.Join(dir, "queue.csv"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.done(string(queue), "work", "import", "-")
	files, err := filepath.Glob(filepath.Join(out, "*", "*", "*.json"))
	if err != nil || len(files) == 0 {
		s.t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		s.t.Fatal(err)
	}
	if m := member(s.t, string(text), "fetched_at"); !fixedTime.MatchString(m) {
		s.t.Errorf("a page was fetched at %s, which is not the form of times", m)
	}
}

// tellOfCare runs the verbs that look after a file.
func tellOfCare(s *speaker, dir string) {
	s.t.Helper()
	s.done("", "projection", "verify")
	s.done("", "projection", "rebuild")
	s.done("", "link", "Buys", "c1", "nothing", "--instance", "s2")
	s.done("", "doctor")
	s.done("", "doctor", "explain", "projection_differs")
	s.done("", "lock", "show")
	s.say("", "lock", "release", "--force", "--reason", "why")
	s.done("", "backup", filepath.Join(dir, "copy.db"))
	at := s.where
	s.where = nil
	s.done("", "copy", at[1], filepath.Join(dir, "copied.db"))
	s.done("", "copy", at[1], filepath.Join(dir, "copied.db"), "--apply")
	s.done("", "copy", at[1], filepath.Join(dir, "copied.db"), "--verify")
	s.where = at
	s.done("", "put", "Customer", `{"id":"c9"}`)
	s.done("", "restore", filepath.Join(dir, "copy.db"))
	s.done("", "restore", filepath.Join(dir, "copy.db"), "--apply")
}

// tellOfLakes runs the verbs that only a lake has.
func tellOfLakes(s *speaker, dir string) {
	s.t.Helper()
	file := s.where
	defer func() { s.where = file }()
	lake := filepath.Join(dir, "lake")
	s.where = []string{"--storage-uri", "file://" + lake}
	s.done(namesTypes, "init", "--schema", "-")
	for i := range 2 {
		s.done("", "put", "Customer", fmt.Sprintf(`{"id":"c%d"}`, i))
	}
	s.done("", "info", "--stats")
	s.done("", "doctor")
	s.done("", "compact", "--all")
	s.done("", "compact", "--all", "--apply")
	if err := os.WriteFile(filepath.Join(lake, "commits", "notes.txt"), []byte("mine"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.done("", "janitor")
	if err := os.RemoveAll(filepath.Join(lake, "meta", "indices")); err != nil {
		s.t.Fatal(err)
	}
	s.done("", "index", "verify")
	s.done("", "index", "repair")
	s.done("", "index", "repair", "--apply")
	if err := os.Remove(filepath.Join(lake, "meta", "head.json")); err != nil {
		s.t.Fatal(err)
	}
	s.done("", "recover", "--apply")
}
