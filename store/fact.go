package store

import (
	"context"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
)

// maxFactTries is how often a draft with facts is computed anew after what it was
// computed from has changed.
const maxFactTries = 10

// aboutFacts reports whether a draft depends on facts that are there already.
func aboutFacts(d *backend.Draft) bool {
	return slices.ContainsFunc(d.Writes, func(w backend.Write) bool { return w.Kind == onto.KindFact && !w.Once })
}

// commitFacts commits a draft with revocations, retractions and facts that are brought
// back. They are computed from
// the facts as they are, and again if these change before the commit. Its digest, which
// is over what the caller asked for, is known already.
func (s *Store) commitFacts(ctx context.Context, types *catalog.Catalog, draft *backend.Draft) (onto.Result, error) {
	if used, err := s.used(ctx, draft.IdempotencyKey); err != nil {
		return onto.Result{}, err
	} else if used {
		return s.first(ctx, types, draft)
	}
	pause := backoff.Backoff{First: time.Millisecond, Longest: time.Second}
	for tries := 1; ; tries++ {
		computed, err := s.computed(ctx, types, draft)
		if err != nil {
			return onto.Result{}, err
		}
		res, err := s.b.Append(ctx, computed)
		if onto.CodeOf(err) != onto.Stale || tries == maxFactTries {
			return s.finish(ctx, types, res, err)
		}
		if err := pause.Pause(ctx, nil); err != nil {
			return onto.Result{}, err
		}
	}
}

// computed is a draft with what follows from the facts that are there, and the fence
// that they have not changed.
func (s *Store) computed(ctx context.Context, types *catalog.Catalog, draft *backend.Draft) (*backend.Draft, error) {
	d := *draft
	d.Writes, d.Fence = slices.Clone(draft.Writes), nil
	for i := range d.Writes {
		w := &d.Writes[i]
		if w.Kind != onto.KindFact || w.Once {
			continue
		}
		newest, err := s.b.Get(ctx, w.Identity, backend.Head)
		switch {
		case onto.CodeOf(err) == onto.NotFound:
			if err := s.formerFact(ctx, types, w); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		case w.Op == onto.Delete, w.Op == onto.Put && changes(w, &newest):
			continue
		case w.Op == onto.Put: // it says the same, with when it was asserted or without
			w.Fields = newest.Fields
			d.Fence = append(d.Fence, onto.Expectation{Identity: newest.Identity, Commit: newest.Commit})
			continue
		case !newest.Live():
			return nil, refusal.FactRetracted(&newest)
		}
		t, err := types.Get(onto.KindFact, w.Type)
		if err != nil {
			return nil, err
		}
		if *w, err = t.Revoked(&newest, w); err != nil {
			return nil, err
		}
		d.Fence = append(d.Fence, onto.Expectation{Identity: newest.Identity, Commit: newest.Commit})
	}
	return &d, nil
}

// formerFact refuses a write about a fact that never was. It may have been retracted
// while its type had another name, and can be brought back then.
func (s *Store) formerFact(ctx context.Context, types *catalog.Catalog, w *backend.Write) error {
	t, err := types.Get(onto.KindFact, w.Type)
	if err != nil {
		return err
	}
	commits, err := reader{s.Now().current(), t}.commitsOf(ctx, w.Identity, 0, backend.Head)
	switch {
	case err != nil:
		return err
	case len(commits) == 0:
		return refusal.NoFact(w.Identity)
	case w.Op == catalog.Revoke:
		return refusal.FactRetracted(&onto.Version{Identity: w.Identity, Commit: commits[len(commits)-1]})
	}
	return nil
}
