//go:build linux || darwin || freebsd || dragonfly || netbsd || openbsd

// Package flock locks files between processes. The system releases a lock when its
// process ends, however it ends.
package flock

import (
	"os"
	"syscall"
)

// Try takes the lock of a file if it is free. It fails where a system or a file system
// has no such locks.
func Try(f *os.File) (bool, error) {
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

// Release releases the lock.
func Release(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // it ends with the file at the latest
}
