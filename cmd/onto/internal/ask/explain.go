package ask

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// explain prints how a question is answered.
func explain(c *session.Session, a asked, e backend.Explanation, err error) error {
	switch {
	case err != nil:
		return err
	case a.format == terminal.FormatCSV:
		return onto.Errorf(onto.Invalid, "--explain has no CSV").WithHint("leave out --format csv, or use json")
	case a.format != terminal.FormatTable:
		return c.Document(document.NewExplanation(e))
	}
	var statement []string
	if e.Statement != "" {
		statement = []string{e.Statement}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"statement", statement}, {"plan", e.Plan}, {"in process", e.Process}} {
		if len(part.lines) == 0 {
			continue
		}
		if err := c.Out.Line("%s", c.Out.Paint(terminal.Bold, part.title)); err != nil {
			return err
		}
		for _, l := range part.lines {
			if err := c.Out.Line("  %s", l); err != nil {
				return err
			}
		}
	}
	return nil
}
