package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func (c *command) logCommand() *cobra.Command {
	var where string
	var asStored bool
	cmd := c.onThing(&cobra.Command{
		Use:   "log",
		Short: "Show every version of one thing",
		Long: `Show every version of one entity or relation, oldest first, deletes included:
when, by whom, why and what. With --where, only the versions for which the
filter is true. How filters are written: onto query --help`,
		Example: `  onto log Customer c1
  onto log Customer c1 --where '$.tier == "Gold"'
  onto log Subscription c1 p1 --json
  onto log Employment ada acme --instance 2026`,
	}, func(cmd *cobra.Command, t thing) error { return c.log(cmd.Context(), t, where, asStored) })
	cmd.Flags().StringVar(&where, "where", "", "only versions for which this `FILTER` is true")
	cmd.Flags().BoolVar(&asStored, "as-stored", false, asStoredUsage)
	return cmd
}

func (c *command) log(ctx context.Context, t thing, where string, asStored bool) error {
	var filters []onto.Filter
	if where != "" {
		f, err := parseWhere(where)
		if err != nil {
			return err
		}
		filters = []onto.Filter{f}
	}
	return c.withStore(ctx, reading, func(s *store.Store) error {
		id, err := t.identity(s)
		if err != nil {
			return err
		}
		out := c.rows(append(wholeColumns("commit", "time"), columns("op", "actor", "comment", "fields")...))
		if err := each(viewOf(s, onto.Point{}, asStored).History(ctx, id, filters...), func(e store.Entry) error { return out.add(newLogRow(e)) }); err != nil {
			return err
		}
		return out.close("no versions")
	})
}

// logRow is a version with its commit.
type logRow struct {
	Type string `json:"type"`
	keys
	Op onto.Op `json:"op"`
	origin
	Fields json.RawMessage `json:"fields"`
}

func newLogRow(e store.Entry) logRow {
	return logRow{e.Version.Type, keysOf(e.Version.Identity), e.Version.Op, newOrigin(e.Commit), e.Version.Fields}
}

func (r logRow) cells() ([]string, error) {
	fields := string(r.Fields)
	if r.Op == onto.Delete {
		fields = ""
	}
	return slices.Concat(r.when(), []string{string(r.Op)}, r.who(), []string{fields}), nil
}
