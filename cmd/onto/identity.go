package main

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// thing is how a command line names one entity or relation.
type thing struct {
	args     []string // TYPE KEY, or TYPE LEFT RIGHT
	instance string
}

// onThing completes a command that is about one thing: its arguments, their
// completion and --instance.
func onThing(c *command, cmd *cobra.Command, run func(*cobra.Command, thing) error) *cobra.Command {
	var t thing
	cmd.Use += " TYPE KEY | TYPE LEFT RIGHT"
	cmd.Args = argCount(2, 3)
	cmd.ValidArgsFunction = completeType(c, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, thing{args, t.instance}) }
	t.register(cmd)
	return cmd
}

func (t *thing) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.instance, "instance", "", "instance `KEY` of the relation")
}

// identity reads the arguments as the type asks for.
func (t thing) identity(s *store.Store) (onto.Identity, error) {
	args, instance := t.args, t.instance
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
			return id, missingInstance(id, schema)
		}
		return id, nil
	}
	if len(args) != 2 || instance != "" {
		return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is an entity: it has one key and no instance", schema.Name).
			WithHint("write: %s KEY", schema.Name)
	}
	return onto.EntityID(args[0], args[1]), nil
}

func missingInstance(id onto.Identity, schema onto.Schema) error {
	return onto.Errorf(onto.Invalid, "%s needs its instance key %s", id, schema.InstanceKey).
		WithHint("add --instance KEY")
}
