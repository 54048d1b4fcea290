package audit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// Log checks a log against the rules. Copies share what was seen so far.
type Log struct {
	// Canonical is the canonical form of stored fields, if the storage has its own
	// form; nil for that of any JSON object.
	Canonical func(fields []byte) ([]byte, error)

	report func(onto.Finding) error
	place  string
	keys   map[[16]byte]int64 // by the hash of an idempotency key: the commit that used it
	types  *types
}

// New returns a log of which nothing was seen. Findings go to report; its error ends
// the check.
func New(report func(onto.Finding) error) Log {
	return Log{report: report, keys: map[[16]byte]int64{}, types: &types{}}
}

// At is the log for what is read from one object, which findings name.
func (l Log) At(place string) Log {
	l.place = place
	return l
}

func (l Log) found(c Code, format string, args ...any) error {
	return l.push(c.Finding(format, args...))
}

func (l Log) push(f onto.Finding) error {
	if l.place != "" {
		f.Message = l.place + ": " + f.Message
	}
	return l.report(f)
}

// Commit is what the rules need of a commit.
type Commit struct {
	ID       int64
	Time     time.Time // zero if it cannot be read
	Stored   string    // the time as it is stored
	Metadata []byte    // nil if it has none
	Key      string    // the idempotency key; "" if it has none, or if the storage keeps keys unique
}

// Commit checks a commit by itself: its time and metadata are in the form that every
// backend writes, and its idempotency key was not seen before.
func (l Log) Commit(c *Commit) error {
	var errs []error
	switch {
	case c.Time.IsZero() && codec.FormatTime(c.Time) != c.Stored:
		errs = append(errs, l.found(CommitTimeUnreadable, "commit %d has the time %q", c.ID, c.Stored))
	case codec.FormatTime(c.Time) != c.Stored:
		errs = append(errs, l.found(TimeForm, "the time of commit %d is not in UTC and microseconds: %q", c.ID, c.Stored))
	}
	if c.Metadata != nil && !isCanonical(c.Metadata) {
		errs = append(errs, l.found(MetadataForm, "the metadata of commit %d is not a canonical JSON object", c.ID))
	}
	if c.Key != "" {
		sum := sha256.Sum256([]byte(c.Key))
		hash := [16]byte(sum[:])
		if used := l.keys[hash]; used != 0 {
			errs = append(errs, l.found(KeyTwice, "commits %d and %d have the idempotency key %q", c.ID, used, c.Key))
		} else {
			l.keys[hash] = c.ID
		}
	}
	return errors.Join(errs...)
}

// Follows checks a commit and the one before it: ids have no gaps, and times do not go
// back. Before the first commit is the zero Commit.
func (l Log) Follows(before, c *Commit) error {
	if c.ID != before.ID+1 {
		if err := l.found(CommitGap, "commit %d follows commit %d", c.ID, before.ID); err != nil {
			return err
		}
	}
	if c.Time.IsZero() || !c.Time.Before(before.Time) {
		return nil
	}
	return l.found(CommitTimeBack, "commit %d is earlier than commit %d", c.ID, before.ID)
}

// Operations compares how many versions a commit holds with how many it was made
// with.
func (l Log) Operations(commit, made, held int64) error {
	switch {
	case held < made:
		return l.found(CommitIncomplete, "commit %d: it holds %d versions too few", commit, made-held)
	case held > made:
		return l.found(CommitIncomplete, "commit %d: it holds %d versions too many", commit, held-made)
	}
	return nil
}

// isCanonical reports whether data is a JSON object in its canonical form.
func isCanonical(data []byte) bool {
	text, err := canonicalObject(data)
	return err == nil && bytes.Equal(text, data)
}

// canonicalObject is the canonical form of a JSON object.
func canonicalObject(data []byte) ([]byte, error) {
	text, err := codec.AppendCanonical(make([]byte, 0, len(data)), data)
	if err == nil && codec.KindOf(text) != codec.Object {
		err = errors.New("not a JSON object")
	}
	return text, err
}
