package session

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Thing is how a command line names one entity, relation or fact.
type Thing struct {
	Args     []string // TYPE KEY, TYPE LEFT RIGHT [INSTANCE], TYPE SUBJECT ATTRIBUTE ID, or REF
	Instance string
}

// OnThing completes a command that is about one thing: its arguments, their
// completion and --instance.
func OnThing(c *Session, cmd *cobra.Command, run func(*cobra.Command, Thing) error) *cobra.Command {
	var t Thing
	cmd.Use += " TYPE KEY | TYPE LEFT RIGHT [INSTANCE] | TYPE SUBJECT ATTRIBUTE ID | REF"
	cmd.Args = thingArgs
	cmd.ValidArgsFunction = CompleteType(c)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, Thing{args, t.Instance}) }
	t.Register(cmd)
	return cmd
}

// thingArgs checks the number of arguments. One alone refers to a fact.
func thingArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && isRef(args[0]) {
		return nil
	}
	return ArgCount(2, 3, 4)(cmd, args)
}

// isRef reports whether an argument refers to a fact. No type has a slash in its name.
func isRef(arg string) bool { return strings.Contains(arg, "/") }

// Register adds --instance.
func (t *Thing) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.Instance, "instance", "", "instance `KEY` of the relation")
}

// Identity reads the arguments as the present type asks for.
func (t Thing) Identity(s *store.Store) (onto.Identity, error) { return t.IdentityIn(s.Now()) }

// IdentityIn reads the arguments as the type asks for that a view shows.
func (t Thing) IdentityIn(v store.View) (onto.Identity, error) {
	args, instance := t.Args, t.Instance
	if isRef(args[0]) {
		return t.fact(v)
	}
	schema, err := v.Type(args[0])
	if err != nil {
		return onto.Identity{}, err
	}
	switch schema.Kind {
	case onto.KindFact:
		if len(args) != 4 || instance != "" {
			return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is a type of facts: one has a subject, an attribute and an id", schema.Name).
				WithHint("write: %s SUBJECT ATTRIBUTE ID, or the reference to it", schema.Name)
		}
		return onto.FactID(args[0], args[1], args[2], args[3]), nil
	case onto.KindRelation:
		if len(args) == 4 && instance == "" {
			args, instance = args[:3], args[3]
		}
		if len(args) != 3 {
			return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is a relation: it needs the keys of both ends", schema.Name).
				WithHint("write: %s LEFT RIGHT, and the instance after them if it has one", schema.Name)
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

// fact is the fact that the only argument refers to.
func (t Thing) fact(v store.View) (onto.Identity, error) {
	if len(t.Args) != 1 || t.Instance != "" {
		return onto.Identity{}, onto.Errorf(onto.Invalid, "%.200q refers to a fact, and nothing can be said besides", t.Args[0]).
			WithHint("leave out the rest")
	}
	id, err := onto.ParseFactRef(t.Args[0])
	if err != nil {
		return id, err
	}
	return id, isFactType(v, id.Type)
}

// IsFactType fails if a type is none of facts.
func IsFactType(s *store.Store, name string) error { return isFactType(s.Now(), name) }

func isFactType(v store.View, name string) error {
	schema, err := v.Type(name)
	if err != nil || schema.Kind == onto.KindFact {
		return err
	}
	return onto.Errorf(onto.Invalid, "%s is of kind %s, not fact", name, schema.Kind).WithHint("see the types").WithCommand("info")
}

// MissingInstance is the error for a relation without its instance key.
func MissingInstance(id onto.Identity, schema onto.Schema) error {
	return onto.Errorf(onto.Invalid, "%s needs its instance key %s", id, schema.InstanceKey).
		WithHint("add --instance KEY")
}
