package onto

import "fmt"

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // answers can be wrong
	SeverityWarning Severity = "warning" // answers are right, something is unusual
)

// Finding is something a check noticed.
type Finding struct {
	Code     string   // stable, for programs
	Severity Severity // how bad
	Message  string   // names the thing
	Remedy   Hint     // names the next step
	About    Identity // the thing, or only its kind and type; zero if it is about neither

	Explanation string // why it matters; package upkeep fills it in
}

// String puts the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Message)
}
