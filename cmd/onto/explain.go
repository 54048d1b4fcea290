package main

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// explain prints how a question is answered.
func (c *command) explain(a asked, e backend.Explanation, err error) error {
	switch {
	case err != nil:
		return err
	case a.format == formatCSV:
		return onto.Errorf(onto.Invalid, "--explain has no CSV").WithHint("leave out --format csv, or use json")
	case a.format != formatTable:
		return c.document(struct {
			Statement string   `json:"statement"`
			Plan      []string `json:"plan"`
			Process   []string `json:"process"`
		}{e.Statement, orEmpty(e.Plan), orEmpty(e.Process)})
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

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
