package document

import "github.com/ontologia/onto"

// Finding is a finding of a check.
type Finding struct {
	Code     string        `json:"code"`
	Severity onto.Severity `json:"severity"`
	Message  string        `json:"message"`
	Remedy   string        `json:"remedy"`            // with the command, as people read it
	Command  []string      `json:"command,omitempty"` // of the remedy, as arguments
}

// NewFinding describes a finding. The remedy may name the store.
func NewFinding(f onto.Finding, remedy onto.Hint) Finding {
	return Finding{f.Code, f.Severity, f.Message, remedy.String(), Command(remedy)}
}

// Explained is a finding with its explanation.
type Explained struct {
	Finding
	Explanation string `json:"explanation"`
}

// FindingCode is what is known in general about findings with a code.
type FindingCode struct {
	Code        string        `json:"code"`
	Severity    onto.Severity `json:"severity"`
	Explanation string        `json:"explanation"`
	Remedy      string        `json:"remedy"`
	Command     []string      `json:"command,omitempty"`
}

// Probed is one check of a bucket.
type Probed struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Seen    string `json:"seen"`
	Meaning string `json:"meaning"`
}
