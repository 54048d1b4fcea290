package care

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
)

// Restore is the verb restore: a backup in the place of a SQLite store.
func Restore(c *session.Session) *cobra.Command {
	var apply, noCheck bool
	var by session.ByFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of a SQLite store",
		Long: `Check a backup and copy it to where the store belongs. If a store is there
already, this only shows what would be lost, with exit status 7. With --apply
the present store is kept beside its file as FILE.before-restore-HEAD, and
replaced in one transaction; programs that have it open go on with what was
restored. Exit status 8 if the disk fails so that nobody knows whether the store
was replaced: then the kept file has what was there.

The store keeps a list of its restores, with who, why and how many commits were
lost; onto info shows it. Cursors and followers from before are refused, since
the numbers of the commits that were lost are given again.

SQLite only: the backup of a lake is copied to an empty place with onto copy.`,
		Example: `  onto restore monday.db --db new.db
  onto restore monday.db
  onto restore monday.db --apply --actor operator:ana --comment "the import of Tuesday was wrong"`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return restore(cmd, c, args[0], &by, apply, !noCheck)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "replace the store that is there")
	by.Register(cmd)
	cmd.Flags().BoolVar(&noCheck, "no-check", false, "do not check the backup first")
	return cmd
}

func newRestore(file, location string, plan sqlite.RestorePlan) document.Restore {
	moment := func(m *sqlite.StoreMoment) *document.Moment {
		return &document.Moment{StoreID: m.StoreID, Head: document.NewHead(m.Head)}
	}
	doc := document.Restore{File: file, Location: location, Backup: *moment(&plan.Backup), Shared: plan.Shared, Lost: plan.Lost}
	if plan.Present != nil {
		doc.Present = moment(plan.Present)
	}
	return doc
}

func restore(cmd *cobra.Command, c *session.Session, file string, by *session.ByFlags, apply, check bool) error {
	ctx := cmd.Context()
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	actor, err := by.Actor(c, cmd)
	if err != nil {
		return err
	}
	loc, err := cfg.Location()
	if err != nil {
		return err
	}
	if loc.IsLake() {
		return onto.Errorf(onto.UnsupportedOperation, "restore: a backup, which is a SQLite file, cannot take the place of a lake").
			WithHint("copy it to an empty place").WithCommand("copy", file, "URI", "--apply")
	}
	if loc.InMemory() {
		return onto.Errorf(onto.Invalid, "a store in memory cannot be restored").WithHint("name a file with --db")
	}
	plan, err := sqlite.PlanRestore(ctx, file, loc.Path)
	if err != nil {
		return err
	}
	if check {
		if err := sound(ctx, file); err != nil {
			return err
		}
	}
	if plan.Present != nil && !apply {
		return refuseRestore(c, file, loc.Path, plan)
	}
	progress, done := c.Progress("restoring")
	c.Writes.Store(true)
	restored, err := sqlite.Restore(ctx, file, loc.Path, &sqlite.RestoreOptions{
		Owner:       fmt.Sprintf("onto-restore-%d", os.Getpid()),
		LockTimeout: cfg.Duration("lock_timeout_ms"),
		LeaseTTL:    cfg.Duration("lease_ttl_ms"),
		Progress:    progress,
		Actor:       actor,
		Comment:     by.Comment,
	})
	done()
	if err != nil && restored.Kept != "" {
		return onto.Errorf(onto.CodeOf(err), "%w", err).
			WithHint("check the disk, then look at the store, or go back to what was there").WithCommand("restore", restored.Kept, "--apply")
	}
	if err != nil {
		return err
	}
	return printRestored(c, file, loc.Path, restored)
}

// sound fails if the check of a backup finds errors.
func sound(ctx context.Context, file string) error {
	_, bad, err := checkFile(ctx, file)
	if err != nil || bad == 0 {
		return err
	}
	return onto.Errorf(document.CheckFailed, "the check of %s found %s", file, terminal.Count(bad, "error", "errors")).
		WithHint("take another backup; --no-check restores this one as it is")
}

// refuseRestore shows what would be lost.
func refuseRestore(c *session.Session, file, location string, plan sqlite.RestorePlan) error {
	var err error
	if c.JSON {
		err = c.Document(newRestore(file, location, plan))
	} else {
		err = printPlan(c, plan)
	}
	if err != nil {
		return err
	}
	return onto.Errorf(onto.Refused, "%s: a store is there, and restoring would lose %s", location, terminal.Count(plan.Lost, "commit", "commits")).
		WithHint("keep a copy of it and replace it").WithCommand("restore", file, "--apply")
}

func printPlan(c *session.Session, plan sqlite.RestorePlan) error {
	shared := "up to commit " + strconv.FormatInt(plan.Shared, 10)
	if plan.Shared == 0 {
		shared = "nothing"
	}
	if !plan.Related() {
		shared = "nothing, the backup is of another store"
	}
	return c.Pairs([][2]string{
		{"present", terminal.Head(plan.Present.Head)},
		{"  store id", plan.Present.StoreID},
		{"backup", terminal.Head(plan.Backup.Head)},
		{"  store id", plan.Backup.StoreID},
		{"shared", shared},
		{"lost", terminal.Count(plan.Lost, "commit", "commits")},
	})
}

func printRestored(c *session.Session, file, location string, restored sqlite.Restored) error {
	if c.JSON {
		doc := newRestore(file, location, restored.RestorePlan)
		doc.Applied, doc.Kept = true, document.OrNull(restored.Kept)
		return c.Document(doc)
	}
	pairs := [][2]string{{"restored", location}, {"head", terminal.Head(restored.Backup.Head)}}
	if restored.Kept != "" {
		pairs = append(pairs, [2]string{"lost", terminal.Count(restored.Lost, "commit", "commits")}, [2]string{"kept", restored.Kept})
	}
	if err := c.Pairs(pairs); err != nil || restored.Kept == "" {
		return err
	}
	c.SayNext("undo it", "restore", restored.Kept, "--apply")
	return nil
}
