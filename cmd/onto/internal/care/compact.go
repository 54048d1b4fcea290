package care

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// Compact is the verb compact: the files of a lake, merged.
func Compact(c *session.Session) *cobra.Command {
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
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return compact(cmd.Context(), c, o, apply) },
	}
	cmd.Flags().StringVar(&o.Type, "type", "", "only this `TYPE`")
	cmd.Flags().BoolVar(&o.All, "all", false, "merge all files of a type into one, due or not")
	cmd.Flags().BoolVar(&apply, "apply", false, "merge them")
	return cmd
}

func compact(ctx context.Context, c *session.Session, o *backend.CompactionOptions, apply bool) error {
	return withLake(ctx, c, "compact", "has no files that could be merged", whether(apply), func(l backend.Compactor) error {
		plan, err := l.PlanCompaction(ctx, o)
		if err != nil {
			return err
		}
		doc := document.Compaction{Planned: []document.CompactionItem{}, Applied: apply}
		for _, i := range plan.Items {
			doc.Planned = append(doc.Planned, document.CompactionItem{
				TypeName: document.NewTypeName(i.TypeName()), Files: i.Files, First: i.First, Last: i.Last, Rows: i.Rows, Bytes: i.Bytes,
			})
		}
		if apply && len(plan.Items) > 0 {
			progress, done := c.Progress("compacting")
			doc.Merged, err = l.Compact(ctx, plan, progress)
			if done(); err != nil {
				return err
			}
		}
		return printCompaction(c, doc)
	})
}

func printCompaction(c *session.Session, doc document.Compaction) error {
	if c.JSON {
		return c.Document(doc)
	}
	out := terminal.Rows(c.Printer, terminal.WholeColumns("type", "files", "from", "to", "rows", "bytes"), terminal.Itself, compactionCells)
	for _, r := range doc.Planned {
		if err := out.Add(r); err != nil {
			return err
		}
	}
	if err := out.Close("no files are due to be merged"); err != nil || len(doc.Planned) == 0 {
		return err
	}
	if doc.Applied {
		c.Say("merged the files of %s", terminal.Count(doc.Merged, "type", "types"))
		return nil
	}
	c.SayNext("nothing was changed; merge them", "compact", "--apply")
	return nil
}

func compactionCells(i document.CompactionItem) ([]string, error) {
	return []string{
		i.Type, strconv.Itoa(i.Files), strconv.FormatInt(i.First, 10), strconv.FormatInt(i.Last, 10),
		strconv.FormatInt(i.Rows, 10), strconv.FormatInt(i.Bytes, 10),
	}, nil
}
