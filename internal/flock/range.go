//go:build linux || darwin || freebsd || dragonfly || netbsd || openbsd

package flock

import (
	"errors"
	"os"
	"syscall"
)

// ShareRange takes a shared lock on so many bytes of a file if no other process has an
// exclusive one. On Linux it belongs to the open file; elsewhere to the process, which
// loses it when it closes any descriptor of the file.
func ShareRange(f *os.File, start, length int64) (bool, error) {
	for {
		err := syscall.FcntlFlock(f.Fd(), setRange, &syscall.Flock_t{Type: syscall.F_RDLCK, Start: start, Len: length})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, os.NewSyscallError("fcntl", err)
		}
	}
}

// ReleaseRange releases the lock on so many bytes.
func ReleaseRange(f *os.File, start, length int64) error {
	err := syscall.FcntlFlock(f.Fd(), setRange, &syscall.Flock_t{Type: syscall.F_UNLCK, Start: start, Len: length})
	return os.NewSyscallError("fcntl", err)
}

// IsLocked reports whether another process, or on Linux another open file, has an exclusive
// lock on one of so many bytes.
func IsLocked(f *os.File, start, length int64) (bool, error) {
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: start, Len: length}
	err := syscall.FcntlFlock(f.Fd(), getRange, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK, os.NewSyscallError("fcntl", err)
}
