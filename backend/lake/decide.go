package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// ground is what the drafts of a round are decided on: a tip, what was looked up
// there, and what drafts before them in the round have added.
type ground struct {
	head  int64
	last  time.Time // of the newest commit
	now   func() time.Time
	types []onto.SchemaVersion

	newest map[onto.Identity]*onto.Version // of all that drafts name; nil if it has none
	keyed  map[string]commitEntry          // by idempotency key
	counts map[onto.TypeName]int64         // versions of types to be purged

	commits  []commitEntry
	versions []onto.Version
}

// draft is what one caller wants.
type draft struct {
	*backend.Draft
	writes []backend.Write // sorted
}

// append decides what a draft means and adds it to the round. Barred is why it
// may not write, if it may not.
func (g *ground) append(d *draft, barred error) (onto.Result, error) {
	c, repeated, err := g.begin(d, barred)
	if c == nil {
		return repeated, err
	}
	if d.Begin != nil {
		d.Begin()
	}
	changes, err := c.changes(d.writes)
	if err != nil {
		return onto.Result{}, err
	}
	c.evolve()
	if len(changes) == 0 {
		return onto.Result{}, nil
	}
	versions := c.versions(changes)
	begin := len(g.versions)
	g.versions = append(g.versions, versions...)
	for i := begin; i < len(g.versions); i++ {
		g.newest[g.versions[i].Identity] = &g.versions[i]
	}
	return onto.Result{Commit: c.keep(countVersions(nil, versions))}, nil
}

// candidate is a draft whose writes are being decided.
type candidate struct {
	*draft
	ground *ground
	types  []onto.SchemaVersion // that it leaves behind
	purged []onto.TypeName
	commit onto.Commit // without id, time and operations
}

// begin decides everything about a draft but its writes. It returns nil if that
// ends it: the draft is refused, or was committed before.
func (g *ground) begin(d *draft, barred error) (c *candidate, repeated onto.Result, err error) {
	if used, ok := g.keyed[d.IdempotencyKey]; ok {
		if err := backend.CheckRepeat(d.IdempotencyKey, used.DraftHash, d.Digest, used.ID); err != nil {
			return nil, onto.Result{}, err
		}
		commit, err := used.commit(purgedTypes(g.types))
		return nil, onto.Result{Commit: commit, Repeated: true}, err
	}
	if barred != nil {
		return nil, onto.Result{}, barred
	}
	for _, expect := range [][]onto.Expectation{d.Expect, d.Fence} {
		if err := g.checkExpectations(expect); err != nil {
			return nil, onto.Result{}, err
		}
	}
	c = &candidate{draft: d, ground: g, types: g.types}
	if d.Evolve != nil {
		c.types, err = backend.Evolve(g.types, d.Evolve, g.head+1, g.stamp(), func(kind onto.Kind, name string) int64 {
			c.purged = append(c.purged, onto.TypeName{Kind: kind, Name: name})
			return g.counts[onto.TypeName{Kind: kind, Name: name}] + int64(len(g.of(onto.TypeName{Kind: kind, Name: name})))
		})
	}
	if err == nil {
		c.commit, err = d.Header.Commit()
	}
	if err != nil {
		return nil, onto.Result{}, err
	}
	return c, onto.Result{}, nil
}

func (g *ground) checkExpectations(expect []onto.Expectation) error {
	if err := backend.CheckHead(expect, g.head); err != nil {
		return err
	}
	for _, e := range expect {
		if e.Head {
			continue
		}
		if err := backend.CheckVersion(e, g.newest[e.Identity]); err != nil {
			return err
		}
	}
	return nil
}

// changes returns those of some writes that make a version, or why the draft is
// refused.
func (c *candidate) changes(writes []backend.Write) ([]backend.Write, error) {
	for i := range writes {
		if err := backend.CheckWrite(c.types, &writes[i], c.Evolve); err != nil {
			return nil, err
		}
	}
	var changes []backend.Write
	for _, w := range writes {
		newest := c.ground.newest[w.Identity]
		if slices.Contains(c.purged, w.TypeName()) {
			newest = nil
		}
		admitted, err := admits(c.Admit, w, newest)
		if err != nil {
			return nil, err
		}
		if admitted && backend.Changes(&w, newest) {
			changes = append(changes, w)
		}
	}
	return changes, nil
}

// admits asks about a write, with copies that the asked may keep.
func admits(admit func(*backend.Write, *onto.Version) (bool, error), w backend.Write, newest *onto.Version) (bool, error) {
	if admit == nil {
		return true, nil
	}
	w.Fields = bytes.Clone(w.Fields)
	if newest != nil {
		v := *newest
		v.Fields = bytes.Clone(v.Fields)
		newest = &v
	}
	return admit(&w, newest)
}

// versions is what writes make.
func (c *candidate) versions(changes []backend.Write) []onto.Version {
	list := make([]onto.Version, len(changes))
	for i, w := range changes {
		list[i] = onto.Version{Identity: w.Identity, Op: w.Op, Commit: c.ground.head + 1, SchemaVersion: w.SchemaVersion, Fields: bytes.Clone(w.Fields)}
		if w.Op == onto.Delete {
			list[i].Fields = json.RawMessage("{}")
		}
	}
	return list
}

// evolve lets the ground have the types that the draft leaves behind.
func (c *candidate) evolve() {
	c.ground.types = c.types
	c.ground.purge(c.purged)
}

// keep adds the commit to the round, with the number of versions by type.
func (c *candidate) keep(touched []opsEntry) onto.Commit {
	g, made := c.ground, c.commit
	made.ID = g.head + 1
	for _, t := range touched {
		made.Operations += t.Operations
	}
	if made.Time = g.stamp(); made.Time.Before(g.last) {
		made.Time = g.last
	}
	e := commitEntry{
		ID: made.ID, Time: codec.FormatTime(made.Time), Runtime: made.Runtime, ActorKind: string(made.Actor.Kind), ActorID: made.Actor.ID,
		Causation: made.Causation, Correl: made.Correlation, Signature: made.Signature, Comment: made.Comment,
		Operations: made.Operations, Touched: touched, Key: made.IdempotencyKey, DraftHash: c.Digest,
	}
	if len(c.Metadata) > 0 {
		e.Metadata = bytes.Clone(c.Metadata)
	}
	g.commits = append(g.commits, e)
	if e.Key != "" {
		g.keyed[e.Key] = e
	}
	g.head, g.last = made.ID, made.Time
	return made
}

// of returns the versions of a type in the round.
func (g *ground) of(t onto.TypeName) []onto.Version {
	var list []onto.Version
	for _, v := range g.versions {
		if v.TypeName() == t {
			list = append(list, v)
		}
	}
	return list
}

// purge forgets versions of types that exist no more.
func (g *ground) purge(purged []onto.TypeName) {
	for _, t := range purged {
		for id := range g.newest {
			if id.TypeName() == t {
				g.newest[id] = nil
			}
		}
		g.counts[t] = 0
	}
}

// stamp returns the present time as it is stored.
func (g *ground) stamp() time.Time { return g.now().UTC().Truncate(time.Microsecond) }

// register adds what is missing of a registration.
func (g *ground) register(r *backend.Registration) ([]onto.SchemaVersion, error) {
	all, err := backend.Register(g.types, r, g.head+1, g.stamp())
	if err != nil {
		return nil, err
	}
	g.types = all
	return backend.Named(all, r), nil
}

// groundOn looks up all that members name, on top of a shelf.
func (b *Backend) groundOn(ctx context.Context, s *shelf, members []*member) (*ground, error) {
	g := &ground{
		head: s.tip.head.CommitID, now: b.opts.Now, types: s.types.all,
		newest: map[onto.Identity]*onto.Version{}, keyed: map[string]commitEntry{}, counts: map[onto.TypeName]int64{},
	}
	if m := s.tip.manifest; m != nil {
		var err error
		if g.last, err = codec.ParseTime(m.Commits[len(m.Commits)-1].Time); err != nil {
			return nil, damaged(m.entry().Path, "%w", err)
		}
	}
	wanted := map[onto.TypeName][]onto.Identity{}
	for _, m := range members {
		if m.barred = m.mayWrite(ctx, b.log, s.tip); m.draft == nil {
			continue
		}
		for i := range m.draft.writes {
			b.want(g, wanted, m.draft.writes[i].Identity)
		}
		for _, expect := range [][]onto.Expectation{m.draft.Expect, m.draft.Fence} {
			for _, e := range expect {
				if !e.Head {
					b.want(g, wanted, e.Identity)
				}
			}
		}
		if err := b.wantRest(ctx, s, g, m.draft); err != nil {
			return nil, err
		}
	}
	return g, b.lookUp(ctx, s, g, wanted)
}

// want notes an identity to be looked up, unless it is known.
func (b *Backend) want(g *ground, wanted map[onto.TypeName][]onto.Identity, id onto.Identity) {
	if _, ok := g.newest[id]; ok {
		return
	}
	v, ok := b.recent.get(id)
	g.newest[id] = v
	if !ok {
		t := id.TypeName()
		wanted[t] = append(wanted[t], id)
	}
}

// wantRest finds what a draft needs besides versions.
func (b *Backend) wantRest(ctx context.Context, s *shelf, g *ground, d *draft) error {
	if key := d.IdempotencyKey; key != "" {
		e, err := b.keys.find(ctx, s.tip, key)
		if err != nil {
			return err
		}
		if e != nil {
			g.keyed[key] = *e
		}
	}
	if d.Evolve == nil {
		return nil
	}
	for _, end := range d.Evolve.End {
		if !end.Purge {
			continue
		}
		n, err := b.count(ctx, s, end.TypeName())
		if err != nil {
			return err
		}
		g.counts[end.TypeName()] = n
	}
	return nil
}

// lookUp finds the newest versions of identities, with one question for each type.
func (b *Backend) lookUp(ctx context.Context, s *shelf, g *ground, wanted map[onto.TypeName][]onto.Identity) error {
	for t, ids := range wanted {
		slices.SortFunc(ids, onto.Identity.Compare)
		found, err := b.files.find(ctx, s, t, ids, s.tip.head.CommitID)
		if err != nil {
			return err
		}
		for i := range found {
			g.newest[found[i].Identity] = &found[i]
		}
		for _, id := range ids {
			b.recent.put(id, g.newest[id])
		}
	}
	return nil
}

// count counts the versions of a type.
func (b *Backend) count(ctx context.Context, s *shelf, t onto.TypeName) (int64, error) {
	var n int64
	for _, f := range s.of(t, 0, s.tip.head.CommitID) {
		for _, err := range b.files.all(ctx, &f, s.types.purged[t]) {
			if err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}
