package decide

import (
	"maps"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/typelist"
)

// The functions below do not change the list of types that they are given.

// Purged is, for each purged type, the schema version up to which no rows exist.
func Purged(all []onto.SchemaVersion) map[onto.TypeName]int {
	purged := map[onto.TypeName]int{}
	for i := range all {
		if v := &all[i]; v.End != nil && v.End.Purged {
			purged[v.Schema.TypeName()] = v.Version
		}
	}
	return purged
}

// Registered reports whether all types of a registration are stored as given.
func Registered(all []onto.SchemaVersion, reg *backend.Registration) bool {
	missing, err := typelist.Missing(all, reg.Schemas)
	return err == nil && len(missing)+len(typelist.Retuned(all, reg.Schemas)) == 0
}

// Named returns the newest versions of the types of a registration, which exist.
func Named(all []onto.SchemaVersion, reg *backend.Registration) []onto.SchemaVersion {
	list := make([]onto.SchemaVersion, len(reg.Schemas))
	for i := range reg.Schemas {
		list[i] = all[typelist.LastOf(all, reg.Schemas[i].TypeName())]
	}
	return typelist.Copy(list)
}

// register returns the types together with what is missing of a registration, for the
// next commit.
func register(all []onto.SchemaVersion, reg *backend.Registration, next int64, now time.Time) ([]onto.SchemaVersion, error) {
	missing, err := typelist.Missing(all, reg.Schemas)
	if err != nil {
		return nil, err
	}
	retuned := typelist.Retuned(all, reg.Schemas)
	all = slices.Clone(all)
	for _, s := range missing {
		all = append(all, newVersion(all, s, next, now, reg.Origin()))
	}
	slices.SortFunc(all, typelist.Compare)
	for _, s := range retuned {
		v := &all[typelist.LastOf(all, s.TypeName())]
		v.Schema = v.Schema.WithFlags(s) // its JSON and Hash stay as stored
	}
	return all, nil
}

func newVersion(all []onto.SchemaVersion, s onto.Schema, next int64, now time.Time, by backend.TypeOrigin) onto.SchemaVersion {
	v := typelist.New(s, typelist.NextVersion(all, s.TypeName()))
	v.Since, v.Created = next, now
	v.Runtime, v.Reason, v.Actor, v.Comment = by.Runtime, by.Reason, by.Actor, by.Comment
	return v
}

// evolve decides what becomes of the types.
func (c *Candidate) evolve(e *backend.Evolution) error {
	r := c.round
	if err := check(r.Types, e); err != nil {
		return err
	}
	all := typelist.Copy(r.Types.All)
	c.ends = map[onto.TypeName]int{}
	for i := range e.End {
		t := &e.End[i]
		last := &all[typelist.LastOf(all, t.TypeName())]
		c.ends[t.TypeName()] = last.Version
		last.Schema, last.End = typelist.AsStored(*last), c.end(t, last.End)
	}
	for _, a := range e.Add {
		t := a.Schema.TypeName()
		if i := typelist.LastOf(all, t); i >= 0 {
			all[i].Schema = typelist.AsStored(all[i])
		}
		v := newVersion(all, a.Schema, r.head+1, r.now, e.Origin())
		v.Upgrader = copied(a.Upgrader)
		all = append(all, v)
		slices.SortFunc(all, typelist.Compare)
		delete(c.ends, t)
	}
	for _, l := range e.Learn {
		v := &all[indexOf(all, l.TypeName(), l.Version)]
		v.Upgrader, v.Learned = copied(&l.Upgrader), &onto.Learned{Time: r.now, Runtime: e.Runtime, Actor: e.Actor, Comment: e.Comment}
	}
	c.Types = NewCatalog(all)
	return nil
}

// end is how a type ends that may have ended before.
func (c *Candidate) end(t *backend.EndedType, before *onto.End) *onto.End {
	r := c.round
	by := c.draft.Evolve
	end := onto.End{Commit: r.head + 1, RenamedTo: t.RenamedTo, Purged: t.Purge, Time: r.now, Runtime: by.Runtime, Actor: by.Actor, Comment: by.Comment}
	if before != nil {
		end = *before
		end.Purged = true
	}
	if t.Purge && !slices.Contains(c.purged, t.TypeName()) {
		c.purged = append(c.purged, t.TypeName())
		versions := r.count(t.TypeName())
		end.Versions += versions
		if before == nil || !before.Purged { // a further one has nothing to remove
			end.Purge = by.Purge(versions, r.now)
		}
	}
	return &end
}

// check fails if an evolution does not fit the stored types.
func check(c *Catalog, e *backend.Evolution) error {
	all, exist := c.All, maps.Clone(c.newest)
	if typelist.Hash(all) != e.Base {
		return refusal.TypesChanged()
	}
	for i := range e.End {
		t := e.End[i].TypeName()
		if exist[t] == nil && !(e.End[i].Purge && typelist.LastOf(all, t) >= 0) {
			return refusal.NoTypeToEnd(t)
		}
		delete(exist, t)
	}
	for i, a := range e.Add {
		if slices.ContainsFunc(e.Add[:i], func(o backend.NewVersion) bool { return o.Schema.Name == a.Schema.Name }) {
			return refusal.TypeTwice(a.Schema.Name)
		}
		for _, kind := range onto.Kinds() {
			if kind != a.Schema.Kind && exist[onto.TypeName{Kind: kind, Name: a.Schema.Name}] != nil {
				return refusal.NameTaken(a.Schema.Name, kind)
			}
		}
	}
	for i := range e.Learn {
		l := &e.Learn[i]
		at := indexOf(all, l.TypeName(), l.Version)
		if at < 0 || all[at].Upgrader != nil && !all[at].Upgrader.Func {
			return refusal.CannotLearn(l.TypeName(), l.Version)
		}
	}
	return nil
}

// indexOf returns where a version of a type is, or -1.
func indexOf(all []onto.SchemaVersion, t onto.TypeName, version int) int {
	return slices.IndexFunc(all, func(v onto.SchemaVersion) bool { return v.Schema.TypeName() == t && v.Version == version })
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
