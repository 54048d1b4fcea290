//go:build linux && amd64

// Package iofault runs a command and makes one of its I/O calls go wrong, for
// tests. It works on the system calls themselves, so it reaches a C library in the
// process as well as Go code, and needs nothing from the command.
package iofault

import (
	"fmt"
	"syscall"
)

// Fault is what goes wrong.
type Fault uint8

const (
	None    Fault = iota
	EIO           // the call fails with EIO
	EIOFrom       // it does, and so does every later one that writes or syncs
	ENOSPC        // a call that needs room fails for lack of it
	Short         // half of a write is done; from then on there is no room
	Kill          // the process is killed before the call
)

var names = [...]string{"none", "EIO", "EIO from then on", "ENOSPC", "short write", "kill"}

func (f Fault) String() string { return names[f] }

// Faults are all of them, but for None.
func Faults() []Fault { return []Fault{EIO, EIOFrom, ENOSPC, Short, Kill} }

// Plan says which call goes wrong, and how.
type Plan struct {
	Below string // only calls on files at or below this directory count; whole and free of links
	Call  int    // which of them, from 1 on; 0 for none
	Fault Fault
}

// Call is an I/O call that was counted.
type Call struct {
	Name string
	Path string
	Effect
}

func (c Call) String() string { return fmt.Sprintf("%s %s", c.Name, c.Path) }

// Effect is what a call can do to a file.
type Effect uint8

const (
	Reads  Effect = iota
	Writes        // data; may be done in part
	Grows         // makes or lengthens something, so it needs room
	Syncs
	Removes
)

// Fits reports whether a fault can happen to a call with the effect.
func (f Fault) Fits(e Effect) bool {
	switch f {
	case ENOSPC:
		return e == Writes || e == Grows || e == Syncs
	case Short:
		return e == Writes
	case EIOFrom, Kill:
		return e != Reads
	}
	return f == EIO
}

// errno is what a call with the effect fails with: once the call of the plan is
// reached, which is this one or an earlier one. 0 lets it happen.
func (f Fault) errno(e Effect, first bool) syscall.Errno {
	switch {
	case f == EIO && first, f == EIOFrom && e != Reads:
		return syscall.EIO
	case f == ENOSPC && first, f == Short && !first && (e == Writes || e == Grows):
		return syscall.ENOSPC
	}
	return 0
}
