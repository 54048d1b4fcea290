package backend

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/ontologia/onto"
)

// The functions below change a list of types as Schemas returns it. They leave
// the list that they are given as it is.

// Registered reports whether all types of a registration are there as given.
func Registered(all []onto.SchemaVersion, r *Registration) bool {
	newest := Newest(all)
	missing, err := Missing(newest, r.Schemas)
	return err == nil && len(missing)+len(Retuned(newest, r.Schemas)) == 0
}

// Named returns the newest versions of the types of a registration, which exist.
func Named(all []onto.SchemaVersion, r *Registration) []onto.SchemaVersion {
	list := make([]onto.SchemaVersion, len(r.Schemas))
	for i, given := range r.Schemas {
		list[i] = all[LastOf(all, given.Kind, given.Name)]
	}
	return CopySchemas(list)
}

// Register returns the types together with what is missing of a registration,
// for a commit that comes next.
func Register(all []onto.SchemaVersion, r *Registration, next int64, now time.Time) ([]onto.SchemaVersion, error) {
	all = slices.Clone(all)
	if _, err := Missing(Newest(all), r.Schemas); err != nil {
		return nil, err // names everything that differs
	}
	for _, given := range r.Schemas {
		missing, err := Missing(Newest(all), []onto.Schema{given})
		if err != nil {
			return nil, err // two schemas of the registration differ
		}
		for _, schema := range missing {
			all = append(all, newVersion(all, schema, next, now, r.Runtime, r.Reason))
		}
		slices.SortFunc(all, CompareSchemas)
		for _, schema := range Retuned(Newest(all), []onto.Schema{given}) {
			i := LastOf(all, schema.Kind, schema.Name)
			all[i].Schema = all[i].Schema.WithFlags(schema) // its JSON and Hash stay as stored
		}
	}
	return all, nil
}

// newVersion is the next version of a type.
func newVersion(all []onto.SchemaVersion, s onto.Schema, next int64, now time.Time, runtime, reason string) onto.SchemaVersion {
	return onto.SchemaVersion{
		Schema: copySchema(s), Version: NextVersion(all, s.Kind, s.Name), JSON: s.JSON(), Hash: s.Hash(),
		Created: now, Runtime: runtime, Reason: reason, Since: next,
	}
}

// Evolve returns the types after an evolution, for a commit that comes next.
// Purge removes the versions of a type and returns how many there were.
func Evolve(all []onto.SchemaVersion, e *Evolution, next int64, now time.Time, purge func(onto.Kind, string) int64) ([]onto.SchemaVersion, error) {
	if err := CheckEvolution(all, e); err != nil {
		return nil, err
	}
	all = CopySchemas(all)
	for _, t := range e.End {
		end := onto.End{Commit: next, RenamedTo: t.RenamedTo, Purged: t.Purge, Time: now, Runtime: e.Runtime}
		if t.Purge {
			end.Versions = purge(t.Kind, t.Type)
		}
		last := &all[LastOf(all, t.Kind, t.Type)]
		if last.End != nil { // it has ended before
			before := *last.End
			before.Purged, before.Versions = true, before.Versions+end.Versions
			end = before
		}
		last.Schema, last.End = asStored(*last), &end
	}
	for _, a := range e.Add {
		if i := LastOf(all, a.Schema.Kind, a.Schema.Name); i >= 0 {
			all[i].Schema = asStored(all[i])
		}
		v := newVersion(all, a.Schema, next, now, e.Runtime, e.Reason)
		v.Upgrader = copied(a.Upgrader)
		all = append(all, v)
		slices.SortFunc(all, CompareSchemas)
	}
	for _, t := range e.Learn {
		i := slices.IndexFunc(all, func(v onto.SchemaVersion) bool {
			return v.Schema.TypeName() == t.TypeName() && v.Version == t.Version
		})
		all[i].Upgrader = copied(&t.Upgrader)
	}
	return all, nil
}

// asStored returns the schema of a version that is not the newest any more: the
// flags that it was given later are not its own.
func asStored(v onto.SchemaVersion) onto.Schema {
	if s, err := onto.ParseSchema(v.JSON); err == nil {
		return s
	}
	return v.Schema
}

// CheckWrite judges a write by the types that its draft leaves behind. Of a type
// that the draft ends, deletes are allowed.
func CheckWrite(all []onto.SchemaVersion, w *Write, e *Evolution) error {
	i := LastOf(all, w.Kind, w.Type)
	newest := 0
	if i >= 0 && all[i].End == nil {
		newest = all[i].Version
	}
	if newest > 0 || e == nil || !slices.ContainsFunc(e.End, func(t EndedType) bool { return t.TypeName() == w.TypeName() }) {
		return CheckStamp(w, newest)
	}
	if last := all[i].Version; w.Op != onto.Delete || w.SchemaVersion != last {
		return onto.Errorf(onto.Invalid, "%s: type %s ends with this draft, so only deletes with its last version %d are allowed", w.Identity, w.Type, last).
			WithHint("write it as another type, or do not end this one")
	}
	return nil
}

// LastOf returns where the last version of a type is, or -1.
func LastOf(all []onto.SchemaVersion, kind onto.Kind, name string) int {
	last := -1
	for i, v := range all {
		if v.Schema.Kind == kind && v.Schema.Name == name {
			last = i
		}
	}
	return last
}

// CompareSchemas is the order of what Schemas returns.
func CompareSchemas(a, b onto.SchemaVersion) int {
	return cmp.Or(
		cmp.Compare(a.Schema.Kind, b.Schema.Kind),
		cmp.Compare(a.Schema.Name, b.Schema.Name),
		cmp.Compare(a.Version, b.Version),
	)
}

// CopySchemas returns copies that share nothing with the list.
func CopySchemas(list []onto.SchemaVersion) []onto.SchemaVersion {
	list = slices.Clone(list)
	for i := range list {
		list[i].Schema = copySchema(list[i].Schema)
		list[i].JSON = bytes.Clone(list[i].JSON)
		list[i].Upgrader, list[i].End = copied(list[i].Upgrader), copied(list[i].End)
	}
	return list
}

func copySchema(s onto.Schema) onto.Schema {
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		s.Fields[i].Default = bytes.Clone(s.Fields[i].Default)
	}
	return s
}

// copied returns a copy of what is pointed to.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
