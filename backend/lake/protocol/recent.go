package protocol

import (
	"slices"
	"sync"
)

// recentRounds is manifests that were read lately, the latest last. Versions in order of identity
// ask for the commits of a few large rounds again and again.
type recentRounds struct {
	mu   sync.Mutex // guards what follows
	list []*Manifest
	size int // how many commits they have
}

// The manifests that are kept are so many at most, and have so many commits at most.
const (
	maxRecentRounds  = 64
	maxRecentCommits = 60_000
)

// of returns the manifest of the round with a commit, at a path; nil if it is not kept.
func (r *recentRounds) of(path string, commit int64) *Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(m *Manifest) bool { return m.First <= commit && commit <= m.CommitID && m.Entry().Path == path })
	if i < 0 {
		return nil
	}
	m := r.list[i]
	r.list = append(slices.Delete(r.list, i, i+1), m)
	return m
}

// keep keeps a manifest in place of those that were asked for longest ago.
func (r *recentRounds) keep(m *Manifest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.list, func(other *Manifest) bool { return other.Entry().Path == m.Entry().Path }) {
		return
	}
	r.list = append(r.list, m)
	r.size += len(m.Commits)
	for ; len(r.list) > maxRecentRounds || r.size > maxRecentCommits && len(r.list) > 1; r.list = slices.Delete(r.list, 0, 1) {
		r.size -= len(r.list[0].Commits)
	}
}
