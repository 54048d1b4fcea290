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
	return c.onThing(&cobra.Command{
		Use:   "log",
		Short: "Show every version of one thing",
		Long:  "Show every version of one entity or relation, oldest first, deletes included: when, by whom, why and what.",
		Example: `  onto log Customer c1
  onto log Subscription c1 p1 --json
  onto log Employment ada acme --instance 2026`,
	}, func(cmd *cobra.Command, t thing) error { return c.log(cmd.Context(), t) })
}

func (c *command) log(ctx context.Context, t thing) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		id, err := t.identity(s)
		if err != nil {
			return err
		}
		out := c.rows(append(wholeColumns("commit", "time"), columns("op", "actor", "comment", "fields")...))
		if err := each(s.History(ctx, id), func(e store.Entry) error { return out.add(newLogRow(e)) }); err != nil {
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
