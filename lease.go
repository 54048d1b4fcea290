package onto

import (
	"fmt"
	"strings"
	"time"
)

// WriteLease is the name of the lease that blocks commits of all but its holder, which
// commits with drafts that carry it.
const WriteLease = "ontology_write"

// Lease is a right that expires unless it is renewed. A name has at most one at a time.
// An expired lease stays its holder's until it is taken over.
type Lease struct {
	Name     string
	Owner    string // the holder, by its own name
	Epoch    int64  // grows each time it is taken
	Acquired time.Time
	Expires  time.Time
	Store    string // identifies the store that gave it; "" if it is not known
	Purpose  LeasePurpose
	Note     string // how far its holder is, in words: "40% of 1,200,000"; "" for none
}

// LeasePurpose is what a lease was taken for, as far as others behave differently.
type LeasePurpose string

// MigrationLease is the purpose of the write lease of a migration or a drop. Writers wait
// longer for it than for others.
const MigrationLease LeasePurpose = "migration"

// MaxLeaseNote is how many bytes the note of a lease may have.
const MaxLeaseNote = 4 << 10

// Status says what the lease was taken for and how far its holder is; "" if neither is known.
func (l Lease) Status() string {
	if l.Purpose == "" || l.Note == "" {
		return string(l.Purpose) + l.Note
	}
	return string(l.Purpose) + ", " + l.Note
}

// Expired reports whether the lease may be taken over.
func (l Lease) Expired(now time.Time) bool { return !now.Before(l.Expires) }

// String describes the lease for messages.
func (l Lease) String() string {
	return fmt.Sprintf("lease %s, epoch %d, of %s", l.Name, l.Epoch, l.Owner)
}

// LeaseBreak is the record of a lease that was ended by force.
type LeaseBreak struct {
	Lease   Lease // as it was
	Time    time.Time
	Runtime string // the program run that broke it
	Actor   Actor  // on whose behalf
	Reason  string
}

const leaseRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// CheckLeaseName reports whether a lease can have the name.
func CheckLeaseName(name string) error {
	if len(name) == 0 || len(name) > 64 {
		return Errorf(Invalid, "the lease name %.80q has %d bytes, not 1 to 64", name, len(name))
	}
	if !strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(leaseRunes, r) }) {
		return nil
	}
	return Errorf(Invalid, "the lease name %q is not allowed", name).WithHint("use letters, digits, _, . and -")
}
