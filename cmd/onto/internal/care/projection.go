package care

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/upkeep"
)

// Projection is the verb projection: what a SQLite store derives from history.
func Projection(c *session.Session) *cobra.Command {
	return session.Group("projection", "Check or rebuild what a SQLite store derives from history", `  onto projection verify
  onto projection rebuild`,
		verifyCommand(c), &cobra.Command{
			Use:     "rebuild",
			Short:   "Make the projection anew from history",
			Long:    "Make the projection anew from history and keep its checksum. No commit is made, and\nhistory does not change. SQLite only.",
			Example: `  onto projection rebuild --db crm.db`,
			Args:    session.ArgCount(0),
			RunE:    func(cmd *cobra.Command, _ []string) error { return rebuildProjection(cmd.Context(), c) },
		})
}

func verifyCommand(c *session.Session) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the projection with history",
		Long: `Check the storage and compare the projection, from which the present is read,
with the history it is derived from, and both with the checksum that the last
rebuild has kept. Many findings of one kind about one type are shown as one. Exit
status 3 if a finding is an error. SQLite only.`,
		Example: `  onto projection verify
  onto projection verify --all --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return verifyProjection(cmd.Context(), c, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, allUsage)
	return cmd
}

// keptSum is the checksum that the last rebuild has kept.
type keptSum struct {
	SHA256   string
	CommitID int64
	Compared string // with what: history, or history and projection
}

// checksum is what is kept, and what a check compares it with; nil for nothing.
func checksum(ctx context.Context, s *store.Store) (*keptSum, error) {
	k, ok := backend.As[backend.Checksummer](s.Backend())
	if !ok {
		return nil, nil
	}
	sum, commit, err := k.Checksum(ctx)
	if err != nil || sum == "" {
		return nil, err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	doc := &keptSum{sum, commit, "history"}
	if head.ID == commit {
		doc.Compared = "history and projection"
	}
	return doc, nil
}

func verifyProjection(ctx context.Context, c *session.Session, all bool) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		checker, ok := backend.As[backend.Checker](s.Backend())
		if _, projects := backend.As[backend.Rebuilder](s.Backend()); !ok || !projects {
			return c.Unsupported("projection verify", "has no projection", "check what is stored", "doctor")
		}
		kept, err := checksum(ctx, s)
		if err != nil {
			return err
		}
		bad, err := listFindings(c, checker.Check(ctx), all, "no findings: the projection is what history says")
		if err != nil {
			return err
		}
		if !c.JSON {
			sayChecksum(c, kept)
		}
		if bad == 0 {
			return nil
		}
		return onto.Errorf(document.CheckFailed, "the check found %s", terminal.Count(bad, "error", "errors"))
	})
}

// listFindings prints a table of findings, and returns how many are errors.
func listFindings(c *session.Session, check iter.Seq2[onto.Finding, error], all bool, none string) (bad int, err error) {
	var groups upkeep.Groups
	each, grouped := findingRows(c), groupRows(c)
	err = session.Each(check, func(f onto.Finding) error {
		if f.Severity == onto.SeverityError {
			bad++
		}
		if all {
			return each.Add(upkeep.Explain(f))
		}
		groups.Add(upkeep.Explain(f))
		return nil
	})
	if err != nil {
		return bad, err
	}
	if all {
		return bad, each.Close(none)
	}
	for _, g := range groups.List() {
		if err := grouped.Add(g); err != nil {
			return bad, err
		}
	}
	return bad, grouped.Close(none)
}

// sayChecksum tells what the check compared with, besides history.
func sayChecksum(c *session.Session, kept *keptSum) {
	if kept == nil {
		c.SayNext("no checksum is kept to compare with; keep one", "projection", "rebuild")
		return
	}
	c.Say("checksum %s of commit %d, compared with %s", kept.SHA256, kept.CommitID, kept.Compared)
}

func rebuildProjection(ctx context.Context, c *session.Session) error {
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		rebuilder, ok := backend.As[backend.Rebuilder](s.Backend())
		if !ok {
			return c.Unsupported("projection rebuild", "has no projection", "check what is stored", "doctor")
		}
		progress, done := c.Progress("rebuilding")
		n, err := rebuilder.RebuildProjection(ctx, progress)
		done()
		if err != nil {
			return err
		}
		kept, err := checksum(ctx, s)
		if err != nil {
			return err
		}
		if c.JSON {
			doc := document.Rebuilt{Identities: n}
			if kept != nil {
				doc.Checksum, doc.CommitID = &kept.SHA256, &kept.CommitID
			}
			return c.Document(doc)
		}
		if err := c.Out.Line("rebuilt %s", terminal.Count(n, "identity", "identities")); err != nil || kept == nil {
			return err
		}
		return c.Out.Line("checksum %s of commit %d", kept.SHA256, kept.CommitID)
	})
}
