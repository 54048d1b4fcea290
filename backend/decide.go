package backend

import (
	"bytes"
	"fmt"
	"slices"

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
		return onto.Errorf(onto.SchemaOutdated, "%s: there is no type %s, or no more", w.Identity, w.Type).WithHint("register the type, or open the store again with the present types")
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
