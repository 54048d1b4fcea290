package change

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// revertFlags is what revert takes besides what is said about its commit.
type revertFlags struct {
	commit, to                    int64
	correlation, entity, relation string
	fact                          string
	instance                      string
	apply, over                   bool
}

// Revert is the verb revert: commits, undone.
func Revert(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	var f revertFlags
	cmd := &cobra.Command{
		Use:   "revert --commit N | --correlation ID | --entity TYPE KEY --to N | --relation TYPE LEFT RIGHT --to N | --fact REF --to N",
		Short: "Undo commits with a commit that compensates them",
		Long: `Revert makes things what they were, as one new commit; history stays. Without
--apply it only shows that commit.

--commit undoes what one commit did. --correlation undoes all commits with that
correlation id. --entity, --relation and --fact bring one thing back to what it was
as of commit --to; 0 means before it existed.

What other commits have changed since blocks a revert, and the table says which
they are. Revert those first, or undo them too with --over.

With --apply it prints the commit id, or says that nothing changed. To insist on
what was shown, add --expect-head with the head that was shown.`,
		Example: `  onto revert --commit 41
  onto revert --commit 41 --apply --actor operator:ana --comment "wrong file"
  onto revert --correlation import-7 --over --json
  onto revert --entity Customer c1 --to 7
  onto revert --relation Subscription c1 p1 --to 0 --apply
  onto revert --relation Employment ada acme --instance 2026 --to 7
  onto revert --fact Contract/ada/salary/f1 --to 7 --apply --comment "she stays"`,
		RunE: func(cmd *cobra.Command, args []string) error { return revert(c, cmd, &w, &f, args) },
	}
	f.register(cmd)
	w.RegisterRevert(cmd)
	return cmd
}

func (f *revertFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int64Var(&f.commit, "commit", 0, "undo commit `N`")
	flags.StringVar(&f.correlation, "correlation", "", "undo all commits with this correlation `ID`")
	flags.StringVar(&f.entity, "entity", "", "bring back one entity of this `TYPE`; its key follows")
	flags.StringVar(&f.relation, "relation", "", "bring back one relation of this `TYPE`; its left and right key follow")
	flags.StringVar(&f.fact, "fact", "", "bring back the fact that `REF` refers to")
	flags.StringVar(&f.instance, "instance", "", "instance `KEY` of the relation")
	flags.Int64Var(&f.to, "to", 0, "with --entity, --relation and --fact: to what it was as of commit `N`")
	flags.BoolVar(&f.over, "over", false, "also undo what other commits have changed since")
	flags.BoolVar(&f.apply, "apply", false, "make the commit")
}

func revert(c *session.Session, cmd *cobra.Command, w *session.WriteFlags, f *revertFlags, args []string) error {
	d, err := w.Draft(c, cmd)
	if err == nil {
		err = f.check(cmd, args)
	}
	if err != nil {
		return err
	}
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	ctx := cmd.Context()
	return c.WithStore(ctx, how, func(s *store.Store) error {
		r, err := f.revert(s, args)
		if err != nil {
			return err
		}
		if f.apply {
			return applyRevert(ctx, c, s, d, r)
		}
		plan, err := s.PlanRevert(ctx, r)
		if err == nil {
			err = checkPlannedHead(d, plan.Head)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			return revertDocument(c, plan)
		}
		migrated, err := migratedBy(ctx, s, r.Commit)
		if err != nil {
			return err
		}
		return showRevert(c, plan, f.over, append(f.words(cmd), args...), migrated)
	})
}

// migratedBy says what a commit did besides what a revert undoes.
func migratedBy(ctx context.Context, s *store.Store, commit int64) (string, error) {
	all, err := s.Schemas(ctx)
	for _, v := range all {
		if commit > 0 && v.Since == commit && v.Upgrader != nil {
			return "; the commit brought " + v.Schema.Name + " to version " + strconv.Itoa(v.Version) +
				", which only a migration to the former type takes back", err
		}
	}
	return "", err
}

// checkPlannedHead checks a plan against the head that the draft expects.
func checkPlannedHead(d onto.Draft, head int64) error {
	for _, e := range d.Expectations() {
		if e.Head && e.Commit != head {
			return onto.Errorf(onto.HeadMismatch, "expected head %d, but the head is %d", e.Commit, head)
		}
	}
	return nil
}

// check refuses flags that do not say one thing to revert.
func (f *revertFlags) check(cmd *cobra.Command, args []string) error {
	var chosen []string
	for _, name := range []string{"commit", "correlation", "entity", "relation", "fact"} {
		if cmd.Flags().Changed(name) {
			chosen = append(chosen, "--"+name)
		}
	}
	if len(chosen) == 0 {
		return onto.Errorf(onto.Invalid, "it is not said what to revert").WithHint("give --commit, --correlation, --entity, --relation or --fact")
	}
	if len(chosen) > 1 {
		return onto.Errorf(onto.Invalid, "%s contradict each other", strings.Join(chosen, " and ")).WithHint("give one of them")
	}
	one := chosen[0] == "--entity" || chosen[0] == "--relation" || chosen[0] == "--fact"
	want, form := 0, []string{"revert", chosen[0], cmd.Flag(chosen[0][2:]).Value.String()}
	switch chosen[0] {
	case "--entity":
		want, form = 1, []string{"revert", "--entity", "TYPE", "KEY", "--to", "N"}
	case "--relation":
		want, form = 2, []string{"revert", "--relation", "TYPE", "LEFT", "RIGHT", "--to", "N"}
	case "--fact":
		form = []string{"revert", "--fact", "REF", "--to", "N"}
	}
	switch {
	case len(args) != want:
		return onto.Errorf(onto.Invalid, "%s %s: got %s after it, not %d", cmd.CommandPath(), chosen[0], terminal.Count(len(args), "argument", "arguments"), want).
			WithHint("write it like this").WithCommand(form...)
	case one != cmd.Flags().Changed("to") && one:
		return onto.Errorf(onto.Invalid, "%s needs --to", chosen[0]).WithHint("name the commit to go back to; 0 is before it existed")
	case one != cmd.Flags().Changed("to"):
		return onto.Errorf(onto.Invalid, "--to goes with --entity, --relation and --fact, not with %s", chosen[0]).WithHint("write it like this").WithCommand(form...)
	case cmd.Flags().Changed("instance") && chosen[0] != "--relation":
		return onto.Errorf(onto.Invalid, "--instance goes with --relation, not with %s", chosen[0]).WithHint("write it like this").WithCommand(form...)
	case chosen[0] == "--correlation" && f.correlation == "":
		return onto.Errorf(onto.Invalid, "--correlation is empty").WithHint("give a correlation id")
	case chosen[0] == "--commit" && f.commit < 1:
		return onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", f.commit)
	}
	return session.NotNegative("to", f.to)
}

// revert is what the flags ask for.
func (f *revertFlags) revert(s *store.Store, args []string) (store.Revert, error) {
	r := store.Revert{Commit: f.commit, Correlation: f.correlation, To: f.to, Over: f.over}
	kind, name := onto.KindEntity, f.entity
	if f.relation != "" {
		kind, name = onto.KindRelation, f.relation
	}
	if f.fact != "" {
		var err error
		r.Identity, err = session.Thing{Args: []string{f.fact}}.Identity(s)
		return r, err
	}
	if len(args) == 0 {
		return r, nil
	}
	schema, err := s.Type(name)
	if err != nil {
		return r, err
	}
	if schema.Kind != kind {
		return r, onto.Errorf(onto.Invalid, "%s is a type of kind %s, not %s", name, schema.Kind, kind).WithHint("use --%s", schema.Kind)
	}
	r.Identity, err = session.Thing{Args: append([]string{name}, args...), Instance: f.instance}.Identity(s)
	return r, err
}

// words is the flags that say what to revert, as they can be given again.
func (f *revertFlags) words(cmd *cobra.Command) []string {
	words := []string{"revert"}
	for _, name := range []string{"commit", "correlation", "to", "instance", "entity", "relation", "fact"} {
		if flag := cmd.Flag(name); flag.Changed {
			words = append(words, "--"+name, flag.Value.String())
		}
	}
	return words
}

func applyRevert(ctx context.Context, c *session.Session, s *store.Store, d onto.Draft, r store.Revert) error {
	result, _, err := s.Revert(ctx, d, r)
	if err != nil {
		return err
	}
	return c.PrintCommitted(d, result)
}

// revertDocument prints a plan as one JSON document, its changes as they come.
func revertDocument(c *session.Session, plan store.RevertPlan) error {
	out, err := c.ArrayIn(document.NewRevertPlan(plan), "changes")
	if err != nil {
		return err
	}
	blocked := 0
	err = session.Each(plan.Changes, func(change store.RevertChange) error {
		if len(change.Blocked) > 0 {
			blocked++
		}
		return out.Add(document.NewReverted(change))
	})
	if err != nil {
		return err
	}
	return out.CloseWith(document.RevertCount{Operations: out.N, Blocked: blocked})
}

// showRevert prints a plan for people, and how to apply it.
func showRevert(c *session.Session, plan store.RevertPlan, over bool, words []string, migrated string) error {
	n, blocked := 0, 0
	err := session.Each(plan.Changes, func(change store.RevertChange) error {
		n++
		if err := terminal.PrintChange(c.Out, change.Change()); err != nil || len(change.Blocked) == 0 {
			return err
		}
		blocked++
		return c.Out.Line("    changed since by commit %s", showCommits(change.Blocked))
	})
	if err != nil {
		return err
	}
	if n == 0 {
		c.Say("nothing to revert: all is as it was%s", migrated)
		return nil
	}
	if blocked > 0 && !over {
		c.Say("blocked: other commits have changed %s since; revert those commits first, or add --over", terminal.Count(blocked, "of these", "of these"))
		words = append(words, "--over")
	} else if over {
		words = append(words, "--over")
	}
	c.SayNext("nothing was changed; to make this commit", append(words, "--apply", "--expect-head", strconv.FormatInt(plan.Head, 10))...)
	return nil
}

// showCommits is commit ids in a cell, the newest if they are many.
func showCommits(ids []int64) string {
	const most = 5
	var words []string
	if len(ids) > most {
		ids, words = ids[len(ids)-most:], []string{"…"}
	}
	for _, id := range ids {
		words = append(words, strconv.FormatInt(id, 10))
	}
	return strings.Join(words, " ")
}
