package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// thingRecords is n records of type Thing.
func thingRecords(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"type":"Thing","key":"record-%05d","fields":{}}`+"\n", i)
	}
	return text.String()
}

// An import that is stopped or killed while it reads leaves nothing, whether
// it reads stdin or a pipe with a name.
func TestStoppedImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal os.Signal
		named  bool
		status int // -1 if it is killed
	}{
		{os.Interrupt, false, session.ExitStopped}, {syscall.SIGTERM, true, session.ExitStopped}, {syscall.SIGKILL, false, -1},
	} {
		folder := t.TempDir()
		path := newStore(t, folder, 1)
		input, err := startImport(t, folder, path, c.named)
		if err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the command is reading.
		if _, err := io.WriteString(input.w, thingRecords(50_000)); err != nil {
			t.Fatal(err)
		}
		if err := input.cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		_ = input.cmd.Wait() // its status is looked at
		if got := input.cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%v: got status %d, want %d: %s", c.signal, got, c.status, &input.stderr)
		}
		if got := input.stderr.String(); c.status == session.ExitStopped && got != "onto: interrupted\n" {
			t.Errorf("%v: got %q", c.signal, got)
		}
		if got := must(t, "", "query", "entities", "Thing", "--format", "jsonl", "--db", path); strings.Count(got, "\n") != 1 {
			t.Errorf("%v: the store has %.300s", c.signal, got)
		}
		must(t, "", "projection", "verify", "--db", path)
		must(t, thingRecords(10), "import", "--input", "-", "--apply", "--db", path)
	}
}

// importing is an import whose input a test writes.
type importing struct {
	cmd    *exec.Cmd
	w      io.WriteCloser
	stderr bytes.Buffer
}

func startImport(t *testing.T, folder, db string, named bool) (*importing, error) {
	t.Helper()
	in := &importing{}
	if !named {
		in.cmd = exec.Command("onto", "import", "--input", "-", "--apply", "--db", db)
		in.cmd.Stderr = &in.stderr
		var err error
		in.w, err = in.cmd.StdinPipe()
		return in, errors.Join(err, in.cmd.Start())
	}
	pipe := filepath.Join(folder, "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return nil, err
	}
	in.cmd = exec.Command("onto", "import", "--input", pipe, "--apply", "--db", db)
	in.cmd.Stderr = &in.stderr
	if err := in.cmd.Start(); err != nil {
		return nil, err
	}
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	t.Cleanup(func() { w.Close() })
	in.w = w
	return in, err
}

func TestExportToAClosedPipeEndsQuietly(t *testing.T) {
	path := newStore(t, t.TempDir(), 5_000)
	var stderr bytes.Buffer
	cmd := exec.Command("onto", "export", "--output", "-", "--db", path)
	cmd.Stdout, cmd.Stderr = gone(t), &stderr
	if status := exitStatus(t, cmd); status != 0 || stderr.Len() > 0 {
		t.Errorf("status %d, stderr %q", status, &stderr)
	}
}

// watched is a stderr that is watched.
type watched struct {
	bytes.Buffer
	watch func()
}

func (w *watched) Write(p []byte) (int, error) {
	if w.watch != nil {
		w.watch()
	}
	return w.Buffer.Write(p)
}

// onTerminal runs the command as if its stderr were a terminal.
func onTerminal(ctx context.Context, stderr io.Writer, args ...string) error {
	c := newSession(strings.NewReader(""), io.Discard, stderr)
	c.Err.Terminal = true
	return execute(ctx, c, args)
}

func TestProgressOnATerminal(t *testing.T) {
	folder := t.TempDir()
	path, file := newStore(t, folder, 1), filepath.Join(folder, "in.jsonl")
	if err := os.WriteFile(file, []byte(thingRecords(5_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr watched
	if err := onTerminal(t.Context(), &stderr, "import", "--input", file, "--apply", "--db", path); err != nil {
		t.Fatal(err)
	}
	if got := stderr.String(); !strings.Contains(got, "in.jsonl: 1000 records, ") || !strings.Contains(got, "%") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("import: got %q, want a share of the file, and a clean line in the end", got)
	}
	stderr.Reset()
	if err := onTerminal(t.Context(), &stderr, "export", "--output", filepath.Join(folder, "out.jsonl"), "--db", path); err != nil {
		t.Fatal(err)
	}
	if got := stderr.String(); !strings.Contains(got, "out.jsonl: 1000 records, ") || !strings.Contains(got, "\r\x1b[Kexported 5001 records as of commit 2\n") {
		t.Errorf("export: got %q", got)
	}
}

// An export that is stopped leaves no file, and one that was there as it was.
func TestStoppedExports(t *testing.T) {
	folder := t.TempDir()
	path, out := newStore(t, folder, 5_000), filepath.Join(folder, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "out.jsonl.gz")
	for _, before := range []string{"", "precious"} {
		if before != "" {
			if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		stderr := &watched{watch: cancel} // at the first sign of progress
		err := onTerminal(ctx, stderr, "export", "--output", file, "--force", "--db", path)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it cancelled", err)
		}
		entries, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != before || before == "" && len(entries) > 0 || len(entries) > 1 {
			t.Errorf("got files %v, and %q where %q was", entries, got, before)
		}
	}
}

func TestCommitOfAnImportThatCannotBePrinted(t *testing.T) {
	path := newStore(t, t.TempDir(), 1)
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"import", "--input", "-", "--apply", "--db", path}, strings.NewReader(thingRecords(1)), full{}, &stderr)
	if want := "onto: commit 2 was made, but this could not be printed: no space left on device\n"; status != session.ExitGeneral || stderr.String() != want {
		t.Errorf("got status %d and %q, want %d and %q", status, &stderr, session.ExitGeneral, want)
	}
}
