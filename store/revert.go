package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// Revert says what to undo: one of a commit, a correlation id and an identity.
type Revert struct {
	// Commit undoes one commit: what it changed goes back to what it was right
	// before.
	Commit int64

	// Correlation undoes all commits with this correlation id: what they
	// changed goes back to what it was right before the first of them that
	// changed it. It needs memory for all those identities.
	Correlation string

	// Identity goes back to what it was as of commit To; 0 means before it
	// existed.
	Identity onto.Identity
	To       int64

	// Over also undoes what other commits have made since of the same
	// identities. Without it they block the revert.
	Over bool
}

// RevertPlan is what a revert would do. It is about one moment, the head that
// it names, and stays the same when the store goes on.
type RevertPlan struct {
	Head    int64
	Commits []int64 // those undone, oldest first

	// Changes yields what would change, in order of identity. What is already
	// as it was is left out.
	Changes iter.Seq2[RevertChange, error]

	all iter.Seq2[target, error] // also what is already as it was
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

// target is an identity that a revert is about.
type target struct {
	RevertChange
	to      int64 // the state wanted is that as of this commit
	changes bool  // it is not in that state
}

// thing is what the target should be, for a stream.
func (g *target) thing() any {
	switch id := g.Identity; {
	case g.Then == nil:
		return id
	case id.Kind == onto.KindEntity:
		return onto.Entity{Type: id.Type, Key: id.Key, Fields: g.Then.Fields}
	default:
		return onto.Relation{Type: id.Type, Left: id.Left, Right: id.Right, Instance: id.Instance, Fields: g.Then.Fields}
	}
}

// PlanRevert returns what Revert would do now, and changes nothing. Versions
// are as the present types have them. A type that has ended cannot be reverted.
func (s *Store) PlanRevert(ctx context.Context, r Revert) (RevertPlan, error) {
	if err := r.check(); err != nil {
		return RevertPlan{}, err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return RevertPlan{}, err
	}
	plan := RevertPlan{Head: head.ID}
	switch {
	case r.Commit != 0:
		err = s.planCommit(ctx, r.Commit, &plan)
	case r.Correlation != "":
		err = s.planCorrelation(ctx, r.Correlation, &plan)
	default:
		err = s.planIdentity(ctx, r, &plan)
	}
	if err != nil {
		return RevertPlan{}, err
	}
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

// Revert undoes something with one compensating commit: history stays. If all
// is as it was already, no commit is made and the result's ID is 0. It fails
// with Refused if other commits have changed the same identities since, unless
// it is told to go over them, and with VersionMismatch if one of them changes
// while it is under way. The draft says what is said about the commit; by
// default its comment tells what was reverted, and its causation is the commit
// that was. To insist on a plan that was looked at, expect its head.
func (s *Store) Revert(ctx context.Context, d onto.Draft, r Revert) (onto.Result, RevertPlan, error) {
	for range d.Intents() {
		return onto.Result{}, RevertPlan{}, onto.Errorf(onto.Invalid, "the draft of a revert has intents of its own").
			WithHint("commit them by themselves")
	}
	plan, err := s.PlanRevert(ctx, r)
	if err != nil {
		return onto.Result{}, RevertPlan{}, err
	}
	blocked := map[onto.Identity]bool{} // of what is on its way to be admitted
	errBlocked := errors.New("blocked")
	things := func(yield func(any, error) bool) {
		for g, err := range plan.all {
			if len(g.Blocked) > 0 && !r.Over {
				blocked[g.Identity] = true
			}
			if !yield(g.thing(), err) || err != nil {
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
	res, err := s.CommitStreamWith(ctx, r.describe(d), things, &StreamOptions{Admit: admit})
	if errors.Is(err, errBlocked) {
		err = plan.refusal()
	}
	return res, plan, err
}

// check reports whether it is clear what to revert.
func (r Revert) check() error {
	given := 0
	for _, is := range []bool{r.Commit != 0, r.Correlation != "", r.Identity != (onto.Identity{})} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return onto.Errorf(onto.Invalid, "a revert is about one of a commit, a correlation id and an identity, not %d of them", given).
			WithHint("say which one to revert")
	case r.To < 0:
		return onto.Errorf(onto.Invalid, "commit %d is negative", r.To).WithHint("0 means before it existed")
	case r.To != 0 && r.Identity == (onto.Identity{}):
		return onto.Errorf(onto.Invalid, "only an identity can go back to a commit that is named").WithHint("leave out To")
	}
	return nil
}

// describe fills in what the draft does not say.
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

// refusal names some of what is blocked.
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

func (s *Store) planCommit(ctx context.Context, commit int64, plan *RevertPlan) error {
	if commit < 1 {
		return onto.Errorf(onto.NotFound, "commit %d does not exist: ids start at 1", commit)
	}
	if _, err := s.At(commit).Commit(ctx); err != nil {
		return err
	}
	plan.Head = max(plan.Head, commit) // it may have been made just now
	plan.Commits = []int64{commit}
	plan.all = func(yield func(target, error) bool) {
		for c, err := range s.Changes(ctx, commit) {
			g := target{to: commit - 1}
			if err == nil {
				g.Identity, err = s.changed(&c, commit)
			}
			if err == nil {
				err = s.aim(ctx, &g, plan)
			}
			if !yield(g, err) || err != nil {
				return
			}
		}
	}
	return nil
}

func (s *Store) planCorrelation(ctx context.Context, correlation string, plan *RevertPlan) error {
	for c, err := range s.b.Commits(ctx, &backend.CommitQuery{Until: plan.Head}) {
		if err != nil {
			return err
		}
		if c.Correlation == correlation {
			plan.Commits = append(plan.Commits, c.ID)
		}
	}
	if plan.Commits == nil {
		return onto.Errorf(onto.NotFound, "no commit has the correlation id %q", correlation).
			WithHint("see the commits with: onto commits")
	}
	first := map[onto.Identity]int64{}
	for _, id := range plan.Commits {
		for c, err := range s.Changes(ctx, id) {
			if err != nil {
				return err
			}
			present, err := s.changed(&c, id)
			if err != nil {
				return err
			}
			if _, known := first[present]; !known {
				first[present] = id
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(first), onto.Identity.Compare)
	plan.all = func(yield func(target, error) bool) {
		for _, id := range ids {
			g := target{RevertChange: RevertChange{Identity: id}, to: first[id] - 1}
			if err := s.aim(ctx, &g, plan); !yield(g, err) || err != nil {
				return
			}
		}
	}
	return nil
}

func (s *Store) planIdentity(ctx context.Context, r Revert, plan *RevertPlan) error {
	t, err := s.types.get(r.Identity.Kind, r.Identity.Type)
	if err == nil {
		err = t.CheckIdentity(r.Identity)
	}
	if err == nil {
		_, err = s.At(r.To).Commit(ctx)
	}
	if err != nil {
		return err
	}
	plan.Head = max(plan.Head, r.To)
	if plan.Commits, err = s.commitsOf(ctx, t, r.Identity, 0, plan.Head); err != nil {
		return err
	}
	if len(plan.Commits) == 0 {
		return onto.Errorf(onto.NotFound, "%s does not exist and never did", r.Identity)
	}
	plan.Commits = slices.DeleteFunc(plan.Commits, func(c int64) bool { return c <= r.To })
	plan.all = func(yield func(target, error) bool) {
		g := target{RevertChange: RevertChange{Identity: r.Identity}, to: r.To}
		err := s.aim(ctx, &g, plan)
		yield(g, err)
	}
	return nil
}

// aim fills in what a target is, what it was, and what is in between.
func (s *Store) aim(ctx context.Context, g *target, plan *RevertPlan) error {
	t, err := s.types.get(g.Kind, g.Type)
	if err != nil {
		return onto.Errorf(onto.Invalid, "%s cannot be reverted: %w", g.Identity, err)
	}
	newest, err := s.versionAt(ctx, t, g.Identity, plan.Head)
	if err != nil {
		return err
	}
	then, err := s.versionAt(ctx, t, g.Identity, g.to)
	if err != nil {
		return err
	}
	g.Now, g.Then = live(newest), live(then)
	w := backend.Write{Identity: g.Identity, Op: onto.Delete}
	if g.Then != nil {
		if w, err = t.Write(g.Identity, g.Then.Fields); err != nil {
			return err
		}
	}
	g.changes = backend.Changes(&w, newest)
	if !g.changes || newest == nil || newest.Commit <= g.to+1 { // the next commit is one of those undone
		return nil
	}
	return s.findBlocking(ctx, t, g, plan)
}

// findBlocking finds the commits that changed a target since and are not
// undone.
func (s *Store) findBlocking(ctx context.Context, t *typ, g *target, plan *RevertPlan) error {
	since, err := s.commitsOf(ctx, t, g.Identity, g.to, plan.Head)
	if err != nil {
		return err
	}
	for _, commit := range since {
		if _, undone := slices.BinarySearch(plan.Commits, commit); undone {
			continue
		}
		migrated, err := s.onlyMigrated(ctx, t, g.Identity, commit)
		if err != nil {
			return err
		}
		if !migrated {
			g.Blocked = append(g.Blocked, commit)
		}
	}
	return nil
}

// live is the version if the identity exists after it.
func live(v *onto.Version) *onto.Version {
	if v == nil || !v.Live() {
		return nil
	}
	return v
}

// changed is the identity that a commit changed, under the name that its type
// has now.
func (s *Store) changed(c *onto.Change, commit int64) (onto.Identity, error) {
	if c.Before != nil {
		commit-- // it may have been the end of the type
	}
	id, err := s.types.presentName(c.Identity, commit)
	if err != nil {
		return id, onto.Errorf(onto.Invalid, "%s cannot be reverted: %w", c.Identity, err)
	}
	return id, nil
}

// versionAt is the newest version of an identity as of a commit, as its type is
// now. It may be a delete; nil means that there is none.
func (s *Store) versionAt(ctx context.Context, t *typ, id onto.Identity, at int64) (*onto.Version, error) {
	v, err := reader{s: s, t: t}.get(ctx, id, at)
	if onto.CodeOf(err) == onto.NotFound {
		return nil, nil
	}
	return &v, err
}

// commitsOf returns the commits after one and up to another that made versions
// of an identity, oldest first.
func (s *Store) commitsOf(ctx context.Context, t *typ, id onto.Identity, since, until int64) ([]int64, error) {
	var list []int64
	q := &backend.Query{Kind: id.Kind, Type: id.Type, Mode: backend.History, At: until, Since: since, Identity: &id}
	for _, part := range (reader{s: s, t: t}).raw(q) {
		for v, err := range s.b.Scan(ctx, &part) {
			if err != nil {
				return nil, err
			}
			list = append(list, v.Commit)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// onlyMigrated reports whether a commit brought an identity to another version
// of its type and left it alone otherwise.
func (s *Store) onlyMigrated(ctx context.Context, t *typ, id onto.Identity, commit int64) (bool, error) {
	if t.chain == nil || !t.chain.Began(commit) {
		return false, nil
	}
	before, err := s.versionAt(ctx, t, id, commit-1)
	if err != nil {
		return false, err
	}
	after, err := s.versionAt(ctx, t, id, commit)
	before, after = live(before), live(after)
	return before != nil && after != nil && bytes.Equal(before.Fields, after.Fields), err
}
