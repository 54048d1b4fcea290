package store

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/computed"
	"github.com/ontologia/onto/store/internal/shape"
)

// aimed fills in what targets are, what they were, and what changed in between.
func (r *reversal) aimed(ctx context.Context, targets iter.Seq2[target, error]) iter.Seq2[target, error] {
	return func(yield func(target, error) bool) {
		p := newPace()
		about := func(g *target) (onto.TypeName, int) { return g.TypeName(), 0 }
		for piece, err := range pieces(targets, p, about) {
			if err == nil {
				err = again(func() error { return r.aim(ctx, piece, p) })
			}
			if err != nil {
				yield(target{}, err)
				return
			}
			for i := range piece {
				if !yield(piece[i], nil) {
					return
				}
			}
		}
	}
}

// aim is aimed for targets of one type.
func (r *reversal) aim(ctx context.Context, piece []target, p *pace) error {
	now := r.s.Now().current()
	t, err := now.catalog().Get(piece[0].Kind, piece[0].Type)
	if err != nil {
		return onto.Errorf(onto.Invalid, "%s cannot be reverted: %w", piece[0].Identity, err)
	}
	from := reader{now, t}
	all, moments := make([]*target, len(piece)), map[int64][]*target{}
	for i := range piece {
		g := &piece[i]
		all[i], moments[g.to] = g, append(moments[g.to], g)
	}
	newest, err := from.newestOf(ctx, identitiesOf(all), r.Head)
	if err != nil {
		return err
	}
	bytes := bytesOf(newest)
	whole := t.Type
	whole.Known = nil // what it was has all fields, also those that the program does not know
	var doubtful []*target
	for to, targets := range moments {
		then, err := from.newestOf(ctx, identitiesOf(targets), to)
		if err != nil {
			return err
		}
		bytes += bytesOf(then)
		for _, g := range targets {
			if err := g.compare(&whole, newest[g.Identity], then[g.Identity]); err != nil {
				return err
			}
			if v := newest[g.Identity]; g.changes && v != nil && v.Commit > g.to+1 { // the next commit is one of those undone
				doubtful = append(doubtful, g)
			}
		}
	}
	p.took(len(piece), bytes)
	if known, err := r.s.relearn(ctx); err != nil {
		return err
	} else if known != now.types { // what was read may have fields that t has not
		return errRelearned
	}
	return r.findBlocking(ctx, from, doubtful)
}

// compare fills in what a target is and what it was, given its newest version as of
// either moment.
func (g *target) compare(t *shape.Type, newest, then *onto.Version) error {
	g.Now, g.Then, g.Blocked = live(newest), live(then), nil
	g.write = backend.Write{Identity: g.Identity, Op: onto.Delete, SchemaVersion: t.Version}
	if g.Then != nil {
		if g.Kind == onto.KindFact { // it is believed again as of when it was asserted
			g.Then = withAsserted(g.Then)
			if g.Now != nil {
				g.Now = withAsserted(g.Now)
			}
		}
		var err error
		if g.write, err = t.Write(g.Identity, computed.Strip(g.Then.Fields)); err != nil {
			return err
		}
	}
	g.changes = changes(&g.write, newest)
	return nil
}

// findBlocking finds the commits that changed targets of one type since and are not
// undone, with one question about all of them.
func (r *reversal) findBlocking(ctx context.Context, from reader, targets []*target) error {
	if len(targets) == 0 {
		return nil
	}
	byIdentity, since := map[onto.Identity][]*target{}, r.Head
	for _, g := range targets {
		byIdentity[g.Identity] = append(byIdentity[g.Identity], g)
		since = min(since, g.to)
	}
	migrated := map[int64][]*target{} // by the commit that may only have migrated them
	for v, err := range from.madeOf(ctx, identitiesOf(targets), since, r.Head) {
		if err != nil {
			return err
		}
		if _, undone := slices.BinarySearch(r.Commits, v.Commit); undone {
			continue
		}
		for _, g := range byIdentity[v.Identity] {
			switch {
			case v.Commit <= g.to:
			case from.t.Chain != nil && from.t.Chain.Began(v.Commit):
				migrated[v.Commit] = append(migrated[v.Commit], g)
			default:
				g.Blocked = append(g.Blocked, v.Commit)
			}
		}
	}
	for commit, targets := range migrated {
		if err := from.blockUnlessMigrated(ctx, targets, commit); err != nil {
			return err
		}
	}
	for _, g := range targets {
		slices.Sort(g.Blocked)
		g.Blocked = slices.Compact(g.Blocked)
	}
	return nil
}

// blockUnlessMigrated adds a commit to what blocks targets, unless it only brought them
// to another version of their type.
func (r reader) blockUnlessMigrated(ctx context.Context, targets []*target, commit int64) error {
	ids := identitiesOf(targets)
	before, err := r.newestOf(ctx, ids, commit-1)
	if err != nil {
		return err
	}
	after, err := r.newestOf(ctx, ids, commit)
	if err != nil {
		return err
	}
	for _, g := range targets {
		b, a := live(before[g.Identity]), live(after[g.Identity])
		if b == nil || a == nil || !sameState(b, a) {
			g.Blocked = append(g.Blocked, commit)
		}
	}
	return nil
}

// newestOf finds the newest versions as of a commit of identities of the reader's type,
// as the type is now. They may be deletes; an identity without one is missing. The
// identities are sorted, each once.
func (r reader) newestOf(ctx context.Context, ids []onto.Identity, at int64) (map[onto.Identity]*onto.Version, error) {
	c := r.t.Chain
	if c != nil && !c.Begun(at) {
		return nil, r.s.stands(ctx, r.catalog(), r.t)
	}
	asked := ids
	if c != nil && !c.Ready(at) {
		asked = slices.Clone(ids)
		for i := range asked {
			asked[i].Type = c.Source(at)
		}
	}
	found, err := r.s.lookUp(ctx, asked, at)
	if stale := r.s.stands(ctx, r.catalog(), r.t); stale != nil {
		return nil, stale
	}
	if err != nil || c == nil || c.Ready(at) {
		return found, err
	}
	upgraded := make(map[onto.Identity]*onto.Version, len(found))
	for _, v := range found {
		if c.LeavesOut(v, at) {
			continue
		}
		if err := c.Upgrade(ctx, v, at, r.s.opts.UpgradeTimeout); err != nil {
			return nil, err
		}
		upgraded[v.Identity] = v
	}
	return upgraded, nil
}

// madeOf yields the versions of some identities of the reader's type that commits after
// one and up to another made, as stored but under the present name, in no order.
func (r reader) madeOf(ctx context.Context, ids []onto.Identity, since, until int64) iter.Seq2[onto.Version, error] {
	q := &backend.Query{Kind: ids[0].Kind, Type: ids[0].Type, Mode: backend.History, At: until, Since: since}
	var keys []string // a relation or a fact is found by its left key, among others
	for _, id := range ids {
		keys = append(keys, id.Key+id.Left) // one of them is empty
	}
	keys = slices.Compact(keys)
	switch {
	case len(ids) == 1:
		q.Identity = &ids[0]
	case ids[0].Kind == onto.KindEntity:
		q.Keys = keys
	default:
		q.LeftKeys = keys
	}
	return func(yield func(onto.Version, error) bool) {
		for _, part := range r.raw(q) {
			for v, err := range r.s.b.Scan(ctx, &part) {
				v.Type = ids[0].Type
				if !yield(v, err) || err != nil {
					return
				}
			}
		}
	}
}

// identitiesOf is the identities of targets, sorted, each once.
func identitiesOf(targets []*target) []onto.Identity {
	ids := make([]onto.Identity, len(targets))
	for i, g := range targets {
		ids[i] = g.Identity
	}
	slices.SortFunc(ids, onto.Identity.Compare)
	return slices.Compact(ids)
}
