package session

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// DryRunHelp ends the help of verbs with --dry-run.
const DryRunHelp = `

With --dry-run it stores nothing and prints what would change, and whether each condition
is met: --expect-head, --idempotency-key, --causation, and the write lease, which another
holder may have. The exit status is that of the commit.`

// RegisterDryRun adds --dry-run.
func (w *WriteFlags) RegisterDryRun(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "only tell what would change, and whether the conditions are met")
}

// things is further things of a draft; nil for none.
type things = iter.Seq2[any, error]

// plan opens the store, and prints what a commit would do.
func (c *Session) plan(ctx context.Context, w *WriteFlags, d onto.Draft, build builder, more things) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		d, err := build(s, d)
		if err != nil {
			return err
		}
		show, end, err := c.planned()
		if err != nil {
			return err
		}
		var p store.CommitPlan
		if more != nil {
			p, err = s.PlanStream(ctx, d, more, show)
		} else if p, err = s.PlanCommit(ctx, d); err == nil {
			for i := 0; i < len(p.Changes) && err == nil; i++ {
				err = show(p.Changes[i])
			}
		}
		if err != nil {
			return err
		}
		missing := c.missingEnds(ctx, s.At(p.Head), w)
		if err := end(p, missing); err != nil {
			return err
		}
		return p.Err
	})
}

// planned prints a plan: its changes as they come, and what else there is to say.
func (c *Session) planned() (show func(onto.Change) error, end func(store.CommitPlan, []onto.Identity) error, err error) {
	if !c.JSON {
		return func(change onto.Change) error { return terminal.PrintChange(c.Out, change) }, c.endPlan, nil
	}
	out, err := c.ArrayIn(document.DryRun{DryRun: true}, "changes")
	if err != nil {
		return nil, nil, err
	}
	show = func(change onto.Change) error { return out.Add(document.NewPlannedChange(change)) }
	end = func(p store.CommitPlan, missing []onto.Identity) error {
		return out.CloseWith(document.NewCommitPlan(p, missing))
	}
	return show, end, nil
}

// endPlan tells people what a commit would do besides its changes.
func (c *Session) endPlan(p store.CommitPlan, _ []onto.Identity) error {
	if err := c.Out.Flush(); err != nil {
		return err
	}
	for i := range p.Conditions {
		if cond := &p.Conditions[i]; cond.Err == nil {
			c.Say("met: %s", cond)
		} else {
			c.Say("not met: %s", document.Message(cond.Err))
		}
	}
	switch r := p.Result; {
	case p.Err != nil:
	case r.Repeated:
		c.Say("this was a dry run: commit %d has this idempotency key already, and is what was asked for", r.ID)
	case !r.Changed():
		c.Say("this was a dry run: nothing would change")
	default:
		c.Say("this was a dry run: nothing was stored; it would be commit %d", r.ID)
	}
	return nil
}

// missingEnds warns of the ends of a relation that do not exist in a view, and returns
// them. The warning does not change what the verb did.
func (c *Session) missingEnds(ctx context.Context, v store.View, w *WriteFlags) []onto.Identity {
	if w.Relation == nil {
		return nil
	}
	missing, err := v.MissingEnds(ctx, *w.Relation)
	if err != nil {
		c.warn(c.JSON, document.CodeOf(err), "the ends of the relation could not be looked up: "+document.Message(err), onto.HintOf(err))
		return nil
	}
	for _, id := range missing {
		c.warn(c.JSON, onto.NotFound, w.Relation.String()+" names "+id.String()+", which does not exist", onto.NewHint("put it", "put", id.Type, "JSON"))
	}
	return missing
}
