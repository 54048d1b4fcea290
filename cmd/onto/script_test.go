package main

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3/backend/s3mem"
	_ "github.com/mattn/go-sqlite3"
	"github.com/ontologia/onto/internal/effort"
	"github.com/rogpeppe/go-internal/testscript"
)

// required names what tests must not leave out.
var required = os.Getenv("ONTO_REQUIRE")

// TestMain lets the test binary stand in for the command: run under the name
// onto, it is onto; as weigh it measures onto. The variables that only tests know are
// taken away, since the command refuses them.
//
// More tests run at once than there are processors, unless -parallel says how many: they
// wait for processes and disks more than they compute.
func TestMain(m *testing.M) {
	os.Unsetenv("ONTO_REQUIRE")
	os.Unsetenv("ONTO_VERSITYGW")
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(tests{m}, map[string]func(){"onto": main, "weigh": weigh})
}

// tests is the tests of the package, run as package effort has it.
type tests struct{ *testing.M }

func (t tests) Run() int { return effort.Main(t.M) }

// TestStories runs the scripts, each a story told with the command.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":    status,
			"await":     await,
			"sql":       runSQL,
			"load":      load,
			"remember":  remember,
			"unchanged": unchanged,
			"let":       let,
			"normal":    normal,
			"repeat":    repeat,
			"shell":     runShell,
			"serve-s3":  serveS3,
			"serve":     serveSite,
			"answer":    answer,
			"object":    changeObject,
			"flip":      flip,
			"cut-short": cutShort,
			"noise":     noise,
			"spoil":     spoil,
			"age":       age,
			"hold":      hold,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[remembered{}] = map[string]string{}
			env.Values[served{}] = s3mem.New()
			env.Values[gateOf{}] = newGate()
			return nil
		},
	})
}

// status N COMMAND… runs a command that must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// await REGEXP COMMAND… runs a command again and again until its stdout matches.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await REGEXP COMMAND...")
	}
	want := regexp.MustCompile(args[0])
	for range 1000 {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%v never printed %s", args[1:], args[0])
}

// sql FILE STATEMENT… changes a SQLite file without the command.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql FILE STATEMENT...")
	}
	db, err := sql.Open("sqlite3", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	for _, statement := range args[1:] {
		_, err := db.Exec(statement)
		ts.Check(err)
	}
}

// sqliteScripts is where the scripts are, when the tests begin.
var sqliteScripts, _ = filepath.Abs(filepath.Join("..", "..", "backend", "sqlite"))

// load makes a SQLite file by a script of the tests of package sqlite.
func load(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: load SCRIPT FILE")
	}
	script, err := os.ReadFile(filepath.Join(sqliteScripts, args[0]))
	ts.Check(err)
	runSQL(ts, false, []string{args[1], string(script)})
}

type remembered struct{}

// fingerprint tells one state of a file, or of all that is in a directory or in
// the bucket s3:NAME, from another, also that it is missing.
func fingerprint(ts *testscript.TestScript, file string) string {
	if name, ok := strings.CutPrefix(file, "s3:"); ok {
		return objectsOf(ts, name)
	}
	sum := sha256.New()
	err := filepath.WalkDir(ts.MkAbs(file), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %v\n", path, d.IsDir())
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%d\n%s\n", len(data), data)
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		return "missing"
	}
	ts.Check(err)
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// remember FILE… notes the state of files for unchanged.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		ts.Value(remembered{}).(map[string]string)[file] = fingerprint(ts, file)
	}
}

// unchanged FILE… fails if a file is not as it was remembered.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		if fingerprint(ts, file) != ts.Value(remembered{}).(map[string]string)[file] {
			ts.Fatalf("%s has changed", file)
		}
	}
}

// let NAME FILE REGEXP sets a variable to what the group in the expression
// matches; FILE may be stdout or stderr.
func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: let NAME FILE REGEXP")
	}
	m := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("%s does not match %s", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

// normal FROM TO copies output with what differs from run to run replaced.
func normal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: normal FROM TO")
	}
	text := ts.ReadFile(args[0])
	for _, r := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(\+00:00|Z)`, "TIME"},
		{`("runtime_id": ?)"[^"]+"`, `$1"RUNTIME"`},
		{`("store_id": ?)"[^"]+"`, `$1"STORE"`},
		{`("bytes": ?)\d+`, `${1}BYTES`},
		{`(?m)^(runtime +).*`, "${1}RUNTIME"},
		{`(?m)^(store id +).*`, "${1}STORE"},
		{`(?m)^(size +).*`, "${1}SIZE"},
		{`\b[0-9a-f]{64}\b`, "HASH"},
		{`http://127\.0\.0\.1:\d+`, "SITE"},
		{`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "ITEM"},
		{`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "EVENT"},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}

// repeat N TEXT FILE writes a text N times into a file, and sets TEXT in the
// environment to it.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat N TEXT FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := strings.Repeat(args[1], n)
	ts.Setenv("TEXT", text)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o666))
}

// runShell is shell FILE TEXT: it runs each line that follows the one with TEXT as a command of
// a shell; all must succeed and print something.
func runShell(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shell FILE TEXT")
	}
	_, rest, ok := strings.Cut(ts.ReadFile(args[0]), args[1])
	if !ok {
		ts.Fatalf("%s does not contain %s", args[0], args[1])
	}
	for i, line := range strings.Split(strings.TrimSpace(rest), "\n") {
		if i == 0 {
			continue // the rest of the line with the text
		}
		ts.Check(ts.Exec("sh", "-c", line))
		if ts.ReadFile("stdout") == "" {
			ts.Fatalf("%s: printed nothing", line)
		}
	}
}
