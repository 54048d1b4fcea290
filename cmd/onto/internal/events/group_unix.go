//go:build unix

package events

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, so that a signal for this process
// does not reach it, and all of it can be ended together.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what is left of a command's process group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // there may be nothing left
