package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// Lock is a lock that this program holds. It keeps out other locks of the same object, not
// programs that write without one.
type Lock struct {
	lease *store.Lease
	what  LockInfo
	stop  context.CancelFunc
	ended chan struct{} // closed when it is not renewed any more
	err   error         // why, if it was lost; to be read after ended
}

// LockInfo tells about a lock.
type LockInfo struct {
	Set         string `json:"set"`
	ID          string `json:"id"`
	ShardKey    string `json:"shard_key"`
	Description string `json:"description,omitempty"`

	Lease onto.Lease `json:"-"` // its holder and how long it lasts
}

// leasePrefix begins the names of leases that are locks of objects.
const leasePrefix = "object."

// leaseName is the name of the lease of an object: keys can be longer than names.
func leaseName(set, key string) string {
	sum := sha256.Sum256([]byte(set + "\x00" + key))
	return leasePrefix + hex.EncodeToString(sum[:20])
}

// Lock takes the lock of an object, which need not exist. It does not wait: while somebody
// holds the lock it fails with LockContention, which names the holder and the holder's
// description. The lock is renewed until it is released or the program ends; then it
// expires after [store.DefaultLeaseTTL]. A program that hands it on releases it elsewhere, see
// [Lock.Token].
func (t Tenant[T, I, S]) Lock(ctx context.Context, key Key[I, S], description string) (*Lock, error) {
	s, name, what, err := t.lockOf(ctx, key)
	if err != nil {
		return nil, err
	}
	what.Description = description
	note, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	if len(note) > onto.MaxLeaseNote {
		return nil, onto.Errorf(onto.TooLarge, "%s %q: key and description of a lock are %d bytes, the limit is %d", what.Set, what.ID, len(note), onto.MaxLeaseNote)
	}
	lease, err := s.store.Lease(ctx, name, &store.LeaseOptions{Wait: -1, Note: string(note)})
	if onto.CodeOf(err) == onto.LockContention {
		return nil, t.locked(ctx, s, name, what, err)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return hold(ctx, lease, what), nil
}

// ResumeLock goes on holding a lock that another process has taken, by its token. It is
// LeaseExpired if it was lost meanwhile.
func (t Tenant[T, I, S]) ResumeLock(ctx context.Context, key Key[I, S], token string) (*Lock, error) {
	s, name, what, err := t.lockOf(ctx, key)
	if err != nil {
		return nil, err
	}
	lease, err := s.store.ResumeLease(ctx, token)
	if err != nil {
		return nil, s.explain(err)
	}
	if lease.Current().Name != name {
		return nil, onto.Errorf(onto.Invalid, "the token is of another lock than that of %s %q", what.Set, what.ID)
	}
	return hold(ctx, lease, what), nil
}

// Locks returns the locks of the set that are held.
func (t Tenant[T, I, S]) Locks(ctx context.Context) ([]LockInfo, error) {
	shards, err := t.set.shards(ctx, t.tenant, nil)
	if err != nil {
		return nil, err
	}
	var list []LockInfo
	for _, s := range shards {
		leases, err := s.store.Leases(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		for _, l := range leases {
			if what, ok := infoOf(l); ok && what.Set == t.set.name() && !l.Expired(time.Now()) {
				list = append(list, what)
			}
		}
	}
	return list, nil
}

// BreakLock ends the lock of an object whoever holds it. It is NotFound if nobody does.
func (t Tenant[T, I, S]) BreakLock(ctx context.Context, key Key[I, S], actor onto.Actor, reason string) error {
	s, name, what, err := t.lockOf(ctx, key)
	if err != nil {
		return err
	}
	_, err = s.store.BreakLease(ctx, name, actor, reason)
	if onto.CodeOf(err) == onto.NotFound {
		return onto.Errorf(onto.NotFound, "%s %q is not locked", what.Set, what.ID)
	}
	return s.explain(err)
}

// lockOf returns the shard and the name of the lease of a key.
func (t *Tenant[T, I, S]) lockOf(ctx context.Context, key Key[I, S]) (*shard, string, LockInfo, error) {
	what := LockInfo{Set: t.set.name(), ID: string(key.ID), ShardKey: string(key.ShardKey)}
	k, err := t.set.key.check(what.Set, what.ID, what.ShardKey)
	if err != nil {
		return nil, "", what, err
	}
	s, err := t.set.shard(ctx, t.tenant, what.ShardKey)
	return s, leaseName(what.Set, k), what, err
}

// infoOf reads what a lease says about a lock.
func infoOf(l onto.Lease) (LockInfo, bool) {
	what := LockInfo{}
	ok := strings.HasPrefix(l.Name, leasePrefix) && json.Unmarshal([]byte(l.Note), &what) == nil
	what.Lease = l
	return what, ok
}

// locked is the error for a lock that has a holder.
func (t *Tenant[T, I, S]) locked(ctx context.Context, s *shard, name string, what LockInfo, err error) error {
	leases, failed := s.store.Leases(ctx)
	if failed != nil {
		return s.explain(failed)
	}
	for _, l := range leases {
		if holder, ok := infoOf(l); ok && l.Name == name {
			return onto.Errorf(onto.LockContention, "%s %q is locked by %s until %s: %s", what.Set, what.ID, l.Owner,
				l.Expires.UTC().Format("2006-01-02 15:04:05Z"), holder.Description).
				WithHint("wait for its release, or end it with BreakLock")
		}
	}
	return onto.Errorf(onto.LockContention, "%s %q was locked a moment ago: %w", what.Set, what.ID, err).WithHint("try again")
}

// hold renews a lease until it is released or lost.
func hold(ctx context.Context, lease *store.Lease, what LockInfo) *Lock {
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lock{lease: lease, what: what, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		l.err = lease.Keep(keeping)
	}()
	return l
}

// Token stands for the lock in another process, see [Tenant.ResumeLock]. The lock must not be
// released in this one then; Leave stops renewing it.
func (l *Lock) Token() string { return l.lease.Token() }

// Lost is closed when the lock is lost, released or left. Err tells which.
func (l *Lock) Lost() <-chan struct{} { return l.ended }

// Err returns LeaseExpired if the lock was lost, and nil otherwise.
func (l *Lock) Err() error {
	select {
	case <-l.ended:
		return l.explain(l.err)
	default:
		return nil
	}
}

// Unlock releases the lock. It fails with LeaseExpired if it was lost meanwhile.
func (l *Lock) Unlock(ctx context.Context) error {
	l.Leave()
	return l.explain(l.lease.Release(ctx))
}

// Leave stops renewing the lock and does not release it: another process goes on with its
// token, or it expires.
func (l *Lock) Leave() {
	l.stop()
	<-l.ended
}

// Current is the lease of the lock, for the draft that is given to [With]: a commit that carries
// it fails with LeaseExpired if the lock was lost.
func (l *Lock) Current() onto.Lease { return l.lease.Current() }

func (l *Lock) explain(err error) error {
	if onto.CodeOf(err) == onto.LeaseExpired {
		return onto.Errorf(onto.LeaseExpired, "the lock of %s %q was lost: %w", l.what.Set, l.what.ID, err)
	}
	return err
}
