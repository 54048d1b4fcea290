package bus

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// retainEvery is how often old events are removed.
const retainEvery = time.Hour

// retain tidies up once an hour and in one process: the one that gets a lease, which it keeps
// until it runs out.
func (r *run) retain(now time.Time) {
	if r.idle || r.blind || !r.cleaned.IsZero() && now.Sub(r.cleaned) < retainEvery {
		return
	}
	r.cleaned = now
	r.background(func() func() {
		plan, err := r.tidy()
		return func() {
			switch {
			case onto.CodeOf(err) == onto.LockContention: // another process does it
			case err != nil && final(err):
				r.stop(err)
			case err != nil:
				r.troubled("", retainEvery, err)
			case plan.Events > 0:
				r.removed(plan)
			}
		}
	})
}

// sessionsKept is how long sessions are kept that have ended without saying so.
const sessionsKept = 7 * 24 * time.Hour

// tidy removes old events, if they are not kept for ever, and sessions that have been dead for
// long.
func (r *run) tidy() (plan backend.CleanPlan, err error) {
	ns, today := r.b.o.Namespace, time.Time{}
	if r.b.leaser != nil {
		request := &backend.LeaseRequest{Name: retentionLease(ns), Owner: r.session.ID, TTL: retainEvery}
		if _, err := r.b.leaser.Acquire(r.ctx, request); err != nil {
			return plan, err
		}
	}
	if today, err = r.b.Today(r.ctx); err != nil {
		return plan, err
	}
	if keep := r.b.o.Retention; keep > 0 {
		if plan, err = r.b.port.Clean(r.ctx, &backend.Cleaning{Namespace: ns, Before: today.Add(-keep), Apply: true}, nil); err != nil {
			return plan, err
		}
	}
	list, err := r.b.Namespaces(r.ctx)
	for _, n := range list {
		if n.Name == ns {
			return plan, r.removeDead(n.Dead, today.Add(-sessionsKept))
		}
	}
	return plan, err
}

// removeDead removes those dead sessions that gave their last sign of life before a time.
func (r *run) removeDead(list []onto.Session, before time.Time) error {
	for _, s := range list {
		if !s.Beat.Before(before) {
			continue
		}
		if _, err := r.b.port.Beat(r.ctx, &backend.Beat{Session: s, End: true}); err != nil {
			return err
		}
	}
	return nil
}

// retentionLease names the lease of a namespace, which may be as long as the name of a
// lease.
func retentionLease(namespace string) string {
	const prefix = "onto.bus.retention."
	if name := prefix + namespace; onto.CheckLeaseName(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(namespace))
	return prefix + hex.EncodeToString(sum[:8])
}
