package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/decide"
	"github.com/ontologia/onto/internal/lease"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/foldkeep"
)

// CommitPlan is what a commit of a draft would do on top of a head. Another commit in
// between can change it; a draft that expects the head is then refused.
type CommitPlan struct {
	Head int64 // that it was planned for

	// Result is what the commit would return, but for its time. It is zero if the draft
	// would be refused; then Err says why, as the commit would.
	Result onto.Result
	Err    error

	// Conditions has a verdict on each condition of the draft, in the order in which a
	// commit looks at them.
	Conditions []Condition

	// Changes is what the commit would change, in order of identity, also if a condition is
	// not met. After.Commit is 0. A plan of a stream hands them out instead.
	Changes []onto.Change
}

// Condition is a condition under which a draft is committed, and whether it is met.
type Condition struct {
	Name     ConditionName
	Identity onto.Identity // of ExpectedVersion and GivenVersion
	Commit   int64         // the cause, or the commit that is expected or given
	Text     string        // the idempotency key, or the name of the lease
	Err      error         // nil if it is met; otherwise why not, as the commit would say
}

// ConditionName says which condition it is.
type ConditionName string

// The conditions.
const (
	UnusedKey       ConditionName = "idempotency_key" // met also by a repetition of the same draft
	HeldLease       ConditionName = "lease"           // that the draft carries; or another holder has the write lease, for which a commit waits
	ExistingCause   ConditionName = "cause"
	ExpectedHead    ConditionName = "head"
	ExpectedVersion ConditionName = "version"
	GivenHead       ConditionName = "given_head"
	GivenVersion    ConditionName = "given_version"
)

// String says what must be so.
func (c Condition) String() string {
	switch c.Name {
	case UnusedKey:
		return fmt.Sprintf("the idempotency key %q is good for this draft", c.Text)
	case HeldLease:
		return fmt.Sprintf("the lease %s is held", c.Text)
	case ExistingCause:
		return fmt.Sprintf("the cause, commit %d, exists", c.Commit)
	case ExpectedHead, GivenHead:
		return fmt.Sprintf("the head is %d", c.Commit)
	}
	if c.Commit == 0 {
		return fmt.Sprintf("%s does not exist", c.Identity)
	}
	return fmt.Sprintf("%s is at commit %d", c.Identity, c.Commit)
}

// PlanCommit returns what Commit would do with a draft now, and changes nothing: the same
// rules decide, on what the store was at one commit. A draft that is malformed, or that
// does not fit the types, fails as with Commit. Acks and positions cannot be planned.
func (s *Store) PlanCommit(ctx context.Context, d onto.Draft) (CommitPlan, error) {
	types := s.catalog()
	err := plannable(d)
	if err != nil {
		return CommitPlan{}, err
	}
	draft, err := s.draft(ctx, types, d)
	if err != nil {
		return CommitPlan{}, err
	}
	if draft.IdempotencyKey != "" {
		draft.Digest = backend.DigestOf(draft)
	}
	for tries := 1; ; tries++ {
		plan, err := s.tryPlan(ctx, types, draft, tries > 1)
		again := refusal.Outdated(err, draft.Fence) || refusal.Outdated(plan.Err, draft.Fence)
		if !again || tries == foldkeep.MaxTries {
			return plan, err
		}
	}
}

// plannable refuses a draft that cannot be planned.
func plannable(d onto.Draft) error {
	if len(d.Acks) > 0 || d.Advance != nil {
		return onto.Errorf(onto.Invalid, "a draft with acks or a position cannot be planned").WithHint("plan it without them")
	}
	return nil
}

// tryPlan plans a draft once; again says that it was stale before.
func (s *Store) tryPlan(ctx context.Context, types *catalog.Catalog, draft *backend.Draft, again bool) (CommitPlan, error) {
	whole, failed, forget := draft, error(nil), func() {}
	if foldkeep.HasFacts(draft) {
		computed, err := s.folds.Compute(ctx, types, draft, again)
		if err != nil && onto.CodeOf(err) == "" {
			return CommitPlan{}, err
		}
		if failed = err; err == nil {
			whole, forget = &computed.Draft, computed.Forget
		}
	}
	p, err := s.judge(ctx, whole, len(draft.Fence))
	if err != nil {
		return CommitPlan{}, err
	}
	switch met := p.unmet() == nil; {
	case failed != nil && met && !p.repeats():
		p.plan.Err = failed // nothing that comes earlier refuses the draft
		return p.plan, nil
	case failed != nil:
		only := *whole
		only.Writes = nil
		p.decide(&only)
	default:
		p.decide(whole)
		p.changes(whole)
	}
	if onto.CodeOf(p.plan.Err) == onto.Stale {
		forget()
	}
	_, p.plan.Err = s.finish(ctx, types, onto.Result{At: p.plan.Head}, p.plan.Err)
	return p.plan, nil
}

// judging is a plan under way.
type judging struct {
	plan   CommitPlan
	round  *decide.Round
	barred error // why the lease of the draft, or that of another holder, keeps it from writing
	given  int   // how many of the draft's fences are the caller's, which come first
}

// judge looks up what a draft names, as of one commit, and judges its conditions. The
// first of its fences, so many as given, are the caller's.
func (s *Store) judge(ctx context.Context, d *backend.Draft, given int) (*judging, error) {
	head, err := s.Head(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := s.b.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	p := &judging{plan: CommitPlan{Head: head.ID}, given: given}
	p.round = decide.NewRound(decide.Base{Head: head.ID, Time: head.Time, Now: now, Types: decide.NewCatalog(stored)})
	if err := s.lookUpNamed(ctx, d, head.ID, p.round.Newest); err != nil {
		return nil, err
	}
	if d.IdempotencyKey != "" {
		used, err := s.usedKey(ctx, d.IdempotencyKey, head.ID)
		if err != nil {
			return nil, err
		}
		if used != nil {
			p.round.Keys[d.IdempotencyKey] = *used
		}
	}
	name, barred, err := s.barred(ctx, d.Lease, now)
	if err != nil {
		return nil, err
	}
	p.barred = barred
	p.conditions(d, name)
	return p, nil
}

// lookUpNamed finds the newest versions as of a commit of all that a draft names.
func (s *Store) lookUpNamed(ctx context.Context, d *backend.Draft, at int64, found map[onto.Identity]*onto.Version) error {
	var ids []onto.Identity
	for id := range decide.Identities(d) {
		ids = append(ids, *id)
	}
	slices.SortFunc(ids, onto.Identity.Compare)
	ids = slices.Compact(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n].TypeName() == ids[0].TypeName() {
			n++
		}
		some, err := s.lookUp(ctx, ids[:n], at)
		if err != nil {
			return err
		}
		for id, v := range some {
			found[id] = v
		}
		ids = ids[n:]
	}
	return nil
}

// usedKey returns the commit up to another one that has used an idempotency key, with the
// digest of its draft; nil if there is none.
func (s *Store) usedKey(ctx context.Context, key string, until int64) (*decide.Commit, error) {
	for c, err := range s.b.Commits(ctx, &backend.CommitQuery{Key: key, Until: until, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		log, ok := backend.As[backend.LogSource](s.b)
		if !ok {
			return nil, onto.Errorf(onto.Unsupported, "commit %d has used the idempotency key %q, and this storage does not tell for which draft", c.ID, key)
		}
		for entry, err := range log.Log(ctx, c.ID-1) {
			if err != nil {
				return nil, err
			}
			return &decide.Commit{Commit: entry.Commit.Commit, Metadata: entry.Commit.Metadata, Digest: entry.Commit.Digest}, nil
		}
	}
	return nil, nil
}

// barred tells which lease decides whether a draft may write, "" if none does, and why it
// may not.
func (s *Store) barred(ctx context.Context, carried *onto.Lease, now time.Time) (name string, why, err error) {
	leaser, ok := backend.As[backend.Leaser](s.b)
	if !ok {
		if carried != nil {
			_, why = leaserOf(s.b)
			return carried.Name, why, nil
		}
		return "", nil, nil
	}
	list, err := leaser.Leases(ctx)
	if err != nil {
		return "", nil, err
	}
	held := func(name string) *onto.Lease {
		if i := slices.IndexFunc(list, func(l onto.Lease) bool { return l.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	if carried != nil {
		name, why = carried.Name, lease.Check(*carried, held(carried.Name))
	}
	if other := held(onto.WriteLease); !lease.KeepsOut(carried) && other != nil && now.Before(other.Expires) {
		return other.Name, lease.Contention(other), nil
	}
	return name, why, nil
}

// conditions judges each condition of a draft by itself.
func (p *judging) conditions(d *backend.Draft, leaseName string) {
	add := func(c Condition, only *backend.Draft, barred error) {
		_, c.Err = p.round.Append(only, barred)
		p.plan.Conditions = append(p.plan.Conditions, c)
	}
	if d.IdempotencyKey != "" {
		only := &backend.Draft{Digest: d.Digest}
		only.IdempotencyKey = d.IdempotencyKey
		add(Condition{Name: UnusedKey, Text: d.IdempotencyKey}, only, nil)
	}
	if leaseName != "" {
		add(Condition{Name: HeldLease, Text: leaseName}, &backend.Draft{}, p.barred)
	}
	if d.Causation != 0 {
		only := &backend.Draft{}
		only.Causation = d.Causation
		add(Condition{Name: ExistingCause, Commit: d.Causation}, only, nil)
	}
	for _, head := range []bool{true, false} { // a commit looks at the head first
		for _, e := range d.Expect {
			if e.Head != head {
				continue
			}
			name := ExpectedVersion
			if e.Head {
				name = ExpectedHead
			}
			add(Condition{Name: name, Identity: e.Identity, Commit: e.Commit}, &backend.Draft{Expect: []onto.Expectation{e}}, nil)
		}
	}
	for _, e := range d.Fence[:p.given] {
		name := GivenVersion
		if e.Head {
			name = GivenHead
		}
		add(Condition{Name: name, Identity: e.Identity, Commit: e.Commit}, &backend.Draft{Fence: []onto.Expectation{e}}, nil)
	}
}

// unmet is why the first condition that is not met is not; nil if all are.
func (p *judging) unmet() error {
	for i := range p.plan.Conditions {
		if err := p.plan.Conditions[i].Err; err != nil {
			return err
		}
	}
	return nil
}

// repeats reports whether the draft repeats an earlier one.
func (p *judging) repeats() bool {
	return len(p.round.Keys) > 0 && p.plan.Conditions[0].Err == nil
}

// decide reaches the verdict on a draft. What it would write stays in the round.
func (p *judging) decide(d *backend.Draft) {
	p.plan.Result, p.plan.Err = p.round.Append(d, p.barred)
	p.plan.Result.Time = time.Time{}
}

// changes lists what a draft that was decided would change, also if a condition refused it.
func (p *judging) changes(d *backend.Draft) {
	if p.plan.Err != nil {
		if p.unmet() == nil {
			return
		}
		only := *d
		only.IdempotencyKey, only.Causation, only.Expect, only.Fence = "", 0, nil, d.Fence[p.given:]
		if _, err := p.round.Append(&only, nil); err != nil {
			return
		}
	}
	for i := range p.round.Versions {
		v := &p.round.Versions[i]
		after := v.Version
		after.Commit = 0
		p.plan.Changes = append(p.plan.Changes, liken(onto.Change{Identity: v.Identity, Before: live(v.Before), After: &after}))
	}
}

// PlanStream is PlanCommit for a draft and a sequence of further things, as in
// CommitStream, but for facts. Each is called with the changes, in order of identity.
func (s *Store) PlanStream(ctx context.Context, d onto.Draft, things iter.Seq2[any, error], each func(onto.Change) error) (CommitPlan, error) {
	types := s.catalog()
	err := plannable(d)
	if err != nil {
		return CommitPlan{}, err
	}
	draft, err := s.header(ctx, d)
	if err != nil {
		return CommitPlan{}, err
	}
	filled, err := spool.Fill(ctx, draft, types.Stream(ctx, d, things), spool.Options{Directory: s.opts.ScratchDir})
	if err != nil {
		return CommitPlan{}, err
	}
	defer filled.Close()
	draft.Digest = filled.Digest()
	p, err := s.judge(ctx, draft, len(draft.Fence))
	if err != nil {
		return CommitPlan{}, err
	}
	if p.decide(draft); p.plan.Result.Repeated {
		return p.plan, nil
	}
	changed := 0
	var failed error
	err = s.propose(ctx, types, filled, p.plan.Head, func(proposed Proposal, more error) bool {
		switch {
		case more != nil:
			failed = more
		case proposed.Identity.Kind == onto.KindFact:
			failed = onto.Errorf(onto.Invalid, "%s: facts of a stream cannot be planned", proposed.Identity).WithHint("plan them as a draft")
		case proposed.err != nil:
			p.plan.Err, p.plan.Result = cmp.Or(p.plan.Err, proposed.err), onto.Result{}
		case proposed.Changes:
			changed++
			failed = each(proposed.change())
		}
		return failed == nil
	})
	if err = cmp.Or(failed, err); err != nil {
		return CommitPlan{}, err
	}
	if changed > 0 && p.plan.Err == nil {
		p.plan.Result.ID, p.plan.Result.At, p.plan.Result.Operations = p.plan.Head+1, p.plan.Head+1, changed
	}
	return p.plan, nil
}

// change is what a proposal changes.
func (p *Proposal) change() onto.Change {
	after := onto.Version{Identity: p.Identity, Op: p.Op, Fields: p.Fields}
	return onto.Change{Identity: p.Identity, Before: live(p.Newest), After: &after}
}
