package protocol

import (
	"context"
	"errors"
	"slices"

	"github.com/ontologia/onto"
)

// ErrStale is returned by a planner: the tip is not the newest known one. ErrReplaced
// from a planner means the same.
var ErrStale = errors.New("the head is another by now")

// Shelf is the files of every type as of one tip. It is never changed.
type Shelf struct {
	Tip   *Tip
	Types *Types
	Files map[onto.TypeName][]FileEntry // oldest first; ranges follow each other, or are the same for parts of one file
}

// Shelve returns the shelf of a tip. What an older shelf knows is not read again;
// it may be nil.
func (l *Log) Shelve(ctx context.Context, t *Tip, old *Shelf) (*Shelf, error) {
	s := &Shelf{Tip: t, Files: map[onto.TypeName][]FileEntry{}}
	var err error
	if old != nil && old.Tip.Catalog == t.Catalog {
		s.Types = old.Types
	} else if s.Types, err = ReadTypes(t.Catalog); err != nil {
		return nil, err
	}
	since := t.Catalog.Through
	for _, table := range t.Catalog.Tables {
		s.Files[table.TypeName()] = slices.Clip(table.Files)
	}
	if old != nil && old.Tip.Head.CommitID > since && old.Tip.Head.Sequence <= t.Head.Sequence {
		since = old.Tip.Head.CommitID
		for name, files := range old.Files {
			i, _ := slices.BinarySearchFunc(files, t.Catalog.Through+1, func(f FileEntry, c int64) int { return int(f.First - c) })
			if len(s.Files[name]) == 0 {
				s.Files[name] = slices.Clip(files[i:])
			} else {
				s.Files[name] = append(s.Files[name], files[i:]...)
			}
		}
	}
	if t.Manifest == nil || t.Head.CommitID == since {
		return s, nil
	}
	rounds, err := l.since(ctx, t, since)
	if err != nil {
		return nil, err
	}
	for _, r := range rounds {
		for _, f := range r.files {
			if f.Last > since {
				s.Files[f.TypeName()] = append(s.Files[f.TypeName()], f)
			}
		}
	}
	return s, nil
}

// Of returns the files of a type that hold versions up to a commit and after
// another, oldest first.
func (s *Shelf) Of(t onto.TypeName, since, at int64) []FileEntry {
	var list []FileEntry
	for _, f := range s.Files[t] {
		if f.First <= at && f.Last > since && f.Version > s.Types.Purged[t] {
			list = append(list, f)
		}
	}
	return list
}

// SameRange reports whether files are the parts of one.
func SameRange(files []FileEntry) bool {
	return files[0].First == files[len(files)-1].First
}

// Names are the types that have files, in their order.
func (s *Shelf) Names() []onto.TypeName {
	var names []onto.TypeName
	for t, files := range s.Files {
		if len(files) > 0 {
			names = append(names, t)
		}
	}
	slices.SortFunc(names, onto.TypeName.Compare)
	return names
}
