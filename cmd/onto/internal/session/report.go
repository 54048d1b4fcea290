package session

import (
	"errors"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// mostNamed is how many versions that cannot be read are named; further ones are counted.
const mostNamed = 5

// reports is what lenient reads of a run have reported.
type reports struct {
	said       map[string]bool
	unreadable int
}

// Report warns of what a lenient read could not do as asked, each thing once.
func (c *Session) Report(err error) {
	text := document.Message(err)
	if c.reports.said[text] {
		return
	}
	if c.reports.said == nil {
		c.reports.said = map[string]bool{}
	}
	c.reports.said[text] = true
	hint := c.hint(err)
	if errors.Is(err, onto.Unreadable) {
		if c.reports.unreadable++; c.reports.unreadable > mostNamed {
			return
		}
		if c.reports.unreadable > 1 && !c.JSON { // it was told
			hint = onto.Hint{}
		}
	}
	c.warnOf(err, hint)
}

// Unreadable is how many versions were reported that cannot be read.
func (c *Session) Unreadable() int { return c.reports.unreadable }

// endReports tells how many versions were not named.
func (c *Session) endReports() {
	if more := c.reports.unreadable - mostNamed; more > 0 {
		c.warn(c.JSON, onto.Unreadable, fmt.Sprintf("%s cannot be read", terminal.Count(more, "more version", "more versions")),
			onto.NewHint("name them all", "doctor", "--all"))
	}
}
