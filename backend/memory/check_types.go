package memory

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
)

// purgedFrom reports whether a commit may have lost versions to a purge. The commit that ends
// a type has deletes of it, which are lost if it is purged later.
func (l log) purgedFrom(commit int64) bool {
	return slices.ContainsFunc(l.schemas, func(v onto.SchemaVersion) bool {
		e := v.End
		return e != nil && e.Purged && (e.Commit > commit || e.Commit == commit && e.Purge.Time.After(e.Time))
	})
}

// purgedOf reports whether the type of a version was purged after it was made.
func (l log) purgedOf(v onto.Version) bool {
	return slices.ContainsFunc(l.schemas, func(s onto.SchemaVersion) bool {
		return s.Schema.TypeName() == v.TypeName() && s.End != nil && s.End.Purged && s.End.Commit > v.Commit
	})
}

// stamp checks that the schema version of a version exists and was the newest
// one at its commit.
func (c *checker) stamp(v onto.Version) {
	i := slices.IndexFunc(c.log.schemas, func(s onto.SchemaVersion) bool {
		return s.Schema.TypeName() == v.TypeName() && s.Version == v.SchemaVersion
	})
	if i < 0 {
		c.report(audit.SchemaUnknown, "%s of commit %d has schema version %d, which does not exist", v.Identity, v.Commit, v.SchemaVersion)
		return
	}
	s := c.log.schemas[i]
	next, superseded := c.log.following(i)
	switch {
	case v.Commit < s.Since:
		c.report(audit.SchemaSince, "%s of commit %d has schema version %d, which begins with commit %d", v.Identity, v.Commit, s.Version, s.Since)
	case s.End != nil && s.End.Commit == v.Commit && v.Op == onto.Delete:
		// the commit that ends a type deletes what there is of it
	case s.End != nil && v.Commit >= s.End.Commit:
		c.report(audit.SchemaEnded, "%s of commit %d is of a type that ended with commit %d", v.Identity, v.Commit, s.End.Commit)
	case c.log.purgedOf(v):
		c.report(audit.SchemaPurged, "%s of commit %d is of a type that was purged", v.Identity, v.Commit)
	case superseded && v.Commit >= next.Since:
		c.report(audit.SchemaSince, "%s of commit %d has schema version %d, but version %d begins with commit %d", v.Identity, v.Commit, s.Version, next.Version, next.Since)
	}
}

// following returns the next version of the type whose version is at i.
func (l log) following(i int) (onto.SchemaVersion, bool) {
	s := l.schemas[i].Schema
	if i+1 == len(l.schemas) || l.schemas[i+1].Schema.TypeName() != s.TypeName() {
		return onto.SchemaVersion{}, false
	}
	return l.schemas[i+1], true
}

// lives checks when the versions of types begin and end, and where their fields
// come from.
func (c *checker) lives() {
	for i, s := range c.log.schemas {
		name, next := audit.Name(s.Schema.TypeName()), c.log.head()+1
		if s.Since < 1 || s.Since > next {
			c.report(audit.SchemaSince, "version %d of %s begins with commit %d, but the next commit is %d", s.Version, name, s.Since, next)
		}
		after, superseded := c.log.following(i)
		if superseded && after.Since < s.Since {
			c.report(audit.SchemaSince, "version %d of %s begins before the one it follows", after.Version, name)
		}
		if u := s.Upgrader; u != nil {
			c.upgrader(s, *u)
		}
		if s.End == nil {
			continue
		}
		if s.End.Commit < s.Since || s.End.Commit > next || superseded && after.Since < s.End.Commit {
			c.report(audit.SchemaEnd, "%s ended with commit %d, which does not go with its versions", name, s.End.Commit)
		}
		if s.End.Versions != 0 && !s.End.Purged {
			c.report(audit.SchemaEnd, "%s says that %d versions were purged, but it was not purged", name, s.End.Versions)
		}
		if s.End.Time.Location() != time.UTC || !s.End.Time.Equal(s.End.Time.Truncate(time.Microsecond)) {
			c.report(audit.TimeForm, "the time of the end of %s is not in UTC and microseconds: %v", name, s.End.Time)
		}
	}
}

// upgrader checks an upgrader of a version of a type.
func (c *checker) upgrader(s onto.SchemaVersion, u onto.StoredUpgrader) {
	if u.Func && u.Program != "" {
		c.report(audit.UpgraderForm, "the upgrader to version %d of %s is both a program and a function", s.Version, audit.Name(s.Schema.TypeName()))
	}
	if u.RenamedFrom == "" {
		return
	}
	if !slices.ContainsFunc(c.log.schemas, func(v onto.SchemaVersion) bool {
		return v.Schema.Kind == s.Schema.Kind && v.Schema.Name == u.RenamedFrom && v.Version == u.FromVersion
	}) {
		c.report(audit.UpgraderUnknown, "version %d of %s comes from version %d of %s, which does not exist",
			s.Version, audit.Name(s.Schema.TypeName()), u.FromVersion, u.RenamedFrom)
	}
}
