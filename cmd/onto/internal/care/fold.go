package care

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Fold is the verb fold: states that follow from facts.
func Fold(c *session.Session) *cobra.Command {
	cmd := session.Group("fold", "Show, verify or rebuild the states that follow from facts", `  onto fold list
  onto fold verify
  onto fold rebuild balance`,
		foldListCommand(c), foldVerifyCommand(c), foldRebuildCommand(c))
	cmd.Long = `A fold makes a state of the facts about each subject: an entity that is kept in the
commit of the facts, and that nothing else writes. Folds that are programs are kept in
the store, see folds: in a schema file, and onto carries them out. Those of Go programs it
only shows; facts that it writes are folded by the next program that can.`
	return cmd
}

func foldListCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the folds of a store, and how far they have come",
		Long: `List the folds of a store: what they make of which facts, and whether every state is up
to date. A fold is behind since a commit if later facts are not folded yet; lag is how many
commits there are since. Here says whether onto can carry it out.`,
		Example: `  onto fold list
  onto fold list --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listFolds(cmd.Context(), c) },
	}
}

func listFolds(ctx context.Context, c *session.Session) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		list, err := s.Folds(ctx)
		if err != nil {
			return err
		}
		columns := append(terminal.WholeColumns("fold", "facts", "state", "version", "behind", "lag", "rebuilt"), terminal.Columns("here")...)
		out := terminal.Rows(c.Printer, columns, document.NewFold, foldCells)
		for _, f := range list {
			if err := out.Add(f); err != nil {
				return err
			}
		}
		return out.Close("no folds")
	})
}

func foldCells(f store.FoldStatus) ([]string, error) {
	behind, lag, rebuilt, here := "", "", "", "yes"
	if f.Behind != 0 {
		behind, lag = strconv.FormatInt(f.Behind, 10), strconv.FormatInt(f.Lag, 10)
	}
	if f.Rebuilding {
		rebuilt = strconv.FormatInt(f.Rebuilt, 10) + " so far"
	}
	if f.Unable != "" {
		here = "no: " + f.Unable
	}
	return []string{f.Name, f.Facts, f.State, strconv.Itoa(f.Version), behind, lag, rebuilt, here}, nil
}

func foldVerifyCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME...]",
		Short: "Compare states with what a replay of the facts makes",
		Long: `Replay the facts about every subject and compare what comes out with the states, row by
row: of all folds that onto can carry out, or of those that are named. A fold that is
behind is brought up to date first. Exit status 3 if a state differs.`,
		Example: `  onto fold verify
  onto fold verify balance --json`,
		Args:              session.ArgsFrom(0),
		ValidArgsFunction: completeFolds(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return verifyFolds(cmd.Context(), c, args) },
	}
}

// completeFolds completes the names of folds.
func completeFolds(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		err := c.WithStore(cmd.Context(), place.Reading, func(s *store.Store) error {
			list, err := s.Folds(cmd.Context())
			for _, f := range list {
				names = append(names, f.Name)
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// verifyFolds opens the store to be written only if a fold must be brought up to date.
func verifyFolds(ctx context.Context, c *session.Session, names []string) error {
	behind := false
	err := c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		list, err := chosenFolds(ctx, s, names)
		if err != nil {
			return err
		}
		behind = slices.ContainsFunc(list, func(f store.FoldStatus) bool { return !f.UpToDate() && f.Unable == "" })
		if behind {
			return nil
		}
		return verifyEach(ctx, c, s, list)
	})
	if err != nil || !behind {
		return err
	}
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		list, err := chosenFolds(ctx, s, names)
		if err != nil {
			return err
		}
		return verifyEach(ctx, c, s, list)
	})
}

// chosenFolds is the folds with these names; all if there are none.
func chosenFolds(ctx context.Context, s *store.Store, names []string) ([]store.FoldStatus, error) {
	all, err := s.Folds(ctx)
	if err != nil || len(names) == 0 {
		return all, err
	}
	var list []store.FoldStatus
	for _, name := range names {
		i := slices.IndexFunc(all, func(f store.FoldStatus) bool { return f.Name == name })
		if i < 0 {
			return nil, noFold(name, all)
		}
		if why := all[i].Unable; why != "" {
			return nil, onto.Errorf(onto.UnsupportedOperation, "fold %s cannot be verified here: %s", name, why).WithHint("verify it in a program that has it")
		}
		list = append(list, all[i])
	}
	return list, nil
}

func noFold(name string, all []store.FoldStatus) error {
	err := onto.Errorf(onto.NotFound, "there is no fold %.80q", name)
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	if near := suggest.Name(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("see the folds").WithCommand("fold", "list")
}

// verifyEach verifies folds one after the other.
func verifyEach(ctx context.Context, c *session.Session, s *store.Store, list []store.FoldStatus) error {
	columns := append(terminal.WholeColumns("fold", "version", "status"), terminal.Columns("message")...)
	out := terminal.Rows(c.Printer, columns, terminal.Itself, verifiedCells)
	var different []string
	for _, f := range list {
		row := document.Verified{Name: f.Name, Version: f.Version, Status: "same"}
		if f.Unable != "" {
			row.Status, row.Message = "not verified", document.OrNull(f.Unable)
		} else if err := s.VerifyFolds(ctx, f.Name); onto.CodeOf(err) == onto.Corrupt {
			row.Status, row.Message = "different", document.OrNull(document.Message(err))
			different = append(different, f.Name)
		} else if err != nil {
			return err
		}
		if err := out.Add(row); err != nil {
			return err
		}
	}
	if err := out.Close("no folds"); err != nil || len(different) == 0 {
		return err
	}
	return onto.Errorf(document.CheckFailed, "%s not what a replay makes", terminal.Count(len(different), "fold has states that are", "folds have states that are")).
		WithHint("make them anew").WithCommand("fold", "rebuild", different[0])
}

func verifiedCells(v document.Verified) ([]string, error) {
	message := ""
	if v.Message != nil {
		message = *v.Message
	}
	return []string{v.Name, strconv.Itoa(v.Version), v.Status, message}, nil
}

func foldRebuildCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild NAME",
		Short: "Make the states of a fold anew, from all its facts",
		Long: `Replay the facts about every subject and write the states that differ, in commits that
followers and handlers do not see. What was done stays done: if it is interrupted, the
next program that has the fold goes on.`,
		Example: `  onto fold rebuild balance
  onto fold rebuild balance --json`,
		Args:              session.ArgCount(1),
		ValidArgsFunction: completeFolds(c),
		RunE:              func(cmd *cobra.Command, args []string) error { return rebuildFold(cmd.Context(), c, args[0]) },
	}
}

func rebuildFold(ctx context.Context, c *session.Session, name string) error {
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		all, err := s.Folds(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(f store.FoldStatus) bool { return f.Name == name })
		if i < 0 {
			return noFold(name, all)
		}
		show, done := c.Progress("rebuilding " + name)
		err = s.RebuildFold(ctx, name, show)
		done()
		if err != nil {
			return err
		}
		states, err := s.Now().FindKind(onto.KindEntity, all[i].State).Count(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Document(document.Refolded{Name: name, States: states})
		}
		return c.Out.Line("rebuilt %s: it has %s", name, terminal.Count(states, "state", "states"))
	})
}
