package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

func (c *command) projectionCommand() *cobra.Command {
	return group("projection", "Check or rebuild what is derived from history", `  onto projection verify
  onto projection rebuild`,
		&cobra.Command{
			Use:   "verify",
			Short: "Compare the projection with history",
			Long: `Check the storage and compare the projection, from which the present is read,
with the history it is derived from. Exit status 3 if a finding is an error.`,
			Example: `  onto projection verify
  onto projection verify --json`,
			Args: argCount(0),
			RunE: func(cmd *cobra.Command, _ []string) error { return c.verifyProjection(cmd.Context()) },
		},
		&cobra.Command{
			Use:     "rebuild",
			Short:   "Make the projection anew from history",
			Long:    "Make the projection anew from history. No commit is made, and history does not change.",
			Example: `  onto projection rebuild --db crm.db`,
			Args:    argCount(0),
			RunE:    func(cmd *cobra.Command, _ []string) error { return c.rebuildProjection(cmd.Context()) },
		})
}

// findingRow is a finding of a check.
type findingRow struct {
	Code     string        `json:"code"`
	Severity onto.Severity `json:"severity"`
	Message  string        `json:"message"`
	Remedy   string        `json:"remedy"`
}

func (r findingRow) cells() ([]string, error) {
	return []string{string(r.Severity), r.Code, r.Message, r.Remedy}, nil
}

func (c *command) verifyProjection(ctx context.Context) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		checker, ok := backend.As[backend.Checker](s.Backend())
		if !ok {
			return missingAbility("check itself")
		}
		out := c.rows(wholeColumns("severity", "code", "message", "remedy"))
		here := c.place()
		bad := 0
		for f, err := range checker.Check(ctx) {
			if err != nil {
				return err
			}
			if f.Severity == onto.SeverityError {
				bad++
			}
			if err := out.add(findingRow{f.Code, f.Severity, f.Message, here.nameIn(f.Remedy)}); err != nil {
				return err
			}
		}
		if err := out.close("no findings: the projection is what history says"); err != nil || bad == 0 {
			return err
		}
		return onto.Errorf(checkFailed, "the check found %s", count(bad, "error", "errors"))
	})
}

func (c *command) rebuildProjection(ctx context.Context) error {
	return c.withStore(ctx, writing, func(s *store.Store) error {
		rebuilder, ok := backend.As[backend.Rebuilder](s.Backend())
		if !ok {
			return missingAbility("rebuild a projection: it has none")
		}
		progress, done := c.progress("rebuilding")
		n, err := rebuilder.RebuildProjection(ctx, progress)
		done()
		if err != nil {
			return err
		}
		if c.json {
			return c.document(map[string]int64{"identities": n})
		}
		return c.out.line("rebuilt %s", count(n, "identity", "identities"))
	})
}

// progress shows how far a long task is, on a terminal only, in a line that
// done takes away again.
func (c *command) progress(what string) (report func(now, total int64), done func()) {
	if !c.err.terminal {
		return nil, func() {}
	}
	const clear = "\r\x1b[K"
	show := func(text string) {
		_, _ = c.err.WriteString(clear + text)
		_ = c.err.Flush()
	}
	return func(now, total int64) { show(fmt.Sprintf("%s: %d of %d", what, now, total)) }, func() { show("") }
}
