package main

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
	exitOK       = 0
	exitGeneral  = 1
	exitUsage    = 2
	exitMismatch = 3 // a check failed, or the schema differs
	exitStopped  = 4 // execution failed: interrupted
	exitStorage  = 5
	exitConflict = 6
	exitRefused  = 7
	exitUnknown  = 8 // it is not known whether the commit happened
	exitNotFound = 9
)

// exitOf is the table from code to exit status.
func exitOf(code onto.Code) int {
	switch code {
	case onto.Invalid, onto.TooLarge:
		return exitUsage
	case onto.SchemaOutdated, onto.MigrationToken, document.CheckFailed:
		return exitMismatch
	case document.Interrupted, onto.UpgraderFailed, onto.UpgraderMissing:
		return exitStopped
	case onto.Uninitialized, onto.Unsupported, onto.Corrupt, onto.ReadOnly, onto.Full,
		onto.LockContention, onto.LeaseExpired, onto.Unavailable, onto.Closed:
		return exitStorage
	case onto.Conflict, onto.HeadMismatch, onto.VersionMismatch, onto.IdempotencyConflict:
		return exitConflict
	case onto.Refused:
		return exitRefused
	case onto.OutcomeUnknown:
		return exitUnknown
	case onto.NotFound:
		return exitNotFound
	}
	return exitGeneral
}

// finish reports how the command ended and returns the exit status. When
// nobody reads the output any more, the command has done what was wanted.
func (c *command) finish(err error, asJSON bool) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	if asJSON {
		c.reportJSON(err)
	} else {
		c.report(err)
	}
	return exitOf(document.CodeOf(err))
}

// abandon reports that the command was told to stop and did not, and returns the
// exit status. It is called while the command goes on.
func (c *command) abandon(stderr io.Writer, asJSON bool) int {
	var err error = onto.Errorf(document.Interrupted, "interrupted")
	if c.writes.Load() {
		err = onto.Errorf(onto.OutcomeUnknown, "interrupted while the storage did not answer: it is not known whether anything was stored").
			WithHint("look at the newest commits with: onto commits")
	}
	other := &command{Printer: terminal.NewPrinter(io.Discard, stderr), flags: c.flags}
	return other.finish(err, asJSON)
}

// report prints an error for people: what, each difference, what to do.
func (c *command) report(err error) {
	c.Say("onto: %s", document.Message(err))
	for _, line := range document.Differences(err) {
		c.Say("  %s", line)
	}
	if hint := c.hint(err); hint != "" {
		c.Say("hint: %s", hint)
	}
}

func (c *command) reportJSON(err error) {
	c.sayJSON("error", document.NewReport(err, c.hint(err)))
}

// warn reports what does not change what the verb did or answered.
func (c *command) warn(asJSON bool, code onto.Code, text, hint string) {
	hint = c.place().NameIn(hint)
	if asJSON {
		c.sayJSON("warning", document.Report{Code: code, Message: text, Hint: hint})
		return
	}
	c.Say("warning: %s", text)
	if hint != "" {
		c.Say("hint: %s", hint)
	}
}

// sayJSON prints an error or a warning to stderr, on one line.
func (c *command) sayJSON(kind string, body document.Report) {
	doc, _ := document.Encode(map[string]document.Report{kind: body}) // texts only
	c.Say("%s", doc)
}

// hint is what to do about an error, to be pasted where it is a command.
func (c *command) hint(err error) string {
	return c.place().NameIn(onto.HintOf(err))
}
