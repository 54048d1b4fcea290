package audit

import (
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Lease checks a stored lease: an expired one should have been released, and the write
// lease blocks other writers. It reports false for any other, which is in use.
func Lease(l onto.Lease, now time.Time) (onto.Finding, bool) {
	until := codec.FormatTime(l.Expires)
	switch {
	case l.Expired(now):
		f := LockExpired.Finding("the lease %s of %s ran out at %s and was not released", l.Name, l.Owner, until)
		f.Remedy = release("clear it away", l.Name)
		return f, true
	case l.Name == onto.WriteLease:
		f := LockHeld.Finding("the write lock is held by %s until %s: others cannot commit", l.Owner, until)
		f.Remedy = release("wait for its holder; end the lease only if that has died", l.Name)
		return f, true
	}
	return onto.Finding{}, false
}

// release is a hint to end a lease; none if its name, in a file that was tampered with, is
// not fit for a command line.
func release(text, name string) onto.Hint {
	switch {
	case name == onto.WriteLease:
		return onto.NewHint(text, "lock", "release", "--force", "--reason", "TEXT")
	case onto.CheckLeaseName(name) == nil:
		return onto.NewHint(text, "lock", "release", "--name", name, "--force", "--reason", "TEXT")
	}
	return onto.Hint{}
}

// Clock checks the time of the newest write. It reports false if that is not later than
// now by more than is allowed.
func Clock(newest string, at, now time.Time, allowed time.Duration) (onto.Finding, bool) {
	ahead := at.Sub(now)
	if ahead <= allowed {
		return onto.Finding{}, false
	}
	return ClockAhead.Finding("%s is of %s, which is %s from now: until then what is new gets the time of the last one, or one right after it", newest, codec.FormatTime(at), ahead.Round(time.Second)), true
}
