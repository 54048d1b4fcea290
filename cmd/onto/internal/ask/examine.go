package ask

import (
	"context"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

func examineCommand(c *session.Session) *cobra.Command {
	var id int64
	cmd := &cobra.Command{
		Use:   "examine --id ID",
		Short: "Show one commit and what it changed",
		Long: `Show everything that is known about one commit, each change it made, and the
events that ride in it. A commit keeps the number of its events: those that a cleanup
has removed, or that stayed behind when the store was copied, are counted.`,
		Example: `  onto commits examine --id 41
  onto commits examine --id 41 --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("id") {
				return onto.Errorf(onto.Invalid, "--id is missing").WithHint("list the commits").WithCommand("commits")
			}
			return examine(cmd.Context(), c, id)
		},
	}
	cmd.Flags().Int64Var(&id, "id", 0, "the commit with this `ID`")
	return cmd
}

func examine(ctx context.Context, c *session.Session, id int64) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		if id < 1 {
			return onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", id)
		}
		commit, err := s.At(id).Commit(ctx)
		if err != nil {
			return err
		}
		changes := s.Changes(ctx, id)
		if !c.JSON {
			if err := printCommit(c, commit); err != nil {
				return err
			}
			if err := printChanges(c, changes); err != nil {
				return err
			}
			return printEvents(ctx, c, s, &commit)
		}
		doc := document.NewExamined(commit)
		for change, err := range changes {
			if err != nil {
				return err
			}
			doc.Changes = append(doc.Changes, document.NewChange(change))
		}
		for e, err := range eventsOf(ctx, s, id) {
			if err != nil {
				return err
			}
			doc.AddEvent(e)
		}
		return c.Document(doc)
	})
}

// eventsOf yields the events that ride in a commit. A backend that keeps no events has
// none.
func eventsOf(ctx context.Context, s *store.Store, commit int64) iter.Seq2[backend.EventState, error] {
	b, ok := backend.As[backend.Bus](s.Backend())
	if !ok {
		return func(func(backend.EventState, error) bool) {}
	}
	return b.Events(ctx, &backend.EventQuery{Commit: commit})
}

// printEvents prints the events that ride in a commit, and says how many others were
// emitted with it.
func printEvents(ctx context.Context, c *session.Session, s *store.Store, commit *onto.Commit) error {
	list := terminal.Events(c.Printer)
	if err := session.Each(eventsOf(ctx, s, commit.ID), list.Add); err != nil {
		return err
	}
	if list.N > 0 {
		if err := list.Close(""); err != nil {
			return err
		}
	}
	if gone := commit.Events - list.N; gone > 0 {
		c.Say("%s emitted with this commit that %s not here: a cleanup removes events, and a copy leaves them behind",
			terminal.Count(gone, "event was", "events were"), map[bool]string{true: "is", false: "are"}[gone == 1])
	}
	return nil
}

// printCommit prints a commit, without empty parts.
func printCommit(c *session.Session, commit onto.Commit) error {
	causation := ""
	if commit.Causation != 0 {
		causation = strconv.FormatInt(commit.Causation, 10)
	}
	events := ""
	if commit.Events != 0 {
		events = strconv.Itoa(commit.Events)
	}
	return c.Pairs([][2]string{
		{"commit", strconv.FormatInt(commit.ID, 10)},
		{"time", terminal.Time(commit.Time)},
		{"actor", commit.Actor.String()},
		{"comment", commit.Comment},
		{"runtime", commit.Runtime},
		{"causation", causation},
		{"correlation", commit.Correlation},
		{"signature", commit.Signature},
		{"idempotency", commit.IdempotencyKey},
		{"metadata", showMeta(commit.Metadata)},
		{"operations", strconv.Itoa(commit.Operations)},
		{"events", events},
	})
}
