package ask

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Log is the verb log: every version of one thing.
func Log(c *session.Session) *cobra.Command {
	var where string
	var asStored bool
	cmd := session.OnThing(c, &cobra.Command{
		Use:   "log",
		Short: "Show every version of one thing",
		Long: `Show every version of one entity, relation or fact, oldest first, deletes included:
when, by whom, why and what. A version that replaces another shows what changed, as
home.city: "Oslo" → "Bergen"; the first one, and the first after a delete, show all
fields. With --where, only the versions for which the filter is true, each with all its
fields. How filters are written: onto query --help

Of a tenant, named with --vaults, the shard is asked that the key leads to.

The first version of a fact is its assertion. A later one, with revoked among its
fields, says that it has ended; a delete that it was wrong.`,
		Example: `  onto log Customer c1
  onto log Customer c1 --where '$.tier == "Gold"'
  onto log Subscription c1 p1 --json
  onto log Employment ada acme --instance 2026
  onto log Contract ada salary f1
  onto log Contract/ada/salary/f1 --json
  onto log Message lobby/m1 --vaults vaults.yaml --tenant acme`,
	}, func(cmd *cobra.Command, t session.Thing) error { return showLog(cmd.Context(), c, t, where, asStored) })
	cmd.Flags().StringVar(&where, "where", "", "only versions for which this `FILTER` is true")
	cmd.Flags().BoolVar(&asStored, "as-stored", false, session.AsStoredUsage)
	c.RegisterVaults(cmd.Flags())
	return cmd
}

func showLog(ctx context.Context, c *session.Session, t session.Thing, where string, asStored bool) error {
	var filters []onto.Filter
	if where != "" {
		f, err := parseWhere(where)
		if err != nil {
			return err
		}
		filters = []onto.Filter{f}
	}
	return c.WithStoreOf(ctx, t, func(s *store.Store) error {
		id, err := t.Identity(s)
		if err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, append(terminal.WholeColumns("commit", "time"), terminal.Columns("op", "actor", "comment", "fields")...), document.NewEntry, entryCells(where == ""))
		for e, err := range viewOf(s, onto.Point{}, asStored).History(ctx, id, filters...) {
			if err == nil {
				err = out.Add(e)
			}
			if err != nil {
				return err
			}
		}
		return out.Close("no versions")
	})
}

// entryCells returns what makes a row of each version. If versions follow each other, that is
// what changed.
func entryCells(follow bool) func(store.Entry) ([]string, error) {
	var last *onto.Version
	return func(e store.Entry) ([]string, error) {
		fields, err := entryFields(last, &e.Version)
		if follow {
			last = &e.Version
		}
		return slices.Concat(when(e.Commit), []string{string(e.Version.Op)}, who(e.Commit), []string{fields}), err
	}
}

// entryFields is what a version has, or what it changed in the one before it.
func entryFields(before, v *onto.Version) (string, error) {
	switch {
	case !v.Live():
		return "", nil
	case before == nil || !before.Live():
		return string(v.Fields), nil
	}
	changes, err := onto.Change{Identity: v.Identity, Before: before, After: v}.Fields()
	if err != nil {
		return "", onto.Errorf(onto.Corrupt, "%s: %w", v.Identity, err)
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; "), nil
}
