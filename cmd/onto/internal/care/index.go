package care

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/upkeep"
)

// Index is the verb index: the indexes of a lake, checked and repaired.
func Index(c *session.Session) *cobra.Command {
	return session.Group("index", "Check or repair the indexes of a lake", `  onto index verify --storage-uri s3://my-bucket/crm
  onto index repair --apply --storage-uri s3://my-bucket/crm`,
		indexVerifyCommand(c), indexRepairCommand(c))
}

func indexVerifyCommand(c *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Compare the indexes with what is stored",
		Long: `Compare the index of each type, and what is told about types beside the catalog,
with the files and types that the head leads to. Answers of onto do not depend on
them; other programs that read the bucket may. While others commit, an index can
lag for a moment. Exit status 3 if there is a finding.`,
		Example: `  onto index verify --storage-uri s3://my-bucket/crm
  onto index verify --json --storage-uri file:///var/lib/crm`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return verifyIndex(cmd.Context(), c) },
	}
}

func indexRepairCommand(c *session.Session) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Write indexes anew that are not as they should be",
		Long: `List the indexes of types, and the objects about types beside the catalog, that
are not as they should be, each with the reason. With --apply they are written
anew from the files and types that the head leads to. No commit is made.`,
		Example: `  onto index repair --storage-uri s3://my-bucket/crm
  onto index repair --apply --json --storage-uri file:///var/lib/crm`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return repairIndex(cmd.Context(), c, apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "write them")
	return cmd
}

// withLake opens a backend that can do what a verb needs, runs f and closes it.
// Lacks is what other backends have not.
func withLake[T any](ctx context.Context, c *session.Session, verb, lacks string, how place.Access, f func(T) error) error {
	b, _, err := c.OpenBackend(ctx, how)
	if err != nil {
		return err
	}
	defer c.Shut(b)
	able, ok := backend.As[T](b)
	if !ok {
		return c.Unsupported(verb, lacks, "name a lake with --storage-uri")
	}
	return f(able)
}

// whether is how a verb opens a store that plans by default.
func whether(apply bool) place.Access {
	if apply {
		return place.Writing
	}
	return place.Reading
}

// noIndexes is what other backends lack.
const noIndexes = "has no indexes of its files"

func verifyIndex(ctx context.Context, c *session.Session) error {
	return withLake(ctx, c, "index verify", noIndexes, place.Reading, func(x backend.Indexer) error {
		found, err := x.VerifyIndex(ctx)
		if err != nil {
			return err
		}
		out := findingRows(c)
		for _, f := range found {
			if err := out.Add(upkeep.Explain(f)); err != nil {
				return err
			}
		}
		if err := out.Close("no findings: the indexes are what the head leads to"); err != nil || len(found) == 0 {
			return err
		}
		return onto.Errorf(document.CheckFailed, "the check found %s", terminal.Count(len(found), "warning", "warnings")).
			WithHint("repair what it found").WithCommand("index", "repair", "--apply")
	})
}

func newRepair(r backend.IndexRepair) document.Repair {
	doc := document.Repair{Object: r.Key, Type: document.OrNull(r.Type), Before: r.Before, After: r.After, Reason: r.Reason, Applied: r.Applied}
	if r.Kind != "" {
		doc.Kind = &r.Kind
	}
	return doc
}

func repairCells(r backend.IndexRepair) ([]string, error) {
	return []string{r.Key, strconv.Itoa(r.Before), strconv.Itoa(r.After), r.Reason}, nil
}

func repairIndex(ctx context.Context, c *session.Session, apply bool) error {
	return withLake(ctx, c, "index repair", noIndexes, whether(apply), func(x backend.Indexer) error {
		plan, err := x.PlanIndexRepair(ctx)
		if err != nil {
			return err
		}
		written, failed, repairs := 0, error(nil), plan.Items
		if apply {
			written, failed = x.RepairIndex(ctx, plan)
		}
		out := terminal.Rows(c.Printer, terminal.WholeColumns("key", "before", "after", "reason"), newRepair, repairCells)
		for _, r := range repairs {
			if err := out.Add(r); err != nil {
				return err
			}
		}
		err = out.Close("nothing to repair: the indexes are what the head leads to")
		if failed != nil {
			return unrepaired(failed, written, len(repairs))
		}
		if err != nil || len(repairs) == 0 || c.JSON {
			return err
		}
		total := terminal.Count(len(repairs), "object", "objects")
		if apply {
			c.Say("wrote %d of %s", written, total)
			return nil
		}
		c.SayNext(total+" to write; write them", "index", "repair", "--apply")
		return nil
	})
}

// unrepaired is the error for indexes that could not be written. Those that were
// stay.
func unrepaired(err error, written, total int) error {
	if onto.HintOf(err).Text != "" {
		return err
	}
	return onto.Errorf(document.CodeOf(err), "wrote %d of %s: %w", written, terminal.Count(total, "object", "objects"), err).
		WithHint("remove what is in the way, then try again").WithCommand("index", "repair", "--apply")
}
