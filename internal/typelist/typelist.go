// Package typelist answers questions about a list of types, as backends keep it: every
// version of every type, ordered by kind, name and version.
package typelist

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/refusal"
)

// storedTypes is the newest version of each type that exists, by kind and name.
type storedTypes map[onto.TypeName]onto.Schema

func newStoredTypes(all []onto.SchemaVersion) storedTypes {
	stored := storedTypes{}
	for _, v := range Newest(all) {
		stored[v.Schema.TypeName()] = v.Schema
	}
	return stored
}

// get returns the stored schema of a given type.
func (t storedTypes) get(s onto.Schema) (onto.Schema, bool) {
	stored, ok := t[s.TypeName()]
	return stored, ok
}

func (t storedTypes) put(s onto.Schema) { t[s.TypeName()] = s }

// kindOf returns the kind of the type that has the name.
func (t storedTypes) kindOf(name string) (onto.Kind, bool) {
	for _, kind := range onto.Kinds() {
		if _, ok := t[onto.TypeName{Kind: kind, Name: name}]; ok {
			return kind, true
		}
	}
	return "", false
}

// Continues reports whether a program that knows a version of a type can continue to
// write beside the newest one: the type exists, and each step from that version on is
// compatible and came without an upgrader, which gives fields another meaning. All is
// what Schemas returns.
func Continues(all []onto.SchemaVersion, t onto.TypeName, version int) bool {
	last := LastOf(all, t)
	if last < 0 || all[last].End != nil {
		return false
	}
	for i := last; ; i-- {
		switch v := &all[i]; {
		case v.Version == version:
			return true
		case redefines(v.Upgrader) || i == 0 || all[i-1].Schema.TypeName() != t || all[i-1].End != nil ||
			!onto.Compatible(all[i-1].Schema, v.Schema):
			return false
		}
	}
}

// redefines reports whether an upgrader gives fields another meaning.
func redefines(u *onto.StoredUpgrader) bool { return u != nil && *u != (onto.StoredUpgrader{}) }

// Serves reports whether a program with the given type can use the stored one: its
// newest version is compatible with it, and it is none of the versions that the newest
// does not continue.
func Serves(all []onto.SchemaVersion, given onto.Schema) bool {
	t := given.TypeName()
	last := LastOf(all, t)
	if last < 0 || all[last].End != nil || !onto.Compatible(given, all[last].Schema) {
		return false
	}
	for i := last; i >= 0 && all[i].Schema.TypeName() == t && (i == last || all[i].End == nil); i-- {
		if onto.DiffSchemas(all[i].Schema, given).Empty() {
			return Continues(all, t, all[i].Version)
		}
	}
	return true
}

// Left returns the versions of a type, as long as it has existed, that the newest one does
// not continue.
func Left(all []onto.SchemaVersion, t onto.TypeName) []onto.SchemaVersion {
	var left []onto.SchemaVersion
	last := LastOf(all, t)
	for i := last; i >= 0 && all[i].Schema.TypeName() == t && (i == last || all[i].End == nil); i-- {
		if !Continues(all, t, all[i].Version) {
			left = append(left, all[i])
		}
	}
	return left
}

// Missing returns which of the given schemas are not stored yet. It fails with
// SchemaOutdated if one is stored differently and the stored one does not serve it;
// other flags are no difference, see [Retuned]. All is what Schemas returns.
func Missing(all []onto.SchemaVersion, given []onto.Schema) ([]onto.Schema, error) {
	stored := newStoredTypes(all)
	var missing []onto.Schema
	var diffs []onto.Difference
	for _, g := range given {
		if s, ok := stored.get(g); ok {
			if d := onto.DiffSchemas(s, g); !d.Empty() && !Serves(all, g) {
				diffs = append(diffs, d)
			}
			continue
		}
		if kind, taken := stored.kindOf(g.Name); taken {
			return nil, refusal.NameTaken(g.Name, kind)
		}
		stored.put(g) // so that it is not registered twice
		missing = append(missing, g)
	}
	if diffs != nil {
		return nil, refusal.TypesDiffer(diffs)
	}
	return missing, nil
}

// Retuned returns which of the given schemas are stored with other index and
// search flags. Registering them changes the flags of the newest version in
// place: what Schemas returns has the new flags, and its JSON and hash stay. A
// type that is given twice has the flags of the last.
func Retuned(all []onto.SchemaVersion, given []onto.Schema) []onto.Schema {
	stored := newStoredTypes(all)
	var retuned []onto.Schema
	for _, g := range given {
		s, ok := stored.get(g)
		d := onto.DiffSchemas(s, g)
		if ok && !d.Empty() {
			continue // an older or smaller type says nothing about the flags
		}
		if ok && len(d.Flags) > 0 {
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

// LastOf returns where the last version of a type is, or -1.
func LastOf(all []onto.SchemaVersion, t onto.TypeName) int {
	last := -1
	for i := range all {
		if all[i].Schema.Kind == t.Kind && all[i].Schema.Name == t.Name {
			last = i
		}
	}
	return last
}

// NextVersion is the number of the next version of a type.
func NextVersion(all []onto.SchemaVersion, t onto.TypeName) int {
	if i := LastOf(all, t); i >= 0 {
		return all[i].Version + 1
	}
	return 1
}

// New is a version of a type that shares nothing with the schema. Created,
// Runtime and Reason are not set yet.
func New(s onto.Schema, version int) onto.SchemaVersion {
	return onto.SchemaVersion{Schema: copySchema(s), Version: version, JSON: s.JSON(), Hash: s.Hash()}
}

// AsStored returns the schema of a version that is not the newest any more: flags that
// were set later are not its own.
func AsStored(v onto.SchemaVersion) onto.Schema {
	if s, err := onto.ParseSchema(v.JSON); err == nil {
		return s
	}
	return v.Schema
}

// Hash identifies all stored types, whatever their flags.
func Hash(all []onto.SchemaVersion) string {
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

// Compare is the order of what Schemas returns.
func Compare(a, b onto.SchemaVersion) int {
	return cmp.Or(
		cmp.Compare(a.Schema.Kind, b.Schema.Kind),
		cmp.Compare(a.Schema.Name, b.Schema.Name),
		cmp.Compare(a.Version, b.Version),
	)
}

// Copy returns copies that share nothing with the list.
func Copy(list []onto.SchemaVersion) []onto.SchemaVersion {
	list = slices.Clone(list)
	for i := range list {
		list[i].Schema = copySchema(list[i].Schema)
		list[i].JSON = bytes.Clone(list[i].JSON)
		list[i].Upgrader, list[i].Learned, list[i].End = copied(list[i].Upgrader), copied(list[i].Learned), copied(list[i].End)
	}
	return list
}

func copySchema(s onto.Schema) onto.Schema {
	s.Fields = copyFields(s.Fields)
	return s
}

func copyFields(fields []onto.Field) []onto.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		copyInside(&fields[i])
	}
	return fields
}

// copyInside replaces what a field points to by copies.
func copyInside(f *onto.Field) {
	f.Default = bytes.Clone(f.Default)
	f.Enum = slices.Clone(f.Enum)
	f.Fields = copyFields(f.Fields)
	if f.Items = copied(f.Items); f.Items != nil {
		copyInside(f.Items)
	}
	if f.Values = copied(f.Values); f.Values != nil {
		copyInside(f.Values)
	}
}

// copied returns a copy of what is pointed to.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
