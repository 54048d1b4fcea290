package evolve

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

type dropFlags struct {
	drop store.Drop
	applyFlags
}

// SchemaDrop is the verb schema drop: the end of a type.
func SchemaDrop(c *session.Session) *cobra.Command {
	var f dropFlags
	cmd := &cobra.Command{
		Use:   "drop KIND TYPE",
		Short: "End a type",
		Long: `Drop ends a type: everything of it is deleted by one commit, and nothing can be
written of it any more. It can still be read as of the time before, and its name
can be used again. Without --apply only the plan is shown, with a token.

An entity type that relations have as an endpoint, or facts as their subject, is
refused, unless they are dropped with it.

With --purge-history every version of it is removed for good, also from the past.
Nothing brings that back but a backup. What stays is a record of it: when, how many
versions, and --actor and --comment, which schema history shows.`,
		Example: `  onto schema drop relation Subscription
  onto schema drop fact Contract
  onto schema drop entity Product --cascade-relations
  onto schema drop entity Product --drop-relation Subscription --apply --token TOKEN`,
		Args: session.ArgCount(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.drop.Kind, f.drop.Type = onto.Kind(args[0]), args[1]
			return dropType(c, cmd, &f)
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.drop.Cascade, "cascade-relations", false, "with all relations that have it as an endpoint, and all facts about it")
	flags.StringArrayVar(&f.drop.Relations, "drop-relation", nil, "with this `TYPE` of relations or facts; may be repeated")
	flags.BoolVar(&f.drop.Purge, "purge-history", false, "remove every version for good")
	return cmd
}

func dropType(c *session.Session, cmd *cobra.Command, f *dropFlags) error {
	if err := session.CheckKind(f.drop.Kind); err != nil {
		return err
	}
	if f.drop.Cascade && len(f.drop.Relations) > 0 {
		return onto.Errorf(onto.Invalid, "--cascade-relations and --drop-relation contradict each other").WithHint("give one of them")
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	b, cfg, err := c.OpenBackend(ctx, how)
	if err != nil {
		return err
	}
	defer b.Close()
	if !f.apply {
		return planDrop(ctx, c, b, &f.drop)
	}
	opts, done, err := f.options(cmd, c, cfg, "dropping")
	if err != nil {
		return err
	}
	res, plan, err := store.DropTypes(ctx, b, &f.drop, opts)
	done()
	if err != nil {
		return err
	}
	if c.JSON {
		doc := document.NewDropped(res, plan)
		doc.Emitted = document.Emitted(opts.Draft, res)
		return c.Document(doc)
	}
	for _, t := range plan.Types {
		gone := ""
		if f.newerHead {
			gone = fmt.Sprintf(": %s of %s", terminal.Count(t.Live, "thing", "things"), terminal.Count(t.Versions, "version", "versions"))
		}
		c.Say("dropped %s %s%s", t.Kind, t.Name, gone)
	}
	if !res.Changed() {
		c.SayNoCommit(opts.Draft, "no commit was needed")
		return nil
	}
	return c.PrintCommitted(opts.Draft, res)
}

func planDrop(ctx context.Context, c *session.Session, b backend.Backend, d *store.Drop) error {
	plan, err := store.PlanDrop(ctx, b, d)
	if err != nil {
		return err
	}
	if c.JSON {
		err = c.Document(document.NewDrop(plan))
	} else {
		err = printDrop(c, plan)
	}
	if refusal := plan.Refusal(); err == nil && refusal != nil {
		return refusal
	}
	if err == nil && !c.JSON {
		sayApply(c, words(d), plan.Token)
	}
	return err
}

// words is the command that plans the drop, as it can be given again.
func words(d *store.Drop) []string {
	words := []string{"schema", "drop", string(d.Kind), d.Type}
	if d.Cascade {
		words = append(words, "--cascade-relations")
	}
	for _, r := range d.Relations {
		words = append(words, "--drop-relation", r)
	}
	if d.Purge {
		words = append(words, "--purge-history")
	}
	return words
}

func printDrop(c *session.Session, plan *store.DropPlan) error {
	for _, t := range plan.Types {
		what := terminal.Count(t.Live, "thing is", "things are") + " deleted, " + terminal.Count(t.Versions, "version stays", "versions stay") + " in history"
		if plan.Purge {
			what = terminal.Count(t.Versions, "version is", "versions are") + " removed for good"
		}
		if err := c.Out.Line("%s %s: %s", t.Kind, terminal.Escape(t.Name), what); err != nil {
			return err
		}
	}
	for _, name := range plan.Dependents {
		if err := c.Out.Line("%s has it as an endpoint or a subject", terminal.Escape(name)); err != nil {
			return err
		}
	}
	if len(plan.Dependents) > 0 {
		return nil
	}
	return c.Out.Line("token %s", plan.Token)
}
