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

func (c *command) blameCommand() *cobra.Command {
	var instance string
	cmd := &cobra.Command{
		Use:   "blame TYPE KEY | TYPE LEFT RIGHT",
		Short: "Show who last set each field of one thing",
		Long:  "Show, for each field of one entity or relation, the commit that set it to its present value.",
		Example: `  onto blame Customer c1
  onto blame Subscription c1 p1 --json`,
		Args:              argCount(2, 3),
		ValidArgsFunction: c.completeType(""),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.blame(cmd.Context(), args, instance) },
	}
	cmd.Flags().StringVar(&instance, "instance", "", "instance key of the relation")
	return cmd
}

func (c *command) blame(ctx context.Context, args []string, instance string) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		id, err := parseIdentity(s, args, instance)
		if err != nil {
			return err
		}
		fields, err := s.Blame(ctx, id)
		if err != nil {
			return err
		}
		cols := append(wholeColumns("field"), columns("value")...)
		cols = append(cols, wholeColumns("commit", "time")...)
		out := c.rows(append(cols, columns("actor", "comment")...))
		for _, b := range fields {
			if err := out.add(newBlameRow(b)); err != nil {
				return err
			}
		}
		return out.close("no fields")
	})
}

// blameRow is a field with the commit that set it.
type blameRow struct {
	Field     string          `json:"field"`
	Value     json.RawMessage `json:"value"`
	CommitID  int64           `json:"commit_id"`
	CreatedAt string          `json:"created_at"`
	Actor     *string         `json:"actor"`
	Comment   *string         `json:"comment"`

	commit onto.Commit
}

func newBlameRow(b onto.Blame) blameRow {
	return blameRow{
		Field: b.Field, Value: b.Value, CommitID: b.Commit.ID, CreatedAt: codec.FormatTime(b.Commit.Time),
		Actor: orNull(b.Commit.Actor.String()), Comment: orNull(b.Commit.Comment), commit: b.Commit,
	}
}

func (r blameRow) cells() ([]string, error) {
	return []string{
		r.Field, plain(r.Value), strconv.FormatInt(r.CommitID, 10), showTime(r.commit.Time),
		r.commit.Actor.String(), r.commit.Comment,
	}, nil
}
