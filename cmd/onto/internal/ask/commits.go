package ask

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// commitsFlags is what a list of commits asks for, as it was typed.
type commitsFlags struct {
	last                    int
	since                   int64
	meta                    []string
	correlation, actor, typ string
	types                   bool
}

// Commits is the verb commits: a list of commits, one of them in full, and further verbs
// about the log.
func Commits(c *session.Session, more ...*cobra.Command) *cobra.Command {
	var f commitsFlags
	cmd := &cobra.Command{
		Use:   "commits",
		Short: "List commits, newest first",
		Long: `List commits, newest first: when, on whose behalf, why, how many versions each holds,
and the correlation id that it shares with others. With --types, also the types of what
each has changed.

With --meta, only those that have all the given metadata. With --correlation, --actor and
--type, only those with that correlation id, on that behalf, and with a change of that
type. --last counts what is left then; --limit is the same.`,
		Example: `  onto commits --last 10 --types
  onto commits --since 40 --meta source=import --json
  onto commits --correlation import-7
  onto commits --actor daemon:crm --type Customer --last 5
  onto commits examine --id 41
  onto commits follow --name mirror`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.last < 0 || f.last == 0 && (cmd.Flags().Changed("last") || cmd.Flags().Changed("limit")) {
				return onto.Errorf(onto.Invalid, "--last %d is too small", f.last).WithHint("leave it out to get everything")
			}
			return listCommits(cmd.Context(), c, &f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.last, "last", 0, "only the newest `N`")
	flags.IntVar(&f.last, "limit", 0, "only the newest `N`, as --last")
	flags.Int64Var(&f.since, "since", 0, "only commits after commit `ID`")
	flags.StringArrayVar(&f.meta, "meta", nil, "only commits with this metadata, as `K=V`; may be repeated")
	flags.StringVar(&f.correlation, "correlation", "", "only commits with this correlation `ID`")
	flags.StringVar(&f.actor, "actor", "", "only commits on this behalf, as `KIND:ID` with operator, component, daemon or remote")
	flags.StringVar(&f.typ, "type", "", "only commits that have changed something of this `TYPE`")
	flags.BoolVar(&f.types, "types", false, "show the types of what each has changed")
	_ = cmd.RegisterFlagCompletionFunc("type", session.CompleteType(c)) // the flag exists
	cmd.AddCommand(examineCommand(c))
	cmd.AddCommand(more...)
	return cmd
}

// options reads the flags.
func (f *commitsFlags) options() (store.CommitOptions, error) {
	q := store.CommitOptions{Since: f.since, Newest: true, Limit: f.last, Type: f.typ}
	if err := session.NotNegative("since", f.since); err != nil {
		return q, err
	}
	meta, err := session.ParseMeta(f.meta)
	if err != nil {
		return q, err
	}
	var actor onto.Actor
	if f.actor != "" {
		if actor, err = onto.ParseActor(f.actor); err != nil {
			return q, err
		}
	}
	if meta != nil || f.actor != "" || f.correlation != "" {
		q.Match = func(commit onto.Commit) bool {
			return (f.correlation == "" || commit.Correlation == f.correlation) && (f.actor == "" || commit.Actor == actor) && hasMeta(commit, meta)
		}
	}
	return q, nil
}

// listed is a commit in the list.
type listed struct {
	onto.Commit
	types []string
}

func listCommits(ctx context.Context, c *session.Session, f *commitsFlags) error {
	q, err := f.options()
	if err != nil {
		return err
	}
	columns := append(terminal.WholeColumns("commit", "time"), terminal.Columns("actor", "operations", "correlation", "comment", "metadata")...)
	if f.types {
		columns = append(columns, terminal.Columns("types")...)
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		if _, err := s.At(f.since).Commit(ctx); err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, columns, listed.document, func(l listed) ([]string, error) { return l.cells(f.types), nil })
		err := session.Each(s.Commits(ctx, q), func(commit onto.Commit) error {
			row := listed{Commit: commit}
			if f.types {
				types, err := s.TypesOf(ctx, commit.ID)
				if err != nil {
					return err
				}
				for _, t := range types {
					row.types = append(row.types, t.Name)
				}
			}
			return out.Add(row)
		})
		if err != nil {
			return err
		}
		if out.N == 0 && f.correlation != "" {
			return f.noCorrelation(ctx, c, s, out)
		}
		return out.Close("no commits")
	})
}

// noCorrelation ends an empty list, and says whether another commit has the correlation id
// that was asked for.
func (f *commitsFlags) noCorrelation(ctx context.Context, c *session.Session, s *store.Store, out *terminal.List[listed]) error {
	near, err := s.SimilarCorrelation(ctx, f.correlation)
	if err != nil {
		return err
	}
	if near == f.correlation {
		return out.Close("no commits: those with the correlation id " + strconv.Quote(near) + " are left out by the other flags")
	}
	if err := out.Close("no commit has the correlation id " + strconv.Quote(f.correlation)); err != nil || c.JSON {
		return err
	}
	if near != "" {
		c.SayNext("hint: did you mean "+near+"? See its commits", "commits", "--correlation", near)
		return nil
	}
	c.SayNext("hint: the list of commits shows their correlation ids", "commits")
	return nil
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

func (l listed) document() document.Commit {
	doc := document.NewCommit(l.Commit)
	doc.Types = l.types
	return doc
}

func (l listed) cells(types bool) []string {
	cells := []string{
		strconv.FormatInt(l.ID, 10), terminal.Time(l.Time), l.Actor.String(),
		strconv.Itoa(l.Operations), l.Correlation, l.Comment, showMeta(l.Metadata),
	}
	if types {
		cells = append(cells, strings.Join(l.types, " "))
	}
	return cells
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
