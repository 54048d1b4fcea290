package work

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// Work is the verbs of the work queue.
func Work(c *session.Session) *cobra.Command {
	cmd := session.Group("work", "Fetch resources into a store, from a queue that can be stopped anywhere", `  onto work add https://example.org/ --source docs
  onto work run --into Page --follow links --rate docs=5/s
  onto work stats --by source
  onto work retry --source docs --apply`,
		seedCommand(c), addCommand(c), runCommand(c), statsCommand(c), listCommand(c), inspectCommand(c), treeCommand(c),
		retryCommand(c), skipCommand(c), recrawlCommand(c), runsCommand(c), cleanupCommand(c), importCommand(c), exportCommand(c))
	cmd.Long = `The work queue is a list of resources to be fetched, in a SQLite file that many
processes share. Each resource is an item of it once. Items of lower priority numbers
are fetched first, then those that came first; each attempt is kept, with how it ended.

The queue is in the file that --db or ONTO_DB names. In the configuration, state.db_path
can name another file than that of the store, for these verbs only. DB_BACKEND and
state.type can only be sqlite. A file that is not there yet is made by the verbs that add
items to it: add, seed, import --apply, and run, which needs a store with types only
for --into. All other verbs need it to be there.`
	return cmd
}

// with opens the work queue, and runs f.
func with(c *session.Session, cmd *cobra.Command, how place.Access, f func(ctx context.Context, q *work.Queue) error) error {
	return c.WithQueue(cmd.Context(), how, opened(cmd, f))
}

// opened runs f with the queue of a store.
func opened(cmd *cobra.Command, f func(ctx context.Context, q *work.Queue) error) func(*store.Store) error {
	return func(s *store.Store) error {
		q, err := work.Open(s)
		if err != nil {
			return err
		}
		return f(cmd.Context(), q)
	}
}

// selection is items, as they were typed.
type selection struct {
	items                     []string
	statuses                  []string
	system, source, typ       string
	run, errorText            string
	limit                     int
	withStatus, limited, byID bool // flags that the verb has
}

func (s *selection) register(c *session.Session, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.source, "source", "", "only items of the source `NAME`")
	flags.StringVar(&s.system, "system", "", "only items of sources of this `KIND`, such as http")
	flags.StringVar(&s.typ, "type", "", "only resources of this `TYPE`")
	flags.StringVar(&s.run, "run-id", "", "only items of the run `ID`")
	flags.StringVar(&s.errorText, "error", "", "only items whose error contains this `TEXT`")
	if s.byID {
		flags.StringArrayVar(&s.items, "item", nil, "only the item with this `ID`; may be repeated")
	}
	if s.withStatus {
		flags.StringArrayVar(&s.statuses, "status", nil, "only those of this `STATUS`: pending, in_progress, completed, failed or skipped; may be repeated")
		_ = cmd.RegisterFlagCompletionFunc("status", completeStatus) // the flag exists
	}
	if s.limited {
		flags.IntVar(&s.limit, "limit", 0, "at most `N`")
	}
	complete(c, cmd, "source", func(n backend.WorkCount) string { return n.Source })
	complete(c, cmd, "system", func(n backend.WorkCount) string { return n.System })
	complete(c, cmd, "run-id", func(n backend.WorkCount) string { return n.Run })
}

// query is the backend's form of the selection.
func (s *selection) query(cmd *cobra.Command) (*backend.WorkQuery, error) {
	q := &backend.WorkQuery{IDs: s.items, System: s.system, Source: s.source, Type: s.typ, Run: s.run, Error: s.errorText, Limit: s.limit}
	if s.limit < 0 || s.limit == 0 && cmd.Flags().Changed("limit") {
		return nil, onto.Errorf(onto.Invalid, "--limit %d is too small", s.limit).WithHint("leave it out to get everything")
	}
	for _, text := range s.statuses {
		status := onto.WorkStatus(text)
		if !slices.Contains(onto.WorkStatuses(), status) {
			err := onto.Errorf(onto.Invalid, "status %.80q is unknown", text)
			if near := suggest.Name(text, statusNames()); near != "" {
				return nil, err.WithHint("did you mean %s?", near)
			}
			return nil, err.WithHint("use pending, in_progress, completed, failed or skipped")
		}
		q.Status = append(q.Status, status)
	}
	return q, nil
}

// words is the flags that make the selection, as they can be given again.
func words(cmd *cobra.Command, names ...string) []string {
	var list []string
	for _, name := range names {
		flag := cmd.Flag(name)
		if flag == nil || !flag.Changed {
			continue
		}
		if many, ok := flag.Value.(interface{ GetSlice() []string }); ok {
			for _, value := range many.GetSlice() {
				list = append(list, "--"+name, value)
			}
		} else if flag.Value.Type() == "bool" {
			list = append(list, "--"+name)
		} else {
			list = append(list, "--"+name, flag.Value.String())
		}
	}
	return list
}

func statusNames() []string {
	var names []string
	for _, s := range onto.WorkStatuses() {
		names = append(names, string(s))
	}
	return names
}

func completeStatus(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return statusNames(), cobra.ShellCompDirectiveNoFileComp
}

// complete completes the values of a flag with names that items of the queue have.
func complete(c *session.Session, cmd *cobra.Command, flag string, name func(backend.WorkCount) string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var list []string
		err := with(c, cmd, place.Reading, func(ctx context.Context, q *work.Queue) error {
			counts, err := q.Stats(ctx, nil)
			for _, n := range counts {
				if name(n) != "" {
					list = append(list, name(n))
				}
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		slices.Sort(list)
		return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
	}) // the flag exists
}
