package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/refusal"
)

// breaksFolder has a record of each lease that was ended by force.
const breaksFolder = locksFolder + "breaks/"

// breakEntry is such a record.
type breakEntry struct {
	Name      string `json:"lease_name"`
	Owner     string `json:"owner_id"`
	Epoch     int64  `json:"epoch"`
	Acquired  string `json:"acquired_at"`
	Expires   string `json:"expires_at"`
	Time      string `json:"broken_at"`
	Runtime   string `json:"runtime_id"`
	ActorKind string `json:"actor_kind,omitempty"`
	ActorID   string `json:"actor_id,omitempty"`
	Reason    string `json:"reason"`
	Attempt   string `json:"attempt"`
	Purpose   string `json:"purpose,omitempty"`
	Note      string `json:"note,omitempty"`
}

// Break ends a lease without its holder. The record is written first, so that no lease
// is broken without one. When it returns, no swap that was prepared with the lease can
// succeed any more.
func (l *Leases) Break(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	name := record.Lease.Name
	if err := l.log.checkClock(); err != nil {
		return onto.LeaseBreak{}, err
	}
	var left *Object // the record of a try that lost to another process
	for {
		h, err := l.look(ctx, name)
		if err != nil {
			return onto.LeaseBreak{}, err
		}
		if left != nil && (h.epoch > record.Lease.Epoch || h.lease == nil && backend.TransientLease(name)) { // it has ended, by that try or otherwise, and another lease may be held
			return l.broken(ctx, record)
		}
		if left != nil { // the epoch shows that it was not by that try
			l.log.Discard(ctx, []Object{*left})
		}
		if h.lease == nil {
			return onto.LeaseBreak{}, refusal.NotHeld(name)
		}
		next := h.epoch // which stays that of the key
		if !backend.TransientLease(name) {
			if next, err = epochAfter(h.key, h.epoch); err != nil {
				return onto.LeaseBreak{}, err
			}
		}
		record.Lease, record.Time = *h.lease, l.log.stamp()
		o := newBreak(&record, l.log.set.Attempt())
		if err := l.log.Create(ctx, o); err != nil {
			return onto.LeaseBreak{}, err
		}
		done, err := l.writeLock(ctx, h, l.freed(l.newLock(h.lease, h.ttl), next))
		if err != nil {
			return onto.LeaseBreak{}, err // it may be broken: the record stays
		}
		if done {
			return l.broken(ctx, record)
		}
		left = &o
	}
}

// broken publishes a head without a lease whose lock was ended.
func (l *Leases) broken(ctx context.Context, record onto.LeaseBreak) (onto.LeaseBreak, error) {
	if err := l.retract(ctx, record.Lease.Name, record.Lease.Epoch); err != nil {
		return onto.LeaseBreak{}, onto.Errorf(onto.CodeOf(err), "the lease %s is broken, but who held it may still commit what is under way: %w", record.Lease.Name, err).
			WithHint("take the lease and release it")
	}
	if backend.TransientLease(record.Lease.Name) {
		l.remove(ctx, transientKey(record.Lease.Name, record.Lease.Epoch))
	}
	return record, nil
}

// newBreak is the object of a record. Its name tells lease and time.
func newBreak(r *onto.LeaseBreak, attempt string) Object {
	key := breaksFolder + r.Lease.Name + "-" + r.Time.Format("20060102T150405.000000Z") + "-" + attempt + ".json"
	return Object{key, Encode(&breakEntry{
		Name: r.Lease.Name, Owner: r.Lease.Owner, Epoch: r.Lease.Epoch,
		Acquired: codec.FormatTime(r.Lease.Acquired), Expires: codec.FormatTime(r.Lease.Expires),
		Time: codec.FormatTime(r.Time), Runtime: r.Runtime, ActorKind: string(r.Actor.Kind), ActorID: r.Actor.ID, Reason: r.Reason,
		Attempt: attempt, Purpose: string(r.Lease.Purpose), Note: r.Lease.Note,
	})}
}

// parseBreak reads a record.
func parseBreak(key string, body []byte) (onto.LeaseBreak, error) {
	e := new(breakEntry)
	if err := json.Unmarshal(body, e); err != nil {
		return onto.LeaseBreak{}, Damaged(key, "it is not JSON: %w", err)
	}
	if !inRange(e.Epoch) {
		return onto.LeaseBreak{}, Damaged(key, "the epoch %d is out of range", e.Epoch)
	}
	r := onto.LeaseBreak{
		Lease:   onto.Lease{Name: e.Name, Owner: e.Owner, Epoch: e.Epoch, Purpose: onto.LeasePurpose(e.Purpose), Note: e.Note},
		Runtime: e.Runtime, Actor: onto.Actor{Kind: onto.ActorKind(e.ActorKind), ID: e.ActorID}, Reason: e.Reason,
	}
	var errs [3]error
	r.Lease.Acquired, errs[0] = codec.ParseTime(e.Acquired)
	r.Lease.Expires, errs[1] = codec.ParseTime(e.Expires)
	r.Time, errs[2] = codec.ParseTime(e.Time)
	if err := cmp.Or(errs[:]...); err != nil {
		return onto.LeaseBreak{}, Damaged(key, "%w", err)
	}
	return r, nil
}

// Breaks returns the records of leases that were broken, oldest first.
func (l *Leases) Breaks(ctx context.Context) ([]onto.LeaseBreak, error) {
	var keys []string
	for e, err := range l.log.Each(ctx, breaksFolder) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, e.Key)
	}
	list := make([]onto.LeaseBreak, len(keys))
	err := SideBySide(len(keys), func(i int) error {
		return l.log.readAtMost(ctx, keys[i], MaxSmall, func(body []byte) (err error) {
			list[i], err = parseBreak(keys[i], body)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b onto.LeaseBreak) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Lease.Epoch, b.Lease.Epoch))
	})
	return list, nil
}
