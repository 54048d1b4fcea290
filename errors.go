package onto

import (
	"errors"
	"fmt"
)

// Code classifies an error for programs. A Code is itself an error, so that
// errors.Is(err, onto.NotFound) tells whether err carries it.
type Code string

// The closed set of codes.
const (
	// Invalid: the input is malformed or does not fit the schema.
	Invalid Code = "invalid"
	// NotFound: the thing asked for does not exist at that point in time.
	NotFound Code = "not_found"
	// Conflict: the draft contradicts what is stored or itself.
	Conflict Code = "conflict"
	// HeadMismatch: the head is not the one the caller expected.
	HeadMismatch Code = "head_mismatch"
	// VersionMismatch: an identity is not at the version the caller expected.
	VersionMismatch Code = "version_mismatch"
	// Stale: what the draft was computed from has changed since: compute it again. The
	// store does so by itself for what it has computed; who sees it there has lost too often.
	Stale Code = "stale"
	// IdempotencyConflict: the idempotency key was used for another draft.
	IdempotencyConflict Code = "idempotency_conflict"
	// SchemaOutdated: the types of the program differ from those stored.
	SchemaOutdated Code = "schema_outdated"
	// MigrationToken: the plan of the token is not the one that would be applied.
	MigrationToken Code = "migration_token"
	// UpgraderMissing: fields of an older schema version cannot be upgraded, since an
	// upgrader is missing.
	UpgraderMissing Code = "upgrader_missing"
	// UpgraderFailed: an upgrader failed, took too long, or returned fields that do not
	// fit.
	UpgraderFailed Code = "upgrader_failed"
	// LockContention: the write lock was held by others for too long.
	LockContention Code = "lock_contention"
	// LeaseExpired: the lease or the claim is not held any more: it was taken over,
	// released or broken.
	LeaseExpired Code = "lease_expired"
	// EventLoopLimit: the chain of events is too long: they probably lead to each other
	// without end.
	EventLoopLimit Code = "event_loop_limit"
	// Refused: it would destroy something, and was not confirmed.
	Refused Code = "refused"
	// TooLarge: a limit was exceeded.
	TooLarge Code = "too_large"
	// Uninitialized: there is no store at that place yet.
	Uninitialized Code = "uninitialized"
	// CopyUnfinished: a copy into the store has not ended, so it lacks commits.
	CopyUnfinished Code = "copy_unfinished"
	// Unsupported: the storage has a format this program does not read.
	Unsupported Code = "unsupported"
	// UnsupportedOperation: the kind of storage, or the program, cannot do what was asked.
	// It is a mistake of the caller: nothing is wrong with the storage.
	UnsupportedOperation Code = "unsupported_operation"
	// Corrupt: the storage is damaged.
	Corrupt Code = "corrupt"
	// ReadOnly: the storage cannot be written.
	ReadOnly Code = "read_only"
	// Full: the storage has no room left.
	Full Code = "full"
	// OutcomeUnknown: the commit may or may not have been made.
	OutcomeUnknown Code = "outcome_unknown"
	// Unavailable: the storage failed in a way that has no code of its own.
	Unavailable Code = "unavailable"
	// Closed: the store was closed.
	Closed Code = "closed"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		Invalid, NotFound, Conflict, HeadMismatch, VersionMismatch, Stale, IdempotencyConflict,
		SchemaOutdated, MigrationToken, UpgraderMissing, UpgraderFailed, LockContention, LeaseExpired, EventLoopLimit, Refused, TooLarge, Uninitialized, CopyUnfinished, Unsupported, UnsupportedOperation, Corrupt,
		ReadOnly, Full, OutcomeUnknown, Unavailable, Closed,
	}
}

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Error is what this module's packages return.
type Error struct {
	Code    Code   // for programs
	Message string // for people: names the thing
	Hint    Hint   // for operators: names the next step; may be zero
	Err     error  // the cause, if there is one

	// Differences is set with SchemaOutdated: for each type, how it is in the program
	// compared with how it is stored. What is Added only the program has.
	Differences []Difference

	// Expectation is set with HeadMismatch, VersionMismatch and Stale: the first expectation
	// of the draft, or fence of it, that does not hold.
	Expectation *Expectation
}

// Error returns the message and its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	if e.Message == "" {
		return e.Err.Error()
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e.Code == code
}

// Errorf builds an Error. A %w verb in the format sets the cause's chain.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	switch err.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		return &Error{Code: code, Err: err}
	}
	return &Error{Code: code, Message: err.Error()}
}

// CodeOf returns the code that err carries, or "" if it carries none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var code Code
	errors.As(err, &code)
	return code
}
