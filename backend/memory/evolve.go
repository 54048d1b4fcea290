package memory

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// evolved returns the log with other types, for a commit that comes next. The
// log itself stays as it is.
func (l log) evolved(e *backend.Evolution, now time.Time) (log, error) {
	if typelist.Hash(l.schemas) != e.Base {
		return log{}, refusal.TypesChanged()
	}
	next := l
	next.schemas = typelist.Copy(l.schemas)
	next.turns++
	for _, t := range e.End {
		if err := next.end(t, e, now); err != nil {
			return log{}, err
		}
	}
	for i, a := range e.Add {
		if err := next.extend(a, e.Add[:i], e, now); err != nil {
			return log{}, err
		}
	}
	for _, t := range e.Learn {
		if err := next.learn(t, l.schemas, e, now); err != nil {
			return log{}, err
		}
	}
	return next, nil
}

// end ends a type. If it has ended before, it can only be purged.
func (l *log) end(t backend.EndedType, by *backend.Evolution, now time.Time) error {
	v := l.last(t.TypeName())
	if v == nil || v.End != nil && !t.Purge {
		return refusal.NoTypeToEnd(t.TypeName())
	}
	if v.End == nil {
		v.Schema = typelist.AsStored(*v)
		v.End = &onto.End{Commit: l.head() + 1, RenamedTo: t.RenamedTo, Time: now, Runtime: by.Runtime, Actor: by.Actor, Comment: by.Comment}
	}
	if t.Purge {
		versions := l.purge(t.TypeName())
		v.End.Versions += versions
		if !v.End.Purged {
			v.End.Purged, v.End.Purge = true, by.Purge(versions, now)
		}
	}
	return nil
}

// extend adds a version to a type.
func (l *log) extend(a backend.NewVersion, before []backend.NewVersion, e *backend.Evolution, now time.Time) error {
	for _, o := range before {
		if o.Schema.Name == a.Schema.Name {
			return refusal.TypeTwice(a.Schema.Name)
		}
	}
	for _, kind := range onto.Kinds() {
		if kind != a.Schema.Kind && l.existing(onto.TypeName{Kind: kind, Name: a.Schema.Name}) != nil {
			return refusal.NameTaken(a.Schema.Name, kind)
		}
	}
	if v := l.last(a.Schema.TypeName()); v != nil {
		v.Schema = typelist.AsStored(*v)
	}
	var upgrader *onto.StoredUpgrader
	if a.Upgrader != nil {
		u := *a.Upgrader
		upgrader = &u
	}
	l.add(a.Schema, upgrader, e.Origin(), now)
	return nil
}

// learn gives a version an upgrader that it had none of in the types before.
func (l *log) learn(t backend.TypeUpgrader, before []onto.SchemaVersion, by *backend.Evolution, now time.Time) error {
	is := func(v onto.SchemaVersion) bool { return v.Schema.TypeName() == t.TypeName() && v.Version == t.Version }
	i := slices.IndexFunc(before, is)
	if i < 0 || before[i].Upgrader != nil && !before[i].Upgrader.Func {
		return refusal.CannotLearn(t.TypeName(), t.Version)
	}
	v := &l.schemas[slices.IndexFunc(l.schemas, is)]
	v.Upgrader, v.Learned = &t.Upgrader, &onto.Learned{Time: now, Runtime: by.Runtime, Actor: by.Actor, Comment: by.Comment}
	return nil
}

// purge removes every version of a type and returns how many there were. Commits
// say how many versions they still hold.
func (l *log) purge(t onto.TypeName) int64 {
	held := len(l.versions)
	l.commits = slices.Clone(l.commits)
	l.versions = slices.DeleteFunc(slices.Clone(l.versions), func(v onto.Version) bool {
		gone := v.TypeName() == t
		if gone {
			l.commits[v.Commit-1].commit.Operations--
		}
		return gone
	})
	return int64(held - len(l.versions))
}
