package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// simulatedTTL is how long a simulated lease lasts.
const simulatedTTL = 3 * time.Second

// tenure is when a holder may rely on its lease: after the heads that existed when it
// was told so, until the lease may look expired to another client, or ends.
type tenure struct {
	heads int
	until time.Time
	epoch int64
}

// skew is by how much a client's clock is wrong: by hours, or in every other run
// by less than a third of the time that a lease lasts.
func (s *simulation) skew(index int) time.Duration {
	if s.tame() {
		return time.Duration(index-3) * 100 * time.Millisecond
	}
	return time.Duration(index-3) * 20 * time.Minute
}

// tame reports whether clocks agree well enough for leases to exclude.
func (s *simulation) tame() bool { return s.seed%2 == 1 }

// furthest is the index of the client whose clock is furthest ahead.
const furthest = 13

// hold takes the write lease now and then, commits with it, and releases it or lets it
// expire.
func (s *simulation) hold(ctx context.Context, l *peer, who int) {
	if !s.begin(ctx, l) {
		return
	}
	r := &backend.LeaseRequest{Name: onto.WriteLease, Owner: "same", TTL: simulatedTTL, Wait: 6 * time.Second}
	for n := range 3 {
		time.Sleep(time.Duration(who+n) * 400 * time.Millisecond)
		lease, err := l.Acquire(ctx, r)
		if err != nil {
			continue
		}
		s.relies(&lease, true)
		taken := time.Now()
		kind := (int(s.seed/2) + n + who) % 4
		for c := range 4 {
			if !s.commitWith(ctx, l, &lease, fmt.Sprintf("l%d-%d-%d@%d", who, n, c, lease.Epoch), 20+who) {
				break
			}
			time.Sleep(time.Duration(c*(kind+1)) * simulatedTTL / 6)
			if c == 2 && s.w.exact { // a stale copy of the lock would look expired
				time.Sleep(simulatedTTL - time.Since(taken) + time.Duration(int(s.seed/4)%8-2)*100*time.Millisecond)
				if lease, err = l.Renew(ctx, lease, simulatedTTL); err != nil {
					break
				}
				s.relies(&lease, false)
			}
		}
		switch kind {
		case 0, 1:
			_ = l.Release(ctx, lease)
		case 2:
			_, _ = l.Break(ctx, onto.LeaseBreak{Lease: onto.Lease{Name: onto.WriteLease}})
		}
	}
}

// commitWith commits with a lease. It reports false if the lease is lost.
func (s *simulation) commitWith(ctx context.Context, l *peer, lease *onto.Lease, key string, client int) bool {
	keys := []string{key}
	call := s.began()
	m, err := l.commitAs(ctx, lease, func(t *Tip) (*Round, error) { return roundOf(t, keys), nil })
	s.outcome(keys, m, err)
	s.noted(client, call, keys, m, err)
	return onto.CodeOf(err) != onto.LeaseExpired
}

// relies notes that a holder was told that it has a lease.
func (s *simulation) relies(lease *onto.Lease, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tenures {
		if taken && t.epoch == lease.Epoch {
			s.complaint = append(s.complaint, fmt.Sprintf("epoch %d was given twice", lease.Epoch))
		}
	}
	s.tenures = append(s.tenures, tenure{heads: len(s.w.objects[HeadKey]), until: lease.Expires.Add(-s.skew(furthest)), epoch: lease.Epoch})
}

// endTenures lets tenures end when a lock was written that says so: by release, or by
// force with a larger epoch.
func (s *simulation) endTenures() {
	for _, v := range s.w.objects[lockKey(onto.WriteLease)] {
		k := new(lock)
		if err := json.Unmarshal(v.body, k); err != nil {
			s.complain("a lock: %v", err)
		}
		for i, t := range s.tenures {
			if k.Released != "" && (k.Epoch == t.epoch || k.Epoch == t.epoch+1) && v.modified.Before(t.until) {
				s.tenures[i].until = v.modified
			}
		}
	}
}

// patient commits without a lease. It waits for the holder of the write lease.
func (s *simulation) patient(ctx context.Context, l *peer, keys []string) (m *Manifest, err error) {
	for range 4 {
		m, err = l.commitAs(ctx, nil, func(t *Tip) (*Round, error) { return roundOf(t, keys), nil })
		if onto.CodeOf(err) != onto.LockContention {
			break
		}
		_ = l.AwaitWrite(ctx, l.Last(), 4*time.Second)
	}
	return m, err
}

// judgeLeases goes through all heads. A round with a lease follows a head that names
// its epoch; one without a lease falls into no tenure.
func (s *simulation) judgeLeases() {
	s.endTenures()
	var before *Head
	for i, v := range s.w.objects[HeadKey] {
		h, err := ParseHead(v.body)
		if err != nil {
			s.complain("a head: %v", err)
			return
		}
		if before != nil && h.CommitID > before.CommitID {
			s.judgeRound(i, before, h, v.modified)
		}
		before = h
	}
}

func (s *simulation) judgeRound(n int, before, h *Head, at time.Time) {
	v, ok := s.w.newest(*h.ManifestPath)
	if !ok {
		return // verify reports it at the end
	}
	m, err := ParseManifest(*h.ManifestPath, v.body)
	if err != nil {
		s.complain("%v", err)
		return
	}
	key := m.Commits[0].Key
	if _, epoch, carried := strings.Cut(key, "@"); carried {
		if now := before.Locks[onto.WriteLease]; strconv.FormatInt(now, 10) != epoch {
			s.complain("%s was committed after a head with epoch %d", key, now)
		}
		return
	}
	for _, t := range s.tenures {
		if s.tame() && n >= t.heads && at.Before(t.until) {
			s.complain("%s was committed while somebody held the lease with epoch %d", key, t.epoch)
		}
	}
}
