package protocol

import (
	"context"
	"sync"
)

// Keyring knows which commits have used idempotency keys. It reads what the log
// says about keys once, when a key is first asked for, and follows the head from
// then on.
type Keyring struct {
	log *Log

	mu     sync.Mutex         // guards what follows
	commit int64              // the keys of commits up to this one are known
	byHash map[string][]int64 // commits; two keys may share a hash
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
	for _, commit := range k.byHash[keyHash(key)] {
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
		k.byHash = map[string][]int64{}
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
		k.learn(r.manifest.Keys())
	}
	k.commit = t.Head.CommitID
	return nil
}

// learn adds keys of commits that are not known yet.
func (k *Keyring) learn(keys []KeyEntry) {
	for _, e := range keys {
		if e.Commit > k.commit {
			k.byHash[e.Hash] = append(k.byHash[e.Hash], e.Commit)
		}
	}
}
