//go:build unix

package backendtest

import (
	"os"
	"syscall"
	"testing"
)

// Stop stops a child process, and returns when it has stopped.
func Stop(t *testing.T, p *os.Process) {
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

// Continue lets a stopped process go on.
func Continue(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
