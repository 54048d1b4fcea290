package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

func patience(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// A command that hangs where nothing can interrupt it ends all the same, and says that
// the outcome is unknown.
func TestStoppedWhileHanging(t *testing.T) {
	for _, c := range []struct {
		args   string
		writes bool
		status int
		want   string
	}{
		{"query", false, session.ExitStopped, "onto: interrupted\n"},
		{"put", true, session.ExitUnknown, "onto: interrupted while the storage did not answer: it is not known whether anything was stored\nhint: look at the newest commits: onto commits\n"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		hang := make(chan struct{})
		var stderr bytes.Buffer
		verb := session.New(nil, &stderr, &stderr)
		verb.Writes.Store(c.writes)
		status := untilStopped(ctx, patience(time.Millisecond),
			func() int { cancel(); <-hang; return session.ExitOK },
			func() int { return verb.Abandon(&stderr, false) })
		close(hang)
		if status != c.status || stderr.String() != c.want {
			t.Errorf("%s: got status %d and %q, want %d and %q", c.args, status, &stderr, c.status, c.want)
		}
	}
}

// A command that ends in time has its own status.
func TestStoppedInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := func() int { t.Error("abandoned"); return session.ExitUnknown }
	if got := untilStopped(ctx, patience(time.Hour), func() int { cancel(); return session.ExitStopped }, never); got != session.ExitStopped {
		t.Errorf("got status %d, want %d", got, session.ExitStopped)
	}
	if got := untilStopped(t.Context(), patience(0), func() int { return session.ExitNotFound }, never); got != session.ExitNotFound {
		t.Errorf("got status %d, want %d", got, session.ExitNotFound)
	}
}

// An import from a pipe that nothing writes to waits, and a signal ends it.
func TestInterruptEndsTheWaitForAPipe(t *testing.T) {
	t.Parallel()
	path := newStore(t, t.TempDir(), 1)
	pipe := filepath.Join(t.TempDir(), "records.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for wait := 20 * time.Millisecond; ; wait *= 2 {
			status, stderr := signalled(t, wait, signal, "import", "--input", pipe, "--apply", "--db", path)
			if status < 0 && wait < boundedTime {
				continue // it was not even started: it died of the signal, as a process does
			}
			if status != session.ExitStopped {
				t.Errorf("%v: got status %d and %q, want %d", signal, status, stderr, session.ExitStopped)
			}
			break
		}
	}
}

// signalled runs the command and sends it a signal after a while. The status is
// negative if the process died of that.
func signalled(t *testing.T, wait time.Duration, signal os.Signal, args ...string) (status int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "onto", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(signal) }
	cmd.WaitDelay = boundedTime // then it is killed
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	_ = cmd.Run() // told by the status
	if time.Since(start) > boundedTime {
		t.Fatalf("onto %v does not end", args)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// A pipe, a socket or a device in the place of a store or of a file that SQLite
// keeps beside it is refused, and named, at once.
func TestOddKindsOfFiles(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile(newStore(t, t.TempDir(), 1))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(t *testing.T, path string) error{
		"a named pipe": func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a socket": func(t *testing.T, path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
		"a symbolic link": func(_ *testing.T, path string) error { return os.Symlink("elsewhere", path) },
	}
	for kind, place := range kinds {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if kind == "a symbolic link" && suffix == "" {
				continue // leads to a store
			}
			t.Run(kind+suffix, func(t *testing.T) {
				dir, err := os.MkdirTemp("", "onto-")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(dir) })
				path := filepath.Join(dir, "x.db")
				if suffix != "" {
					err = os.WriteFile(path, template, 0o600)
				}
				if err := errors.Join(err, place(t, path+suffix)); err != nil {
					t.Fatal(err)
				}
				healthy := newStore(t, t.TempDir(), 1)
				for _, verb := range []string{"info --db " + path, "put Thing {\"id\":\"x\"} --db " + path, "doctor --db " + path, "backup copy.db --db " + path,
					"restore " + path + " --apply --db " + healthy, "restore " + healthy + " --apply --db " + path, "init --db " + path} {
					status, stderr := runBounded(t, verb)
					if status != session.ExitStorage || !strings.Contains(stderr, kind) || !strings.Contains(stderr, path+suffix) {
						t.Errorf("%s: got status %d and %q, want %d and %s", verb, status, stderr, session.ExitStorage, kind)
					}
				}
			})
		}
	}
	if status, stderr := runBounded(t, "info --db /dev/zero"); status != session.ExitStorage || !strings.Contains(stderr, "a device") {
		t.Errorf("got status %d and %q, want %d and a device", status, stderr, session.ExitStorage)
	}
}
