package onto

import (
	"errors"
	"fmt"

	"github.com/ontologia/onto/internal/shell"
)

// Hint names the next step after an error or a finding.
type Hint struct {
	Text string // what to do; "" if there is no hint

	// Command does it: a verb of the command onto and its arguments; nil if there is
	// none. A word in capitals stands for what the reader has to fill in. The flag that
	// names the store (--db, --storage-uri) is there only if the command is about one
	// certain place. Otherwise the program that shows the hint names the store, or
	// offers the step in another way.
	Command []string
}

// NewHint is a hint with a text and, if there is one, a command.
func NewHint(text string, command ...string) Hint { return Hint{text, command} }

// String is the text, and the command as a line for a shell.
func (h Hint) String() string {
	if len(h.Command) == 0 {
		return h.Text
	}
	return h.Text + ": onto " + shell.Line(h.Command)
}

// WithHint sets the text of the hint, without a command, and returns the error.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = Hint{Text: fmt.Sprintf(format, args...)}
	return e
}

// WithCommand adds a command to the hint and returns the error.
func (e *Error) WithCommand(command ...string) *Error {
	e.Hint.Command = command
	return e
}

// HintOf returns the first hint in err's chain, or none.
func HintOf(err error) Hint {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			break
		}
		if e.Hint.Text != "" {
			return e.Hint
		}
		err = e.Err
	}
	return Hint{}
}
