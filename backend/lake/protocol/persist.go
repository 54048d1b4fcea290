package protocol

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/bucket"
)

// missingPatience is how long an object that the log names may be missing before it
// counts as lost. Objects are written before they are named, so they appear later only
// on storage that shows them in another order or through a cache.
const missingPatience = 2 * time.Second

// persist reads an immutable object that the log names, until it is intact. Once
// returns the hash of what came if that is damaged. An object that stays missing or
// damaged is reported by its name.
func (l *Log) persist(ctx context.Context, key string, once func() (came string, err error)) error {
	wait := l.Waiter()
	for {
		came, err := once()
		if err == nil {
			l.bad.forget(key)
		}
		if err == nil || Definite(err) {
			return err
		}
		if errors.Is(err, bucket.ErrTooLarge) {
			return oversized(key, err)
		}
		if came != "" && l.BelievesDamage(key, came, err) {
			return err
		}
		waited := l.set.Patience
		var late error
		if errors.Is(err, bucket.ErrNotFound) && l.bad.missing(key) >= missingPatience {
			waited, late = missingPatience, errOver
		} else {
			late = wait.Wait(ctx)
		}
		if late == nil {
			continue
		}
		if errors.Is(err, bucket.ErrNotFound) {
			err = Damaged(key, "it is missing")
		}
		if onto.CodeOf(err) == onto.Corrupt && ctx.Err() == nil {
			late = onto.Errorf(onto.Unavailable, "it stayed so for %v", waited)
		}
		return errors.Join(err, late)
	}
}

// KnowsDamaged reports whether all of an object came before with this hash, and was
// damaged.
func (l *Log) KnowsDamaged(key, hash string) bool {
	known := l.bad.of(key).hash
	return known != "" && known == hash
}

// BelievesDamage notes that all of an object came and is damaged, and reports whether
// the same bytes came often enough to be what the storage holds.
func (l *Log) BelievesDamage(key, hash string, err error) bool {
	return l.bad.damaged(key, hash, err) >= sameLooks
}

// errOver says that the patience is over.
var errOver = errors.New("time is over")

// badObjects remembers which objects are missing or damaged, so that a process waits
// for each of them once, and reports known damage at once.
type badObjects struct {
	mu    sync.Mutex // guards known
	known map[string]badObject
}

// badObject is what is known of one.
type badObject struct {
	missing time.Time // since when; zero if it is not
	hash    string    // of what came, if that is damaged
	times   int       // that it came
	err     error     // what is wrong with it; nil if that is not known
}

// maxBad is how many objects are remembered.
const maxBad = 4096

func (b *badObjects) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, key)
}

// note remembers what is known of an object. The caller holds the lock.
func (b *badObjects) note(key string, is badObject) {
	if b.known == nil || len(b.known) >= maxBad {
		b.known = map[string]badObject{}
	}
	b.known[key] = is
}

// missing notes that an object is missing, and returns for how long it has been.
func (b *badObjects) missing(key string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if is := b.known[key]; !is.missing.IsZero() {
		return now.Sub(is.missing)
	}
	b.note(key, badObject{missing: now})
	return 0
}

// damaged notes that all of an object came and is damaged, and returns how often the
// same has come.
func (b *badObjects) damaged(key, hash string, err error) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	is := b.known[key]
	if is.hash != hash {
		is = badObject{hash: hash}
	}
	if is.times++; is.err == nil {
		is.err = err
	}
	b.note(key, is)
	return is.times
}

// of returns what is known of an object.
func (b *badObjects) of(key string) badObject {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[key]
}
