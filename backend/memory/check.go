package memory

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/typelist"
)

// Check implements [backend.Checker].
func (b *Backend) Check(ctx context.Context) iter.Seq2[onto.Finding, error] {
	return each(ctx, b, func(l log) ([]onto.Finding, error) {
		c := checker{log: l}
		c.commits()
		c.versions()
		c.operations()
		c.schemas()
		c.lives()
		c.endpoints()
		return c.findings, nil
	})
}

// checker walks a log and collects what is wrong with it.
type checker struct {
	log      log
	findings []onto.Finding
}

func (c *checker) report(code audit.Fault, format string, args ...any) {
	f := code.Finding(format, args...)
	f.Remedy = onto.NewHint("the store is lost with its process; report this as a bug")
	c.findings = append(c.findings, f)
}

// endpoints warns of live relations and facts whose endpoints or subjects do not exist, which is allowed and
// often a mistake.
func (c *checker) endpoints() {
	current := c.log.current(c.log.head())
	for id, v := range current {
		schema := c.log.schemaOf(id)
		if schema.Left == "" || !v.Live() {
			continue
		}
		ends := []onto.Identity{onto.EntityID(schema.Left, id.Left)}
		if id.Kind == onto.KindRelation {
			ends = append(ends, onto.EntityID(schema.Right, id.Right))
		}
		for _, end := range ends {
			if e := current[end]; e == nil || !e.Live() {
				c.findings = append(c.findings, audit.EndpointMissing.Finding("%s: there is no %s", id, end))
			}
		}
	}
}

// schemaOf returns the newest schema of an identity's type.
func (l log) schemaOf(id onto.Identity) onto.Schema {
	if i := typelist.LastOf(l.schemas, id.TypeName()); i >= 0 {
		return l.schemas[i].Schema
	}
	return onto.Schema{}
}

// commits checks ids, times, metadata and idempotency keys.
func (c *checker) commits() {
	keys := map[string]int64{}
	var last time.Time
	for i, r := range c.log.commits {
		id, t := r.commit.ID, r.commit.Time
		if id != int64(i)+1 {
			c.report(audit.CommitGap, "commit %d has the id %d", i+1, id)
		}
		if t.Before(last) {
			c.report(audit.CommitTimeBack, "commit %d is before the one it follows", id)
		}
		last = t
		if t.Location() != time.UTC || !t.Equal(t.Truncate(time.Microsecond)) {
			c.report(audit.TimeForm, "the time of commit %d is not in UTC and microseconds: %v", id, t)
		}
		if r.metadata != nil && !canonical(r.metadata) {
			c.report(audit.MetadataForm, "the metadata of commit %d is not a canonical JSON object", id)
		}
		if key := r.commit.IdempotencyKey; key != "" {
			if used := keys[key]; used != 0 {
				c.report(audit.KeyTwice, "commits %d and %d have the idempotency key %q", used, id, key)
			}
			keys[key] = id
		}
	}
}

// versions checks the order of the versions, and that each follows from the
// one before it.
func (c *checker) versions() {
	newest := map[onto.Identity]onto.Version{}
	for i, v := range c.log.versions {
		if i > 0 {
			c.order(c.log.versions[i-1], v)
		}
		if v.Commit < 1 || v.Commit > c.log.head() {
			c.report(audit.VersionWithoutCommit, "%s is of commit %d, which does not exist", v.Identity, v.Commit)
		}
		if !canonical(v.Fields) {
			c.report(audit.FieldsNotCanonical, "the fields of %s of commit %d are not a canonical JSON object", v.Identity, v.Commit)
		}
		c.stamp(v)
		before := newest[v.Identity]
		newest[v.Identity] = v
		copied := v.Commit <= c.log.copy.Commit // then it may change nothing
		switch {
		case v.Op == onto.Put:
			if before.Live() && bytes.Equal(before.Fields, v.Fields) && !copied {
				c.report(audit.VersionUnchanged, "%s of commit %d repeats the version of commit %d", v.Identity, v.Commit, before.Commit)
			}
		case v.Op != onto.Delete:
			c.report(audit.OpUnknown, "%s of commit %d has the op %q", v.Identity, v.Commit, v.Op)
		case !before.Live() && !copied:
			c.report(audit.DeleteOfNothing, "commit %d deletes %s, which does not exist", v.Commit, v.Identity)
		case string(v.Fields) != "{}":
			c.report(audit.DeleteFields, "commit %d deletes %s and leaves fields", v.Commit, v.Identity)
		}
	}
}

// operations checks that each commit holds as many versions as it says, and none only
// after a purge or if it was copied.
func (c *checker) operations() {
	counts := map[int64]int{}
	for _, v := range c.log.versions {
		counts[v.Commit]++
	}
	for _, r := range c.log.commits {
		if n := counts[r.commit.ID]; n != r.commit.Operations || n == 0 && !c.log.purgedFrom(r.commit.ID) && r.commit.ID > c.log.copy.Commit {
			c.report(audit.CommitIncomplete, "commit %d says %d operations and holds %d", r.commit.ID, r.commit.Operations, n)
		}
	}
}

// schemas checks the order and numbers of the schema versions and their hashes.
// What is marked for index and search may have changed since.
func (c *checker) schemas() {
	for i, s := range c.log.schemas {
		if i > 0 && typelist.Compare(c.log.schemas[i-1], s) >= 0 {
			c.report(audit.SchemaOrder, "version %d of %s is out of order", s.Version, audit.Name(s.Schema.TypeName()))
		}
		stored, _ := onto.ParseSchema(s.JSON) // a damaged one has another hash
		if s.Hash != stored.Hash() || stored.WithFlags(s.Schema).Hash() != s.Schema.Hash() {
			c.report(audit.SchemaHash, "version %d of %s is not what its hash says", s.Version, audit.Name(s.Schema.TypeName()))
		}
	}
}

// order checks that b may follow a in the log.
func (c *checker) order(a, b onto.Version) {
	switch {
	case a.Commit == b.Commit && a.Identity == b.Identity:
		c.report(audit.VersionTwice, "%s has two versions in commit %d", b.Identity, b.Commit)
	case a.Commit > b.Commit || a.Commit == b.Commit && a.Identity.Compare(b.Identity) > 0:
		c.report(audit.VersionOrder, "%s of commit %d is out of order", b.Identity, b.Commit)
	}
}

// canonical reports whether data is a JSON object in its canonical form.
func canonical(data []byte) bool {
	text, err := codec.AppendCanonical(nil, data)
	return err == nil && bytes.Equal(text, data) && codec.KindOf(text) == codec.Object
}
