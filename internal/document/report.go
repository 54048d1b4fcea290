package document

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ontologia/onto"
)

// Codes for what no package returns.
const (
	CheckFailed   onto.Code = "check_failed"
	Interrupted   onto.Code = "interrupted"
	General       onto.Code = "general"
	CommandFailed onto.Code = "command_failed" // of a handler
	IndexBehind   onto.Code = "index_behind"   // of a warning
)

// CodeOf is the code to report for an error.
func CodeOf(err error) onto.Code {
	switch code := onto.CodeOf(err); {
	case code != "":
		return code
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return General
}

// Report is an error or a warning.
type Report struct {
	Code        onto.Code `json:"code"`
	Message     string    `json:"message"`
	Hint        string    `json:"hint"`              // with the command, as people read it
	Command     []string  `json:"command,omitempty"` // of the hint, as arguments
	Differences []string  `json:"differences,omitempty"`
}

// Problem is a report as the command prints it: one of the two.
type Problem struct {
	Error   *Report `json:"error,omitempty"`
	Warning *Report `json:"warning,omitempty"`
}

// NewReport reports an error, with what to do about it.
func NewReport(err error, hint onto.Hint) Report {
	return Report{Code: CodeOf(err), Message: Message(err), Hint: hint.String(), Command: Command(hint), Differences: Differences(err)}
}

// Command is the command of a hint, from the name of the program on; nil if there is
// none.
func Command(h onto.Hint) []string {
	if len(h.Command) == 0 {
		return nil
	}
	return append([]string{"onto"}, h.Command...)
}

// Message is what an error says, on one line.
func Message(err error) string {
	if CodeOf(err) == Interrupted {
		return "interrupted"
	}
	if len(Differences(err)) > 0 {
		return "types are stored differently"
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err.Error()
	}
	lines := strings.Split(err.Error(), "\n") // one for each
	if more := len(lines) - maxJoined; more > 1 {
		lines = append(lines[:maxJoined], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// maxJoined is how many concurrent errors are shown: a full directory fails every read.
const maxJoined = 5

// Differences lists the differences in a SchemaOutdated error, one per line.
func Differences(err error) []string {
	var e *onto.Error
	if !errors.As(err, &e) {
		return nil
	}
	var lines []string
	for _, d := range e.Differences {
		lines = append(lines, d.Lines()...)
	}
	return lines
}
