// Package refusal has the errors that every backend gives alike: what was asked for and
// does not exist, and what a draft is refused for. A code and its facts are given once,
// so that the same refusal has the same words on every backend.
package refusal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// The errors below are the port's: every backend refuses with the same code, message
// and hint. Whether to refuse is decided elsewhere.

// NoCommit is the error for a commit that does not exist.
func NoCommit(id, head int64) error {
	return onto.Errorf(onto.NotFound, "commit %d does not exist, the head is %d", id, head).
		WithHint("list the commits").WithCommand("commits")
}

// NoVersion is the error for an identity that has no version.
func NoVersion(id onto.Identity) error {
	return onto.Errorf(onto.NotFound, "%s does not exist", id)
}

// NoCause is the error for a draft whose cause is a commit that does not exist.
func NoCause(id, head int64) error {
	return onto.Errorf(onto.NotFound, "the cause cannot be commit %d, which does not exist: the head is %d", id, head).
		WithHint("list the commits").WithCommand("commits")
}

// KeyConflict is the error for an idempotency key that a commit has used for
// another draft.
func KeyConflict(key string, commit int64) error {
	return onto.Errorf(onto.IdempotencyConflict, "idempotency key %q was used for another draft by commit %d", key, commit).
		WithHint("use a new key for a new draft")
}

// HeadMismatch is the error for an expected head that is not the head.
func HeadMismatch(expected, head int64) error {
	err := onto.Errorf(onto.HeadMismatch, "expected head %d, but the head is %d", expected, head)
	err.Expectation = &onto.Expectation{Head: true, Commit: expected}
	if expected > head {
		return err.WithHint("the log ends at %d: is this the right store?", head)
	}
	return err.WithHint("try again with the new head, after a look at what changed").
		WithCommand("diff", strconv.FormatInt(expected, 10), strconv.FormatInt(head, 10))
}

// VersionMismatch is the error for an identity that is at another commit than expected;
// at is 0 if it does not exist.
func VersionMismatch(e onto.Expectation, at int64) error {
	err := onto.Errorf(onto.VersionMismatch, "%s %s, and was expected %s", e.Identity, atCommit(at), expectedAt(e.Commit))
	err.Expectation = &e
	return err.WithHint("read it again, then try again with its present commit")
}

func atCommit(id int64) string {
	if id == 0 {
		return "does not exist"
	}
	return fmt.Sprintf("is at commit %d", id)
}

func expectedAt(id int64) string {
	if id == 0 {
		return "not to exist"
	}
	return fmt.Sprintf("at commit %d", id)
}

// StampMismatch is the error for a write that was made for another version of its
// type than the newest, which is 0 if the type does not exist.
func StampMismatch(w *backend.Write, newest int) error {
	if newest == 0 {
		return onto.Errorf(onto.SchemaOutdated, "%s: there is no type %s, or no more", w.Identity, w.Type).
			WithHint("register the type, or open the store again with the present types")
	}
	return onto.Errorf(onto.SchemaOutdated, "%s was written for schema version %d of %s, but the store is at %d",
		w.Identity, w.SchemaVersion, w.Type, newest).WithHint("open the store again with the present types")
}

// FieldMissing is the error for a required field that has no value.
func FieldMissing(f onto.Field) error {
	return onto.Errorf(onto.Invalid, "field %s is missing", f.Name).
		WithHint("give a value of type %s, or make the field optional", f.Type)
}

// MissingToMake is the error for a merge into a missing identity that lacks a required
// field.
func MissingToMake(f onto.Field) error {
	return onto.Errorf(onto.Invalid, "it does not exist, and field %s is missing to make it", f.Name).
		WithHint("check the key, or give all required fields")
}

// WouldLose is the error for a write of a list or a map by a program that does not know all
// fields of what the stored one holds.
func WouldLose(path, lost string) error {
	return onto.Errorf(onto.SchemaOutdated, "field %s cannot be written by this program: what is stored there has %s, which it does not know and would lose", path, path+lost).
		WithHint("open the store again with the present types, or change other fields only, by store.Update")
}

// FieldsTooLarge is the error for fields with too many bytes.
func FieldsTooLarge(id onto.Identity, bytes int) error {
	return onto.Errorf(onto.TooLarge, "%s has %d bytes of fields, the limit is %d", id, bytes, onto.MaxFields)
}

// TypeEnds is the error for a write of a type that ends with its draft, with the
// last version of the type.
func TypeEnds(w *backend.Write, last int) error {
	return onto.Errorf(onto.Invalid, "%s: type %s ends with this draft, so only deletes with its last version %d are allowed", w.Identity, w.Type, last).
		WithHint("write it as another type, or do not end this one")
}

// TypesDiffer is the error for types that are stored differently.
func TypesDiffer(diffs []onto.Difference) error {
	lines := make([]string, len(diffs))
	for i, d := range diffs {
		lines[i] = d.String()
	}
	err := onto.Errorf(onto.SchemaOutdated, "the stored types differ: %s", strings.Join(lines, "; "))
	err.Differences = diffs
	return err.WithHint("call store.PlanMigration, or see what a migration would do").WithCommand("migrate", "--schema", "FILE")
}

// NameTaken is the error for a type whose name a type of another kind has.
func NameTaken(name string, by onto.Kind) error {
	return onto.Errorf(onto.Conflict, "the name %s is taken by a type of kind %s", name, by)
}

// TypeTwice is the error for an evolution that adds a type twice.
func TypeTwice(name string) error { return onto.Errorf(onto.Invalid, "type %s is given twice", name) }

// TypesChanged is the error for an evolution that was planned for other types.
func TypesChanged() error {
	return onto.Errorf(onto.MigrationToken, "the stored types have changed since this was planned").WithHint("plan it again")
}

// NoTypeToEnd is the error for an evolution that ends a type which does not exist.
func NoTypeToEnd(t onto.TypeName) error {
	return onto.Errorf(onto.NotFound, "%s %s does not exist, so it cannot end", t.Kind, t.Name)
}

// CannotLearn is the error for an upgrader of a version that does not exist or
// has one.
func CannotLearn(t onto.TypeName, version int) error {
	return onto.Errorf(onto.Conflict, "version %d of %s does not exist or has an upgrader already", version, t.Name)
}

// Closed is the error for a call on a store that was closed.
func Closed() error {
	return onto.Errorf(onto.Closed, "the store was closed").WithHint("open it again")
}

// NewerFormat is the error for storage of a newer program, with its format and the
// newest that can be read.
func NewerFormat(what string, format, newest int) error {
	return onto.Errorf(onto.Unsupported, "%s: format %d, this program reads up to %d", what, format, newest).WithHint("use a newer onto")
}

// NotHeld is the error for ending a lease that is not held.
func NotHeld(name string) error {
	return onto.Errorf(onto.NotFound, "the lease %s is not held", name).WithHint("see the leases").WithCommand("lock", "show")
}
