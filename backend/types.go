package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// storedTypes is the newest version of each type, by kind and name.
type storedTypes map[onto.TypeName]onto.Schema

func newStoredTypes(newest []onto.SchemaVersion) storedTypes {
	stored := make(storedTypes, len(newest))
	for _, v := range newest {
		stored[v.Schema.TypeName()] = v.Schema
	}
	return stored
}

// get returns the stored schema of a given type.
func (t storedTypes) get(s onto.Schema) (onto.Schema, bool) {
	stored, ok := t[onto.TypeName{Kind: s.Kind, Name: s.Name}]
	return stored, ok
}

func (t storedTypes) put(s onto.Schema) { t[onto.TypeName{Kind: s.Kind, Name: s.Name}] = s }

// kindOf returns the kind of the type that has the name.
func (t storedTypes) kindOf(name string) (onto.Kind, bool) {
	for _, kind := range []onto.Kind{onto.KindEntity, onto.KindRelation} {
		if _, ok := t[onto.TypeName{Kind: kind, Name: name}]; ok {
			return kind, true
		}
	}
	return "", false
}

// Missing returns which of the given schemas are not stored yet. It fails with
// SchemaOutdated if one is stored differently; other flags are no difference,
// see [Retuned]. Newest holds the newest version of each stored type.
func Missing(newest []onto.SchemaVersion, given []onto.Schema) ([]onto.Schema, error) {
	stored := newStoredTypes(newest)
	var missing []onto.Schema
	var diffs []onto.Difference
	for _, g := range given {
		if s, ok := stored.get(g); ok {
			if d := onto.Compare(s, g); !d.Empty() {
				diffs = append(diffs, d)
			}
			continue
		}
		if kind, taken := stored.kindOf(g.Name); taken {
			return nil, onto.Errorf(onto.Conflict, "the name %s is taken by a type of kind %s", g.Name, kind)
		}
		stored.put(g) // so that it is not registered twice
		missing = append(missing, g)
	}
	if diffs == nil {
		return missing, nil
	}
	lines := make([]string, len(diffs))
	for i, d := range diffs {
		lines[i] = d.String()
	}
	err := onto.Errorf(onto.SchemaOutdated, "the stored types differ: %s", strings.Join(lines, "; "))
	err.Differences = diffs
	return nil, err.WithHint("see what a migration would do: onto migrate --schema FILE, or store.PlanMigration")
}

// Retuned returns which of the given schemas are stored with other index and
// search flags. Registering them changes the flags of the newest version in
// place: what Schemas returns has the new flags, and its JSON and hash stay. A
// type that is given twice has the flags of the last.
func Retuned(newest []onto.SchemaVersion, given []onto.Schema) []onto.Schema {
	stored := newStoredTypes(newest)
	var retuned []onto.Schema
	for _, g := range given {
		s, ok := stored.get(g)
		if d := onto.Compare(s, g); ok && d.Empty() && len(d.Flags) > 0 {
			retuned = append(retuned, g)
		}
		stored.put(g)
	}
	return retuned
}

// Newest picks the newest version of each type that exists out of what Schemas
// returns.
func Newest(all []onto.SchemaVersion) []onto.SchemaVersion {
	return slices.DeleteFunc(Last(all), func(v onto.SchemaVersion) bool { return v.End != nil })
}

// Last picks the newest version of each type out of what Schemas returns, also
// of those that have ended.
func Last(all []onto.SchemaVersion) []onto.SchemaVersion {
	var last []onto.SchemaVersion
	for i, v := range all {
		if i+1 == len(all) || all[i+1].Schema.TypeName() != v.Schema.TypeName() {
			last = append(last, v)
		}
	}
	return last
}

// NextVersion is the number of the next version of a type.
func NextVersion(all []onto.SchemaVersion, kind onto.Kind, name string) int {
	for _, v := range Last(all) {
		if v.Schema.Kind == kind && v.Schema.Name == name {
			return v.Version + 1
		}
	}
	return 1
}

// TypesHash stands for all the types that are stored, whatever their flags.
func TypesHash(all []onto.SchemaVersion) string {
	sum := sha256.New()
	for _, v := range all {
		fmt.Fprintf(sum, "%s %s %d %s", v.Schema.Kind, v.Schema.Name, v.Version, v.Hash)
		if v.Upgrader != nil {
			fmt.Fprintf(sum, " %q %t %s %d", v.Upgrader.Program, v.Upgrader.Func, v.Upgrader.RenamedFrom, v.Upgrader.FromVersion)
		}
		if v.End != nil {
			fmt.Fprintf(sum, " end %d", v.End.Commit)
		}
		fmt.Fprintln(sum)
	}
	return hex.EncodeToString(sum.Sum(nil))
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
		if _, ok := newest[t.TypeName()]; !ok && !(t.Purge && NextVersion(all, t.Kind, t.Type) > 1) {
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
