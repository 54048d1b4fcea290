//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// Stop stops a child process, and returns when it has stopped.
func Stop(t testing.TB, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("process %d has not stopped: %v, %v", p.Pid, status, err)
		}
		return
	}
}

// Continue resumes a stopped process.
func Continue(t testing.TB, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// LimitFiles lets no file of this process grow beyond a size: a write fails with
// EFBIG. The testing package writes files as well, so this is for a child.
func LimitFiles(t testing.TB, size uint64) (undo func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	set := func(cur uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: cur, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	set(size)
	t.Cleanup(func() { set(old.Cur) })
	return func() { set(old.Cur) }
}
