//go:build linux || darwin || freebsd || dragonfly || netbsd || openbsd

package cache

import (
	"os"
	"syscall"
	"time"
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

// abandoned tells whether the process that holds the lock file has ended.
func abandoned(f *os.File, now time.Time) bool {
	taken, err := acquire(f)
	if err != nil {
		return oldFile(f, now) // a file system without locks
	}
	return taken
}
