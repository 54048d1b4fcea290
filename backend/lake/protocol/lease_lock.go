package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/internal/codec"
)

// locksFolder has an object for each lease that was ever taken, and one for each transient
// lease that is held.
const locksFolder = "meta/locks/"

func lockKey(name string) string { return locksFolder + name + ".json" }

// lock is the object of a lease. Its bytes are never the same twice.
type lock struct {
	Owner    string `json:"owner_id"`
	Acquired string `json:"acquired_at"`
	Expires  string `json:"expires_at"`
	TTL      int64  `json:"lease_ttl_ms"`
	Epoch    int64  `json:"epoch"`
	Attempt  string `json:"attempt"`
	Released string `json:"released_at,omitempty"` // when it ended; a lock that has ended is free
	Purpose  string `json:"purpose,omitempty"`
	Note     string `json:"note,omitempty"`
}

// holding is a lock as it was read.
type holding struct {
	key     string
	lease   *onto.Lease // nil if it is free
	epoch   int64       // also of a free one; 0 if there is no object
	attempt string      // that wrote this version of it; "" if there is no object
	ttl     time.Duration
	tag     bucket.Tag // "" if there is no object
}

// parseLock reads a lock.
func parseLock(key, name string, body []byte) (*holding, error) {
	k := new(lock)
	if err := Decode(key, body, k); err != nil {
		return nil, badLock(key, "%w", WithoutKey(err))
	}
	if k.Epoch == 0 || k.Attempt == "" {
		return nil, badLock(key, "it has no epoch or attempt, so another program has written it")
	}
	if !inRange(k.Epoch) || k.TTL < 0 || k.TTL > maxTTL.Milliseconds() || len(k.Owner) > onto.MaxComment || len(k.Purpose)+len(k.Note) > onto.MaxComment {
		return nil, badLock(key, "the epoch %d, the time of %d ms, the owner or the note is out of range", k.Epoch, k.TTL)
	}
	h := &holding{key: key, epoch: k.Epoch, attempt: k.Attempt, ttl: time.Duration(k.TTL) * time.Millisecond}
	if k.Released != "" {
		return h, nil
	}
	acquired, err := codec.ParseTime(k.Acquired)
	if err != nil {
		return nil, badLock(key, "acquired_at: %w", err)
	}
	expires, err := codec.ParseTime(k.Expires)
	if err != nil {
		return nil, badLock(key, "expires_at: %w", err)
	}
	h.lease = &onto.Lease{Name: name, Owner: k.Owner, Epoch: k.Epoch, Acquired: acquired, Expires: expires, Purpose: onto.LeasePurpose(k.Purpose), Note: k.Note}
	return h, nil
}

// maxTTL is longer than a lease lasts.
const maxTTL = 100 * 365 * 24 * time.Hour

// badLock is the error for a lock that cannot be read. Unlike other objects it
// may simply be removed.
func badLock(key, format string, args ...any) error {
	return onto.Errorf(onto.Corrupt, "%s: %w", key, onto.Errorf(onto.Corrupt, format, args...)).
		WithHint("remove the object if no process writes: the lease is free then")
}

// expired reports whether a lease has run out.
func (l *Leases) expired(h *holding) bool {
	return l.seen.Expired(h.key, h.attempt, h.lease, h.ttl, l.log.set.Now())
}

// free reports whether the lease may be taken.
func (l *Leases) free(h *holding) bool { return h.lease == nil || l.expired(h) }

// readLock reads the lock of a lease, which is free if there is none. A lock with a
// smaller epoch than a known one is a stale copy and is read again.
func (l *Leases) readLock(ctx context.Context, name string, least int64) (*holding, error) {
	if err := onto.CheckLeaseName(name); err != nil {
		return nil, err
	}
	return l.readLockAt(ctx, lockKey(name), name, least)
}

func (l *Leases) readLockAt(ctx context.Context, key, name string, least int64) (*holding, error) {
	wait, looks := l.log.Waiter(), looks{}
	for {
		h, err := l.readLockOnce(ctx, key, name)
		if err != nil && looks.stays(err.Error(), err) {
			return nil, err
		}
		if err == nil && !l.seen.See(h.key, h.attempt, h.epoch, least) {
			err = badLock(h.key, "it is older than the lease that was there before")
		}
		if err == nil || Definite(err) {
			return h, err
		}
		if late := wait.Wait(ctx); late != nil {
			return nil, errors.Join(err, late)
		}
	}
}

func (l *Leases) readLockOnce(ctx context.Context, key, name string) (*holding, error) {
	o, err := l.log.b.Get(ctx, key, bucket.Range{Max: MaxSmall}, "")
	if errors.Is(err, bucket.ErrNotFound) {
		return &holding{key: key}, nil
	}
	if errors.Is(err, bucket.ErrTooLarge) {
		return nil, badLock(key, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	h, err := parseLock(key, name, o.Data)
	if err == nil {
		h.tag = o.Tag
	}
	return h, err
}

// writeLock replaces a lock by another one. It reports false if another process has
// changed it first. Only success is trusted: after any other answer the lock is read
// back.
func (l *Leases) writeLock(ctx context.Context, old *holding, k *lock) (bool, error) {
	if err := l.log.checkClock(); err != nil {
		return false, err
	}
	body := Encode(k)
	wait, tag := l.log.Waiter(), old.tag
	for first := true; ; first = false {
		_, err := l.writeLockOnce(ctx, old.key, body, tag)
		switch {
		case err == nil:
			l.seen.See(old.key, k.Attempt, k.Epoch, 0)
			return true, nil
		case errors.Is(err, bucket.ErrUnsynced): // reading would show what a power failure may undo
			return false, onto.Errorf(onto.OutcomeUnknown, "%s is not known to survive a power failure: %w", old.key, err)
		}
		now, failed := l.readLockOnce(ctx, old.key, "")
		switch {
		case failed == nil && now.attempt == k.Attempt:
			return true, nil
		case failed == nil && now.attempt != old.attempt:
			return false, nil
		case first && Definite(err):
			return false, err
		case failed == nil:
			tag = now.tag // in case it was given a wrong tag
		}
		if late := wait.Wait(ctx); late != nil {
			return false, onto.Errorf(onto.OutcomeUnknown, "it is not known whether %s was written: %w", old.key, errors.Join(err, late)).
				WithHint("see who holds what").WithCommand("lock", "show")
		}
	}
}

func (l *Leases) writeLockOnce(ctx context.Context, key string, body []byte, old bucket.Tag) (bucket.Tag, error) {
	if old == "" {
		return l.log.b.Create(ctx, key, body)
	}
	return l.log.b.Swap(ctx, key, body, old)
}
