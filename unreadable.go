package onto

import "fmt"

// UnreadableVersion is a version that another program has stored and whose fields cannot
// be read: its text is no JSON object, or has what no JSON of this module has, as an
// integer outside int64, U+0000, a lone surrogate, NaN, or too deep a nesting. It is in
// the chain of errors with the code Unreadable, where errors.As finds it.
type UnreadableVersion struct {
	Version        // without Fields
	Text    string // the fields as they are stored
	Reason  error
}

// Error names the version and the reason.
func (u *UnreadableVersion) Error() string {
	return fmt.Sprintf("%s at commit %d cannot be read: %v", u.Identity, u.Commit, u.Reason)
}

// Unwrap returns the reason.
func (u *UnreadableVersion) Unwrap() error { return u.Reason }
