//go:build linux || darwin || freebsd || dragonfly || netbsd || openbsd

package file

import (
	"os"
	"syscall"
)

// acquire takes the lock of a file if nobody has it. The system gives it back
// when the process ends, however it ends.
func acquire(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, nil
		case syscall.EWOULDBLOCK:
			return false, nil
		case syscall.EINTR:
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// release gives the lock back.
func release(f *os.File) {
	syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
}
