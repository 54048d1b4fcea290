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

// retain removes old events, once an hour and in one process: the one that gets a lease,
// which it keeps until it runs out.
func (r *run) retain(now, wall time.Time) {
	if r.idle || r.b.o.Retention < 0 || r.blind || !r.cleaned.IsZero() && now.Sub(r.cleaned) < retainEvery {
		return
	}
	r.cleaned = now
	before := wall.Add(-r.b.o.Retention)
	r.background(func() func() {
		plan, err := r.clean(before)
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

// clean removes old events and sessions that have been dead for as long.
func (r *run) clean(before time.Time) (backend.CleanPlan, error) {
	ns := r.b.o.Namespace
	if r.b.leaser != nil {
		request := &backend.LeaseRequest{Name: retentionLease(ns), Owner: r.session.ID, TTL: retainEvery}
		if _, err := r.b.leaser.Acquire(r.ctx, request); err != nil {
			return backend.CleanPlan{}, err
		}
	}
	plan, err := r.b.port.Clean(r.ctx, &backend.Cleaning{Namespace: ns, Before: before, Apply: true}, nil)
	if err != nil {
		return plan, err
	}
	list, err := r.b.port.Namespaces(r.ctx)
	for _, n := range list {
		for _, s := range n.Sessions {
			if n.Name != ns || !s.Beat.Before(before) || !r.b.Dead(s) {
				continue
			}
			if _, err := r.b.port.Beat(r.ctx, &backend.Beat{Session: s, End: true}); err != nil {
				return plan, err
			}
		}
	}
	return plan, err
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
