package protocol

import (
	"context"
	"strconv"
	"sync"
)

// Keyring knows which commits have used idempotency keys. It reads what the log
// says about keys once, when a key is first asked for, and follows the head from
// then on.
type Keyring struct {
	log *Log

	mu     sync.Mutex         // guards what follows
	commit int64              // the keys of commits up to this one are known
	byHash map[uint64]int64   // the first commit
	others map[uint64][]int64 // further ones: two keys may share a hash
}

// NewKeyring knows no key yet.
func NewKeyring(l *Log) *Keyring { return &Keyring{log: l} }

// Find returns the commit that has used a key, or nil.
func (k *Keyring) Find(ctx context.Context, t *Tip, key string) (*CommitEntry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.follow(ctx, t); err != nil {
		return nil, err
	}
	hash := keyNumber(keyHash(key))
	first, used := k.byHash[hash]
	if !used {
		return nil, nil
	}
	for _, commit := range append([]int64{first}, k.others[hash]...) {
		m, err := k.log.RoundOf(ctx, t, commit)
		if err != nil {
			return nil, err
		}
		if e := &m.Commits[commit-m.First]; e.Key == key {
			return e, nil
		}
	}
	return nil, nil
}

// follow learns the keys of a tip that the keyring does not know.
func (k *Keyring) follow(ctx context.Context, t *Tip) error {
	if k.byHash == nil {
		k.byHash, k.others = map[uint64]int64{}, map[uint64][]int64{}
	}
	if t.Head.CommitID <= k.commit {
		return nil
	}
	for _, e := range t.Catalog.Checkpoints {
		if e.Last <= k.commit {
			continue
		}
		doc, err := k.log.readCheckpoint(ctx, &e)
		if err != nil {
			return err
		}
		k.learn(doc.Keys)
		k.commit = e.Last
	}
	rounds, err := k.log.uncovered(ctx, t, k.commit)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		k.learn(r.keyEntries())
	}
	k.commit = t.Head.CommitID
	return nil
}

// learn adds keys of commits that are not known yet.
func (k *Keyring) learn(keys []KeyEntry) {
	for _, e := range keys {
		if e.Commit <= k.commit {
			continue
		}
		if hash := keyNumber(e.Hash); k.byHash[hash] == 0 {
			k.byHash[hash] = e.Commit
		} else {
			k.others[hash] = append(k.others[hash], e.Commit)
		}
	}
}

// keyNumber is the hash of a key as a number, which takes less memory: there may be
// millions.
func keyNumber(hash string) uint64 {
	n, _ := strconv.ParseUint(hash, 16, 64) // Fits and keyHash make sure that it is one
	return n
}
