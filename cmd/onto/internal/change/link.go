package change

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Link is the verb link: a relation between two entities.
func Link(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	var t session.Thing
	cmd := &cobra.Command{
		Use:   "link TYPE LEFT RIGHT [JSON]",
		Short: "Put a relation between two entities, as one commit",
		Long: `Link makes a relation between the entities with keys LEFT and RIGHT look as
given. A relation that exists is replaced as a whole. Where a type allows
several relations between the same two, --instance tells them apart. The two
entities need not exist; a warning names those that do not, and onto doctor reports
them.

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto link Subscription c1 p1 '{"seats":3}'
  onto link Employment ada acme '{"role":"engineer"}' --instance 2026`,
		Args:              session.ArgCount(3, 4),
		ValidArgsFunction: session.CompleteType(c, onto.KindRelation),
		RunE:              func(cmd *cobra.Command, args []string) error { return link(c, cmd, &w, args, t.Instance) },
	}
	w.Register(cmd)
	w.RegisterDryRun(cmd)
	t.Register(cmd)
	return cmd
}

func link(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, args []string, instance string) error {
	d, err := w.Draft(c, cmd)
	if err != nil {
		return err
	}
	relation := onto.Relation{Type: args[0], Left: args[1], Right: args[2], Instance: instance}
	fields, err := readObject(cmd.Context(), c, args[3:])
	if onto.CodeOf(err) == onto.TooLarge {
		return onto.Errorf(onto.Invalid, "a relation has one object for its fields, stdin holds more")
	}
	if err != nil {
		return err
	}
	if fields != nil {
		relation.Fields = fields
	}
	return c.Commit(cmd.Context(), w, d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		schema, err := s.Type(args[0])
		switch {
		case err != nil: // the commit tells
		case schema.Kind == onto.KindEntity:
			return d, onto.Errorf(onto.Invalid, "%s is an entity, link is for relations", args[0]).
				WithHint("put it").WithCommand("put", args[0], "JSON")
		case schema.Kind == onto.KindFact:
			return d, noFacts(args[0], "link is for relations")
		case schema.InstanceKey != "" && instance == "" && !hasField(fields, schema.InstanceKey):
			return d, session.MissingInstance(onto.RelationID(args[0], args[1], args[2]), schema)
		}
		end := onto.RelationID(args[0], args[1], args[2]).WithInstance(instance)
		w.Relation = &end
		return d.Ensure(relation), nil
	})
}

// hasField reports whether an object has a member of that name that is not null.
func hasField(object []byte, name string) bool {
	members, err := terminal.Members(object)
	return err == nil && slices.ContainsFunc(members, func(m codec.Member) bool {
		return m.Name == name && codec.KindOf(m.Value) != codec.Null
	})
}
