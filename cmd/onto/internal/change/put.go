package change

import (
	"context"
	"encoding/json"

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
already causes no change. In place of JSON, - reads objects from stdin, one after the
other, on lines of their own or not, however many there are.

With --merge, fields that the JSON does not give stay as they are at the moment of
the commit. A field that is null is removed if it is optional, and otherwise gets
its default. An entity that does not exist is made, if its required fields are
given.

It prints the commit id, or says that nothing changed.` + session.DryRunHelp,
		Example: `  onto put Customer '{"id":"c1","name":"Ada","tier":"Silver"}'
  onto put Customer '{"id":"c2","name":"Grace","tier":"Gold","since":"2026-02-10T12:34:56Z"}'
  onto put Customer --merge '{"id":"c2","tier":"Silver","since":null}'
  onto put Customer - --actor daemon:crm --comment "nightly sync" < customers.jsonl
  onto put Product '{"sku":"p1","title":"Lamp"}' --expect-head 41 --idempotency-key order-7
  onto put Customer --merge '{"id":"c2","tier":"Gold"}' --dry-run`,
		Args:              session.ArgsFrom(2),
		ValidArgsFunction: session.CompleteType(c, onto.KindEntity),
		RunE:              func(cmd *cobra.Command, args []string) error { return put(c, cmd, &w, args, merge) },
	}
	cmd.Flags().BoolVar(&merge, "merge", false, "keep the fields that are not given")
	w.Register(cmd)
	w.RegisterDryRun(cmd)
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
	in, err := readSome(cmd.Context(), c, args[1:], int(cfg.Number("max_batch_size")))
	if err != nil {
		return err
	}
	defer in.stop()
	p := putting{args[0], merge, in}
	if in.more {
		return p.stream(cmd.Context(), c, w, d)
	}
	return c.Commit(cmd.Context(), w, d, func(s *store.Store, d onto.Draft) (onto.Draft, error) {
		if err := p.check(s); err != nil {
			return d, err
		}
		for _, fields := range in.first {
			if merge {
				d = d.Merge(p.entity(fields))
			} else {
				d = d.Ensure(p.entity(fields))
			}
		}
		return d, nil
	})
}

// putting is the entities of one type that are put.
type putting struct {
	typ   string
	merge bool
	in    *someObjects
}

func (p *putting) entity(fields json.RawMessage) onto.Entity {
	return onto.Entity{Type: p.typ, Fields: fields}
}

// check refuses a type of another kind.
func (p *putting) check(s *store.Store) error {
	switch schema, err := s.Type(p.typ); {
	case err != nil: // the commit tells
	case schema.Kind == onto.KindRelation:
		return onto.Errorf(onto.Invalid, "%s is a relation, put is for entities", p.typ).
			WithHint("link it").WithCommand("link", p.typ, "LEFT", "RIGHT", "JSON")
	case schema.Kind == onto.KindFact:
		return noFacts(p.typ, "put is for entities")
	}
	return nil
}

// stream commits more objects than one draft may have, as one commit.
func (p *putting) stream(ctx context.Context, c *session.Session, w *session.WriteFlags, d onto.Draft) error {
	where := "" // the object that the store has and that it may refuse
	err := c.CommitStream(ctx, w, d, func(s *store.Store, d onto.Draft) (onto.Draft, error) { return d, p.check(s) }, func(yield func(any, error) bool) {
		for o, err := range p.in.all() {
			if err != nil {
				yield(nil, err)
				return
			}
			where = o.where
			if !yield(onto.Intent{Op: onto.Put, Value: p.entity(o.text), Merge: p.merge}, nil) {
				return
			}
			where = ""
		}
	})
	if code := onto.CodeOf(err); where != "" && (code == onto.Invalid || code == onto.TooLarge) {
		return onto.Errorf(code, "%s: %w", where, err)
	}
	return err
}
