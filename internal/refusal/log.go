package refusal

import (
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// The errors for a log that cannot be appended to a store as it is.

// LogSpan returns the last commit of a part of a log with a head. It fails with NotFound if
// there is no such part.
func LogSpan(since, until, head int64) (int64, error) {
	if since < 0 || since > head {
		return 0, NoCommit(since, head)
	}
	if until == backend.Head {
		return head, nil
	}
	if until < since || until > head {
		return 0, NoCommit(until, head)
	}
	return until, nil
}

// LogGap is the error for a commit that does not follow the one before.
func LogGap(got, want int64) error {
	return onto.Errorf(onto.Invalid, "the log continues with commit %d, and %d comes next", got, want).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogGoesBack is the error for a commit that is earlier than the one before.
func LogGoesBack(c *backend.LogCommit, before time.Time) error {
	return onto.Errorf(onto.Invalid, "commit %d is of %s, before commit %d of %s", c.ID, codec.FormatTime(c.Time), c.ID-1, codec.FormatTime(before)).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogMiscounted is the error for a commit that does not have as many versions as it says.
func LogMiscounted(c *backend.LogCommit, got int) error {
	return onto.Errorf(onto.Invalid, "commit %d has another number of versions than its header says: %d, not %d", c.ID, got, c.Operations).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogDisordered is the error for a version that does not come after the one before it.
func LogDisordered(v *onto.Version) error {
	return onto.Errorf(onto.Invalid, "%s of commit %d is out of order, or there twice", v.Identity, v.Commit).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogMisstamped is the error for a version of a type, or of a version of it, that the store
// does not have.
func LogMisstamped(v *onto.Version) error {
	return onto.Errorf(onto.Invalid, "%s of commit %d has schema version %d, which %s %s does not have then", v.Identity, v.Commit, v.SchemaVersion, v.Kind, v.Type).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogStray is the error for a version before the first commit, or of another one.
func LogStray(v *onto.Version) error {
	return onto.Errorf(onto.Invalid, "%s of commit %d stands where that commit is not", v.Identity, v.Commit).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// LogKeyUsed is the error for an idempotency key that an earlier commit has.
func LogKeyUsed(c *backend.LogCommit, by int64) error {
	return onto.Errorf(onto.Invalid, "commit %d has the idempotency key %q, which commit %d has used", c.ID, c.IdempotencyKey, by).
		WithHint("the source is damaged: check it").WithCommand("doctor")
}

// OtherType is the error for a version of a type that is stored otherwise, or that the log
// to be appended does not have.
func OtherType(v *onto.SchemaVersion) error {
	return onto.Errorf(onto.Conflict, "version %d of %s is stored otherwise than in the log to be appended", v.Version, v.Schema.TypeName()).
		WithHint("this is no copy of that log: copy into another place")
}

// TypesDisordered is the error for a list of types that is not as Schemas returns it.
func TypesDisordered(v *onto.SchemaVersion) error {
	return onto.Errorf(onto.Invalid, "version %d of %s is out of order, or there twice", v.Version, v.Schema.TypeName())
}

// CopyUnfinished is the error for opening a store that a copy has not filled completely.
func CopyUnfinished(what string, s *backend.CopyState) error {
	has := "no commits yet"
	if s.Commit > 0 {
		has = fmt.Sprintf("the commits up to %d", s.Commit)
	}
	return onto.Errorf(onto.CopyUnfinished, "%s: the copy of store %s into it has not ended; it has %s", what, s.Origin, has).
		WithHint("run the same copy again to complete it, or remove what is there to give it up")
}
