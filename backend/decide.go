package backend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
)

// The verdicts below are the same for every backend, so they are made here
// and backends call them under their write lock.

// Changes reports whether a write makes a version, given the identity's newest
// version, or nil if it has none.
func Changes(w *Write, current *onto.Version) bool {
	live := current != nil && current.Live()
	if w.Op == onto.Delete {
		return live
	}
	return !live || !bytes.Equal(w.Fields, current.Fields)
}

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

func atCommit(id int64) string {
	if id == 0 {
		return "does not exist"
	}
	return fmt.Sprintf("is at commit %d", id)
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
		return onto.Errorf(onto.SchemaOutdated, "%s: type %s is not registered", w.Identity, w.Type).WithHint("register the type first")
	case w.SchemaVersion:
		return nil
	}
	return onto.Errorf(onto.SchemaOutdated, "%s was written for schema version %d of %s, but the store is at %d",
		w.Identity, w.SchemaVersion, w.Type, newest).WithHint("open the store again with the present types")
}

// SameTwice decides what an identity that comes twice in one draft means: nil
// if both wants are equal.
func SameTwice(a, b *Write) error {
	if a.Op == b.Op && bytes.Equal(a.Fields, b.Fields) {
		return nil
	}
	return onto.Errorf(onto.Conflict, "%s comes twice in the draft, with different contents", a.Identity).
		WithHint("keep one of the two")
}

// SortWrites brings writes into the order of identity. An identity that comes
// twice is kept once if both are equal.
func SortWrites(writes []Write) ([]Write, error) {
	sorted := true
	for i := 1; i < len(writes) && sorted; i++ {
		sorted = writes[i-1].Identity.Compare(writes[i].Identity) < 0
	}
	if sorted {
		return writes, nil
	}
	slices.SortStableFunc(writes, func(a, b Write) int { return a.Identity.Compare(b.Identity) })
	kept := writes[:1]
	for i := 1; i < len(writes); i++ {
		last := &kept[len(kept)-1]
		if last.Identity != writes[i].Identity {
			kept = append(kept, writes[i])
			continue
		}
		if err := SameTwice(last, &writes[i]); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// Difference compares an identity's versions at two moments. Before is nil if
// it had none. It reports false if both show the same state.
func Difference(before, after *onto.Version) (onto.Change, bool) {
	if before != nil && !before.Live() {
		before = nil
	}
	c := onto.Change{Identity: after.Identity, Before: before, After: after}
	if before == nil {
		return c, after.Live()
	}
	return c, !after.Live() || !bytes.Equal(before.Fields, after.Fields)
}

// NoCommit is the error for a commit that does not exist.
func NoCommit(id, head int64) error {
	return onto.Errorf(onto.NotFound, "commit %d does not exist, the head is %d", id, head).
		WithHint("list commits with: onto commits")
}

// NoVersion is the error for an identity that has no version.
func NoVersion(id onto.Identity) error {
	return onto.Errorf(onto.NotFound, "%s does not exist", id)
}

// storedTypes is the newest version of each type, by kind and name.
type storedTypes map[storedName]onto.Schema

type storedName struct {
	kind onto.Kind
	name string
}

func newStoredTypes(newest []onto.SchemaVersion) storedTypes {
	stored := make(storedTypes, len(newest))
	for _, v := range newest {
		stored[storedName{v.Schema.Kind, v.Schema.Name}] = v.Schema
	}
	return stored
}

// get returns the stored schema of a given type.
func (t storedTypes) get(s onto.Schema) (onto.Schema, bool) {
	stored, ok := t[storedName{s.Kind, s.Name}]
	return stored, ok
}

func (t storedTypes) put(s onto.Schema) { t[storedName{s.Kind, s.Name}] = s }

// kindOf returns the kind of the type that has the name.
func (t storedTypes) kindOf(name string) (onto.Kind, bool) {
	for _, kind := range []onto.Kind{onto.KindEntity, onto.KindRelation} {
		if _, ok := t[storedName{kind, name}]; ok {
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
	return nil, err.WithHint("see the stored types with: onto schema export")
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

// Newest picks the newest version of each type out of what Schemas returns.
func Newest(all []onto.SchemaVersion) []onto.SchemaVersion {
	var newest []onto.SchemaVersion
	for i, v := range all {
		if i+1 == len(all) || all[i+1].Schema.Kind != v.Schema.Kind || all[i+1].Schema.Name != v.Schema.Name {
			newest = append(newest, v)
		}
	}
	return newest
}
