package store

import (
	"context"
	"iter"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/suggest"
)

// CommitOptions selects commits. The zero value is all of them, oldest first.
type CommitOptions struct {
	Since  int64 // only commits after this one
	Newest bool  // newest first
	Limit  int   // at most so many; 0 for all

	Type  string                 // only those that changed things of this type; "" for all
	Match func(onto.Commit) bool // only those for which it is true; nil for all
	Key   string                 // only the one that used this idempotency key; "" for all
}

// Commits yields commits. It needs little memory, however many there are and however few
// of them are selected.
func (s *Store) Commits(ctx context.Context, q CommitOptions) iter.Seq2[onto.Commit, error] {
	if q.Since < 0 || q.Limit < 0 {
		return failed[onto.Commit](onto.Errorf(onto.Invalid, "commit %d or limit %d is negative", q.Since, q.Limit))
	}
	all := backend.CommitQuery{Since: q.Since, Until: backend.Head, Newest: q.Newest}
	switch {
	case q.Type != "":
		return limited(s.commitsOfType(ctx, q), q.Limit)
	case q.Key != "":
		all.Key = q.Key
		return limited(chosen(s.b.Commits(ctx, &all), q.Match), q.Limit)
	case q.Match != nil:
		return limited(chosen(s.b.Commits(ctx, &all), q.Match), q.Limit)
	}
	all.Limit = q.Limit
	return s.b.Commits(ctx, &all)
}

// chosen is the commits for which match is true, or all if it is nil.
func chosen(commits iter.Seq2[onto.Commit, error], match func(onto.Commit) bool) iter.Seq2[onto.Commit, error] {
	return func(yield func(onto.Commit, error) bool) {
		for c, err := range commits {
			if err == nil && match != nil && !match(c) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// limited is the first n of a sequence, or all if n is 0.
func limited[T any](items iter.Seq2[T, error], n int) iter.Seq2[T, error] {
	if n == 0 {
		return items
	}
	return func(yield func(T, error) bool) {
		left := n
		for item, err := range items {
			if left--; !yield(item, err) || left == 0 {
				return
			}
		}
	}
}

// span is how many commits are looked at together for what they changed.
const span = 1000

// commitsOfType yields the commits that changed things of a type: span by span, first
// which ones these are, and then the commits themselves.
func (s *Store) commitsOfType(ctx context.Context, q CommitOptions) iter.Seq2[onto.Commit, error] {
	return func(yield func(onto.Commit, error) bool) {
		names, err := s.namesOf(q.Type)
		var head onto.Commit
		if err == nil {
			head, err = s.Head(ctx)
		}
		if err != nil {
			yield(onto.Commit{}, err)
			return
		}
		for first, last := range spans(q.Since+1, head.ID, q.Newest) {
			touched, err := s.touched(ctx, names, first, last)
			if err != nil {
				yield(onto.Commit{}, err)
				return
			}
			if len(touched) == 0 {
				continue
			}
			part := s.b.Commits(ctx, &backend.CommitQuery{Since: first - 1, Until: last, Newest: q.Newest})
			for c, err := range chosen(part, func(c onto.Commit) bool {
				return touched[c.ID] && (q.Key == "" || q.Key == c.IdempotencyKey) && (q.Match == nil || q.Match(c))
			}) {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// spans yields the commits from first to last in pieces, the newest piece first if that is
// wanted.
func spans(first, last int64, newest bool) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for first <= last {
			from, to := first, min(last, first+span-1)
			if newest {
				from, to = max(first, last-span+1), last
				last = from - 1
			} else {
				first = to + 1
			}
			if !yield(from, to) {
				return
			}
		}
	}
}

// namesOf is the names that a type has had, for each kind that has a type of that name or
// had one.
func (s *Store) namesOf(name string) ([]onto.TypeName, error) {
	var names []onto.TypeName
	for _, t := range s.catalog().EveryName() {
		if t.Name != name {
			continue
		}
		for _, n := range t.Type.Names() {
			names = append(names, onto.TypeName{Kind: t.Kind, Name: n})
		}
	}
	if names == nil {
		return nil, s.catalog().Unknown("", name)
	}
	return names, nil
}

// manyVersions is after how many versions of one commit the rest of them is left out by
// asking anew.
const manyVersions = 256

// touched is which of the commits from first to last made versions of types.
func (s *Store) touched(ctx context.Context, types []onto.TypeName, first, last int64) (map[int64]bool, error) {
	found := map[int64]bool{}
	for _, name := range types {
		for since := first - 1; since < last; {
			next, err := s.touchedAfter(ctx, name, since, last, found)
			if err != nil {
				return nil, err
			}
			since = next
		}
	}
	return found, nil
}

// touchedAfter notes commits after one that made versions of a type. It returns the commit
// after which to go on.
func (s *Store) touchedAfter(ctx context.Context, name onto.TypeName, since, last int64, found map[int64]bool) (int64, error) {
	at, n := since, 0
	q := &backend.Query{Kind: name.Kind, Type: name.Name, Mode: backend.History, At: last, Since: since}
	for v, err := range s.b.Scan(ctx, q) {
		if err != nil {
			return 0, err
		}
		if v.Commit != at {
			at, n = v.Commit, 0
			found[at] = true
		}
		if n++; n == manyVersions {
			return at, nil
		}
	}
	return last, nil
}

// TypesOf returns the types of what a commit changed, by the names that they had then.
func (s *Store) TypesOf(ctx context.Context, commit int64) ([]onto.TypeName, error) {
	var list []onto.TypeName
	for _, t := range s.catalog().EveryName() {
		if slices.Contains(list, t.TypeName) {
			continue
		}
		q := &backend.Query{Kind: t.Kind, Type: t.Name, Mode: backend.History, At: commit, Since: commit - 1, Limit: 1}
		for _, err := range s.b.Scan(ctx, q) {
			if err != nil {
				return nil, err
			}
			list = append(list, t.TypeName)
		}
	}
	return list, nil
}

// manyCorrelations is how many correlation ids are compared with an unknown one.
const manyCorrelations = 1000

// SimilarCorrelation returns a correlation id of a commit that is like one, the same if a
// commit has it, or "" if none is close. Of many, the newest are compared.
func (s *Store) SimilarCorrelation(ctx context.Context, id string) (string, error) {
	known := map[string]bool{}
	for c, err := range s.b.Commits(ctx, &backend.CommitQuery{Until: backend.Head, Newest: true}) {
		switch {
		case err != nil:
			return "", err
		case c.Correlation == id:
			return id, nil
		case c.Correlation != "" && len(known) < manyCorrelations && len(c.Correlation) <= onto.MaxName:
			known[c.Correlation] = true
		}
	}
	var list []string
	for other := range known {
		list = append(list, other)
	}
	slices.Sort(list)
	return suggest.Name(id, list), nil
}
