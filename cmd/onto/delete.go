package main

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func deleteCommand(c *command) *cobra.Command {
	var w writeFlags
	cmd := onThing(c, &cobra.Command{
		Use:   "delete",
		Short: "Delete an entity or a relation, as one commit",
		Long: `Delete ends the existence of one entity or relation. Its history stays: earlier
moments still show it, and log tells who deleted it.

It prints the commit id, or says that nothing changed.`,
		Example: `  onto delete Customer c1 --actor operator:ana --comment "asked to leave"
  onto delete Subscription c1 p1
  onto delete Employment ada acme --instance 2026`,
	}, func(cmd *cobra.Command, t thing) error { return deleteThing(c, cmd, &w, t) })
	w.register(cmd)
	return cmd
}

func deleteThing(c *command, cmd *cobra.Command, w *writeFlags, t thing) error {
	d, err := w.draft(cmd)
	if err != nil {
		return err
	}
	return c.commit(cmd.Context(), d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		id, err := t.identity(s)
		return d.Delete(id), err
	})
}
