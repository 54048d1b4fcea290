package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

func (c *command) compactCommand() *cobra.Command {
	var apply bool
	o := &backend.CompactionOptions{}
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Merge the files of a lake, so that questions read fewer",
		Long: `List the files of a lake that are due to be merged: every commit leaves one for
each type it touches. With --apply they are merged. Nothing is lost: every version
stays, with its commit, and every question has the same answer as before. Others
may read and write meanwhile. The files that were merged are removed later, by
onto janitor.`,
		Example: `  onto compact --storage-uri s3://my-bucket/crm
  onto compact --apply --storage-uri s3://my-bucket/crm
  onto compact --type Customer --all --apply --storage-uri file:///var/lib/crm`,
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.compact(cmd.Context(), o, apply) },
	}
	cmd.Flags().StringVar(&o.Type, "type", "", "only this `TYPE`")
	cmd.Flags().BoolVar(&o.All, "all", false, "merge all files of a type into one, due or not")
	cmd.Flags().BoolVar(&apply, "apply", false, "merge them")
	return cmd
}

// compactionRow is files of one type that become one.
type compactionRow struct {
	Kind  onto.Kind `json:"kind"`
	Type  string    `json:"type_name"`
	Files int       `json:"files"`
	First int64     `json:"min_commit_id"`
	Last  int64     `json:"max_commit_id"`
	Rows  int64     `json:"row_count"`
	Bytes int64     `json:"bytes"`
}

func (r compactionRow) cells() ([]string, error) {
	return []string{
		r.Type, strconv.Itoa(r.Files), strconv.FormatInt(r.First, 10), strconv.FormatInt(r.Last, 10),
		strconv.FormatInt(r.Rows, 10), strconv.FormatInt(r.Bytes, 10),
	}, nil
}

// compactionDoc is what a compaction would do, or has done.
type compactionDoc struct {
	Planned []compactionRow `json:"planned"`
	Applied bool            `json:"applied"`
	Merged  int             `json:"merged"` // types; fewer than planned if somebody else was faster
}

func (c *command) compact(ctx context.Context, o *backend.CompactionOptions, apply bool) error {
	return withLake(ctx, c, "compact", "has no files that could be merged", whether(apply), func(l backend.Compactor) error {
		plan, err := l.PlanCompaction(ctx, o)
		if err != nil {
			return err
		}
		doc := compactionDoc{Planned: []compactionRow{}, Applied: apply}
		for _, i := range plan.Items {
			doc.Planned = append(doc.Planned, compactionRow{i.Kind, i.Type, i.Files, i.First, i.Last, i.Rows, i.Bytes})
		}
		if apply && len(plan.Items) > 0 {
			progress, done := c.progress("compacting")
			doc.Merged, err = l.Compact(ctx, plan, progress)
			if done(); err != nil {
				return err
			}
		}
		return c.printCompaction(doc)
	})
}

func (c *command) printCompaction(doc compactionDoc) error {
	if c.json {
		return c.document(doc)
	}
	out := c.rows(wholeColumns("type", "files", "from", "to", "rows", "bytes"))
	for _, r := range doc.Planned {
		if err := out.add(r); err != nil {
			return err
		}
	}
	if err := out.close("no files are due to be merged"); err != nil || len(doc.Planned) == 0 {
		return err
	}
	if doc.Applied {
		c.say("merged the files of %s", count(doc.Merged, "type", "types"))
		return nil
	}
	c.say("%s", c.place().nameIn("nothing was changed; merge them with: onto compact --apply"))
	return nil
}
