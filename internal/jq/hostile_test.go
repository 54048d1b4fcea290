//go:build linux

package jq

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto/internal/child"
	"github.com/ontologia/onto/internal/effort"
)

const (
	childMemory   = 512 << 20   // what a child may allocate beyond its start
	childPatience = time.Minute // when a child counts as hung; the machine may be busy
)

// wide is small in memory and a list of 2^40 numbers as text.
const wide = `(reduce range(40) as $i (1; [., .]))`

// long is a text of 16 MB, the longest that fits.
const long = `("x" * 16777000)`

// large is an integer of 64,000 bits.
const large = `(reduce range(15) as $i (15; . * .))`

// killers are programs that killed the process, took a gigabyte, or ran forever. DEEP
// stands for a deeply nested list, STEPS for the length of a path.
var killers = []struct{ program, want string }{
	// the stack
	{`.a = (null | setpath([range(STEPS) | "a"]; 1))`, "a path has more than 10000 steps"},
	{`null | path(getpath([range(STEPS) | 0])) as $p | setpath($p; 1)`, "a path has more than 10000 steps"},
	{`[limit(STEPS; null | path(recurse(.a)))] | last as $p | null | getpath($p)`, ""},
	{`null | (last(limit(STEPS; recurse(.a)))) = 1`, ""},
	{`null | (getpath([range(9000) | "a"]) | getpath([range(9000) | "a"])) |= 1`, "a path has more than 10000 steps"},
	{`null | delpaths([[range(STEPS) | "a"]])`, "a path has more than 10000 steps"},
	{`DEEP | tojson`, "nested deeper than 10000"},
	{`DEEP | tostring`, "nested deeper than 10000"},
	{`DEEP as $x | "\($x)"`, "nested deeper than 10000"},
	{`DEEP as $x | @html "\($x)"`, "nested deeper than 10000"},
	{`DEEP | @json`, "nested deeper than 10000"},
	{`DEEP | format("text")`, "nested deeper than 10000"},
	{`DEEP as $x | DEEP as $y | $x == $y`, "nested deeper than 10000"},
	{`DEEP as $x | [$x, $x] | sort`, "nested deeper than 10000"},
	{`DEEP as $x | [$x, $x] | unique`, "nested deeper than 10000"},
	{`DEEP as $x | [1, 2] | group_by($x)`, "nested deeper than 10000"},
	{`DEEP as $x | [1, 2] | min_by($x)`, "nested deeper than 10000"},
	{`DEEP as $x | [$x, $x] | index([$x])`, "nested deeper than 10000"},
	{`DEEP as $x | [$x, $x] | .[[$x]]`, "nested deeper than 10000"},
	{`DEEP as $x | [$x] | contains([$x])`, "nested deeper than 10000"},
	{`DEEP as $x | [$x] | inside([$x])`, "nested deeper than 10000"},
	{`DEEP as $x | [$x] - [$x]`, "nested deeper than 10000"},
	{`DEEP as $x | [$x] | bsearch($x)`, "nested deeper than 10000"},
	{`DEEP as $x | [$x] | IN([$x])`, "nested deeper than 10000"},
	{`DEEP as $x | [{a: 1}] | INDEX($x)`, "nested deeper than 10000"},
	{`DEEP | flatten`, "nested deeper than 10000"},
	{`DEEP | flatten(1e9)`, "nested deeper than 10000"},
	{`DEEP as $x | {a: $x, b: 1} | del(.b) | del(.a)`, ""},
	{`DEEP as $x | {a: [1, 2]} | .a[] |= if . == 1 then empty else $x end | {}`, ""},
	{`(reduce range(100000) as $i (1; {a: .})) as $x | $x * $x`, "nested deeper than 10000"},
	{`DEEP | error`, "failed: [[[["},
	{`DEEP | try error catch error`, "failed: [[[["},
	{`DEEP | .a`, "failed: expected an object"},
	{`DEEP`, "returned array"},
	{`.a = DEEP`, "nested deeper than 64"},
	{`DEEP | walk(.)`, ""},
	{`DEEP | [paths]`, ""},
	{`"[" * 5000000 | fromjson`, "JSON of more than"},
	{`"[" * 1000000 | fromjson`, "exceeded max depth"},

	// memory
	{`"x" * 1e9 | explode`, "a value has more than 16777216 bytes"},
	{`.a *= 1e9`, ""},
	{`"x" * 1000000000`, "a value has more than 16777216 bytes"},
	{`1e9 * "x"`, "a value has more than 16777216 bytes"},
	{long + ` | explode`, "a text falls into more than 2097152 parts"},
	{long + ` | split("")`, "a text falls into more than 2097152 parts"},
	{long + ` / ""`, "a text falls into more than 2097152 parts"},
	{long + ` | . + .`, "a value has more than 16777216 bytes"},
	{long + ` as $x | "\($x)\($x)"`, "a value has more than 16777216 bytes"},
	{long + ` as $x | {"\($x)\($x)": 1}`, "a value has more than 16777216 bytes"},
	{long + ` as $x | {a: 1} | ."\($x)\($x)"`, "a value has more than 16777216 bytes"},
	{long + ` as $x | . as {"\($x)\($x)": $y} | .`, "a value has more than 16777216 bytes"},
	{long + ` as $x | @sh "\($x)\($x)"`, "a value has more than 16777216 bytes"},
	{long + ` | [match("x"; "g")]`, "a regular expression has more than"},
	{long + ` | gsub("x"; "y")`, "a regular expression has more than"},
	{long + ` | indices("x")`, "found at more than 2097152 places"},
	{`("x" * 1000) as $x | [limit(100000; repeat($x))] | add`, "a value has more than 16777216 bytes"},
	{`("x" * 1000) as $x | [limit(100000; repeat($x))] | join("")`, "a value has more than 16777216 bytes"},
	{long + ` as $x | [range(100000)] | join($x)`, "a value has more than 16777216 bytes"},
	{long + ` as $x | [limit(100; repeat($x))] | @csv`, "a value has more than 16777216 bytes"},
	{long + ` as $x | [limit(100; repeat($x))] | tojson`, "a value has more than 16777216 bytes"},
	{long + ` as $x | add(limit(100; repeat($x)))`, "a value has more than 16777216 bytes"},
	{`[range(100000)] as $x | add(limit(100000; repeat($x)))`, "a value has more than 16777216 bytes"},
	{`.[1e8] = 1`, "failed"},
	{`null | .[1e8] = 1`, "a list is filled up to index"},
	{`null | .[5e8] += 1`, "a list is filled up to index"},
	{`null | .[1e8][1e8][1e8] |= 1`, "a list is filled up to index"},
	{`null | setpath([1e8]; 1)`, "a list is filled up to index"},
	{`reduce range(1000) as $i (null; .[$i][4000000] = 1)`, "256 MiB"},
	{`[[range(20000)], (range(20000) | [])] | transpose`, "a table has more than"},
	{wide + ` | flatten`, "a value has more than 16777216 bytes"},
	{`"[]," * 5500000 | "[\(.)1]" | fromjson`, "JSON of more than 2097152 values"},
	{`reduce range(1e9) as $i ([1]; . + .)`, "a value has more than 16777216 bytes"},
	{`reduce range(1e9) as $i ({a: 1}; .["a\($i)" * 1000] = 1)`, ""},
	{`reduce range(60) as $i (2; . * .)`, "an integer has more than 65536 bits"},
	{`[limit(60; 2 | recurse(. * .))]`, "an integer has more than 65536 bits"},
	{`"9" * 10000000 | tonumber`, "a number has more than 1000 digits"},
	{`"9" * 10000000 | fromjson | . + 1`, "a number has more than 1000 digits"},
	{`"[1,-\("9" * 10000000)]" | fromjson`, "a number has more than 1000 digits"},
	{`0 | strftime("%1024Y" * 1000000)`, "a format of times has more than"},
	{`"x" | test("((((x{30}){30})){30}){30}")`, "failed: invalid regular expression"},
	{`"x" | test("x{1000}" * 2000)`, "a regular expression has more than 131072 instructions"},
	{`"x" | test("[\\pL]" * 10000)`, "a regular expression has more than 16384 bytes"},
	{`"a" * 4000 | match("(a?)" * 4000)`, "a regular expression has 4000 groups"},
	{`"a" * 4000 | [match("(a?)" * 700; "g")]`, "which takes too long"},
	{`"a" * 20000 | [match("(a?)" * 50 + "b"; "g")]`, ""},
	{`"x" | test("(" * 8000 + "x" + ")" * 8000)`, "failed: invalid regular expression"},
	{`reduce range(1e9) as $i (.; test("x\($i)")?)`, ""},
	{`"x" as $s | reduce range(1e9) as $i (.; .n = ($s | test("[\\pL\\pN]{100}\($i)")))`, ""},
	{`[range(1e9)]`, ""},
	{`[combinations(100)]`, ""},
	{`[[range(1000)]] | [combinations(10)]`, ""},
	{`[range(1000)] | [., ., ., ., .] | [combinations]`, ""},
	{`def f: f + f; f`, ""},
	{`def f(g): f(g | g); f(.)`, ""},
	{`def f: (f, 1); f`, ""},
	{`[limit(1e9; repeat(1))]`, ""},
	{`[.. , (range(1e9) | {a: [.]})]`, ""},
	{`error("x" * 16000000)`, "failed: xxxx"},
	{`try error("x" * 16000000) catch (. + .)`, "a value has more than 16777216 bytes"},
	{`{a: 1} | with_entries(.key = (.key * 16000000))`, ""},
	{`[range(3000000)] | to_entries`, ""},

	// time
	{wide + ` as $x | ` + wide + ` as $y | $x == $y`, "a value has more than 16777216 bytes"},
	{wide + ` | tojson`, "a value has more than 16777216 bytes"},
	{wide + ` as $x | [$x, $x] | unique`, "a value has more than 16777216 bytes"},
	{wide + ` as $x | [$x] | contains([$x])`, "a value has more than 16777216 bytes"},
	{wide + ` as $x | [$x] - [$x]`, "a value has more than 16777216 bytes"},
	{wide + ` as $x | {a: $x, b: 1} | del(.b) | del(.a)`, ""},
	{`(reduce range(40) as $i (1; {a: ., b: .})) as $x | $x * $x`, "a value has more than 16777216 bytes"},
	{`[range(1000)] | add(limit(4000; repeat(.))) | sort`, "a list of more than 1048576 elements is sorted"},
	{`[range(1000)] | add(limit(1000; repeat(.))) | sort | {}`, ""},
	{`[range(1000000)] | . - map(. + 0.5)`, "deadline"},
	{`[range(1000000)] | contains(map(. + 0.5))`, "deadline"},
	{`[range(1000000) | "x"] as $x | $x | indices($x[1:500000] + ["y"])`, "deadline"},
	{`"x" * 16000000 | indices("x" * 8000000)`, ""},
	{`[range(1000000)] | .[[range(100000)]]`, "an index is a list of more than"},
	{`[range(1000000)] | getpath([[range(100000)]])`, "an index is a list of more than"},
	{`[[range(1000000)]] | . as [{([range(100000)]): $x}] | .`, ""},
	{`jn(1e18; 1e18)`, "a Bessel function has an order above"},
	{`yn(1e18; 1e18)`, "a Bessel function has an order above"},
	{`[range(-1e18; 1e18; 0)]`, ""},
	{`"x" * 1000000 | [match("(x+y)|x"; "g")]`, ""},
	{`"x" * 200000 | gsub("(x+y)|x"; "z")`, ""},
	{`"x" * 16000000 | test("(x{50}){20}y")`, "a regular expression of"},
	{`"x" * 100000 | test("(x*)*y")`, ""},
	{`[limit(100000; repeat("x"))] | [splits("x")]`, "failed"},
	{`"x," * 1000000 | [splits(",")]`, ""},
	{`"x," * 1000000 | sub("(?<a>x)"; .a * 16000000)`, ""},
	{`"x" * 10000 | [gsub("x"; range(1000) | "y")]`, ""},
	{`"x" * 10000 | gsub("x"; "y" * 10000)`, "a value has more than 16777216 bytes"},
	{`[range(1e9) | {key: "k\(.)", value: .}] | from_entries`, ""},
	{`INDEX(range(1e9); .)`, ""},
	{`INDEX(range(1e9); "x" * 16000000)`, ""},
	{`def f: f; f`, "deadline"},
	{`until(false; .)`, "deadline"},
	{`try error("x") catch until(false; .)`, "deadline"},
	{`try ("x" * 1e9) catch {}`, "a value has more than 16777216 bytes"},
	{`(("x" * 1e9) // 1) as $x | {}`, "a value has more than 16777216 bytes"},
	{`[.[]? | ("x" * 1e9)?] | {}`, "a value has more than 16777216 bytes"},
	{large + ` as $x | reduce range(1e9) as $i (.; $x % 7)`, ""},
	{large + ` as $x | [range(1e6) | $x] | tojson`, ""},
	{large + ` | tostring | tonumber`, ""},
	{`input`, "not allowed"}, {`"a" | _multiply(.; 1e9)`, "not allowed"}, {`__setpath(1; 2; 3)`, "not allowed"},
	{`def _multiply(l; r): 1; "a" | _multiply(.; 1e9)`, "not allowed"},
	{`. as $__run | .`, "not allowed"}, {`$__run`, "not allowed"}, {`def f($__run): .; f(1)`, "not allowed"},
	{`def f: def g: 1; g; ltrimstr_(1)`, "function not defined"},
}

// nestings are what a program can be nested in, as deep as it may be long.
var nestings = []struct{ before, core, after string }{
	{"[", "1", "]"}, {"(", "1", ")"}, {"{a:", "1", "}"}, {"{(", "1", "):1}"}, {`"\(`, "1", `)"`}, {`@csv "\(`, "1", `)"`}, {"- ", "1", ""},
	{"try ", "1", ""}, {"if ", "1", " then 1 else 1 end"}, {"if 1 then ", "1", " else 1 end"}, {"if 1 then 1 elif 1 then 1 else ", "1", " end"},
	{"reduce ", "1", " as $x (.; .)"}, {"reduce . as $x (.; ", "1", ")"}, {"def f: ", "1", "; f"}, {"label $x | ", "1", ""}, {". as $x | ", "$x", ""},
	{". as [$x, $y] ?// $x | ", "$x", ""}, {". as [", "$x", "] | ."}, {". as {(", "1", "): $x} | ."}, {".a += (", "1", ")"}, {".a //= (", "1", ")"}, {"(", ".a", ") |= 1"},
	{".[", "1", "]"}, {".[1:", "1", "]"}, {"", ".", ".a"}, {"", ".", "[0]"}, {"", ".", "[]"}, {"", ".", "?"}, {"", "1", " | 1"}, {"", "1", ", 1"}, {"", ".", " + ."}, {"", ".", " == 1 | ."},
	{"", "1", " // 1"}, {"", "1", " and 1"}, {"map(", ".", ")"}, {"path(", ".", ")"}, {"walk(", ".", ")"}, {"sort_by(", ".", ")"}, {"first(", ".", ")"}, {"del(", ".", ")"},
	{"def f(g): g; f(", ".", ")"}, {"", `"\(1)`, `\(1)`},
}

func TestNestedPrograms(t *testing.T) {
	t.Parallel()
	var list []job
	for i, n := range nestings {
		if !effort.Includes(t, i) {
			continue
		}
		times := (MaxProgram - len(n.core)) / (len(n.before) + len(n.after))
		if strings.Count(n.core, `"`) == 1 {
			list = append(list, job{n.core + strings.Repeat(n.after, times-1) + `"`, `{}`, time.Second})
			continue
		}
		list = append(list, job{strings.Repeat(n.before, times) + n.core + strings.Repeat(n.after, times), `{}`, time.Second})
	}
	kinds := map[string]int{}
	for _, got := range inChildren(t, list) {
		kind, _, _ := strings.Cut(got, ":")
		kinds[kind]++
	}
	t.Logf("%d programs of %d bytes: %v", len(list), MaxProgram, kinds)
}

// deep is how deep DEEP is nested. A million overflowed the stack; it takes the
// interpreter a second to make.
func deep(t *testing.T) int {
	if effort.Thorough(t) {
		return 1_000_000
	}
	return 20_000
}

func TestMain(m *testing.M) {
	child.Main(map[string]child.Job{"run": func([]string) error { return runAll(os.Stdin, os.Stdout) }})
	os.Exit(m.Run())
}

func TestKillers(t *testing.T) {
	t.Parallel()
	sizes := strings.NewReplacer("STEPS", fmt.Sprint(3*deep(t)), "DEEP", fmt.Sprintf("(reduce range(%d) as $i (1; [.]))", deep(t)))
	var list []job
	var wants []string
	for i, k := range killers {
		if !effort.Includes(t, i) {
			continue
		}
		timeout := 100 * time.Millisecond
		if k.want != "" && k.want != "deadline" {
			timeout = 10 * time.Second // on a busy machine; most take a few milliseconds
		}
		list = append(list, job{sizes.Replace(k.program), `{"a":"x","l":[1,{"b":2}]}`, timeout})
		wants = append(wants, k.want)
	}
	stops := 0
	for i, got := range inChildren(t, list) {
		if want := wants[i]; want != "" && !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", list[i].Program, got, want)
		}
		if strings.Contains(got, "was stopped") {
			stops++
		}
	}
	t.Logf("%d programs, %d of them were stopped", len(list), stops)
}

// job is a program to run in a child, on an object.
type job struct {
	Program, Input string
	Timeout        time.Duration
}

// inChildren runs programs in processes that may not take much memory, and returns the
// result of each. A process that dies or hangs fails the test.
func inChildren(t *testing.T, jobs []job) []string {
	t.Helper()
	outcomes := make([]string, len(jobs))
	for done := 0; done < len(jobs); {
		n := runChild(t, jobs[done:min(done+50, len(jobs))], outcomes[done:])
		done += n
	}
	return outcomes
}

// runChild runs programs in one process and returns how many it got through,
// the one that ended the process included.
func runChild(t *testing.T, jobs []job, outcomes []string) int {
	t.Helper()
	var input, errors bytes.Buffer
	for _, j := range jobs {
		_ = json.NewEncoder(&input).Encode(j)
	}
	cmd := child.Command("run")
	cmd.Env = append(cmd.Env, "GOMAXPROCS=2")
	cmd.Stdin, cmd.Stderr = &input, &errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	hung := time.AfterFunc(childPatience, func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); n++ {
		hung.Reset(childPatience)
		outcomes[n] = lines.Text()
	}
	if err := cmd.Wait(); err != nil && n < len(jobs) {
		t.Errorf("%.300s\nended the process: %v, %.600s", jobs[n].Program, err, &errors)
		n++
	} else if err != nil {
		t.Errorf("the child: %v, %.300s", err, &errors)
	}
	hung.Stop()
	return n
}

// runAll is what a child does.
func runAll(in io.Reader, out io.Writer) error {
	limit := uint64(addressSpace() + childMemory)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	for decoder := json.NewDecoder(in); ; debug.FreeOSMemory() {
		var j job
		if err := decoder.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		fmt.Fprintf(out, "%.300s\n", strings.ReplaceAll(outcome(j), "\n", " "))
	}
}

func outcome(j job) string {
	p, err := Compile(j.Program)
	if err != nil {
		return "compile: " + err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), j.Timeout)
	defer cancel()
	result, err := p.Run(ctx, []byte(j.Input))
	if err != nil {
		return "run: " + err.Error()
	}
	return string(result)
}

// addressSpace is how many bytes the process has mapped.
func addressSpace() int {
	status, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(status))[0])
	return pages * os.Getpagesize()
}
