package main

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

func (c *command) logCommand() *cobra.Command {
	var instance string
	cmd := &cobra.Command{
		Use:   "log TYPE KEY | TYPE LEFT RIGHT",
		Short: "Show every version of one thing",
		Long:  "Show every version of one entity or relation, oldest first, deletes included: when, by whom, why and what.",
		Example: `  onto log Customer c1
  onto log Subscription c1 p1 --json
  onto log Employment ada acme --instance 2026`,
		Args:              argCount(2, 3),
		ValidArgsFunction: c.completeType(""),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.log(cmd.Context(), args, instance) },
	}
	cmd.Flags().StringVar(&instance, "instance", "", "instance key of the relation")
	return cmd
}

func (c *command) log(ctx context.Context, args []string, instance string) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		id, err := parseIdentity(s, args, instance)
		if err != nil {
			return err
		}
		out := c.rows(append(wholeColumns("commit", "time"), columns("op", "actor", "comment", "fields")...))
		for e, err := range s.History(ctx, id) {
			if err != nil {
				return err
			}
			if err := out.add(newLogRow(e)); err != nil {
				return err
			}
		}
		return out.close("no versions")
	})
}

// logRow is a version with its commit.
type logRow struct {
	Type string `json:"type"`
	keys
	Op        onto.Op         `json:"op"`
	CommitID  int64           `json:"commit_id"`
	CreatedAt string          `json:"created_at"`
	Actor     *string         `json:"actor"`
	Comment   *string         `json:"comment"`
	Fields    json.RawMessage `json:"fields"`

	commit onto.Commit
}

func newLogRow(e store.Entry) logRow {
	return logRow{
		Type: e.Version.Type, keys: keysOf(e.Version.Identity), Op: e.Version.Op, CommitID: e.Commit.ID,
		CreatedAt: codec.FormatTime(e.Commit.Time), Actor: orNull(e.Commit.Actor.String()),
		Comment: orNull(e.Commit.Comment), Fields: e.Version.Fields, commit: e.Commit,
	}
}

func (r logRow) cells() ([]string, error) {
	fields := string(r.Fields)
	if r.Op == onto.Delete {
		fields = ""
	}
	return []string{
		strconv.FormatInt(r.CommitID, 10), showTime(r.commit.Time), string(r.Op),
		r.commit.Actor.String(), r.commit.Comment, fields,
	}, nil
}
