package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ontologia/onto/cmd/onto/internal/session"
)

// weigh runs onto with its own arguments and writes to file descriptor 3 how much
// memory it took, in MB, and how many milliseconds of a processor. A process counts the memory of the one that starts it as its
// own, so a test that holds much cannot do that itself.
func weigh() {
	cmd := exec.Command("onto", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(session.ExitGeneral)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Fprintln(os.NewFile(3, "weight"), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10, cpu.Milliseconds())
	os.Exit(cmd.ProcessState.ExitCode())
}
