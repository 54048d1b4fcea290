package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Revert says what to undo: one of a commit, a correlation id, an identity and a subject.
type Revert struct {
	// Commit undoes one commit: what it changed goes back to what it was right
	// before.
	Commit int64

	// Correlation undoes all commits with this correlation id: what they
	// changed goes back to what it was right before the first of them that
	// changed it. It needs memory for all those identities.
	Correlation string

	// Identity goes back to what it was as of commit To; 0 means before it
	// existed. For a time, take the commit of Store.AsOf.
	Identity onto.Identity
	To       int64

	// Subject goes back, with its relations and the facts about it, to what all of that
	// was as of commit To; 0 means before any of it existed. What was changed about it
	// since is undone, whichever commits did that, and nothing else that these did. A
	// relation comes back even if its other end does not exist any more. It needs memory
	// for the identities that were changed. For a time, take the commit of Store.AsOf.
	Subject Subject

	// Over also undoes later changes of the same identities by other commits. Without
	// it they block the revert.
	Over bool
}

// RevertPlan is what a revert would do. It is as of the head that it names, and later
// commits do not change it.
type RevertPlan struct {
	Head    int64
	Commits []int64 // those undone, oldest first

	// Changes yields what would change, in order of identity. Identities that are
	// already as they were are left out.
	Changes iter.Seq2[RevertChange, error]

	all iter.Seq2[target, error] // also identities that are already as they were
}

// RevertChange is what a revert would do to one identity.
type RevertChange struct {
	onto.Identity
	Now     *onto.Version // nil if it does not exist
	Then    *onto.Version // what it would be again; nil if it would be deleted
	Blocked []int64       // other commits that changed it since, oldest first; undone only with Revert.Over
}

// Change is the compensating change.
func (c RevertChange) Change() onto.Change {
	return onto.Change{Identity: c.Identity, Before: c.Now, After: c.Then}
}

// PlanRevert returns what Revert would do now, and changes nothing. Versions
// are as the present types have them. A type that has ended cannot be reverted.
func (s *Store) PlanRevert(ctx context.Context, r Revert) (RevertPlan, error) {
	if err := r.check(); err != nil {
		return RevertPlan{}, err
	}
	head, err := s.Head(ctx)
	if err == nil {
		_, err = s.relearn(ctx) // so that the changes up to the head are of types that are known
	}
	if err != nil {
		return RevertPlan{}, err
	}
	undo := &reversal{s: s, RevertPlan: RevertPlan{Head: head.ID}}
	switch {
	case r.Commit != 0:
		err = undo.ofCommit(ctx, r.Commit)
	case r.Correlation != "":
		err = undo.ofCorrelation(ctx, r.Correlation)
	case r.Subject != (Subject{}):
		err = undo.ofSubject(ctx, r.Subject, r.To)
	default:
		err = undo.ofIdentity(ctx, r.Identity, r.To)
	}
	if err != nil {
		return RevertPlan{}, err
	}
	plan := undo.RevertPlan
	plan.Changes = func(yield func(RevertChange, error) bool) {
		for g, err := range plan.all {
			if err == nil && !g.changes {
				continue
			}
			if !yield(g.RevertChange, err) || err != nil {
				return
			}
		}
	}
	return plan, nil
}

// Revert undoes something with one compensating commit: history stays. If everything is
// already as it was, no commit is made and the result's ID is 0. It fails with Refused
// if other commits have changed the same identities since, unless Over is set, and with
// VersionMismatch if one of them changes meanwhile; what else is added about a subject
// meanwhile is left as it is. The draft is the header of the
// commit; by default its comment names what was reverted, and its causation is the
// reverted commit. To apply exactly a plan that was reviewed, expect its head.
func (s *Store) Revert(ctx context.Context, d onto.Draft, r Revert) (onto.Result, RevertPlan, error) {
	for range d.Intents() {
		return onto.Result{}, RevertPlan{}, onto.Errorf(onto.Invalid, "the draft of a revert has intents of its own").
			WithHint("commit them by themselves")
	}
	plan, err := s.PlanRevert(ctx, r)
	if err != nil {
		return onto.Result{}, RevertPlan{}, err
	}
	blocked := map[onto.Identity]bool{} // of the writes that await admission
	errBlocked := errors.New("blocked")
	writes := func(yield func(backend.Write, error) bool) {
		for g, err := range plan.all {
			if len(g.Blocked) > 0 && !r.Over {
				blocked[g.Identity] = true
			}
			if len(blocked) > mostBlocked {
				err = errBlocked
			}
			if !yield(g.write, err) || err != nil {
				return
			}
		}
	}
	admit := func(p Proposal) (bool, error) {
		switch {
		case !p.Changes:
			return false, nil
		case p.Newest != nil && p.Newest.Commit > plan.Head:
			return false, onto.Errorf(onto.VersionMismatch, "%s was changed by commit %d meanwhile", p.Identity, p.Newest.Commit).
				WithHint("look at what would be reverted now, then try again")
		case blocked[p.Identity]:
			return false, errBlocked
		}
		return true, nil
	}
	res, err := s.appendStream(ctx, r.describe(d), s.catalog(), writes, &StreamOptions{Admit: admit, reverts: true})
	if errors.Is(err, errBlocked) {
		err = plan.refusal()
	}
	return res, plan, err
}

// mostBlocked is how many identities may be blocked before a revert is refused without a
// look at whether they still are.
const mostBlocked = 1000

// check reports whether exactly one thing to revert is named.
func (r Revert) check() error {
	given := 0
	for _, is := range []bool{r.Commit != 0, r.Correlation != "", r.Identity != (onto.Identity{}), r.Subject != (Subject{})} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return onto.Errorf(onto.Invalid, "a revert is about one of a commit, a correlation id, an identity and a subject, not %d of them", given).
			WithHint("say which one to revert")
	case r.To < 0:
		return onto.Errorf(onto.Invalid, "commit %d is negative", r.To).WithHint("0 means before it existed")
	case r.To != 0 && r.Identity == (onto.Identity{}) && r.Subject == (Subject{}):
		return onto.Errorf(onto.Invalid, "only an identity or a subject can go back to a commit that is named").WithHint("leave out To")
	}
	return nil
}

// describe fills in what the draft leaves open.
func (r Revert) describe(d onto.Draft) onto.Draft {
	comment := ""
	switch {
	case r.Commit != 0:
		comment = fmt.Sprintf("revert commit %d", r.Commit)
		if d.Causation == 0 {
			d.Causation = r.Commit
		}
	case r.Correlation != "":
		comment = "revert correlation " + r.Correlation
	case r.Subject != (Subject{}) && r.To == 0:
		comment = fmt.Sprintf("revert all about %s to before it existed", r.Subject)
	case r.Subject != (Subject{}):
		comment = fmt.Sprintf("revert all about %s to commit %d", r.Subject, r.To)
	case r.To == 0:
		comment = fmt.Sprintf("revert %s to before it existed", r.Identity)
	default:
		comment = fmt.Sprintf("revert %s to commit %d", r.Identity, r.To)
	}
	if d.Comment == "" {
		d.Comment = comment
	}
	return d
}

// refusal names some of the blocked identities.
func (p *RevertPlan) refusal() error {
	const most = 5
	var names []string
	for c, err := range p.Changes {
		if err != nil {
			return err
		}
		if len(c.Blocked) == 0 {
			continue
		}
		if len(names) == most {
			names = append(names, "and more")
			break
		}
		names = append(names, fmt.Sprintf("%s by %s", c.Identity, commitList(c.Blocked)))
	}
	return onto.Errorf(onto.Refused, "other commits have changed since what would be reverted: %s", strings.Join(names, ", ")).
		WithHint("revert those commits first, or undo them too with Revert.Over, on the command line --over")
}

// commitList names commits for messages, the newest ones if they are many.
func commitList(ids []int64) string {
	const most = 5
	if len(ids) == 1 {
		return fmt.Sprintf("commit %d", ids[0])
	}
	lead := "commits "
	if len(ids) > most {
		lead = fmt.Sprintf("%d commits, at last ", len(ids))
		ids = ids[len(ids)-most:]
	}
	return lead + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}
