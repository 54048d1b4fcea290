package backend

import (
	"slices"
	"time"

	"github.com/ontologia/onto"
)

// CheckHead fails with HeadMismatch if an expectation of the head does not hold.
func CheckHead(expect []onto.Expectation, head int64) error {
	for _, e := range expect {
		if e.Head && e.Commit != head {
			err := onto.Errorf(onto.HeadMismatch, "expected head %d, but the head is %d", e.Commit, head)
			if e.Commit > head {
				return err.WithHint("the log ends at %d: is this the right store?", head)
			}
			return err.WithHint("look at what changed (onto diff %d %d), then try again with the new head", e.Commit, head)
		}
	}
	return nil
}

// CheckVersion fails with VersionMismatch if the expectation of an identity
// does not hold, given its newest version, or nil if it has none.
func CheckVersion(e onto.Expectation, current *onto.Version) error {
	var at int64
	if current != nil && current.Live() {
		at = current.Commit
	}
	if e.Commit == at {
		return nil
	}
	return onto.Errorf(onto.VersionMismatch, "expected %s %s, but it %s", e.Identity, atCommit(e.Commit), atCommit(at)).
		WithHint("read it again, then try again with its present commit")
}

// CheckRepeat decides what a used idempotency key means: nil if it was used
// for the same draft.
func CheckRepeat(key, usedHash, hash string, commit int64) error {
	if usedHash == hash {
		return nil
	}
	return onto.Errorf(onto.IdempotencyConflict, "idempotency key %q was used for another draft by commit %d", key, commit).
		WithHint("use a new key for a new draft")
}

// CheckStamp fails with SchemaOutdated if a write was made for another version
// of its type than the newest. Newest is 0 if the type is not registered.
func CheckStamp(w *Write, newest int) error {
	switch newest {
	case 0:
		return onto.Errorf(onto.SchemaOutdated, "%s: there is no type %s, or no more", w.Identity, w.Type).WithHint("register the type, or open the store again with the present types")
	case w.SchemaVersion:
		return nil
	}
	return onto.Errorf(onto.SchemaOutdated, "%s was written for schema version %d of %s, but the store is at %d",
		w.Identity, w.SchemaVersion, w.Type, newest).WithHint("open the store again with the present types")
}

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
		list[i] = all[LastOf(all, given.TypeName())]
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
			i := LastOf(all, schema.TypeName())
			all[i].Schema = all[i].Schema.WithFlags(schema) // its JSON and Hash stay as stored
		}
	}
	return all, nil
}

// newVersion is the next version of a type.
func newVersion(all []onto.SchemaVersion, s onto.Schema, next int64, now time.Time, runtime, reason string) onto.SchemaVersion {
	return onto.SchemaVersion{
		Schema: copySchema(s), Version: NextVersion(all, s.TypeName()), JSON: s.JSON(), Hash: s.Hash(),
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
		last := &all[LastOf(all, t.TypeName())]
		if last.End != nil { // it has ended before
			before := *last.End
			before.Purged, before.Versions = true, before.Versions+end.Versions
			end = before
		}
		last.Schema, last.End = AsStored(*last), &end
	}
	for _, a := range e.Add {
		if i := LastOf(all, a.Schema.TypeName()); i >= 0 {
			all[i].Schema = AsStored(all[i])
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

// CheckWrite judges a write by the types that its draft leaves behind. Of a type
// that the draft ends, deletes are allowed.
func CheckWrite(all []onto.SchemaVersion, w *Write, e *Evolution) error {
	i := LastOf(all, w.TypeName())
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

// CheckEvolution fails if an evolution does not go with the types that are
// stored.
func CheckEvolution(all []onto.SchemaVersion, e *Evolution) error {
	if TypesHash(all) != e.Base {
		return onto.Errorf(onto.MigrationToken, "the stored types have changed since this was planned").
			WithHint("plan it again")
	}
	newest := newStoredTypes(Newest(all))
	for _, t := range e.End {
		if _, ok := newest[t.TypeName()]; !ok && !(t.Purge && NextVersion(all, t.TypeName()) > 1) {
			return onto.Errorf(onto.NotFound, "%s %s does not exist, so it cannot end", t.Kind, t.Type)
		}
		delete(newest, t.TypeName())
	}
	for i, a := range e.Add {
		if slices.ContainsFunc(e.Add[:i], func(o NewVersion) bool { return o.Schema.Name == a.Schema.Name }) {
			return onto.Errorf(onto.Invalid, "type %s is given twice", a.Schema.Name)
		}
		if kind, taken := newest.kindOf(a.Schema.Name); taken && kind != a.Schema.Kind {
			return onto.Errorf(onto.Conflict, "the name %s is taken by a type of kind %s", a.Schema.Name, kind)
		}
	}
	for _, l := range e.Learn {
		i := slices.IndexFunc(all, func(v onto.SchemaVersion) bool {
			return v.Schema.TypeName() == l.TypeName() && v.Version == l.Version
		})
		if i < 0 || all[i].Upgrader != nil && !all[i].Upgrader.Func {
			return onto.Errorf(onto.Conflict, "version %d of %s does not exist or has an upgrader already", l.Version, l.Type)
		}
	}
	return nil
}
