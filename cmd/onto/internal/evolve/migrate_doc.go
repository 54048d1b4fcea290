package evolve

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/store"
)

func versions(from, to int) string { return "version " + versionText(from) + " → " + versionText(to) }

func versionText(v int) string { return strconv.Itoa(v) }

// printMigrated tells what a migration did.
func printMigrated(c *session.Session, res onto.Result, plan *store.MigrationPlan) error {
	if c.JSON {
		return c.Document(document.NewMigrated(res, plan))
	}
	if plan.Empty() {
		c.Say("nothing to do: the types are as the file says")
		return nil
	}
	for _, t := range plan.Types {
		c.Say("%s %s is at version %d", t.Kind, t.Name, t.To)
	}
	if !res.Changed() {
		c.Say("no commit was needed")
		return nil
	}
	return c.PrintCommitted(res)
}
