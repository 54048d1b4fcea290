// Package bucket is object storage with compare-and-swap: what a lake needs from its
// storage.
//
// A [Bucket] is kept small on purpose. Nothing depends on listings, on conditional
// deletes or on clocks. Every write of an object is conditional: it must not exist
// ([Bucket.Create]), or be the one that was read ([Bucket.Swap]).
//
// Package file keeps objects in a directory, s3 in a bucket of an S3 service, memory in
// the process; faulty breaks another bucket on purpose, for tests. Package buckettest
// is this contract as tests, and probe tests a bucket in use for the part of it on
// which a lake depends.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Bucket keeps objects. Its methods may be called concurrently.
//
// A key is as [CheckKey] wants it; another one is an error and changes nothing.
// Keys are the paths of a tree: no key is the folder of another, as a would be
// of a/b. A bucket may refuse such a key. Data that is given or returned
// belongs to the caller.
//
// What a write has acknowledged survives a power failure.
//
// An error is one of those below, or of the context, or anything else. A write that
// returned an error may have been applied, may be applied later, or never, whatever the
// error says: a proxy may answer for the storage, or send a request twice and pass on
// the second answer, and either may arrive late. Where it matters the object is read
// back; after [ErrUnsynced] reading it back proves nothing.
type Bucket interface {
	// Get returns an object, or a part of it. It fails with ErrNotFound if there is
	// none. If ifNot is not "" and is the object's tag, it fails with ErrNotModified,
	// whatever the part. A part that reaches beyond the end is cut off there; one that
	// begins beyond it is empty and no error. If the object has more bytes than the
	// range allows, it fails with ErrTooLarge and holds none of them.
	Get(ctx context.Context, key string, r Range, ifNot Tag) (Object, error)

	// Create writes an object where there is none, and fails with ErrExists if
	// there is one.
	Create(ctx context.Context, key string, data []byte) (Tag, error)

	// Swap replaces the object that has the tag. It fails with ErrChanged if
	// the object has another one, and with ErrNotFound if there is none. The
	// tag "" is an error: it must never become a write without a condition.
	Swap(ctx context.Context, key string, data []byte, old Tag) (Tag, error)

	// Delete removes an object. That there is none is no error.
	Delete(ctx context.Context, key string) error

	// List returns up to limit objects whose keys begin with prefix and come
	// after a text, in order of the keys' bytes. The prefix is as CheckPrefix
	// wants it. A limit below 1 is an error.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)

	// Sync makes durable what a Get of the key has shown, or a later object in its
	// place. Another process may have written it without having synced it yet, so Sync
	// is called before an answer that depends on such an object alone. It need not
	// notice that there is no object.
	Sync(ctx context.Context, key string) error

	// Close releases what the bucket holds in this process. Later calls fail with
	// the code onto.Closed.
	Close() error
}

// Local is an optional interface of buckets on this machine. Reading one of their
// objects takes no longer than reading a local copy.
type Local interface {
	// Turn waits until the writers of other processes that came before have had their
	// turns. Before it waits it calls meanwhile. It fails when the context ends, or
	// when the wait took too long: more than the patience without a turn granted to any
	// process, or many times the patience. Done ends the turn.
	//
	// A turn saves work and is no lock. Where processes cannot take turns, it is
	// granted to all at once.
	Turn(ctx context.Context, patience time.Duration, meanwhile func()) (done func(), err error)
}

// Volume is a bucket that knows how much room is left for it.
type Volume interface {
	Free() (bytes int64, known bool)
}

// Tag stands for the contents of an object at one moment. It is opaque: callers pass it
// back unchanged.
type Tag string

// Range is a part of an object. The zero Range is all of it.
type Range struct {
	Offset int64
	Length int64 // 0 for all that follows the offset
	Max    int64 // bytes that the whole object may have; 0 for any number

	// Untagged says that the caller does not use the tag. A bucket that would have to
	// read more than the part to compute it leaves it out.
	Untagged bool
}

// Whole reports whether the range is all of an object.
func (r Range) Whole() bool { return r.Offset == 0 && r.Length == 0 }

// Allows fails with ErrTooLarge if an object of a size is larger than Max.
func (r Range) Allows(size int64) error {
	if r.Max > 0 && size > r.Max {
		return fmt.Errorf("%w: it has %d bytes, and at most %d were expected", ErrTooLarge, size, r.Max)
	}
	return nil
}

// Cut returns where the range begins and ends in an object of a size. It fails
// if the offset or the length is negative.
func (r Range) Cut(size int64) (from, to int64, err error) {
	if r.Offset < 0 || r.Length < 0 || r.Max < 0 {
		return 0, 0, fmt.Errorf("the range of %d bytes from %d, at most %d, is negative", r.Length, r.Offset, r.Max)
	}
	from, to = min(r.Offset, size), size
	if r.Length > 0 && r.Length < size-from {
		to = from + r.Length
	}
	return from, to, nil
}

// Object is an object, or the part that was asked for.
type Object struct {
	Data []byte
	Tag  Tag
	Size int64 // of the whole object
}

// Entry is an object in a listing.
type Entry struct {
	Key      string
	Size     int64
	Modified time.Time
}

// The errors of the contract.
var (
	ErrNotFound    = errors.New("there is no such object")
	ErrNotModified = errors.New("the object is still the same")
	ErrExists      = errors.New("the object exists already")
	ErrChanged     = errors.New("the object has changed")
	ErrTooLarge    = errors.New("the object is too large")
	ErrConflict    = errors.New("another write was under way") // try again
	ErrThrottled   = errors.New("too many requests")           // slow down, and try again
	ErrRefused     = errors.New("the storage refuses")         // trying again is of no use
	ErrUnknown     = errors.New("it is not known whether it happened")

	// ErrUnsynced is an unknown outcome that reading cannot settle: the write was
	// applied, but could not be made durable. Reads come from the cache of the system,
	// and the write may be gone after a power failure. A bucket that has returned it
	// refuses further writes and Sync with ErrRefused.
	ErrUnsynced = errors.New("it could not be made durable")
)
