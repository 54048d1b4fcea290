package foldkeep

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/backoff"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/spool"
	"github.com/ontologia/onto/store/internal/fold"
)

// MaxTries is how often a draft with facts is computed anew after what it was computed
// from has changed.
const MaxTries = 10

// Stream is the writes of a draft in a spool. Their facts are not folded in their
// commit, which tells that folds are behind.
type Stream struct {
	Spool *spool.Spool
	Facts map[string]bool                                                       // the types of facts among them
	Made  func(iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error] // see [spool.Spool.AppendMade]; nil for the writes as they are
	k     *Keeper
}

// errFolded ends a stream that changes facts with folds.
var errFolded = errors.New("facts with folds change")

// AppendStream commits the draft that a stream was read for.
func (k *Keeper) AppendStream(ctx context.Context, s Stream, d *backend.Draft) (onto.Result, error) {
	s.k = k
	if len(s.Facts) == 0 {
		return s.append(ctx, d, nil)
	}
	pause := backoff.Backoff{First: time.Millisecond, Longest: time.Second}
	for tries := 1; ; tries++ {
		res, err := s.try(ctx, d)
		if !refusal.Outdated(err, d.Fence) || tries == MaxTries {
			return res, err
		}
		k.forgetGuards(sortedNames(s.Facts))
		if err := pause.Pause(ctx, nil); err != nil {
			return onto.Result{}, err
		}
	}
}

// append appends the writes, with records among them.
func (s *Stream) append(ctx context.Context, d *backend.Draft, records []backend.Write) (onto.Result, error) {
	return s.Spool.AppendMade(ctx, s.k.Backend, d, func(writes iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error] {
		if s.Made != nil {
			writes = s.Made(writes)
		}
		if len(records) > 0 {
			writes = including(writes, records)
		}
		return writes
	})
}

// including yields writes and records, both in order of identity.
func including(writes iter.Seq2[backend.Write, error], records []backend.Write) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		rest := records
		for w, err := range writes {
			for err == nil && len(rest) > 0 && rest[0].Identity.Compare(w.Identity) < 0 {
				if !yield(rest[0], nil) {
					return
				}
				rest = rest[1:]
			}
			if !yield(w, err) || err != nil {
				return
			}
		}
		for _, r := range rest {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// try commits the draft as it is if none of its facts has a fold. Otherwise it first finds
// out whether one of these changes, since a commit that changes nothing must not be made
// only to tell that folds are behind.
func (s *Stream) try(ctx context.Context, d *backend.Draft) (onto.Result, error) {
	fenced := *d
	fenced.Fence = slices.Clone(d.Fence)
	folded := map[string]*guard{}
	for _, facts := range sortedNames(s.Facts) {
		g, err := s.k.guard(ctx, facts)
		if err != nil {
			return onto.Result{}, err
		}
		fenced.Fence = append(fenced.Fence, onto.Expectation{Identity: fold.GuardID(facts), Commit: g.Commit})
		if len(g.folds) > 0 {
			folded[facts] = g
		}
	}
	if len(folded) == 0 {
		return s.append(ctx, &fenced, nil)
	}
	probe := fenced
	probe.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
		if d.Admit != nil {
			if admitted, err := d.Admit(w, newest); err != nil || !admitted {
				return false, err
			}
		}
		if w.Kind == onto.KindFact && folded[w.Type] != nil && (newest == nil || !w.Once && backend.Changes(w, newest)) {
			return false, errFolded
		}
		return true, nil
	}
	if d.Evolve == nil { // a migration writes nothing that does not change
		if res, err := s.append(ctx, &probe, nil); !errors.Is(err, errFolded) {
			return res, err
		}
	}
	var records []backend.Write
	for _, facts := range sortedNames(folded) {
		for _, c := range folded[facts].folds {
			w, err := s.k.behindWrite(ctx, facts, c.name)
			if err != nil {
				return onto.Result{}, err
			}
			records = append(records, w)
		}
	}
	if d.Admit != nil {
		fenced.Admit = func(w *backend.Write, newest *onto.Version) (bool, error) {
			if w.Kind == onto.KindEntity && w.Type == fold.Guards {
				return true, nil
			}
			return d.Admit(w, newest)
		}
	}
	res, err := s.append(ctx, &fenced, records)
	if err == nil {
		s.k.left(sortedNames(folded))
		s.k.forgetGuards(sortedNames(folded))
	}
	return res, err
}
