package change

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/store"
)

// Delete is the verb delete: an entity or a relation, deleted.
func Delete(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	cmd := session.OnThing(c, &cobra.Command{
		Use:   "delete",
		Short: "Delete an entity or a relation, as one commit",
		Long: `Delete ends the existence of one entity or relation. Its history stays: earlier
moments still show it, and log tells who deleted it. Facts are not deleted, but
retracted or revoked: onto fact --help

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto delete Customer c1 --actor operator:ana --comment "asked to leave"
  onto delete Subscription c1 p1
  onto delete Employment ada acme --instance 2026`,
	}, func(cmd *cobra.Command, t session.Thing) error { return deleteThing(c, cmd, &w, t) })
	cmd.Use = "delete TYPE KEY | TYPE LEFT RIGHT [INSTANCE]"
	cmd.ValidArgsFunction = session.CompleteType(c, onto.KindEntity, onto.KindRelation)
	w.Register(cmd)
	w.RegisterDryRun(cmd)
	return cmd
}

func deleteThing(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, t session.Thing) error {
	d, err := w.Draft(c, cmd)
	if err != nil {
		return err
	}
	return c.Commit(cmd.Context(), w, d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		id, err := t.Identity(s)
		if err == nil && id.Kind == onto.KindFact {
			err = onto.Errorf(onto.Invalid, "%s is a fact, delete is for entities and relations", id).
				WithHint("revoke it if it has ended; if it was wrong, retract it").WithCommand("fact", "retract", id.FactRef())
		}
		return d.Delete(id), err
	})
}
