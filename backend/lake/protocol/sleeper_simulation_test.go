package protocol

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// register adds types to the catalog.
func (s *simulation) register(ctx context.Context, l *peer, changer int) {
	if !s.begin(ctx, l) {
		return
	}
	for n := range 4 {
		name := fmt.Sprintf("T%d_%d", changer, n)
		_, err := l.change(ctx, func(c *Catalog, commit int64) (bool, error) {
			if slices.ContainsFunc(c.Types, func(e SchemaEntry) bool { return e.Name == name }) {
				return false, nil // by a change that no head remembers
			}
			schema := onto.Schema{Kind: onto.KindEntity, Name: name, Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
			v := onto.SchemaVersion{Schema: schema, Version: 1, JSON: schema.JSON(), Hash: schema.Hash(), Since: commit + 1}
			c.Types = append(c.Types, newSchemaEntry(&v))
			return true, nil
		})
		s.mu.Lock()
		switch {
		case err == nil:
			s.types[name] = true
		case onto.CodeOf(err) == onto.OutcomeUnknown:
			s.maybe[name] = true
		}
		s.mu.Unlock()
	}
}

// doze lets a writer commit once, before it falls asleep.
func (s *simulation) doze(ctx context.Context, l *peer) {
	if !s.begin(ctx, l) {
		return
	}
	keys := []string{"z"}
	call := s.began()
	m, err := s.patient(ctx, l, keys)
	s.outcome(keys, m, err)
	s.noted(30, call, keys, m, err)
}

// wake resumes the writer that has slept through 1,000 heads, again and again. The
// storage is healthy by now, so everything must succeed, and again after an answer with
// a wrong tag.
func (s *simulation) wake(ctx context.Context, l *peer) {
	must := func(what string, err error) bool {
		if err != nil {
			s.complain("after 1000 heads: %s: %v", what, err)
		}
		return err == nil
	}
	commit := func(key string, lease *onto.Lease) bool {
		keys := []string{key}
		var m *Manifest
		var err error
		if lease == nil {
			m, err = s.patient(ctx, l, keys)
		} else {
			m, err = l.commitAs(ctx, lease, func(t *Tip) (*Round, error) { return roundOf(t, keys), nil })
		}
		s.outcome(keys, m, err)
		return must("commit "+key, err)
	}
	s.w.pass(1000)
	if !commit("z-commit", nil) {
		return
	}
	s.w.wrong = true
	if !commit("z-wrong-tag", nil) || !commit("z-after-wrong-tag", nil) {
		return
	}
	s.w.pass(1000)
	lease, err := l.Acquire(ctx, &backend.LeaseRequest{Name: "nap", Owner: "z", TTL: simulatedTTL})
	if !must("taking a lease", err) {
		return
	}
	s.w.pass(1000)
	if !commit("z-with-lease", &lease) {
		return
	}
	s.w.pass(1000)
	time.Sleep(simulatedTTL)
	if lease, err = l.Renew(ctx, lease, simulatedTTL); !must("renewing a lease late", err) {
		return
	}
	s.w.pass(1000)
	must("releasing a lease", l.Release(ctx, lease))
	s.w.pass(1000)
	if t := l.Last(); t.Head.Locks["nap"] != 0 {
		s.complain("after 1000 heads: the head still names the lease that was released")
	}
	if _, err = l.change(ctx, func(c *Catalog, _ int64) (bool, error) { return true, nil }); must("changing the catalog", err) {
		s.lose(ctx, l, s.open("y", 7))
	}
}

// lose breaks a lease while its holder sleeps; the holder then reads a stale copy of
// the lock: the head does not name the lease any more.
func (s *simulation) lose(ctx context.Context, l, other *peer) {
	r := &backend.LeaseRequest{Name: "nap", Owner: "z", TTL: simulatedTTL}
	lease, err := l.Acquire(ctx, r)
	if err == nil {
		_, err = other.Break(ctx, onto.LeaseBreak{Lease: lease})
	}
	if err != nil {
		s.complain("a lease that is to be broken: %v", err)
		return
	}
	s.w.old = lockKey(r.Name)
	keys := []string{"z-without-lease"}
	m, err := l.commitAs(ctx, &lease, func(t *Tip) (*Round, error) { return roundOf(t, keys), nil })
	s.outcome(keys, m, err)
	if onto.CodeOf(err) != onto.LeaseExpired {
		s.complain("a commit with a lease that was broken: %v", err)
	}
}
