package store

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/foldkeep"
)

// commitFacts commits a draft with facts. Revocations, and the states that folds make of
// the facts, are computed from what is there, and again if that changes before the
// commit. The draft's digest, which is over what the caller asked for, is known already.
func (s *Store) commitFacts(ctx context.Context, types *catalog.Catalog, draft *backend.Draft) (onto.Result, error) {
	leave, err := s.folds.Queue(ctx, draft)
	if err != nil {
		return onto.Result{}, err
	}
	defer leave()
	pause := backoff.Backoff{First: time.Millisecond, Longest: time.Second}
	for tries := 1; ; tries++ {
		res, err := s.tryFacts(ctx, types, draft, tries > 1)
		if !refusal.Outdated(err, draft.Fence) || tries == foldkeep.MaxTries {
			return res, err
		}
		if err := pause.Pause(ctx, nil); err != nil {
			return onto.Result{}, err
		}
	}
}

// tryFacts computes and commits a draft with facts once; again says that it was stale
// before. A draft that cannot be computed may be refused for what comes earlier in the
// order of verdicts, or be the repetition of one that could.
func (s *Store) tryFacts(ctx context.Context, types *catalog.Catalog, draft *backend.Draft, again bool) (onto.Result, error) {
	computed, err := s.folds.Compute(ctx, types, draft, again)
	if err != nil {
		if res, decided, earlier := s.first(ctx, types, draft); decided {
			return res, earlier
		}
		return onto.Result{}, err
	}
	res, err := s.b.Append(ctx, &computed.Draft)
	computed.Done(res, err)
	return s.finish(ctx, types, res, err)
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
