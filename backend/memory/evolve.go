package memory

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// evolved returns the log with other types, for a commit that comes next. The
// log itself stays as it is.
func (l log) evolved(e *backend.Evolution, now time.Time) (log, error) {
	if err := backend.CheckEvolution(l.schemas, e); err != nil {
		return log{}, err
	}
	next := l.head() + 1
	l.schemas = schemasOut(l.schemas)
	l.turns++
	for _, t := range e.End {
		end := onto.End{Commit: next, RenamedTo: t.RenamedTo, Purged: t.Purge, Time: now, Runtime: e.Runtime}
		if t.Purge {
			l, end.Versions = l.without(t.Kind, t.Type)
		}
		last := &l.schemas[lastOf(l.schemas, t.Kind, t.Type)]
		if last.End != nil { // it has ended before
			before := *last.End
			before.Purged, before.Versions = true, before.Versions+end.Versions
			end = before
		}
		last.Schema, last.End = asStored(*last), &end
	}
	for _, a := range e.Add {
		if i := lastOf(l.schemas, a.Schema.Kind, a.Schema.Name); i >= 0 {
			l.schemas[i].Schema = asStored(l.schemas[i])
		}
		l.schemas = append(l.schemas, onto.SchemaVersion{
			Schema: schemaOut(a.Schema), Version: backend.NextVersion(l.schemas, a.Schema.Kind, a.Schema.Name),
			JSON: a.Schema.JSON(), Hash: a.Schema.Hash(), Created: now, Runtime: e.Runtime, Reason: e.Reason,
			Since: next, Upgrader: copied(a.Upgrader),
		})
		slices.SortFunc(l.schemas, compareSchemas)
	}
	for _, t := range e.Learn {
		i := slices.IndexFunc(l.schemas, func(v onto.SchemaVersion) bool {
			return v.Schema.Kind == t.Kind && v.Schema.Name == t.Type && v.Version == t.Version
		})
		l.schemas[i].Upgrader = copied(&t.Upgrader)
	}
	return l, nil
}

// asStored returns the schema of a version that is not the newest any more: the
// flags that it was given later are not its own.
func asStored(v onto.SchemaVersion) onto.Schema {
	if s, err := onto.ParseSchema(v.JSON); err == nil {
		return s
	}
	return v.Schema
}

// without returns the log without any version of a type, and how many there
// were. Commits say how many versions they still hold.
func (l log) without(kind onto.Kind, name string) (log, int64) {
	held := len(l.versions)
	l.commits = slices.Clone(l.commits)
	l.versions = slices.DeleteFunc(slices.Clone(l.versions), func(v onto.Version) bool {
		gone := v.Kind == kind && v.Type == name
		if gone {
			l.commits[v.Commit-1].commit.Operations--
		}
		return gone
	})
	return l, int64(held - len(l.versions))
}

// checkStamp judges a write by the types. Of a type that this draft ends,
// deletes are allowed.
func (l log) checkStamp(w *backend.Write, e *backend.Evolution) error {
	newest := l.newestSchema(w.Kind, w.Type)
	if newest > 0 || e == nil || !slices.ContainsFunc(e.End, func(t backend.EndedType) bool { return t.Kind == w.Kind && t.Type == w.Type }) {
		return backend.CheckStamp(w, newest)
	}
	last := l.schemas[lastOf(l.schemas, w.Kind, w.Type)].Version
	if w.Op != onto.Delete || w.SchemaVersion != last {
		return onto.Errorf(onto.Invalid, "%s: type %s ends with this draft, so only deletes with its last version %d are allowed", w.Identity, w.Type, last).
			WithHint("write it as another type, or do not end this one")
	}
	return nil
}

// copied returns a copy of what is pointed to.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
