package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

func (c *command) commitsCommand() *cobra.Command {
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
  onto commits examine --id 41`,
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last == 0 && cmd.Flags().Changed("last") {
				return onto.Errorf(onto.Invalid, "--last %d is too small", last).WithHint("leave it out to get everything")
			}
			return c.commits(cmd.Context(), last, since, meta)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&last, "last", 0, "only the newest `N`")
	flags.Int64Var(&since, "since", 0, "only commits after commit `ID`")
	flags.StringArrayVar(&meta, "meta", nil, "only commits with this metadata, as `K=V`; may be repeated")
	cmd.AddCommand(c.examineCommand())
	return cmd
}

func (c *command) commits(ctx context.Context, last int, since int64, pairs []string) error {
	if err := notNegative("since", since); err != nil {
		return err
	}
	meta, err := parseMeta(pairs)
	if err != nil {
		return err
	}
	query := store.CommitQuery{Since: since, Newest: true}
	if meta == nil {
		query.Limit = last
	}
	return c.withStore(ctx, reading, func(s *store.Store) error {
		if _, err := s.At(since).Commit(ctx); err != nil {
			return err
		}
		out := c.rows(append(wholeColumns("commit", "time"), columns("actor", "operations", "comment", "metadata")...))
		for commit, err := range s.Commits(ctx, query) {
			if err != nil {
				return err
			}
			if !hasMeta(commit, meta) {
				continue
			}
			if err := out.add(newCommitRow(commit)); err != nil {
				return err
			}
			if out.n == last {
				break
			}
		}
		return out.close("no commits")
	})
}

// hasMeta reports whether a commit has all these metadata. What is not text
// compares by its JSON.
func hasMeta(commit onto.Commit, meta map[string]any) bool {
	for k, want := range meta {
		v, ok := commit.Metadata[k]
		if !ok {
			return false
		}
		if v == want {
			continue
		}
		text, err := encode(v)
		if err != nil || string(text) != want {
			return false
		}
	}
	return true
}

// commitRow is a commit as a row of a list.
type commitRow struct {
	CommitID   int64          `json:"commit_id"`
	CreatedAt  string         `json:"created_at"`
	RuntimeID  *string        `json:"runtime_id"`
	Actor      *string        `json:"actor"`
	Comment    *string        `json:"comment"`
	Operations int            `json:"operations"`
	Metadata   map[string]any `json:"metadata"`

	commit onto.Commit
}

func newCommitRow(commit onto.Commit) commitRow {
	r := commitRow{
		CommitID: commit.ID, CreatedAt: codec.FormatTime(commit.Time), RuntimeID: orNull(commit.Runtime),
		Actor: orNull(commit.Actor.String()), Comment: orNull(commit.Comment),
		Operations: commit.Operations, Metadata: commit.Metadata, commit: commit,
	}
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	return r
}

func (r commitRow) cells() ([]string, error) {
	return []string{
		strconv.FormatInt(r.CommitID, 10), showTime(r.commit.Time), r.commit.Actor.String(),
		strconv.Itoa(r.Operations), r.commit.Comment, showMeta(r.commit.Metadata),
	}, nil
}

func showMeta(meta map[string]any) string {
	if len(meta) == 0 {
		return ""
	}
	text, err := encode(meta)
	if err != nil {
		return ""
	}
	return string(text)
}
