package flock

import (
	"errors"
	"os"
	"syscall"
)

// Places are locks of the open file description (F_OFD_SETLK): the process that has
// opened the file twice has two places, and closing one file keeps the other place.
// Place n begins at the offset n<<32. Its length is the id of its process, so that
// others can name it.
const (
	getLock   = 36 // F_OFD_GETLK, which package syscall does not name
	setLock   = 37 // F_OFD_SETLK
	placeBits = 32
)

const hasPlaces = true

// plainFile makes opening a file neither follow a link nor wait for a pipe.
const plainFile = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// lockPlace locks a place if it is free.
func lockPlace(f *os.File, number int64) (bool, error) {
	return lockRange(f, number<<placeBits, int64(os.Getpid()))
}

// lockWhole locks all places if no other process has one.
func lockWhole(f *os.File) bool {
	done, err := lockRange(f, 0, 0)
	return done && err == nil
}

// unlock releases all locks of the file.
func unlock(f *os.File) {
	_ = syscall.FcntlFlock(f.Fd(), setLock, &syscall.Flock_t{Type: syscall.F_UNLCK}) // it ends with the file at the latest
}

// lockRange locks so many bytes from a start on, or all if the length is 0.
func lockRange(f *os.File, start, length int64) (bool, error) {
	for {
		err := syscall.FcntlFlock(f.Fd(), setLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: start, Len: length})
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

// placeIn returns a place of another process from a number on and before another.
func placeIn(f *os.File, from, before int64) (taken, bool, error) {
	if from >= before {
		return taken{}, false, nil
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: from << placeBits, Len: (before - from) << placeBits}
	if err := syscall.FcntlFlock(f.Fd(), getLock, &lock); err != nil {
		return taken{}, false, os.NewSyscallError("fcntl", err)
	}
	return taken{lock.Start >> placeBits, int(lock.Len)}, lock.Type != syscall.F_UNLCK, nil
}
