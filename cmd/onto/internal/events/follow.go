package events

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// followFlags is a follower of the log, as it was typed.
type followFlags struct {
	name, from string
	once       bool
}

// Follow is the verb commits follow: the log as it comes.
func Follow(c *session.Session) *cobra.Command {
	var f followFlags
	cmd := &cobra.Command{
		Use:   "follow --name NAME",
		Short: "Print commits as they come, from a named position on",
		Long: `Follow prints every commit, oldest first, and then waits for further ones until it
gets SIGINT or SIGTERM; with --once it ends at the commit that is the newest now. How
far it has come is saved under the name, after a commit was printed: the next follow of
this name goes on from there. A name that is new begins with the first commit, or after
the moment that --from names. After a crash, the last commits may be printed again.

With --json each commit is one line of JSON, since the list has no end.`,
		Example: `  onto commits follow --name mirror
  onto commits follow --name mirror --json | ./mirror
  onto commits follow --name nightly --from head --once`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return follow(cmd.Context(), c, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the `NAME` of the position")
	flags.StringVar(&f.from, "from", "", "where a new name begins: after a commit `ID`, head, a date or a time")
	flags.BoolVar(&f.once, "once", false, "end at the newest commit")
	_ = cmd.RegisterFlagCompletionFunc("name", completePositions(c)) // the flag exists
	return cmd
}

func follow(ctx context.Context, c *session.Session, f *followFlags) error {
	if f.name == "" {
		return onto.Errorf(onto.Invalid, "--name is missing").WithHint("name the position; list those that exist").WithCommand("commits", "positions")
	}
	opts := &store.FollowOptions{Once: f.once}
	var from onto.Point
	var err error
	if f.from != "" {
		if from, err = session.ParsePoint(f.from); err != nil {
			return err
		}
	}
	return c.WithStore(ctx, place.Writing, func(s *store.Store) error {
		if f.from != "" {
			begin, err := s.View(from).Commit(ctx)
			if err != nil {
				return err
			}
			opts.From = begin.ID
		}
		cfg, err := c.Configure()
		if err != nil {
			return err
		}
		opts.Poll = cfg.Duration("event_poll_interval_ms")
		err = session.Each(s.FollowWith(ctx, f.name, opts), func(commit onto.Commit) error { return printFollowed(c, commit) })
		if errors.Is(err, context.Canceled) {
			return nil // that is how it ends
		}
		return err
	})
}

// printFollowed prints a commit at once, so that it is out before it counts as done with.
func printFollowed(c *session.Session, commit onto.Commit) error {
	if c.JSON {
		text, err := document.Encode(document.NewCommit(commit))
		if err != nil {
			return err
		}
		if err := c.Out.Data(append(text, '\n')); err != nil {
			return err
		}
		return c.Out.Flush()
	}
	actor := commit.Actor.String()
	if actor == "" {
		actor = "-"
	}
	err := c.Out.Line("%d  %s  %s  %s  %s", commit.ID, terminal.Time(commit.Time), terminal.Escape(actor),
		terminal.Count(commit.Operations, "operation", "operations"), terminal.Escape(commit.Comment))
	if err != nil {
		return err
	}
	return c.Out.Flush()
}

// Positions is the verb commits positions: how far followers have come.
func Positions(c *session.Session) *cobra.Command {
	var remove string
	cmd := &cobra.Command{
		Use:   "positions",
		Short: "List how far the followers of the log have come",
		Long: `List the positions of the followers of the log: the last commit that each is done
with. With --remove one is forgotten: the next follower of that name begins anew.`,
		Example: `  onto commits positions
  onto commits positions --remove mirror`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if cmd.Flags().Changed("remove") {
				return c.WithStore(ctx, place.Writing, func(s *store.Store) error { return s.RemovePosition(ctx, remove) })
			}
			return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
				all, err := s.Positions(ctx)
				if err != nil {
					return err
				}
				list := terminal.Rows(c.Printer, terminal.WholeColumns("name", "commit"), document.NewPosition, func(p onto.Position) ([]string, error) {
					return []string{p.Name, strconv.FormatInt(p.Commit, 10)}, nil
				})
				for _, p := range all {
					if err := list.Add(p); err != nil {
						return err
					}
				}
				return list.Close("no positions")
			})
		},
	}
	cmd.Flags().StringVar(&remove, "remove", "", "forget the position `NAME`")
	_ = cmd.RegisterFlagCompletionFunc("remove", completePositions(c)) // the flag exists
	return cmd
}

func completePositions(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		err := c.WithStore(cmd.Context(), place.Reading, func(s *store.Store) error {
			all, err := s.Positions(cmd.Context())
			for _, p := range all {
				names = append(names, p.Name)
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
