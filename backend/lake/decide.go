package lake

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/datafile"
	"github.com/ontologia/onto/backend/lake/protocol"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
)

// withCopies returns a draft whose Admit is given copies of the newest versions: the
// originals are shared with other drafts.
func withCopies(d backend.Draft) *backend.Draft {
	admit := d.Admit
	if admit == nil {
		return &d
	}
	d.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) { return admit(w, datafile.CopyOf(newest)) }
	return &d
}

// roundOn starts a round on top of a shelf, after looking up everything that members
// name.
func (w *writer) roundOn(ctx context.Context, s *protocol.Shelf, members []*member) (*decide.Round, error) {
	w.recent.follow(s)
	r, err := w.emptyRound(s)
	if err != nil {
		return nil, err
	}
	wanted := map[onto.TypeName][]onto.Identity{}
	for _, m := range members {
		if m.barred = m.mayWrite(ctx, w.leases, s.Tip); m.draft == nil {
			continue
		}
		for id := range decide.Identities(m.draft) {
			w.want(r, wanted, *id)
		}
		if err := w.wantRest(ctx, s, r, m.draft); err != nil {
			return nil, err
		}
	}
	return r, w.lookUp(ctx, s, r, wanted)
}

// emptyRound starts a round on top of a shelf, with nothing looked up.
func (w *writer) emptyRound(s *protocol.Shelf) (*decide.Round, error) {
	base := decide.Base{Head: s.Tip.Head.CommitID, Now: w.opts.Now().UTC().Truncate(time.Microsecond), Types: s.Types.Judge}
	if m := s.Tip.Manifest; m != nil {
		var err error
		if base.Time, err = codec.ParseTime(m.Commits[len(m.Commits)-1].Time); err != nil {
			return nil, protocol.Damaged(m.Entry().Path, "%w", err)
		}
	}
	return decide.NewRound(base), nil
}

// want notes an identity to be looked up, unless it is known.
func (w *writer) want(r *decide.Round, wanted map[onto.TypeName][]onto.Identity, id onto.Identity) {
	if _, ok := r.Newest[id]; ok {
		return
	}
	v, ok := w.recent.get(id)
	r.Newest[id] = v
	if !ok {
		t := id.TypeName()
		wanted[t] = append(wanted[t], id)
	}
}

// wantRest finds what a draft needs besides versions.
func (w *writer) wantRest(ctx context.Context, s *protocol.Shelf, r *decide.Round, d *backend.Draft) error {
	if key := d.IdempotencyKey; key != "" {
		e, err := w.keys.Find(ctx, s.Tip, key)
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
		n, err := w.count(ctx, s, t)
		if err != nil {
			return err
		}
		r.Counts[t] = n
	}
	return nil
}

// lookUp finds the newest versions of identities, with one question for each type.
func (w *writer) lookUp(ctx context.Context, s *protocol.Shelf, r *decide.Round, wanted map[onto.TypeName][]onto.Identity) error {
	for t, ids := range wanted {
		slices.SortFunc(ids, onto.Identity.Compare)
		found, err := w.files.Find(ctx, s, t, ids, s.Tip.Head.CommitID)
		if err != nil {
			return err
		}
		for i := range found {
			r.Newest[found[i].Identity] = &found[i]
		}
		for _, id := range ids {
			w.recent.put(id, r.Newest[id])
		}
	}
	return nil
}

// count counts the versions of a type.
func (w *writer) count(ctx context.Context, s *protocol.Shelf, t onto.TypeName) (int64, error) {
	var n int64
	for _, f := range s.Of(t, 0, s.Tip.Head.CommitID) {
		for _, err := range w.files.All(ctx, &f, s.Types.Purged[t]) {
			if err != nil {
				return 0, err
			}
			n++
		}
	}
	return n, nil
}
