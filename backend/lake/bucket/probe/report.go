package probe

import (
	"errors"
	"fmt"
	"strings"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Failed   Verdict = "failed"   // no lake may be kept in this bucket
	Reported Verdict = "reported" // unusual, but no lake depends on it
)

// Check is one question to the bucket.
type Check struct {
	Name    string
	Verdict Verdict
	Seen    string // what the bucket did
	Meaning string // why it matters
}

// String puts the check on one line.
func (c Check) String() string {
	return fmt.Sprintf("%-8s %s: %s (%s)", c.Verdict, c.Name, c.Seen, c.Meaning)
}

// Report is what a probe found out.
type Report struct {
	Checks []Check
	Whole  bool // all checks were made
}

// String has a line per check.
func (r Report) String() string {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

// Err is nil if the bucket can be trusted with a lake: all checks were made and
// none failed.
func (r Report) Err() error {
	var errs []error
	for _, c := range r.Checks {
		if c.Verdict != OK && c.Verdict != Reported {
			errs = append(errs, fmt.Errorf("%s: %s: %s", c.Name, c.Seen, c.Meaning))
		}
	}
	if !r.Whole {
		errs = append(errs, errors.New("not all checks of the bucket were made"))
	}
	return errors.Join(errs...)
}
