package lake

import (
	"errors"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// types checks the types of the catalog: their order and numbers, their hashes,
// when their versions begin and end, and where their fields come from.
func (c *checker) types() error {
	if c.catalog == nil {
		return nil
	}
	for i := range c.catalog.Types {
		e := &c.catalog.Types[i]
		v, err := e.schema()
		if err != nil { // its hash will not fit
			v = onto.SchemaVersion{Schema: onto.Schema{Kind: e.Kind, Name: e.Name}, Version: e.Version, JSON: e.Schema, Hash: e.Hash, Since: e.Since, Upgrader: e.Upgrader, End: e.End}
		}
		c.schemas = append(c.schemas, v)
	}
	c.purged = purgedTypes(c.schemas)
	for i := range c.schemas {
		if err := errors.Join(c.schemaOrder(i), c.schemaHash(i), c.schemaLife(i), c.upgrader(i)); err != nil {
			return err
		}
	}
	return nil
}

// doubt notes that it is not known which fields a type has.
func (c *checker) doubt(kind onto.Kind, name string) {
	if c.doubts == nil {
		c.doubts = map[onto.TypeName]bool{}
	}
	c.doubts[onto.TypeName{Kind: kind, Name: name}] = true
}

func (c *checker) schemaOrder(i int) error {
	s := &c.schemas[i]
	if i > 0 && backend.CompareSchemas(c.schemas[i-1], *s) >= 0 {
		c.doubt(s.Schema.Kind, s.Schema.Name)
		return c.report("schema_order", "%s: version %d of %s is out of order", c.head.Catalog, s.Version, s.Schema.Name)
	}
	want := 1
	if i > 0 && c.schemas[i-1].Schema.TypeName() == s.Schema.TypeName() {
		want = c.schemas[i-1].Version + 1
	}
	if s.Version != want {
		c.doubt(s.Schema.Kind, s.Schema.Name)
		return c.report("schema_gap", "%s: version %d of %s stands where %d is due", c.head.Catalog, s.Version, s.Schema.Name, want)
	}
	return nil
}

// schemaHash finds schemas that are not what their hashes say. Flags may differ in
// index and search alone.
func (c *checker) schemaHash(i int) error {
	e := &c.catalog.Types[i]
	stored, _ := onto.ParseSchema(e.Schema) // a damaged one has another hash
	fits := e.Hash == stored.Hash() && stored.Kind == e.Kind && stored.Name == e.Name
	if fits && e.Flags != nil {
		flags, _ := onto.ParseSchema(e.Flags)
		fits = stored.WithFlags(flags).Hash() == flags.Hash()
	}
	if !fits {
		c.doubt(e.Kind, e.Name)
		return c.report("schema_hash", "%s: version %d of %s is not what its hash says", c.head.Catalog, e.Version, e.Name)
	}
	return nil
}

// next returns the version of a type that follows the one at i.
func (c *checker) next(i int) (onto.SchemaVersion, bool) {
	s := c.schemas[i].Schema
	if i+1 == len(c.schemas) || c.schemas[i+1].Schema.TypeName() != s.TypeName() {
		return onto.SchemaVersion{}, false
	}
	return c.schemas[i+1], true
}

// schemaLife checks when a version of a type begins and ends.
func (c *checker) schemaLife(i int) error {
	s, next := c.schemas[i], c.head.CommitID+1
	name := s.Schema.Name
	if s.Since < 1 || s.Since > next {
		return c.report("schema_since", "%s: version %d of %s begins with commit %d, but the next commit is %d", c.head.Catalog, s.Version, name, s.Since, next)
	}
	after, superseded := c.next(i)
	if superseded && after.Since < s.Since {
		return c.report("schema_since", "%s: version %d of %s begins before the one it follows", c.head.Catalog, after.Version, name)
	}
	if s.End == nil {
		return nil
	}
	switch end := s.End; {
	case end.Commit < s.Since || end.Commit > next || superseded && after.Since < end.Commit:
		return c.report("schema_end", "%s: %s ended with commit %d, which does not go with its versions", c.head.Catalog, name, end.Commit)
	case end.Versions != 0 && !end.Purged:
		return c.report("schema_end", "%s: %s says that %d versions were purged, but it was not purged", c.head.Catalog, name, end.Versions)
	case end.Time.Location() != time.UTC || !end.Time.Equal(end.Time.Truncate(time.Microsecond)):
		return c.report("time_form", "%s: the time of the end of %s is not in UTC and microseconds: %v", c.head.Catalog, name, end.Time)
	}
	return nil
}

// upgrader checks where the fields of a version of a type come from.
func (c *checker) upgrader(i int) error {
	s := c.schemas[i]
	u := s.Upgrader
	if u == nil {
		return nil
	}
	if u.Func && u.Program != "" {
		return c.report("upgrader_form", "%s: the upgrader to version %d of %s is both a program and a function", c.head.Catalog, s.Version, s.Schema.Name)
	}
	known := func(v onto.SchemaVersion) bool {
		return v.Schema.Kind == s.Schema.Kind && v.Schema.Name == u.RenamedFrom && v.Version == u.FromVersion
	}
	if u.RenamedFrom != "" && !slices.ContainsFunc(c.schemas, known) {
		return c.report("upgrader_unknown", "%s: version %d of %s comes from version %d of %s, which does not exist",
			c.head.Catalog, s.Version, s.Schema.Name, u.FromVersion, u.RenamedFrom)
	}
	return nil
}

// stamp checks that the schema version of a version exists and was the newest one
// at its commit.
func (c *checker) stamp(path string, v *onto.Version) error {
	want := onto.SchemaVersion{Schema: onto.Schema{Kind: v.Kind, Name: v.Type}, Version: v.SchemaVersion}
	i, found := slices.BinarySearchFunc(c.schemas, want, backend.CompareSchemas)
	if !found { // they may be out of order
		i = slices.IndexFunc(c.schemas, func(s onto.SchemaVersion) bool { return backend.CompareSchemas(s, want) == 0 })
	}
	if i < 0 {
		return c.report("schema_unknown", "%s: %s of commit %d has schema version %d, which does not exist", path, v.Identity, v.Commit, v.SchemaVersion)
	}
	s := &c.schemas[i]
	next, superseded := c.next(i)
	switch {
	case v.Commit < s.Since:
		return c.report("schema_since", "%s: %s of commit %d has schema version %d, which begins with commit %d", path, v.Identity, v.Commit, s.Version, s.Since)
	case s.End != nil && s.End.Commit == v.Commit && v.Op == onto.Delete:
		// the commit that ends a type deletes what there is of it
	case s.End != nil && v.Commit >= s.End.Commit:
		return c.report("schema_ended", "%s: %s of commit %d is of a type that ended with commit %d", path, v.Identity, v.Commit, s.End.Commit)
	case superseded && v.Commit >= next.Since:
		return c.report("schema_since", "%s: %s of commit %d has schema version %d, but version %d begins with commit %d",
			path, v.Identity, v.Commit, s.Version, next.Version, next.Since)
	}
	return nil
}
