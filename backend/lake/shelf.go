package lake

import (
	"context"
	"errors"
	"slices"

	"github.com/ontologia/onto"
)

// errStale is a planner's: the tip is not the newest that is known.
var errStale = errors.New("the head is another by now")

// tipFiles is the files of every type as of one tip. It is never changed.
type tipFiles struct {
	tip   *tip
	types *catalogTypes
	files map[onto.TypeName][]fileEntry // oldest first; ranges follow each other, or are the same for parts of one file
}

// shelve returns the shelf of a tip. What an older shelf knows is not read again;
// it may be nil.
func (l *log) shelve(ctx context.Context, t *tip, old *tipFiles) (*tipFiles, error) {
	s := &tipFiles{tip: t, files: map[onto.TypeName][]fileEntry{}}
	var err error
	if old != nil && old.tip.catalog == t.catalog {
		s.types = old.types
	} else if s.types, err = readTypes(t.catalog); err != nil {
		return nil, err
	}
	since := t.catalog.Through
	for _, table := range t.catalog.Tables {
		s.files[table.TypeName()] = slices.Clip(table.Files)
	}
	if old != nil && old.tip.head.CommitID > since && old.tip.head.Sequence <= t.head.Sequence {
		since = old.tip.head.CommitID
		for name, files := range old.files {
			i, _ := slices.BinarySearchFunc(files, t.catalog.Through+1, func(f fileEntry, c int64) int { return int(f.First - c) })
			if len(s.files[name]) == 0 {
				s.files[name] = slices.Clip(files[i:])
			} else {
				s.files[name] = append(s.files[name], files[i:]...)
			}
		}
	}
	if t.manifest == nil || t.head.CommitID == since {
		return s, nil
	}
	rounds, err := l.since(ctx, t, since)
	if err != nil {
		return nil, err
	}
	for _, r := range rounds {
		for _, f := range r.files {
			if f.Last > since {
				s.files[f.TypeName()] = append(s.files[f.TypeName()], f)
			}
		}
	}
	return s, nil
}

// of returns the files of a type that hold versions up to a commit and after
// another, oldest first.
func (s *tipFiles) of(t onto.TypeName, since, at int64) []fileEntry {
	var list []fileEntry
	for _, f := range s.files[t] {
		if f.First <= at && f.Last > since && f.Version > s.types.purged[t] {
			list = append(list, f)
		}
	}
	return list
}

// names are the types that have files, in their order.
func (s *tipFiles) names() []onto.TypeName {
	var names []onto.TypeName
	for t, files := range s.files {
		if len(files) > 0 {
			names = append(names, t)
		}
	}
	slices.SortFunc(names, onto.TypeName.Compare)
	return names
}
