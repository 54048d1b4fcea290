package change

import (
	"cmp"
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
	commit                        int64
	correlation, entity, relation string
	fact, subject                 string
	instance                      string
	to, since                     string
	apply, over                   bool

	aim               // what they say
	moment onto.Point // of --to or --since
}

// Revert is the verb revert: commits, undone.
func Revert(c *session.Session) *cobra.Command {
	var w session.WriteFlags
	var f revertFlags
	cmd := &cobra.Command{
		Use:   "revert --commit N | --correlation ID | --subject TYPE KEY --since MOMENT | --entity TYPE KEY --to MOMENT | --relation TYPE LEFT RIGHT --to MOMENT | --fact REF --to MOMENT",
		Short: "Undo commits with a commit that compensates them",
		Long: `Revert makes things what they were, as one new commit; history stays. Without
--apply it only shows that commit.

--commit undoes what one commit did. --correlation undoes all commits with that
correlation id. --entity, --relation and --fact bring one thing back to what it was
at --to: as of a commit, at a date or a time, in UTC unless it says otherwise; 0 means
before it existed.

--subject brings back an entity with the relations that have it at either end and the
facts about it, to what all of that was at --since: what was changed about it after that
moment is undone, whichever commits did it, and nothing else that they did. Of a type
of facts, it is only the facts of that type about KEY.

What other commits have changed since blocks a revert, and the table says which
they are. Revert those first, or undo them too with --over.

With --apply it prints the commit id, or says that nothing changed. To insist on
what was shown, add --expect-head with the head that was shown.`,
		Example: `  onto revert --commit 41
  onto revert --commit 41 --apply --actor operator:ana --comment "wrong file"
  onto revert --correlation import-7 --over --json
  onto revert --subject Customer c1 --since 2026-03-01T12:00
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
	flags.StringVar(&f.subject, "subject", "", "bring back an entity of this `TYPE` with its relations and facts; its key follows")
	flags.StringVar(&f.since, "since", "", "with --subject: undo what has changed since this `MOMENT`: a commit id, a date or a time")
	flags.StringVar(&f.to, "to", "", "with --entity, --relation and --fact: to what it was at this `MOMENT`: a commit id, a date or a time")
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
		r, err := f.revert(ctx, s, args)
		if err != nil {
			return err
		}
		if f.apply {
			return applyRevert(ctx, c, s, d, r)
		}
		plan, err := s.PlanRevert(ctx, r)
		if err != nil {
			return err
		}
		d.IdempotencyKey = "" // which is about what is reverted as well
		if conditions, err := s.PlanCommit(ctx, d); err != nil || conditions.Err != nil {
			return cmp.Or(err, conditions.Err)
		}
		if c.JSON {
			return revertDocument(c, plan, f.target(r))
		}
		migrated, err := migratedBy(ctx, s, r.Commit)
		if err != nil {
			return err
		}
		if err := f.sayMoment(ctx, c, s, r.To); err != nil {
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

// aim is a flag that says what to revert.
type aim struct {
	flag string
	args int      // how many follow
	form []string // how they are written
	when string   // the flag with the moment to go back to; "" if it undoes commits
}

var aims = []aim{
	{"commit", 0, nil, ""},
	{"correlation", 0, nil, ""},
	{"subject", 1, []string{"TYPE", "KEY", "--since", "MOMENT"}, "since"},
	{"entity", 1, []string{"TYPE", "KEY", "--to", "MOMENT"}, "to"},
	{"relation", 2, []string{"TYPE", "LEFT", "RIGHT", "--to", "MOMENT"}, "to"},
	{"fact", 0, []string{"REF", "--to", "MOMENT"}, "to"},
}

// check refuses flags that do not say one thing to revert, and reads the moment.
func (f *revertFlags) check(cmd *cobra.Command, args []string) error {
	var chosen []string
	var a aim
	for _, other := range aims {
		if cmd.Flags().Changed(other.flag) {
			chosen, a = append(chosen, "--"+other.flag), other
		}
	}
	if len(chosen) == 0 {
		return onto.Errorf(onto.Invalid, "it is not said what to revert").WithHint("give --commit, --correlation, --subject, --entity, --relation or --fact")
	}
	if len(chosen) > 1 {
		return onto.Errorf(onto.Invalid, "%s contradict each other", strings.Join(chosen, " and ")).WithHint("give one of them")
	}
	form := append([]string{"revert", chosen[0]}, a.form...)
	if a.form == nil {
		form = append(form, cmd.Flag(a.flag).Value.String())
	}
	if len(args) != a.args {
		return onto.Errorf(onto.Invalid, "%s %s: got %s after it, not %d", cmd.CommandPath(), chosen[0], terminal.Count(len(args), "argument", "arguments"), a.args).
			WithHint("write it like this").WithCommand(form...)
	}
	for _, other := range []struct{ flag, of string }{{"to", "--entity, --relation and --fact"}, {"since", "--subject"}, {"instance", "--relation"}} {
		mine := other.flag == a.when || other.flag == "instance" && a.flag == "relation"
		if cmd.Flags().Changed(other.flag) && !mine {
			return onto.Errorf(onto.Invalid, "--%s goes with %s, not with %s", other.flag, other.of, chosen[0]).WithHint("write it like this").WithCommand(form...)
		}
	}
	f.aim = a
	switch {
	case a.when != "":
		return f.readMoment(cmd)
	case a.flag == "commit" && f.commit < 1:
		return onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", f.commit)
	}
	return nil
}

// readMoment reads the moment to go back to.
func (f *revertFlags) readMoment(cmd *cobra.Command) error {
	if !cmd.Flags().Changed(f.when) {
		return onto.Errorf(onto.Invalid, "--%s needs --%s", f.flag, f.when).WithHint("name the commit or the time to go back to; 0 is before it existed")
	}
	var err error
	if f.moment, err = session.ParsePoint(cmd.Flag(f.when).Value.String()); err != nil {
		return err
	}
	if n, ok := f.moment.Commit(); ok {
		return session.NotNegative(f.when, n)
	}
	return nil
}

// revert is what the flags ask for.
func (f *revertFlags) revert(ctx context.Context, s *store.Store, args []string) (store.Revert, error) {
	r := store.Revert{Commit: f.commit, Correlation: f.correlation, Over: f.over}
	if f.when == "" {
		return r, nil
	}
	then, err := s.View(f.moment).Commit(ctx)
	if err != nil {
		return r, err
	}
	r.To = then.ID
	switch f.flag {
	case "subject":
		r.Subject = store.Subject{Type: f.subject, Key: args[0]}
	case "fact":
		r.Identity, err = session.Thing{Args: []string{f.fact}}.Identity(s)
	case "relation":
		r.Identity, err = f.thing(s, onto.KindRelation, append([]string{f.relation}, args...))
	default:
		r.Identity, err = f.thing(s, onto.KindEntity, append([]string{f.entity}, args...))
	}
	return r, err
}

// thing is one entity or relation.
func (f *revertFlags) thing(s *store.Store, kind onto.Kind, words []string) (onto.Identity, error) {
	schema, err := s.Type(words[0])
	if err != nil {
		return onto.Identity{}, err
	}
	if schema.Kind != kind {
		return onto.Identity{}, onto.Errorf(onto.Invalid, "%s is a type of kind %s, not %s", words[0], schema.Kind, kind).WithHint("use --%s", schema.Kind)
	}
	return session.Thing{Args: words, Instance: f.instance}.Identity(s)
}

// target is the commit that a plan goes back to; nil if it undoes commits.
func (f *revertFlags) target(r store.Revert) *int64 {
	if f.when == "" {
		return nil
	}
	return &r.To
}

// sayMoment tells which commit a time stands for.
func (f *revertFlags) sayMoment(ctx context.Context, c *session.Session, s *store.Store, to int64) error {
	if at, timed := f.moment.Time(); timed && to == 0 {
		c.Say("to before the first commit: there was none by %s", terminal.Time(at))
	} else if timed {
		then, err := s.At(to).Commit(ctx)
		if err != nil {
			return err
		}
		c.Say("to what it was after commit %d of %s", to, terminal.Time(then.Time))
	}
	return nil
}

// words is the flags that say what to revert, as they can be given again.
func (f *revertFlags) words(cmd *cobra.Command) []string {
	words := []string{"revert"}
	for _, name := range []string{"commit", "correlation", "to", "since", "instance", "subject", "entity", "relation", "fact"} {
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
func revertDocument(c *session.Session, plan store.RevertPlan, to *int64) error {
	out, err := c.ArrayIn(document.NewRevertPlan(plan, to), "changes")
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
