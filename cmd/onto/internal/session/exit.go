package session

import (
	"errors"
	"io"
	"syscall"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// The exit statuses.
const (
	ExitOK       = 0
	ExitGeneral  = 1
	ExitUsage    = 2
	ExitMismatch = 3 // a check failed, or the schema differs
	ExitStopped  = 4 // execution failed: interrupted
	ExitStorage  = 5
	ExitConflict = 6
	ExitRefused  = 7
	ExitUnknown  = 8 // it is not known whether the commit happened
	ExitNotFound = 9
)

// exitOf is the table from code to exit status.
func exitOf(code onto.Code) int {
	switch code {
	case onto.Invalid, onto.TooLarge, onto.UnsupportedOperation:
		return ExitUsage
	case onto.SchemaOutdated, onto.MigrationToken, document.CheckFailed:
		return ExitMismatch
	case document.Interrupted, document.CommandFailed, onto.UpgraderFailed, onto.UpgraderMissing, onto.EventLoopLimit:
		return ExitStopped
	case onto.Uninitialized, onto.CopyUnfinished, onto.Unsupported, onto.Corrupt, onto.ReadOnly, onto.Full,
		onto.LockContention, onto.LeaseExpired, onto.Unavailable, onto.Closed:
		return ExitStorage
	case onto.Conflict, onto.Stale, onto.HeadMismatch, onto.VersionMismatch, onto.IdempotencyConflict:
		return ExitConflict
	case onto.Refused:
		return ExitRefused
	case onto.OutcomeUnknown:
		return ExitUnknown
	case onto.NotFound:
		return ExitNotFound
	}
	return ExitGeneral
}

// finish reports how the command ended and returns the exit status. A closed output
// pipe counts as success.
func (c *Session) finish(err error, asJSON bool) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return ExitOK
	}
	if asJSON {
		c.reportJSON(err)
	} else {
		c.report(err)
	}
	return exitOf(document.CodeOf(err))
}

// Abandon reports that the command did not stop when it was told to, and returns the
// exit status. It is called while the command still runs.
func (c *Session) Abandon(stderr io.Writer, asJSON bool) int {
	var err error = onto.Errorf(document.Interrupted, "interrupted")
	if c.Writes.Load() {
		err = onto.Errorf(onto.OutcomeUnknown, "interrupted while the storage did not answer: it is not known whether anything was stored").
			WithHint("look at the newest commits").WithCommand("commits")
	}
	other := &Session{Printer: terminal.NewPrinter(io.Discard, stderr), Flags: c.Flags}
	return other.finish(err, asJSON)
}

// report prints an error for people: what, each difference, what to do.
func (c *Session) report(err error) {
	c.Say("onto: %s", document.Message(err))
	for _, line := range document.Differences(err) {
		c.Say("  %s", line)
	}
	c.sayHint(c.hint(err))
}

func (c *Session) reportJSON(err error) {
	report := document.NewReport(err, c.hint(err))
	c.sayJSON(document.Problem{Error: &report})
}

// Warn reports an error that does not keep a verb from doing what it was asked.
func (c *Session) Warn(err error) {
	c.warn(c.JSON, document.CodeOf(err), document.Message(err), onto.HintOf(err))
}

// warn reports what does not change what the verb did or answered.
func (c *Session) warn(asJSON bool, code onto.Code, text string, hint onto.Hint) {
	hint = c.NameIn(hint)
	if asJSON {
		report := document.Report{Code: code, Message: text, Hint: hint.String(), Command: document.Command(hint)}
		c.sayJSON(document.Problem{Warning: &report})
		return
	}
	c.Say("warning: %s", text)
	c.sayHint(hint)
}

func (c *Session) sayHint(hint onto.Hint) {
	if hint.Text != "" {
		c.Say("hint: %s", hint)
	}
}

// SayNext prints a next step, with its command for this store.
func (c *Session) SayNext(text string, command ...string) {
	c.Say("%s", c.NameIn(onto.NewHint(text, command...)))
}

// sayJSON prints an error or a warning to stderr, on one line.
func (c *Session) sayJSON(p document.Problem) {
	doc, _ := document.Encode(p) // texts only
	c.Say("%s", doc)
}

// hint is what to do about an error; its command is for this store.
func (c *Session) hint(err error) onto.Hint {
	return c.NameIn(onto.HintOf(err))
}
