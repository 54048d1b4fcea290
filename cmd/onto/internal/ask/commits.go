package ask

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Commits is the verb commits: a list of commits, one of them in full, and further verbs
// about the log.
func Commits(c *session.Session, more ...*cobra.Command) *cobra.Command {
	var last int
	var since int64
	var meta []string
	cmd := &cobra.Command{
		Use:   "commits",
		Short: "List commits, newest first",
		Long: `List commits, newest first: when, on whose behalf, why, and how many versions
each holds. With --meta, only those that have all the given metadata.`,
		Example: `  onto commits --last 10
  onto commits --since 40 --meta source=import --json
  onto commits examine --id 41
  onto commits follow --name mirror`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last == 0 && cmd.Flags().Changed("last") {
				return onto.Errorf(onto.Invalid, "--last %d is too small", last).WithHint("leave it out to get everything")
			}
			return listCommits(cmd.Context(), c, last, since, meta)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&last, "last", 0, "only the newest `N`")
	flags.Int64Var(&since, "since", 0, "only commits after commit `ID`")
	flags.StringArrayVar(&meta, "meta", nil, "only commits with this metadata, as `K=V`; may be repeated")
	cmd.AddCommand(examineCommand(c))
	cmd.AddCommand(more...)
	return cmd
}

func listCommits(ctx context.Context, c *session.Session, last int, since int64, pairs []string) error {
	if err := session.NotNegative("since", since); err != nil {
		return err
	}
	meta, err := session.ParseMeta(pairs)
	if err != nil {
		return err
	}
	query := store.CommitOptions{Since: since, Newest: true}
	if meta == nil {
		query.Limit = last
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		if _, err := s.At(since).Commit(ctx); err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, append(terminal.WholeColumns("commit", "time"), terminal.Columns("actor", "operations", "comment", "metadata")...), document.NewCommit, commitCells)
		for commit, err := range s.Commits(ctx, query) {
			if err != nil {
				return err
			}
			if !hasMeta(commit, meta) {
				continue
			}
			if err := out.Add(commit); err != nil {
				return err
			}
			if out.N == last {
				break
			}
		}
		return out.Close("no commits")
	})
}

// hasMeta reports whether a commit has all these metadata. Values other than text
// compare by their JSON.
func hasMeta(commit onto.Commit, meta map[string]any) bool {
	for k, want := range meta {
		v, ok := commit.Metadata[k]
		if !ok {
			return false
		}
		if v == want {
			continue
		}
		text, err := document.Encode(v)
		if err != nil || string(text) != want {
			return false
		}
	}
	return true
}

func commitCells(commit onto.Commit) ([]string, error) {
	return []string{
		strconv.FormatInt(commit.ID, 10), terminal.Time(commit.Time), commit.Actor.String(),
		strconv.Itoa(commit.Operations), commit.Comment, showMeta(commit.Metadata),
	}, nil
}

func showMeta(meta map[string]any) string {
	if len(meta) == 0 {
		return ""
	}
	text, err := document.Encode(meta)
	if err != nil {
		return ""
	}
	return string(text)
}
