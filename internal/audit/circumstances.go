package audit

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Lease judges a lease that is kept: one that ran out should have been released, and
// the write lease keeps others from committing. It reports false for others, which
// are at work.
func Lease(l onto.Lease, now time.Time) (onto.Finding, bool) {
	until := codec.FormatTime(l.Expires)
	switch {
	case l.Expired(now):
		return LockExpired.Finding(release(l.Name), "the lease %s of %s ran out at %s and was not released", l.Name, l.Owner, until), true
	case l.Name == onto.WriteLease:
		return LockHeld.Finding("wait for its holder; if that has died: "+release(l.Name),
			"the write lock is held by %s until %s: others cannot commit", l.Owner, until), true
	}
	return onto.Finding{}, false
}

// release is the command that ends a lease; "" if another program gave it a name that
// is not fit for a command line.
func release(name string) string {
	switch {
	case name == onto.WriteLease:
		return "onto lock release --force --reason TEXT"
	case onto.CheckLeaseName(name) == nil:
		return "onto lock release --name " + name + " --force --reason TEXT"
	}
	return ""
}

// Clock judges the time of the newest thing that was written. It reports false if it
// is not later than now by more than is allowed.
func Clock(newest string, at, now time.Time, allowed time.Duration) (onto.Finding, bool) {
	ahead := at.Sub(now)
	if ahead <= allowed {
		return onto.Finding{}, false
	}
	return ClockAhead.Finding("set the clock of this machine; if it and the date are right, the machine that wrote there had them wrong",
		"%s is of %s, which is %s from now: until then new commits get the time of the last one", newest, codec.FormatTime(at), ahead.Round(time.Second)), true
}
