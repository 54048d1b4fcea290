package audit

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
)

// types is the versions of types that a log has shown, and the place of the one that
// was looked for last: versions of one type come together.
type types struct {
	all    []onto.SchemaVersion
	at     int
	doubts map[onto.TypeName]bool
}

// Types checks all versions of all types: they are in order and numbered without gaps,
// they begin and end with commits that go together, and what they are upgraded from
// exists. Intact tells whether the schema at i is the one that its hash was computed
// from.
func (l Log) Types(all []onto.SchemaVersion, head int64, intact func(i int) bool) error {
	l.types.all, l.types.doubts = all, map[onto.TypeName]bool{}
	for i := range all {
		err := errors.Join(l.schemaNumber(i), l.schemaHash(i, intact(i)), l.schemaLife(i, head+1), l.upgrader(i))
		if err != nil {
			return err
		}
	}
	return nil
}

// Doubtful reports whether the fields of a type are uncertain: a version of it is not
// as it should be.
func (l Log) Doubtful(t onto.TypeName) bool { return l.types.doubts[t] }

func (l Log) schemaNumber(i int) error {
	s, want := &l.types.all[i], 1
	t := s.Schema.TypeName()
	if i > 0 {
		before := &l.types.all[i-1]
		switch order := before.Schema.TypeName().Compare(t); {
		case order > 0 || order == 0 && before.Version >= s.Version:
			l.types.doubts[t] = true
			return l.found(SchemaOrder, "version %d of %s is out of order", s.Version, Name(t))
		case order == 0:
			want = before.Version + 1
		}
	}
	if s.Version != want {
		l.types.doubts[t] = true
		return l.found(SchemaGap, "version %d of %s stands where %d is due", s.Version, Name(t), want)
	}
	return nil
}

func (l Log) schemaHash(i int, intact bool) error {
	if intact {
		return nil
	}
	s := &l.types.all[i]
	l.types.doubts[s.Schema.TypeName()] = true
	return l.found(SchemaHash, "version %d of %s is not what its hash says", s.Version, Name(s.Schema.TypeName()))
}

// next is the version of a type that follows the one at i; nil if there is none.
func (t *types) next(i int) *onto.SchemaVersion {
	if i+1 == len(t.all) || t.all[i+1].Schema.TypeName() != t.all[i].Schema.TypeName() {
		return nil
	}
	return &t.all[i+1]
}

// schemaLife checks when a version of a type begins and ends.
func (l Log) schemaLife(i int, nextCommit int64) error {
	s, after := &l.types.all[i], l.types.next(i)
	name, end := Name(s.Schema.TypeName()), s.End
	switch {
	case s.Since < 1 || s.Since > nextCommit:
		return l.found(SchemaSince, "version %d of %s begins with commit %d, but the next commit is %d", s.Version, name, s.Since, nextCommit)
	case after != nil && after.Since < s.Since:
		return l.found(SchemaSince, "version %d of %s begins before the one it follows", after.Version, name)
	case end == nil:
		return nil
	case end.Commit < s.Since || end.Commit > nextCommit || after != nil && after.Since < end.Commit:
		return l.found(SchemaEnd, "%s ended with commit %d, which does not go with its versions", name, end.Commit)
	case end.Versions != 0 && !end.Purged:
		return l.found(SchemaEnd, "%s says that %d versions were purged, but it was not purged", name, end.Versions)
	case end.Purge != (onto.Purge{}) && (!end.Purged || end.Purge.Versions < 0 || end.Purge.Versions > end.Versions):
		return l.found(SchemaEnd, "%s has a record of a purge of %d versions, which does not go with its end", name, end.Purge.Versions)
	case !stored(end.Purge.Time):
		return l.found(TimeForm, "the time of the purge of %s is not in UTC and microseconds: %v", name, end.Purge.Time)
	case !stored(end.Time):
		return l.found(TimeForm, "the time of the end of %s is not in UTC and microseconds: %v", name, end.Time)
	}
	return nil
}

// upgrader checks where the fields of a version of a type come from.
func (l Log) upgrader(i int) error {
	s := &l.types.all[i]
	u := s.Upgrader
	switch {
	case u == nil:
		return nil
	case u.Func && u.Program != "":
		return l.found(UpgraderForm, "the upgrader to version %d of %s is both a program and a function", s.Version, Name(s.Schema.TypeName()))
	case u.RenamedFrom != "" && l.types.find(onto.TypeName{Kind: s.Schema.Kind, Name: u.RenamedFrom}, u.FromVersion) < 0:
		return l.found(UpgraderUnknown, "version %d of %s comes from version %d of %s, which does not exist", s.Version, Name(s.Schema.TypeName()), u.FromVersion, u.RenamedFrom)
	}
	return nil
}

// find is the place of a version of a type; -1 if it does not exist.
func (t *types) find(name onto.TypeName, version int) int {
	is := func(s *onto.SchemaVersion) bool {
		return s.Version == version && s.Schema.Name == name.Name && s.Schema.Kind == name.Kind
	}
	if t.at < len(t.all) && is(&t.all[t.at]) {
		return t.at
	}
	i, found := slices.BinarySearchFunc(t.all, version, func(s onto.SchemaVersion, version int) int {
		return cmp.Or(s.Schema.TypeName().Compare(name), cmp.Compare(s.Version, version))
	})
	if !found { // they may be out of order
		i = slices.IndexFunc(t.all, func(s onto.SchemaVersion) bool { return is(&s) })
	}
	if i >= 0 {
		t.at = i
	}
	return i
}

// stored reports whether a time is one that can be stored.
func stored(t time.Time) bool {
	return t.Location() == time.UTC && t.Equal(t.Truncate(time.Microsecond))
}
