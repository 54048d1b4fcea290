// Package iofault runs a command and makes one of its I/O calls go wrong, or all
// from one on, for tests. It works on the system calls themselves, so it reaches a C
// library in the process as well as Go code, and needs nothing from the command. It
// works on Linux on amd64.
package iofault

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Fault is what goes wrong.
type Fault uint8

const (
	None       Fault = iota
	EIO              // the call fails with EIO
	EIOFrom          // it does, and so does every later one that writes or syncs
	ENOSPC           // a call that needs room fails for lack of it
	Short            // half of a write is done; from then on there is no room
	Kill             // the process is killed before the call
	ENOSPCFrom       // as EIOFrom, with other errors
	EDQUOTFrom
	EFBIGFrom
)

var names = [...]string{"none", "EIO", "EIO from then on", "ENOSPC", "short write", "kill", "ENOSPC from then on", "EDQUOT from then on", "EFBIG from then on"}

func (f Fault) String() string { return names[f] }

// Faults are those that a sweep tries.
func Faults() []Fault { return []Fault{EIO, EIOFrom, ENOSPC, Short, Kill} }

// from is what all calls that change something fail with; 0 for other faults.
func (f Fault) from() syscall.Errno {
	switch f {
	case EIOFrom:
		return syscall.EIO
	case ENOSPCFrom:
		return syscall.ENOSPC
	case EDQUOTFrom:
		return syscall.EDQUOT
	case EFBIGFrom:
		return syscall.EFBIG
	}
	return 0
}

// Plan says which call goes wrong, and how.
type Plan struct {
	Below   string   // only calls on files at or below this directory count; absolute, with symbolic links resolved
	Suffix  string   // only calls on files whose names end so
	Effects []Effect // only calls with these effects; nil for all
	Call    int      // which of them, from 1 on; 0 for none
	Fault   Fault
}

// counts reports whether the plan is about a call.
func (p *Plan) counts(c Call) bool {
	return (c.Path == p.Below || strings.HasPrefix(c.Path, p.Below+"/")) && strings.HasSuffix(c.Path, p.Suffix) &&
		(p.Effects == nil || slices.Contains(p.Effects, c.Effect))
}

// Outcome is how a run ended.
type Outcome struct {
	Calls   []Call // those that count, up to the end or the kill
	Reached bool   // the call of the plan was made
	Status  syscall.WaitStatus
}

// Exited returns the exit status, or false if a signal ended the process.
func (o *Outcome) Exited() (int, bool) { return o.Status.ExitStatus(), o.Status.Exited() }

// required names what must not be left out. It is read once: tests of the command take
// the variable out of their environment, where it would be taken for a setting.
var required = os.Getenv("ONTO_REQUIRE")

// Need leaves a test out where system calls cannot be traced, unless ONTO_REQUIRE
// names ptrace.
func Need(t testing.TB) {
	t.Helper()
	if err := Available(); err != nil {
		if strings.Contains(required, "ptrace") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
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
	case Kill:
		return e != Reads
	case EIO:
		return true
	}
	return f.from() != 0 && e != Reads
}

// errno is what a call with the effect fails with, once the call of the plan is
// reached, which is this one or an earlier one. 0 lets it happen.
func (f Fault) errno(e Effect, first bool) syscall.Errno {
	switch {
	case f.from() != 0 && e != Reads:
		return f.from()
	case f == EIO && first:
		return syscall.EIO
	case f == ENOSPC && first, f == Short && !first && (e == Writes || e == Grows):
		return syscall.ENOSPC
	}
	return 0
}
