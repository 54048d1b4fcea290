package lake

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
)

// withCopies returns a draft that Admit is asked about with copies of the newest
// versions: these are shared with other drafts.
func withCopies(d backend.Draft) *backend.Draft {
	admit := d.Admit
	if admit == nil {
		return &d
	}
	d.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
		if newest != nil {
			v := *newest
			v.Fields = bytes.Clone(v.Fields)
			newest = &v
		}
		return admit(w, newest)
	}
	return &d
}

// roundOn starts a round on top of a shelf, with all looked up that members name.
func (b *Backend) roundOn(ctx context.Context, s *shelf, members []*member) (*decide.Round, error) {
	base := decide.Base{Head: s.Tip.Head.CommitID, Now: b.opts.Now().UTC().Truncate(time.Microsecond), Stamps: s.types.stamps, Types: s.types.All}
	if m := s.Tip.Manifest; m != nil {
		var err error
		if base.Time, err = codec.ParseTime(m.Commits[len(m.Commits)-1].Time); err != nil {
			return nil, protocol.Damaged(m.Entry().Path, "%w", err)
		}
	}
	r := decide.NewRound(base)
	wanted := map[onto.TypeName][]onto.Identity{}
	for _, m := range members {
		if m.barred = m.mayWrite(ctx, b.leases, s.Tip); m.draft == nil {
			continue
		}
		for id := range decide.Identities(m.draft) {
			b.want(r, wanted, *id)
		}
		if err := b.wantRest(ctx, s, r, m.draft); err != nil {
			return nil, err
		}
	}
	return r, b.lookUp(ctx, s, r, wanted)
}

// want notes an identity to be looked up, unless it is known.
func (b *Backend) want(r *decide.Round, wanted map[onto.TypeName][]onto.Identity, id onto.Identity) {
	if _, ok := r.Newest[id]; ok {
		return
	}
	v, ok := b.recent.get(id)
	r.Newest[id] = v
	if !ok {
		t := id.TypeName()
		wanted[t] = append(wanted[t], id)
	}
}

// wantRest finds what a draft needs besides versions.
func (b *Backend) wantRest(ctx context.Context, s *shelf, r *decide.Round, d *backend.Draft) error {
	if key := d.IdempotencyKey; key != "" {
		e, err := b.keys.Find(ctx, s.Tip, key)
		if err != nil {
			return err
		}
		if e != nil {
			if r.Keys[key], err = kept(e); err != nil {
				return err
			}
		}
	}
	for t := range decide.Purges(d) {
		n, err := b.count(ctx, s, t)
		if err != nil {
			return err
		}
		r.Counts[t] = n
	}
	return nil
}

// lookUp finds the newest versions of identities, with one question for each type.
func (b *Backend) lookUp(ctx context.Context, s *shelf, r *decide.Round, wanted map[onto.TypeName][]onto.Identity) error {
	for t, ids := range wanted {
		slices.SortFunc(ids, onto.Identity.Compare)
		found, err := b.files.find(ctx, s, t, ids, s.Tip.Head.CommitID)
		if err != nil {
			return err
		}
		for i := range found {
			r.Newest[found[i].Identity] = &found[i]
		}
		for _, id := range ids {
			b.recent.put(id, r.Newest[id])
		}
	}
	return nil
}

// count counts the versions of a type.
func (b *Backend) count(ctx context.Context, s *shelf, t onto.TypeName) (int64, error) {
	var n int64
	for _, f := range s.Of(t, 0, s.Tip.Head.CommitID) {
		for _, err := range b.files.all(ctx, &f, s.types.Purged[t]) {
			if err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}
