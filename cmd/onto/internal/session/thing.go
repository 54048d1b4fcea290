package session

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Thing is how a command line names one entity or relation.
type Thing struct {
	Args     []string // TYPE KEY, or TYPE LEFT RIGHT
	Instance string
}

// OnThing completes a command that is about one thing: its arguments, their
// completion and --instance.
func OnThing(c *Session, cmd *cobra.Command, run func(*cobra.Command, Thing) error) *cobra.Command {
	var t Thing
	cmd.Use += " TYPE KEY | TYPE LEFT RIGHT"
	cmd.Args = ArgCount(2, 3)
	cmd.ValidArgsFunction = CompleteType(c, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, Thing{args, t.Instance}) }
	t.Register(cmd)
	return cmd
}

// Register adds --instance.
func (t *Thing) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.Instance, "instance", "", "instance `KEY` of the relation")
}

// Identity reads the arguments as the type asks for.
func (t Thing) Identity(s *store.Store) (onto.Identity, error) {
	args, instance := t.Args, t.Instance
	schema, err := s.Now().Type(args[0])
	if err != nil {
		return onto.Identity{}, err
	}
	if schema.Kind == onto.KindRelation {
		if len(args) != 3 {
			return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is a relation: it needs the keys of both ends", schema.Name).
				WithHint("write: %s LEFT RIGHT", schema.Name)
		}
		id := onto.RelationID(args[0], args[1], args[2]).WithInstance(instance)
		if schema.InstanceKey != "" && instance == "" {
			return id, MissingInstance(id, schema)
		}
		return id, nil
	}
	if len(args) != 2 || instance != "" {
		return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is an entity: it has one key and no instance", schema.Name).
			WithHint("write: %s KEY", schema.Name)
	}
	return onto.EntityID(args[0], args[1]), nil
}

// MissingInstance is the error for a relation without its instance key.
func MissingInstance(id onto.Identity, schema onto.Schema) error {
	return onto.Errorf(onto.Invalid, "%s needs its instance key %s", id, schema.InstanceKey).
		WithHint("add --instance KEY")
}
