// Package factstream has what streams of writes need for the facts among them: what a
// stream wants of facts, and the order that imported ones were asserted in.
package factstream

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/shape"
)

// Facts is what a stream wants of facts.
type Facts struct {
	Asserted bool // there are new ones
	Written  bool // there are others, of which it matters what they are like now

	Types map[string]bool // of all of them
}

// Noted passes writes on, takes note of facts and refuses revocations.
func (s *Facts) Noted(writes iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		for w, err := range writes {
			if err == nil && w.Kind == onto.KindFact {
				s.note(w.Type)
				s.Asserted = s.Asserted || w.Once
				s.Written = s.Written || !w.Once
				if w.Op == catalog.Revoke {
					err = onto.Errorf(onto.Invalid, "%s: a stream cannot revoke: what a revocation makes depends on what the fact is like", w.Identity).
						WithHint("revoke in a draft, with Store.Commit")
				}
			}
			if !yield(w, err) || err != nil {
				return
			}
		}
	}
}

func (s *Facts) note(typ string) {
	if s.Types == nil {
		s.Types = map[string]bool{}
	}
	s.Types[typ] = true
}

// Ranked yields writes that are in order of identity, with the facts about each subject
// numbered in the order that they were asserted in elsewhere. The writes are read twice
// side by side, so that it needs memory for the ranks of one subject's facts only.
func Ranked(sorted iter.Seq2[backend.Write, error]) iter.Seq2[backend.Write, error] {
	return func(yield func(backend.Write, error) bool) {
		next, stop := iter.Pull2(sorted)
		defer stop()
		ahead := ranking{next: next}
		for w, err := range sorted {
			if err == nil && isAsserted(&w) {
				var rank int64
				if rank, err = ahead.rank(&w); err == nil {
					w.Fields = shape.Ranked(w.Fields, rank)
				}
			}
			if !yield(w, err) || err != nil {
				return
			}
		}
	}
}

func isAsserted(w *backend.Write) bool { return w.Kind == onto.KindFact && w.Once }

// ranking finds the ranks of facts, one subject after the other.
type ranking struct {
	next func() (backend.Write, error, bool)
	read *backend.Write // taken from next, and not used yet

	about onto.Identity // the subject: only the type and the left key
	ranks []int64       // of its facts, in order of identity
	used  int
}

// rank is the rank of the next fact.
func (r *ranking) rank(w *backend.Write) (int64, error) {
	if about := (onto.Identity{Type: w.Type, Left: w.Left}); about != r.about || r.ranks == nil {
		r.about = about
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	r.used++
	return r.ranks[r.used-1], nil
}

// assertion is when a fact was asserted elsewhere.
type assertion struct {
	unknown         bool
	asserted, place int64
	id              string
	index           int // among the facts about its subject, in order of identity
}

// fill reads the facts about the subject and ranks them.
func (r *ranking) fill() error {
	var list []assertion
	for {
		w, err := r.take()
		if err != nil {
			return err
		}
		if w == nil {
			break
		}
		if !isAsserted(w) || w.Type != r.about.Type || w.Left != r.about.Left {
			if len(list) > 0 && (w.Kind != onto.KindFact || w.Type != r.about.Type || w.Left != r.about.Left) {
				r.read = w
				break
			}
			continue
		}
		a := assertion{id: w.Instance, index: len(list)}
		var known bool
		a.asserted, a.place, known = shape.Elsewhere(w.Fields)
		a.unknown = !known
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b assertion) int {
		switch {
		case a.unknown != b.unknown && b.unknown:
			return -1
		case a.unknown != b.unknown:
			return 1
		}
		return cmp.Or(cmp.Compare(a.asserted, b.asserted), cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id), cmp.Compare(a.index, b.index))
	})
	r.ranks, r.used = make([]int64, len(list)), 0
	for rank, a := range list {
		r.ranks[a.index] = int64(rank)
	}
	return nil
}

// take returns the next write; nil at the end.
func (r *ranking) take() (*backend.Write, error) {
	if w := r.read; w != nil {
		r.read = nil
		return w, nil
	}
	w, err, ok := r.next()
	if err != nil || !ok {
		return nil, err
	}
	return &w, nil
}
