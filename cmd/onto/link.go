package main

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func (c *command) linkCommand() *cobra.Command {
	var w writeFlags
	var instance string
	cmd := &cobra.Command{
		Use:   "link TYPE LEFT RIGHT [JSON]",
		Short: "Put a relation between two entities, as one commit",
		Long: `Link makes a relation between the entities with keys LEFT and RIGHT look as
given. A relation that exists is replaced as a whole. Where a type allows
several relations between the same two, --instance tells them apart.

It prints the commit id, or says that nothing changed.`,
		Example: `  onto link Subscription c1 p1 '{"seats":3}'
  onto link Employment ada acme '{"role":"engineer"}' --instance 2026`,
		Args:              argCount(3, 4),
		ValidArgsFunction: c.completeType(onto.KindRelation),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.link(cmd, &w, args, instance) },
	}
	w.register(cmd)
	cmd.Flags().StringVar(&instance, "instance", "", "instance key of the relation")
	return cmd
}

func (c *command) link(cmd *cobra.Command, w *writeFlags, args []string, instance string) error {
	d, err := w.draft(cmd)
	if err != nil {
		return err
	}
	relation := onto.Relation{Type: args[0], Left: args[1], Right: args[2], Instance: instance}
	objects, err := c.readObjects(cmd.Context(), args[3:], 1)
	if err != nil {
		return err
	}
	if len(objects) == 1 {
		relation.Fields = objects[0]
	}
	return c.commit(cmd.Context(), d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		if schema, err := s.Type(args[0]); err == nil && schema.Kind == onto.KindEntity {
			return d, onto.Errorf(onto.Invalid, "%s is an entity, link is for relations", args[0]).
				WithHint("write: onto put %s JSON", args[0])
		}
		return d.Ensure(relation), nil
	})
}
