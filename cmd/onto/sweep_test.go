//go:build linux && amd64

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/internal/iofault"
)

// A sweep runs a verb again and again, each time with another of its I/O calls going
// wrong, on a copy of the same store. The reported outcome must be true: done is done,
// refused is not, unknown is either of them. The store stays whole, and the next
// process can write.

// sweepStep is how many calls a sweep goes on from one that fails to the next. Which one is
// the first is random: with other seeds other calls fail.
const sweepStep = 10

// TestFaultSweep tries every fault with each verb: other calls with each fault.
func TestFaultSweep(t *testing.T) {
	iofault.Need(t)
	t.Parallel()
	for _, on := range []struct {
		name  string
		verbs []verb
	}{
		{"sqlite", []verb{initVerb, putVerb, importVerb, migrateVerb, rebuildVerb, backupVerb, restoreVerb, emitVerb, rideVerb, replayVerb, cleanupVerb, followVerb, assertVerb, revokeVerb, copyVerb, copyToLakeVerb}},
		{"lake", []verb{initVerb, putVerb, importVerb, migrateVerb, compactVerb, assertVerb, revokeVerb}},
	} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			empty, filled := sweepStores(t, on.name == "lake")
			for _, v := range on.verbs {
				t.Run(v.name, func(t *testing.T) {
					t.Parallel()
					template := filled
					if v.fresh {
						template = empty
					}
					newSweep(t, on.name == "lake", template, v).run(t)
				})
			}
		})
	}
}

// verb is a command line to sweep.
type verb struct {
	name string
	args []string

	fresh   bool   // there is no store before it
	between string // a state on the way that is right as well, unless the verb was acknowledged
	again   bool   // it can be run again, so it may fail after all was done
	target  string // the state to judge is that of this file or lake and not of the store
	repeat  bool   // it is complete once it has run again, whatever was there; its arguments name the store
	kept    string // if the outcome is unknown, the store as it was is in a file that this matches
	sparse  int    // so many times fewer calls are tried; 0 for 1
}

var (
	initVerb    = verb{name: "init", args: []string{"init", "--schema", "v1.yaml"}, fresh: true, between: "[]\nentities: {}\n", again: true, sparse: 40}
	putVerb     = verb{name: "put", args: []string{"put", "Thing", `{"id":"new","name":"a new one","n":7}`}}
	importVerb  = verb{name: "import", args: []string{"import", "--input", "in.jsonl", "--on-conflict", "upsert", "--apply"}}
	migrateVerb = verb{name: "migrate", args: []string{"migrate", "--schema", "v2.yaml", "--apply", "--force"}}
	rebuildVerb = verb{name: "rebuild", args: []string{"projection", "rebuild"}, sparse: 7}
	backupVerb  = verb{name: "backup", args: []string{"backup", "store/copy.db"}, target: "store/copy.db", again: true}
	restoreVerb = verb{name: "restore", args: []string{"restore", "monday.db", "--apply"}, kept: "store/s.db.before-restore-*"}
	compactVerb = verb{name: "compact", args: []string{"compact", "--all", "--apply"}}
	copyVerb    = verb{name: "copy", args: []string{"copy", "DIR/store/s.db", "DIR/store/copy.db", "--apply"}, target: "store/copy.db", between: unfinished, again: true, repeat: true, sparse: 5}

	copyToLakeVerb = verb{name: "copy to a lake", args: []string{"copy", "DIR/store/s.db", "file://DIR/store/copy", "--apply"}, target: "store/copy", between: unfinished, again: true, repeat: true, sparse: 80}

	emitVerb    = verb{name: "emit", args: []string{"events", "emit", "--type", "Ping", "--payload", `{"n":7}`}}
	rideVerb    = verb{name: "put --emit", args: append(slices.Clone(putVerb.args), "--emit", `Ping={"n":8}`)}
	replayVerb  = verb{name: "replay", args: []string{"events", "replay", "--all", "--apply"}}
	cleanupVerb = verb{name: "cleanup", args: []string{"events", "cleanup", "--before", "0s", "--namespace", "old", "--apply"}, again: true}
	assertVerb  = verb{name: "fact assert", args: []string{"fact", "assert", "Price", "t1", "amount", "8", "--from", "2026-01-01", "--id", "p2"}}
	revokeVerb  = verb{name: "fact revoke", args: []string{"fact", "revoke", "Price/t1/amount/p1", "--at", "2026-06-01"}}
	followVerb  = verb{name: "follow", args: []string{"commits", "follow", "--name", "mirror", "--once"}, again: true}
)

// unfinished is the state of a part of a copy.
const unfinished = "unfinished"

const sweepTypes = `
facts:
  Price:
    fields:
      amount: {type: int}
entities:
  Thing:
    key: id
    fields:
      id: {type: string}
      name: {type: string, search: true}
      n: {type: int, index: true}
`

// sweep is a verb and the store that it is tried on.
type sweep struct {
	verb
	lake          bool
	template      string         // a directory to copy; verbs share it
	before, after string         // the states that are right; "" is no store
	calls         []iofault.Call // of a run without a fault
	counts        map[string]int
}

// sweepStores makes the directories that sweeps begin with: without a store, and with one.
func sweepStores(t *testing.T, lake bool) (empty, filled string) {
	t.Helper()
	s := &sweep{lake: lake, template: t.TempDir()}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.template, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var records strings.Builder
	for i := range 300 {
		fmt.Fprintf(&records, `{"kind":"entity","type":"Thing","key":"t%d","fields":{"name":"imported %d","n":%d}}`+"\n", i*2, i, i)
	}
	write("v1.yaml", sweepTypes)
	write("v2.yaml", sweepTypes+"      size: {type: int, default: 1}\n")
	write("in.jsonl", records.String())
	for _, dir := range []string{"store", "tmp"} {
		if err := os.Mkdir(filepath.Join(s.template, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	empty = s.template
	s.template = s.copy(t)
	s.fill(t)
	return empty, s.template
}

func newSweep(t *testing.T, lake bool, template string, v verb) *sweep {
	t.Helper()
	s := &sweep{verb: v, lake: lake, template: template, counts: map[string]int{}}
	if !v.fresh {
		s.before = s.state(t, s.copy(t))
	}
	done := s.copy(t)
	o, out := s.start(t, done, iofault.Plan{})
	if o.Status != 0 {
		t.Fatalf("without a fault: %v: %s", o.Status, out)
	}
	s.after, s.calls = s.state(t, done), o.Calls
	return s
}

// fill makes a store with some history, and a backup of an earlier moment.
func (s *sweep) fill(t *testing.T) {
	t.Helper()
	do := func(stdin string, args ...string) { must(t, stdin, append(args, s.location(s.template)...)...) }
	do("", "init", "--schema", filepath.Join(s.template, "v1.yaml"))
	for c := range 5 {
		var things strings.Builder
		for i := range 20 {
			fmt.Fprintf(&things, `{"id":"t%d","name":"thing %d of %d","n":%d}`+"\n", c*10+i, i, c, i)
		}
		do(things.String(), "put", "Thing", "-")
		if c == 1 {
			do("", "fact", "assert", "Price", "t1", "amount", "7", "--id", "p1")
		}
		if c == 2 && !s.lake {
			do("", "backup", filepath.Join(s.template, "monday.db"))
		}
		if c == 3 && !s.lake { // so that one commit is left to follow
			do("", "commits", "follow", "--name", "mirror", "--once")
		}
	}
	if s.lake {
		return
	}
	do("", "events", "emit", "--type", "Ping", "--payload", "1")
	do("", "events", "emit", "--type", "Ping", "--namespace", "old")
	do("", "events", "emit", "--type", "Lost", "--payload", "2")
	run(t.Context(), append([]string{"events", "handle", "--handler", "h", "--type", "Lost", "--attempts", "1", "--once"},
		append(s.location(s.template), "--", "false")...), strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
}

// location is the argument that names the store in a directory.
func (s *sweep) location(dir string) []string {
	if s.lake {
		return []string{"--storage-uri", "file://" + filepath.Join(dir, "store", "lake")}
	}
	return []string{"--db", filepath.Join(dir, "store", "s.db")}
}

func (s *sweep) copy(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "case"), os.DirFS(s.template))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "case")
}

// start runs the verb on the store in a directory, with a plan, and returns what it
// printed.
func (s *sweep) start(t *testing.T, dir string, plan iofault.Plan) (*iofault.Outcome, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := os.Create(filepath.Join(dir, "..", "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("onto", s.command(dir)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+dir, "ONTO_S3_REQUEST_TIMEOUT_S=1", "ONTO_LEASE_TTL_MS=200", "ONTO_S3_LEASE_TTL_MS=200")
	plan.Below = dir
	o, err := iofault.Run(ctx, cmd, plan)
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return o, string(text)
}

// command is the arguments of the verb on the store in a directory.
func (s *sweep) command(dir string) []string {
	if !s.repeat {
		return append(slices.Clone(s.args), s.location(dir)...)
	}
	var args []string
	for _, a := range s.args {
		args = append(args, strings.Replace(a, "DIR", dir, 1))
	}
	return args
}

// state is all that can be asked for in a directory's store, or in the file that
// the verb makes: types, commits and everything that lives. "" stands for no store.
func (s *sweep) state(t *testing.T, dir string) string {
	t.Helper()
	where := s.location(dir)
	if s.target != "" {
		if _, err := os.Stat(filepath.Join(dir, s.target)); err != nil {
			return ""
		}
		where = []string{"--db", filepath.Join(dir, s.target)}
		if filepath.Ext(s.target) == "" {
			where = []string{"--storage-uri", "file://" + filepath.Join(dir, s.target)}
		}
	}
	var stdout, stderr bytes.Buffer
	switch status := run(t.Context(), append([]string{"info"}, where...), strings.NewReader(""), &stdout, &stderr); {
	case status == session.ExitStorage && strings.Contains(stderr.String(), "onto init"):
		return ""
	case status == session.ExitStorage && s.repeat && strings.Contains(stderr.String(), "has not ended"):
		return unfinished
	}
	var commits []struct {
		ID         int64 `json:"commit_id"`
		Operations int   `json:"operations"`
	}
	if err := json.Unmarshal([]byte(must(t, "", append([]string{"commits", "--json"}, where...)...)), &commits); err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprint(commits) + "\n" + must(t, "", append([]string{"schema", "export"}, where...)...) +
		must(t, "", append([]string{"export", "--output", "-"}, where...)...)
	if s.repeat && strings.HasPrefix(state, "[]\n") { // a store without commits, from which a copy goes on as from none
		return ""
	}
	if s.lake || s.repeat { // a copy has no events
		return state
	}
	var events []struct {
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
		Status  string          `json:"status"`
		Commit  *int64          `json:"commit_id"`
	}
	if err := json.Unmarshal([]byte(must(t, "", append([]string{"events", "show", "--json"}, where...)...)), &events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type != onto.DeadLetterType { // names an event by its id
			state += fmt.Sprintf("%s %s %s %v\n", e.Type, e.Payload, e.Status, e.Commit != nil)
		}
	}
	return state + must(t, "", append([]string{"events", "list-namespaces", "--json"}, where...)...) +
		must(t, "", append([]string{"commits", "positions", "--json"}, where...)...)
}

// run tries a part of the plans, in a plain run a few with each verb.
func (s *sweep) run(t *testing.T) {
	const few = 2
	tries := 0
	for i, plan := range s.plans(effort.Rand(t)) {
		if !effort.Includes(t, i) || tries == few && !effort.Thorough(t) {
			continue
		}
		for tries++; !s.try(t, plan) && plan.Call > 1; plan.Call-- {
			// There are fewer calls than without a fault.
		}
	}
	t.Logf("%s: %d faults tried, outcomes %v", s.name, tries, s.counts)
}

// plans is every fault at some of the calls that it fits, in random order, so that a small
// part of them has several faults.
func (s *sweep) plans(random *rand.Rand) []iofault.Plan {
	step := max(1, s.sparse) * sweepStep
	var plans []iofault.Plan
	for _, fault := range iofault.Faults() {
		n := 0
		for _, c := range s.calls {
			if fault.Fits(c.Effect) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		for call := 1 + random.IntN(min(n, step)); call <= n; call += step {
			plans = append(plans, iofault.Plan{Call: call, Fault: fault})
		}
	}
	random.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
	return plans
}

// try runs the verb with one fault and checks the outcome. It reports false if there is
// no such call.
func (s *sweep) try(t *testing.T, plan iofault.Plan) bool {
	t.Helper()
	dir := s.copy(t)
	defer os.RemoveAll(filepath.Dir(dir))
	o, out := s.start(t, dir, plan)
	status, exited := o.Exited()
	at := "the end"
	if o.Reached {
		at = faultAt(o, plan)
	}
	fail := func(format string, args ...any) {
		t.Errorf("%s, %v at call %d (%s), exit status %d: %s\nit said: %s", s.name, plan.Fault, plan.Call,
			strings.ReplaceAll(at, dir+"/", ""), status, fmt.Sprintf(format, args...), out)
	}
	if !exited && plan.Fault != iofault.Kill || strings.Contains(out, "panic:") {
		fail("it ended by %v", o.Status.Signal())
		return true
	}
	if !s.sound(dir, fail) {
		return true
	}
	state := s.state(t, dir)
	done := state == s.after
	switch {
	case !done && state != s.before && (s.between == "" || !strings.HasPrefix(state, s.between)):
		fail("the state is neither that before nor that after:\n%s", state)
	case exited && status == session.ExitOK && !done:
		fail("it was acknowledged and is not there")
	case exited && status != session.ExitOK && status != session.ExitUnknown && done && s.before != s.after && !s.again:
		fail("it was refused and is there")
	}
	if status == session.ExitUnknown && s.kept != "" {
		if kept, _ := filepath.Glob(filepath.Join(dir, s.kept)); len(kept) == 0 {
			fail("the store as it was is not kept")
		}
	}
	s.next(dir, fail)
	if s.repeat {
		s.complete(dir, fail)
	}
	if o.Reached {
		s.counts[outcome(exited, status)]++
	}
	return o.Reached
}

func outcome(exited bool, status int) string {
	switch {
	case !exited:
		return "killed"
	case status == session.ExitOK:
		return "done"
	case status == session.ExitUnknown:
		return "unknown"
	}
	return "refused"
}

// faultAt names the call that went wrong.
func faultAt(o *iofault.Outcome, plan iofault.Plan) string {
	n := 0
	for _, c := range o.Calls {
		if plan.Fault.Fits(c.Effect) {
			if n++; n == plan.Call {
				return c.String()
			}
		}
	}
	return ""
}

// sound examines what is there.
func (s *sweep) sound(dir string, fail func(string, ...any)) bool {
	var stdout, stderr bytes.Buffer
	status := run(context.Background(), append([]string{"doctor"}, s.location(dir)...), strings.NewReader(""), &stdout, &stderr)
	if status == session.ExitStorage && s.fresh && strings.Contains(stderr.String(), "onto init") {
		return true
	}
	if status != session.ExitOK {
		fail("doctor: status %d: %s%s", status, &stdout, &stderr)
	}
	return status == session.ExitOK
}

// next writes once more, as the next process would.
func (s *sweep) next(dir string, fail func(string, ...any)) {
	var stderr bytes.Buffer
	if s.fresh {
		args := append([]string{"init", "--schema", filepath.Join(dir, "v1.yaml")}, s.location(dir)...)
		if status := run(context.Background(), args, strings.NewReader(""), &bytes.Buffer{}, &stderr); status != session.ExitOK {
			fail("the next init: status %d: %s", status, &stderr)
			return
		}
	}
	args := append([]string{"put", "Thing", `{"id":"next","name":"the next one","n":8}`}, s.location(dir)...)
	if status := run(context.Background(), args, strings.NewReader(""), &bytes.Buffer{}, &stderr); status != session.ExitOK {
		fail("the next put: status %d: %s", status, &stderr)
	}
}

// complete runs a copy once more, which then has to be as its source.
func (s *sweep) complete(dir string, fail func(string, ...any)) {
	args := s.command(dir)
	for _, last := range []string{"--apply", "--verify"} {
		args[len(args)-1] = last
		var stdout, stderr bytes.Buffer
		if status := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr); status != session.ExitOK {
			fail("once more with %s: status %d: %s%s", last, status, &stdout, &stderr)
			return
		}
	}
}
