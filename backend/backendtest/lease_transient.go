package backendtest

import (
	"context"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
)

// transientStories are about leases of which nothing stays: most of what is told of other
// leases, and what is particular to them.
func transientStories() []tale {
	list := []struct {
		name string
		tell func(*leasing)
	}{
		{"a transient lease is renewed", leaseRenewed},
		{"a transient lease is released", leaseReleased},
		{"a transient lease that ran out is taken over", leaseTakenOver},
		{"a transient lease that ran out stays until it is taken", leaseStays},
		{"a transient lease is broken", leaseBroken},
		{"a transient lease is waited for", leaseAwaited},
		{"a transient lease is raced for", leaseRaced},
		{"transient leases outlive their handles", leaseOutlives},
		{"a closed handle keeps no transient leases", leaseClosed},
		{"a draft carries a transient lease", leaseCarried},
		{"a draft with a lost transient lease is refused", leaseLost},
		{"a transient lease counts after the key and before expectations", leaseOrder},
		{"an evolution carries a transient lease", leaseEvolves},
		{"a transient lease has epochs that only grow", transientEpochs},
		{"many transient leases come and go", transientMany},
	}
	var tales []tale
	for _, t := range list {
		tales = append(tales, tale{t.name, func(s *story) {
			if l, ok := backend.As[backend.Leaser](s.Backend); ok {
				t.tell(&leasing{s, transientNames{l}})
			}
		}})
	}
	return tales
}

// transientNames takes transient leases in place of the others that stories name.
type transientNames struct{ backend.Leaser }

func transient(name string) string {
	if name == onto.WriteLease || backend.TransientLease(name) {
		return name
	}
	return "object." + name
}

func (t transientNames) Acquire(ctx context.Context, r *backend.LeaseRequest) (onto.Lease, error) {
	named := *r
	named.Name = transient(r.Name)
	return t.Leaser.Acquire(ctx, &named)
}

func (t transientNames) Renew(ctx context.Context, l onto.Lease, ttl time.Duration) (onto.Lease, error) {
	l.Name = transient(l.Name)
	return t.Leaser.Renew(ctx, l, ttl)
}

func (t transientNames) Release(ctx context.Context, l onto.Lease) error {
	l.Name = transient(l.Name)
	return t.Leaser.Release(ctx, l)
}

func (t transientNames) Break(ctx context.Context, b onto.LeaseBreak) (onto.LeaseBreak, error) {
	b.Lease.Name = transient(b.Lease.Name)
	return t.Leaser.Break(ctx, b)
}

// transientEpochs moves the clock back: epochs grow nevertheless, also after the lease was
// removed, and those who had it before can do nothing with it.
func transientEpochs(s *leasing) {
	noon := time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC)
	s.place.clock.set(noon)
	var lost []onto.Lease
	ends := []func(onto.Lease){
		func(l onto.Lease) { s.must(s.Release(s.ctx, l)) },
		func(l onto.Lease) { s.breakLease(l.Name) },
		func(onto.Lease) { s.place.clock.move(2 * time.Hour) }, // it is taken over
	}
	for i := range 9 {
		s.place.clock.move(-30 * time.Minute)
		handle := s
		if i%2 == 1 {
			handle = s.also()
		}
		l := handle.take("import", "one")
		if l.Epoch < noon.Add(-3*time.Hour).UnixMicro() {
			s.Errorf("got the epoch %d, want one that is not before the time", l.Epoch)
		}
		if n := len(lost); n > 0 && l.Epoch <= lost[n-1].Epoch {
			s.Errorf("got the epoch %d after %d, want it to grow", l.Epoch, lost[n-1].Epoch)
		}
		s.passes(l)
		for _, before := range lost {
			s.wantLost(before)
			s.refused(onto.LeaseExpired, carrying(before, put(person("ada"), -1)))
		}
		ends[i%3](l)
		lost = append(lost, l)
	}
	other := s.take("export", "one") // of another name, which it need not have had
	s.must(s.Release(s.ctx, other))
}

// transientMany takes and releases leases of many names, some of which stay.
func transientMany(s *leasing) {
	s.take("import", "one")
	before := s.leases()
	for _, name := range []string{"object.a", "object.b", "object.c", "object.a"} {
		l := s.take(name, "one")
		s.wantLines("with it", s.leases(), append([]string{showLease(l)}, before...))
		s.must(s.Release(s.ctx, l))
		s.wantLines("without it", s.leases(), before)
	}
}
