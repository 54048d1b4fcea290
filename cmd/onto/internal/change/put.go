package change

import (
	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/store"
)

// Put is the verb put: entities, as given.
func Put(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	var merge bool
	cmd := &cobra.Command{
		Use:   "put TYPE JSON...",
		Short: "Put entities, as one commit",
		Long: `Put makes entities look as given, all in one commit. The key is taken from the
JSON. An entity that exists is replaced as a whole; one that looks like that
already causes no change. In place of JSON, - reads objects from stdin.

With --merge, fields that the JSON does not give stay as they are at the moment of
the commit. A field that is null is removed if it is optional, and otherwise gets
its default. An entity that does not exist is made, if its required fields are
given.

It prints the commit id, or says that nothing changed.`,
		Example: `  onto put Customer '{"id":"c1","name":"Ada","tier":"Silver"}'
  onto put Customer '{"id":"c2","name":"Grace","tier":"Gold","since":"2026-02-10T12:34:56Z"}'
  onto put Customer --merge '{"id":"c2","tier":"Silver","since":null}'
  onto put Customer - --actor daemon:crm --comment "nightly sync" < customers.jsonl
  onto put Product '{"sku":"p1","title":"Lamp"}' --expect-head 41 --idempotency-key order-7`,
		Args:              session.ArgsFrom(2),
		ValidArgsFunction: session.CompleteType(c, onto.KindEntity),
		RunE:              func(cmd *cobra.Command, args []string) error { return put(c, cmd, &w, args, merge) },
	}
	cmd.Flags().BoolVar(&merge, "merge", false, "keep the fields that are not given")
	w.Register(cmd)
	return cmd
}

func put(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, args []string, merge bool) error {
	d, err := w.Draft(c, cmd)
	if err != nil {
		return err
	}
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	objects, err := readObjects(cmd.Context(), c, args[1:], int(cfg.Number("max_batch_size")))
	if err != nil {
		return err
	}
	return c.Commit(cmd.Context(), d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		switch schema, err := s.Type(args[0]); {
		case err != nil: // the commit tells
		case schema.Kind == onto.KindRelation:
			return d, onto.Errorf(onto.Invalid, "%s is a relation, put is for entities", args[0]).
				WithHint("link it").WithCommand("link", args[0], "LEFT", "RIGHT", "JSON")
		case schema.Kind == onto.KindFact:
			return d, noFacts(args[0], "put is for entities")
		}
		for _, fields := range objects {
			e := onto.Entity{Type: args[0], Fields: fields}
			if merge {
				d = d.Merge(e)
			} else {
				d = d.Ensure(e)
			}
		}
		return d, nil
	})
}
