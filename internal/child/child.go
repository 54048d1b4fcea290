// Package child runs the test binary as another process, for tests in which
// processes share a store, are killed or stopped, or have limits of their own.
//
// A package names its jobs in TestMain:
//
//	func TestMain(m *testing.M) {
//		child.Main(map[string]child.Job{"write": writeForever})
//		os.Exit(m.Run())
//	}
//
// and its tests start them with [Start]. A test that needs a process for itself runs
// itself once more with [Test].
package child

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// env holds the order of a child.
const env = "ONTO_TEST_CHILD"

// order is what a process was started for.
type order struct {
	Job  string // "" for a test
	Args []string
}

// Job is what a child runs with its arguments.
type Job func(args []string) error

// Main is for TestMain. A process that was started for a job does it and exits, with
// status 1 if it fails. In any other process it returns.
func Main(jobs map[string]Job) {
	o, ok := ordered()
	if !ok || o.Job == "" {
		return
	}
	job := jobs[o.Job]
	if job == nil {
		fmt.Fprintf(os.Stderr, "this package has no job %q\n", o.Job)
		os.Exit(2)
	}
	if err := job(o.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func ordered() (order, bool) {
	text, ok := os.LookupEnv(env)
	if !ok {
		return order{}, false
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(fmt.Sprintf("%s: %v", env, err))
	}
	return o, true
}

// Command is a child that does a job.
func Command(job string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	give(cmd, order{job, args})
	return cmd
}

func give(cmd *exec.Cmd, o order) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	cmd.Env = append(os.Environ(), env+"="+string(text))
}

// Test is a child that runs the tests which a pattern of -test.run matches. They find
// the arguments with [Args].
func Test(pattern string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run="+pattern, "-test.v")
	give(cmd, order{Args: args})
	return cmd
}

// Args returns the arguments of [Test], and false in a process that was not started
// so.
func Args() ([]string, bool) {
	o, ok := ordered()
	return o.Args, ok && o.Job == ""
}

// Alone reports whether this process is for this test alone. If not, it has run the
// test in such a process, where it passed.
func Alone(t *testing.T) bool {
	t.Helper()
	if _, ok := Args(); ok {
		return true
	}
	cmd := Test("^" + t.Name() + "$")
	if out, err := cmd.CombinedOutput(); err != nil || !Passed(t, string(out)) {
		t.Errorf("in a process of its own: %v:\n%s", err, out)
	}
	return false
}

// Passed reports whether a child says that it ran this test, which passed.
func Passed(t *testing.T, out string) bool { return strings.Contains(out, "--- PASS: "+t.Name()) }

// Process is a running child.
type Process struct {
	*exec.Cmd
	Stdin io.WriteCloser
	lines *bufio.Scanner
}

// Start starts a child. It is killed when the test ends.
func Start(t testing.TB, job string, args ...string) *Process {
	t.Helper()
	cmd := Command(job, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd, stdin, bufio.NewScanner(stdout)}
	t.Cleanup(p.End)
	return p
}

// Lines are what the child prints, until it ends.
func (p *Process) Lines() iter.Seq[string] {
	return func(yield func(string) bool) {
		for p.lines.Scan() {
			if !yield(p.lines.Text()) {
				return
			}
		}
	}
}

// Until reads lines up to one with a prefix, which must come.
func (p *Process) Until(t testing.TB, prefix string) []string {
	t.Helper()
	var lines []string
	for line := range p.Lines() {
		lines = append(lines, line)
		if strings.HasPrefix(line, prefix) {
			return lines
		}
	}
	t.Fatalf("the child never said %s, only %q", prefix, lines)
	return nil
}

// End kills the child and waits for it.
func (p *Process) End() {
	_ = p.Process.Kill()
	_ = p.Wait()
}
