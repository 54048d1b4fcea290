package foldkeep

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/fold"
	"github.com/ontologia/onto/store/internal/shape"
)

// Computed is a draft with all that follows from its facts and from those that are there,
// and the fences that these have not changed.
type Computed struct {
	backend.Draft

	k       *Keeper
	types   *catalog.Catalog
	asked   *backend.Draft
	header  *onto.Draft     // that folds see; nil until one is run
	derived []backend.Write // states and records
	behind  []string        // types of facts that the draft does not fold
}

// deed is what a write does to a fact.
type deed uint8

const (
	nothing deed = iota // it is so already
	asserts             // the fact is new
	changes             // the fact is there and becomes another, or is there no more
)

// HasFacts reports whether a draft is about facts.
func HasFacts(d *backend.Draft) bool {
	for i := range d.Writes {
		if d.Writes[i].Kind == onto.KindFact {
			return true
		}
	}
	return false
}

// Compute computes a draft with facts. After a Stale, again says so: then facts that may
// be known already are looked up, which are assumed to be new otherwise.
func (k *Keeper) Compute(ctx context.Context, types *catalog.Catalog, draft *backend.Draft, again bool) (*Computed, error) {
	c := &Computed{Draft: *draft, k: k, types: types, asked: draft}
	c.Writes, c.Fence = slices.Clone(draft.Writes), slices.Clone(draft.Fence)
	var derived []backend.Write
	for from := 0; from < len(draft.Writes); {
		to := from + 1
		for to < len(draft.Writes) && draft.Writes[to].TypeName() == draft.Writes[from].TypeName() {
			to++
		}
		if draft.Writes[from].Kind == onto.KindFact {
			more, err := c.ofType(ctx, from, to, again)
			if err != nil {
				return nil, err
			}
			derived = append(derived, more...)
		}
		from = to
	}
	if len(derived) == 0 {
		return c, nil
	}
	var err error
	c.Writes, err = backend.SortWrites(append(c.Writes, derived...))
	return c, err
}

// ofType computes the writes of one type of facts, and what follows from them.
func (c *Computed) ofType(ctx context.Context, from, to int, again bool) ([]backend.Write, error) {
	facts := c.Writes[from].Type
	g, err := c.k.guard(ctx, facts)
	if err != nil {
		return nil, err
	}
	c.fence(fold.GuardID(facts), g.Commit)
	if len(g.folds) == 0 {
		_, err := c.deeds(ctx, from, to, false, false)
		return nil, err
	}
	// States are read before facts: what changes in between makes their fence stale.
	subjects := c.subjects(from, to)
	bases, err := c.bases(ctx, g, subjects)
	if err != nil {
		return nil, err
	}
	deeds, err := c.deeds(ctx, from, to, true, again)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(deeds, func(d deed) bool { return d != nothing }) {
		return nil, nil
	}
	before := len(c.derived)
	for n, of := range g.folds {
		if !of.ready() && !slices.Contains(c.behind, facts) {
			c.behind = append(c.behind, facts)
		}
		if of.f == nil && of.Behind == 0 {
			w, err := c.k.behindWrite(ctx, facts, of.name)
			if err != nil {
				return nil, err
			}
			c.derived = append(c.derived, w)
			continue
		}
		c.fence(fold.RecordID(facts, of.name), of.Commit)
		if of.Behind != 0 {
			continue // these facts are of a later commit, too
		}
		for i, s := range subjects {
			if err := c.foldSubject(ctx, of, bases[i][n], s, deeds[s.from-from:s.to-from]); err != nil {
				return nil, err
			}
		}
	}
	return c.derived[before:], nil
}

// bases reads the states of subjects; nil where the draft does not carry out the fold.
func (c *Computed) bases(ctx context.Context, g *guard, subjects []about) ([][]*onto.Version, error) {
	list := make([][]*onto.Version, len(subjects))
	for i, s := range subjects {
		list[i] = make([]*onto.Version, len(g.folds))
		for n, of := range g.folds {
			if !of.ready() {
				continue
			}
			var err error
			if list[i][n], err = c.k.stateOf(ctx, onto.EntityID(of.f.State, s.name)); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// about is the writes about one subject.
type about struct {
	name     string
	from, to int
}

// subjects are those of some writes of one type, which are sorted.
func (c *Computed) subjects(from, to int) []about {
	var list []about
	for i := from; i < to; i++ {
		if n := len(list); n > 0 && list[n-1].name == c.Writes[i].Left {
			list[n-1].to = i + 1
		} else {
			list = append(list, about{c.Writes[i].Left, i, i + 1})
		}
	}
	return list
}

func (c *Computed) fence(id onto.Identity, commit int64) {
	c.Fence = append(c.Fence, onto.Expectation{Identity: id, Commit: commit})
}

// deeds replaces revocations by what they make of the facts, and tells what each write
// does. Where it matters, the fences make sure that it will be so.
func (c *Computed) deeds(ctx context.Context, from, to int, matters, again bool) ([]deed, error) {
	var list []deed
	if matters {
		list = make([]deed, 0, to-from)
	}
	for i := from; i < to; i++ {
		w := &c.Writes[i]
		if w.Once && (!matters || !again) {
			if matters {
				c.fence(w.Identity, 0)
				list = append(list, asserts)
			}
			continue
		}
		newest, err := c.k.Backend.Get(ctx, w.Identity, backend.Head)
		found := err == nil
		if err != nil && onto.CodeOf(err) != onto.NotFound {
			return nil, err
		}
		at := int64(0)
		if found && newest.Live() {
			at = newest.Commit
		}
		did, err := c.deedOf(ctx, w, &newest, found)
		if err != nil {
			return nil, err
		}
		if matters || w.Op == onto.Put && (did == nothing || c.asked.Writes[i].Op == catalog.Revoke) {
			c.fence(w.Identity, at)
		}
		if matters {
			list = append(list, did)
		}
	}
	return list, nil
}

// deedOf tells what a write does to a fact, and replaces a revocation.
func (c *Computed) deedOf(ctx context.Context, w *backend.Write, newest *onto.Version, found bool) (deed, error) {
	switch {
	case w.Once && !found:
		return asserts, nil
	case w.Once:
		return nothing, nil // or a conflict, which the backend finds
	case !found && w.Op == onto.Put:
		return changes, c.k.Former(ctx, c.types, w)
	case !found:
		return nothing, c.k.Former(ctx, c.types, w)
	case w.Op == onto.Delete && !newest.Live():
		return nothing, nil
	case w.Op == onto.Delete:
		return changes, nil
	case w.Op == onto.Put && newest.Live() && shape.SameFact(&onto.Version{Identity: w.Identity, Fields: w.Fields}, newest):
		w.Fields = newest.Fields // with when it was asserted or without
		return nothing, nil
	case w.Op == onto.Put:
		return changes, nil
	case !newest.Live():
		return nothing, refusal.FactRetracted(newest)
	}
	t, err := c.types.Get(onto.KindFact, w.Type)
	if err != nil {
		return nothing, err
	}
	if *w, err = t.Revoked(newest, w); err != nil || bytes.Equal(w.Fields, newest.Fields) {
		return nothing, err
	}
	return changes, nil
}

// foldSubject folds what a draft says about a subject.
func (c *Computed) foldSubject(ctx context.Context, of *course, base *onto.Version, s about, deeds []deed) error {
	if !slices.ContainsFunc(deeds, func(d deed) bool { return d != nothing }) {
		return nil
	}
	f := of.f
	id := onto.EntityID(f.State, s.name)
	t, err := typeOf(c.types, f)
	if err != nil {
		return err
	}
	in := &fold.Input{Type: &t.Type, Subject: s.name, Base: base}
	replay := base == nil && of.Rebuild != nil || base != nil && fold.MetaOf(base).Version != f.Version
	if replay || slices.Contains(deeds, changes) {
		in.Base = nil
		if in.Entries, err = c.k.facts(ctx, f.Facts, s.name); err != nil {
			return err
		}
	}
	for i, did := range deeds {
		w := &c.Writes[s.from+i]
		if did == nothing {
			continue
		}
		in.Entries = slices.DeleteFunc(in.Entries, func(e fold.Entry) bool { return e.Fact.Attribute == w.Right && e.Fact.ID == w.Instance })
		if w.Op != onto.Put {
			continue
		}
		e, err := c.entry(ctx, w)
		if err != nil {
			return err
		}
		in.Entries = append(in.Entries, e)
	}
	fold.Sort(in.Entries)
	at := int64(0)
	if base != nil {
		at = base.Commit
	}
	c.fence(id, at)
	if len(in.Entries) == 0 && in.Base == nil {
		if base == nil { // a rebuild under way may have seen facts, and has to notice
			w, err := c.k.markWrite(ctx, f.Facts, f.Name)
			c.derived = append(c.derived, w)
			return err
		}
		c.derived = append(c.derived, backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: t.Version, Derived: true})
		return nil
	}
	w, err := f.Run(ctx, c.k.Timeout, in)
	if err != nil {
		return err
	}
	if base == nil || w.Known != nil || !bytes.Equal(w.Fields, base.Fields) {
		c.derived = append(c.derived, w)
	}
	return nil
}

// entry is the fact that a write makes, in its place.
func (c *Computed) entry(ctx context.Context, w *backend.Write) (fold.Entry, error) {
	f, err := onto.FactOf(&onto.Version{Identity: w.Identity, Op: w.Op, Fields: w.Fields, Commit: fold.New})
	if err != nil {
		return fold.Entry{}, err
	}
	if f.Asserted != fold.New {
		d, err := c.k.header(ctx, f.Asserted)
		return fold.Entry{Fact: f, Draft: d}, err
	}
	if c.header == nil {
		commit, err := c.asked.Header.Commit()
		if err != nil {
			return fold.Entry{}, err
		}
		d := fold.HeaderOf(&commit)
		c.header = &d
	}
	return fold.Entry{Fact: f, Draft: *c.header}, nil
}

// behindWrite tells of facts that are not folded in their commit. It needs no fence: the
// facts are in a later commit than the one that it is as of, and whatever it overwrites
// was written by then or covers no more.
func (k *Keeper) behindWrite(ctx context.Context, facts, name string) (backend.Write, error) {
	head, err := k.head(ctx)
	if err != nil {
		return backend.Write{}, err
	}
	id, behind := fold.RecordID(facts, name), head
	v, err := k.kept(ctx, id, head)
	if err != nil {
		return backend.Write{}, err
	}
	if v != nil {
		was, err := fold.ParseRecord(v)
		if err != nil {
			return backend.Write{}, err
		}
		behind = cmp.Or(was.Behind, head)
	}
	fields, known, err := fold.BehindFields(behind, mark())
	if err != nil {
		return backend.Write{}, err
	}
	version, err := k.guardVersion(ctx)
	return backend.Write{Identity: id, Op: onto.Put, Fields: fields, SchemaVersion: version, Known: known, Derived: true}, err
}

// markWrite makes a new version of the record of a fold, which says the same.
func (k *Keeper) markWrite(ctx context.Context, facts, name string) (backend.Write, error) {
	fields, known, err := fold.MarkFields(mark())
	if err != nil {
		return backend.Write{}, err
	}
	version, err := k.guardVersion(ctx)
	return backend.Write{Identity: fold.RecordID(facts, name), Op: onto.Put, Fields: fields, SchemaVersion: version, Known: known, Derived: true}, err
}

// guardVersion is the version of the type of guards.
func (k *Keeper) guardVersion(ctx context.Context) (int, error) {
	name := onto.TypeName{Kind: onto.KindEntity, Name: fold.Guards}
	types := k.Types()
	if types.Present[name] == nil {
		var err error
		if types, err = k.Relearn(ctx); err != nil {
			return 0, err
		}
	}
	t, err := types.Get(name.Kind, name.Name)
	if err != nil {
		return 0, err
	}
	return t.Version, nil
}

// Done notes what came of the draft.
func (c *Computed) Done(res onto.Result, err error) {
	switch {
	case err != nil, res.Repeated, res.ID == 0:
		c.k.forget(&c.Draft)
	default:
		c.k.made(res.ID, c.derived)
	}
	if err == nil && len(c.behind) > 0 {
		c.k.left(c.behind)
	}
}

// Forget says that the draft was stale: what it was computed from is read again.
func (c *Computed) Forget() { c.k.forget(&c.Draft) }

// left notes that facts were not folded in their commit. Those that this program can fold
// are looked at in the background.
func (k *Keeper) left(behind []string) {
	var able []string
	k.mu.Lock()
	for _, facts := range behind {
		g := k.guards[facts]
		if g == nil {
			continue
		}
		if slices.ContainsFunc(g.folds, func(c *course) bool { return c.f != nil }) {
			able = append(able, facts)
		}
		if slices.ContainsFunc(g.folds, func(c *course) bool { return !c.ready() && c.Behind == 0 }) {
			delete(k.guards, facts) // its record says otherwise now
		}
	}
	k.mu.Unlock()
	k.kick(able...)
}

func (k *Keeper) forgetGuards(facts []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range facts {
		delete(k.guards, name)
	}
}

// Queue lets drafts about the same subjects follow each other, if their facts are folded.
// What it returns must be called when the draft is done with.
func (k *Keeper) Queue(ctx context.Context, d *backend.Draft) (leave func(), err error) {
	var leaves []func()
	leave = func() {
		for _, l := range leaves {
			l()
		}
	}
	var last onto.Identity
	var g *guard
	for i := range d.Writes {
		w := &d.Writes[i]
		id := onto.Identity{Kind: w.Kind, Type: w.Type, Left: w.Left}
		if w.Kind != onto.KindFact || id == last {
			continue
		}
		last = id
		if g == nil || g.Facts != w.Type {
			if g, err = k.guard(ctx, w.Type); err != nil {
				leave()
				return nil, err
			}
		}
		if len(g.folds) == 0 {
			continue
		}
		place := k.queues.Join(id)
		leaves = append(leaves, place.Leave)
		if err := place.Advance(ctx); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}
