package main

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/document"
)

// explain prints how a question is answered.
func (c *command) explain(a asked, e backend.Explanation, err error) error {
	switch {
	case err != nil:
		return err
	case a.format == formatCSV:
		return onto.Errorf(onto.Invalid, "--explain has no CSV").WithHint("leave out --format csv, or use json")
	case a.format != formatTable:
		return c.document(document.NewExplanation(e))
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
		if err := c.out.line("%s", c.out.paint(bold, part.title)); err != nil {
			return err
		}
		for _, l := range part.lines {
			if err := c.out.line("  %s", l); err != nil {
				return err
			}
		}
	}
	return nil
}
