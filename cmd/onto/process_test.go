package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

const things = `
entities:
  Thing:
    key: id
    fields:
      id: {type: string}
`

// newStore makes a store with type Thing and n things, and returns its path.
func newStore(t *testing.T, dir string, n int) string {
	t.Helper()
	path := filepath.Join(dir, "things.db")
	must(t, things, "init", "--schema", "-", "--db", path)
	var objects strings.Builder
	for i := range n {
		fmt.Fprintf(&objects, `{"id":"thing-%05d"}`+"\n", i)
	}
	must(t, objects.String(), "put", "Thing", "-", "--db", path)
	return path
}

// must runs the command in this process; it has to succeed.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr); status != 0 {
		t.Fatalf("onto %v: status %d: %s", args, status, &stderr)
	}
	return stdout.String()
}

// exitStatus runs a process to its end.
func exitStatus(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestClosedPipeEndsQuietly(t *testing.T) {
	t.Parallel()
	path := newStore(t, t.TempDir(), 5_000)
	for _, args := range [][]string{
		{"query", "entities", "Thing"},
		{"query", "entities", "Thing", "--format", "jsonl"},
		{"commits"},
		{"--help"},
	} {
		var stderr bytes.Buffer
		cmd := exec.Command("onto", append(args, "--db", path)...)
		cmd.Stdout, cmd.Stderr = gone(t), &stderr
		if status := exitStatus(t, cmd); status != 0 || stderr.Len() > 0 {
			t.Errorf("%v: status %d, stderr %q", args, status, &stderr)
		}
	}
}

func TestInterruptCancels(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		path := newStore(t, t.TempDir(), 1)
		cmd := exec.Command("onto", "put", "Thing", "-", "--db", path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the command is reading.
		if _, err := stdin.Write([]byte(`{"id":"` + strings.Repeat("x", 1<<20))); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != session.ExitStopped {
			t.Errorf("%v: got %v, want exit status %d", signal, err, session.ExitStopped)
		}
		if got, want := stderr.String(), "onto: interrupted\n"; got != want {
			t.Errorf("%v: got %q, want %q", signal, got, want)
		}
		if got := must(t, "", "commits", "--json", "--db", path); strings.Count(got, "commit_id") != 1 {
			t.Errorf("%v: the store has commits %s", signal, got)
		}
	}
}

// restricted is a folder with the command and a store in it, in which the
// processes of start cannot write. Tests that make one are not parallel: a process that another test
// starts meanwhile would hold the copy of the command open for writing.
type restricted struct{ folder, binary, store string }

func newRestricted(t *testing.T) restricted {
	t.Helper()
	found, err := exec.LookPath("onto")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "onto-restricted-")
	if err != nil {
		t.Fatal(err)
	}
	r := restricted{folder: filepath.Join(root, "folder"), binary: filepath.Join(root, "onto")}
	t.Cleanup(func() {
		os.Chmod(r.folder, 0o700)
		os.RemoveAll(root)
	})
	if err := errors.Join(os.Mkdir(r.folder, 0o755), os.WriteFile(r.binary, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	r.store = newStore(t, r.folder, 3)
	if err := errors.Join(os.Chmod(root, 0o755), os.Chmod(r.binary, 0o755), os.Chmod(r.store, 0o444), os.Chmod(r.folder, 0o555)); err != nil {
		t.Fatal(err)
	}
	return r
}

// command runs as a user who is bound by permissions: root is not.
func (r restricted) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.binary, append([]string{"--db", r.store}, args...)...)
	cmd.Dir = r.folder
	cmd.Env = append(os.Environ(), "HOME=/no-home", "XDG_CONFIG_HOME=")
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

func TestReadingWhereNothingCanBeWritten(t *testing.T) {
	r := newRestricted(t)
	before, err := os.ReadFile(r.store)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string // in stdout, or in stderr after a failure
	}{
		{"info --stats", 0, "Thing  entity  1        3"},
		{"query entities Thing", 0, "thing-00002"},
		{"query entities Thing --as-of 1 --limit 1", 0, "thing-00000"},
		{"log Thing thing-00001", 0, "thing-00001"},
		{"blame Thing thing-00001", 0, "thing-00001"},
		{"diff 0 head", 0, "+ Thing thing-00001"},
		{"commits", 0, "1 "},
		{"commits examine --id 1", 0, "+ Thing thing-00001"},
		{"schema export", 0, "Thing:"},
		{"schema history --type Thing", 0, "initial"},
		{"projection verify", 0, ""},
		{"put Thing {\"id\":\"new\"}", 5, "cannot be"},
		{"delete Thing thing-00001", 5, "cannot be"},
		{"projection rebuild", 5, "cannot be"},
		{"init", 0, ""}, // there is nothing to do
		{"init --db other.db", 5, "cannot be"},
		{"demo --db other.db", 5, "cannot be"},
	} {
		var stdout, stderr bytes.Buffer
		cmd := r.command(strings.Fields(c.args)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		status := exitStatus(t, cmd)
		text := stdout.String()
		if c.status != 0 {
			text = stderr.String()
		}
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q; want status %d and %q", c.args, status, &stdout, &stderr, c.status, c.want)
		}
	}
	after, err := os.ReadFile(r.store)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, or %v", err)
	}
	files, err := os.ReadDir(r.folder)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v, %v, want the store alone", files, err)
	}
}
